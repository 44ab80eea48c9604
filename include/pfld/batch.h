// SPDX-License-Identifier: MIT
// One batch in host memory: what a loader (or your own code) fills and a trainer consumes. The pointers are set by
// whoever owns the memory (pfld_trainer_slots(), or your own arrays); NULL where a net or loss does not use the field.
#ifndef PFLD_BATCH_H
#define PFLD_BATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_batch {
	int32_t slot;        // which slot of the trainer this memory is; -1 for the caller's own
	int32_t num_samples; // filled: 1 <= num_samples <= capacity
	int32_t capacity;
	int32_t epoch;         // 1-based; set by the loader
	int64_t position;      // of this batch in its epoch, from 0; set by the loader
	float *inputs;         // (N, H, W, C): pictures, scaled as the net expects
	float *targets;        // (N, T): points as x0, y0, x1, y1 ... in 0..1 of the crop, or class shares
	float *target_mask;    // (N, T): 1 counts, 0 does not (missing points); NULL: all count
	float *sample_weights; // (N): weight of each sample in the loss; NULL: ones
	float *attributes;     // (N, 6): pose, expression, illumination, make-up, occlusion, blur; each 0 or 1
	float *angles;         // (N, 3): pitch, yaw, roll in degrees
	uint32_t *indices;     // (N): which sample of the dataset; set by the loader
};

#ifdef __cplusplus
}
#endif
#endif
