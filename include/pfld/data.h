// SPDX-License-Identifier: MIT
// Landmark data: lists of faces in five formats, crops and augmentation, and the threaded loader that fills batches.
// Host memory only; knows no device. Coordinates are pixel centres (see image.h). Crop-relative points are
// u = (x + 0.5) / size: 0 is the left edge of the first pixel, 1 the right edge of the last, mirrored 1 - u.
// Thread safety: a dataset is read-only once open and may be shared; a loader belongs to one consumer thread.
#ifndef PFLD_DATA_H
#define PFLD_DATA_H

#include <pfld/batch.h>
#include <pfld/image.h>
#include <pfld/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_list_format {
	PFLD_LIST_AUTO = 0, // built-in by its name; a folder: pts; *.xml: dlib; a text file by where the path stands
	PFLD_LIST_PREPARED, // path, 2P crop-relative numbers[, 6 attributes[, 3 angles]]
	PFLD_LIST_RAW,      // WFLW: 2P pixel numbers, box (4)[, 6 attributes], path
	PFLD_LIST_PTS,      // a folder of images with a .pts file of the same base name beside each (300W), or one .pts file
	PFLD_LIST_DLIB,     // dlib's imglab XML: a face for each box (not those with ignore='1'), parts in order of name
	PFLD_LIST_BUILTIN,  // builtin:train[:N] or builtin:test[:N]: faces that the library draws (2000 and 300 unless told)
};

// Text lists: tokens between blanks or tabs; a path may hold blanks unless the piece next to the numbers is a number
// itself. Missing points, in every format: a coordinate that is nan, or both of them -1, or both the same number of
// -100 or less; other negative coordinates are points outside the picture.
struct pfld_dataset_options {
	enum pfld_list_format format;
	// Images are looked for here first; then beside the list, in ../WFLW_images from its folder, in WFLW_images in its
	// folder, and from the current folder (.pts: here, then beside).
	const char *image_dir;
	int32_t num_points;    // 0: what the first good row has (98, 68, 106, 29, 21, 19 are known); else all must agree
	int32_t pts_base;      // first pixel of .pts files: 1 (300W, the default when 0 is given here) or -1 for 0-based
	double max_bad;        // share of bad rows above which opening fails; 0 means the default 0.1
	int64_t max_samples;   // 0: all; else the first so many good rows
	struct pfld_image_limits limits;
	uint64_t seed; // of built-in faces
	struct pfld_log log;
};

// A row or file left out, with the reason.
struct pfld_skip {
	const char *path; // of the image, or of the list for a bad row
	int64_t line;     // of the list; 0 where there is none
	const char *reason;
};

// One labelled face. Pointers live as long as the dataset.
struct pfld_face {
	const char *image_path; // resolved; for built-in faces a name such as builtin:train/17
	int64_t line;           // of the list (0: none)
	const float *points;    // (P, 2) pixel centres of the image; for prepared rows crop-relative 0..1; 0 where missing
	const uint8_t *present; // (P): 0 where a point is missing; NULL when all are there
	bool crop_relative;     // prepared rows: the image is the crop
	bool has_box;
	float box[4]; // x_min, y_min, x_max, y_max in pixels
	float attributes[6];
	float angles[3]; // degrees; given by the list, else by pfld_pose_from_points() on a crop of 112 x 112, else 0
};

struct pfld_dataset;
// Reads the list, not the images (which must be there, though). Bad rows are skipped and kept for
// pfld_dataset_skips(). Errors name file and line: PFLD_ERR_IO (missing list), PFLD_ERR_DATA (no good row; too many bad
// ones; counts that fit no format, with the numbers found and expected; UTF-16), PFLD_ERR_ARGUMENT, PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_dataset_open(struct pfld_dataset **dataset, const char *list,
                                                   const struct pfld_dataset_options *options, struct pfld_error *error);
PFLD_API void pfld_dataset_close(struct pfld_dataset **dataset);
PFLD_API int64_t pfld_dataset_size(const struct pfld_dataset *dataset);
PFLD_API int32_t pfld_dataset_num_points(const struct pfld_dataset *dataset);
PFLD_API enum pfld_list_format pfld_dataset_format(const struct pfld_dataset *dataset);
PFLD_API bool pfld_dataset_has_attributes(const struct pfld_dataset *dataset); // any row carries them
PFLD_API bool pfld_dataset_has_angles(const struct pfld_dataset *dataset);     // given or derivable
// index in [0, size). The struct is filled; its pointers belong to the dataset.
PFLD_API void pfld_dataset_face(const struct pfld_dataset *dataset, int64_t index, struct pfld_face *face);
// The picture of a sample (decoded or drawn) into the caller's image. Errors as pfld_image_read().
PFLD_API_STATUS enum pfld_status pfld_dataset_image(const struct pfld_dataset *dataset, int64_t index,
                                                    struct pfld_image *image, struct pfld_error *error);
// Rows skipped at open. Pointers belong to the dataset.
PFLD_API size_t pfld_dataset_skips(const struct pfld_dataset *dataset, const struct pfld_skip **skips);

// ---- what is known of a number of points ----
// The mirror map: point i of the mirrored face is point map[i]. NULL when none is known (98 and 68 are).
// Static storage.
PFLD_API const int32_t *pfld_mirror_map(int32_t num_points);
// Read one line of comma separated integers (the originals' format) into map (num_points). It must be an involution.
// PFLD_ERR_IO, PFLD_ERR_DATA (file, entry and reason), PFLD_ERR_ARGUMENT.
PFLD_API_STATUS enum pfld_status pfld_mirror_map_read(const char *path, int32_t num_points, int32_t *map,
                                                      struct pfld_error *error);
// The two outer eye corners whose distance normalises NME: 98: 60, 72; 68: 36, 45; 106: 35, 93; 29: 8, 9. False: none.
PFLD_API bool pfld_nme_points(int32_t num_points, int32_t corners[2]);

// ---- one crop ----
// Prepared rows are their own crop: the picture, resized where its size differs, and the numbers as they stand.
enum pfld_crop_kind {
	PFLD_CROP_FLOAT = 0, // square of 1.2 x the points' extent about their centre, any fraction of a pixel, bilinear
	                     // straight from the picture, black outside
	PFLD_CROP_INTEGER,   // the originals' crop on whole pixels, then a bilinear resize. The labels are theirs too:
	                     // (point - top left pixel) / side, half a pixel of the picture less than crop-relative
};
// Drawn about the plain crop (for prepared rows: about the whole picture).
enum pfld_augment_kind {
	PFLD_AUGMENT_NONE = 0,
	PFLD_AUGMENT_DEFAULT, // rotate +-30 degrees, shift +-10 % of the square, scale 0.95..1.25, mirror with 1/2
	PFLD_AUGMENT_TF,      // the TensorFlow repository's: rotation by whole degrees in [-20, 20) about a centre shifted
	                      // by up to 10 % of the square, side from the points' smaller extent to 1.25 x the
	                      // larger, mirror with 1/2; redrawn until all points are inside (at most 100 times)
	PFLD_AUGMENT_PT,      // the same with [-30, 30): the PyTorch repository's
};
// Scaling of 8-bit values to what a net reads.
enum pfld_scaling {
	PFLD_SCALE_255 = 0, // x / 255
	PFLD_SCALE_256,     // x / 256
	PFLD_SCALE_SIGNED,  // x / 127.5 - 1
	PFLD_SCALE_NONE,    // 0..255
};
struct pfld_sample_options {
	int32_t size; // of the square network input; 0 means 112
	enum pfld_crop_kind crop;
	enum pfld_augment_kind augment;
	enum pfld_scaling scaling;
	bool bgr;                  // channels in the order blue, green, red
	const int32_t *mirror_map; // (P), NULL: no mirroring
};

// ---- the loader ----
struct pfld_loader_options {
	struct pfld_sample_options sample;
	int32_t num_threads; // decoding threads; 0 means the default (CPUs of this process)
	bool shuffle;        // a new permutation each epoch from (seed, epoch)
	bool drop_last;      // whole batches only; else an epoch is cut into batches that differ by one sample at most
	uint64_t seed;       // of permutation and augmentation: a sample depends on (seed, epoch, index) alone
	int32_t max_batches; // 0: all; else so many batches an epoch
	double max_bad;      // share of samples that may fail to load before PFLD_ERR_DATA; 0 means 0.1
	struct pfld_log log; // a warning when augmentation lacks a mirror map; a note for each sample left out
};
struct pfld_loader_stats {
	uint64_t wait_ns;               // the consumer waited in pfld_loader_next()
	uint64_t decode_ns, augment_ns; // summed over threads: reading and decoding; cropping into the batch
	int64_t num_samples;            // delivered
	uint64_t buffer_bytes;          // decode buffers of all threads now
};
struct pfld_loader;
// Opened over `num_slots` batches of one capacity, whose memory it fills ahead; inputs must be there, other fields are
// filled where they are not NULL (sample_weights with 1). Slots and dataset must stay until the loader is closed.
// Angles follow the augmentation: rotation changes roll, mirroring the signs of yaw and roll.
// PFLD_ERR_ARGUMENT: an option or slot outside its range.
PFLD_API_STATUS enum pfld_status pfld_loader_open(struct pfld_loader **loader, const struct pfld_dataset *dataset,
                                                  struct pfld_batch *slots, int32_t num_slots,
                                                  const struct pfld_loader_options *options, struct pfld_error *error);
PFLD_API void pfld_loader_close(struct pfld_loader **loader);
// Begin (or jump to) `epoch` (1-based) at batch `position`: the same batches come as in a run that was never stopped,
// provided pfld_loader_skip() was given what pfld_loader_skips() told at that point. Cancels what was filled ahead;
// batches that are handed out stay so. Without a seek the first next() begins epoch 1. PFLD_ERR_ARGUMENT: no such
// position (the number of batches is one, and gives PFLD_END).
PFLD_API_STATUS enum pfld_status pfld_loader_seek(struct pfld_loader *loader, int32_t epoch, int64_t position,
                                                  struct pfld_error *error);
// The next batch in order; blocks until it is filled. PFLD_END after the last batch of an epoch (the next call begins
// the next epoch). Batches are the same for any number of threads: batch k holds positions k * capacity and following
// of the epoch's order. A sample whose file or face is bad is left out of its batch, which then holds fewer (a batch
// that would be empty is passed over), is told by pfld_loader_skips() and is not in the order of later epochs.
// PFLD_ERR_DATA: more than max_bad failed (the first is named), or no batch is left. PFLD_ERR_MEMORY and PFLD_ERR_IO
// (struct pfld_error.transient): short of memory or descriptors, which says nothing about the file. These stop the
// loader: every call gives the same error until the next seek. PFLD_ERR_STATE: all slots are handed out.
PFLD_API_STATUS enum pfld_status pfld_loader_next(struct pfld_loader *loader, struct pfld_batch **batch,
                                                  struct pfld_error *error);
// Give a batch back so that its slot can be filled again.
PFLD_API void pfld_loader_release(struct pfld_loader *loader, struct pfld_batch *batch);
// A sample that failed to load. It keeps its place in the order of the epoch in which it failed (as a gap) and is not
// in the order of later ones; so a resume needs the epoch too.
struct pfld_skipped_sample {
	uint32_t index; // of the dataset
	int32_t epoch;  // in which it failed
	struct pfld_skip skip;
};
// Mark a sample as failed in `epoch` (resume); before the first seek or next, else PFLD_ERR_STATE. reason is copied.
PFLD_API_STATUS enum pfld_status pfld_loader_skip(struct pfld_loader *loader, uint32_t index, int32_t epoch,
                                                  const char *reason, struct pfld_error *error);
// Samples that failed in the batches handed out so far (and those that were marked), ordered by index. Belongs to the
// loader, valid until the next call on it; `skipped` may be NULL.
PFLD_API size_t pfld_loader_skips(const struct pfld_loader *loader, const struct pfld_skipped_sample **skipped);
// Batches of the epoch that the next call of next() is in: positions run from 0 to this.
PFLD_API int64_t pfld_loader_num_batches(struct pfld_loader *loader);
PFLD_API void pfld_loader_stats(struct pfld_loader *loader, struct pfld_loader_stats *stats); // since open

// ---- one sample by hand (prediction, previews) ----
// Crop `image` for `face` into inputs (size, size, 3), targets (2P) and mask (2P); these two may be NULL. With
// augmentation the draw depends on (seed, epoch, index), as in the loader. PFLD_ERR_DATA: the face cannot be cropped
// (no point present, all at one place, or far outside any picture); PFLD_ERR_ARGUMENT; PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_sample_make(const struct pfld_image *image, const struct pfld_face *face,
                                                  int32_t num_points, const struct pfld_sample_options *options,
                                                  uint64_t seed, int32_t epoch, uint32_t index, float *inputs,
                                                  float *targets, float *target_mask, struct pfld_error *error);
// The crop of a face box (x_min, y_min, x_max, y_max): a square of 1.1 x its larger side about its centre, sampled
// straight. inputs as above; `map` (may be NULL) gets the affine map from predicted points to image pixels:
// x = map[0] u + map[1] v + map[2], y = map[3] u + map[4] v + map[5]. options.crop says which labels the net learned.
// PFLD_ERR_ARGUMENT: no area, not finite.
PFLD_API_STATUS enum pfld_status pfld_sample_box(const struct pfld_image *image, const float box[4],
                                                 const struct pfld_sample_options *options, float *inputs,
                                                 double map[6], struct pfld_error *error);

// ---- pfld prepare ----
struct pfld_prepare_options {
	int32_t size;   // of the crops; 0 means 112
	int32_t copies; // 0 means 1: the plain crop (PFLD_CROP_INTEGER); more: that many in all, the others augmented
	enum pfld_augment_kind augment; // of the other copies: PFLD_AUGMENT_TF (default) or PFLD_AUGMENT_PT
	const int32_t *mirror_map;      // (P), NULL: no mirroring
	uint64_t seed;                  // a copy depends on (seed, index of the face, copy) alone
	int32_t num_threads;            // 0 means the default (CPUs of this process)
	double max_bad;                 // share of faces that may fail before PFLD_ERR_DATA; 0 means 0.1
	struct pfld_log log;            // a warning for each face that is left out
	void (*progress)(void *context, int64_t done, int64_t total); // now and then, in this thread; may be NULL
	void *progress_context;
};
struct pfld_prepare_result {
	int64_t num_faces, num_crops, num_skipped; // faces written, their copies, faces left out
};
// Writes folder/imgs/INDEX_STEM_COPY.png (index of the face in the dataset, base name of its image made harmless) and
// folder/list.txt: prepared rows in the order of the dataset, with paths from the list's folder, labels as
// PFLD_CROP_INTEGER has them ("-1 -1" where a point is missing), the face's attributes, and angles from the crop's
// points (pfld_pose_from_points(); where that gives none, the face's own, turned with it). The same input gives the
// same names and bytes again, for any number of threads; files of these names are replaced, others left alone, and the
// list is replaced last: when preparing fails the earlier one stands. A face whose image or points are bad is left out.
// PFLD_ERR_DATA: more than max_bad were (the first is named), or all; PFLD_ERR_IO; PFLD_ERR_MEMORY; PFLD_ERR_ARGUMENT.
PFLD_API_STATUS enum pfld_status pfld_prepare(const struct pfld_dataset *dataset, const char *folder,
                                              const struct pfld_prepare_options *options,
                                              struct pfld_prepare_result *result, struct pfld_error *error);

// ---- head pose from landmarks ----
// Pitch, yaw and roll in degrees by the recipe of the TensorFlow repository: 14 points, a camera of 60 degrees, the
// pose of smallest reprojection error, Euler angles by RQ decomposition. `points` (P, 2) in crop pixels of a
// width x height picture. False, and angles untouched, when P is not 98, 68 or 106, when a needed point is missing, or
// when the points determine no pose (all in one place, say).
PFLD_API bool pfld_pose_from_points(const float *points, const uint8_t *present, int32_t num_points, double width,
                                    double height, float angles[3]);

#ifdef __cplusplus
}
#endif
#endif
