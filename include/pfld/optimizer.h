// SPDX-License-Identifier: MIT
// Optimizers: objects of their own that step over a program's parameters and gradients. g is the gradient (plus
// weight_decay p where decay is not decoupled), p the parameter, t the step from 1, lr the rate times the parameter's
// own factor. Each formula is the framework's named there, so that both epsilon conventions are at hand.
#ifndef PFLD_OPTIMIZER_H
#define PFLD_OPTIMIZER_H

#include <pfld/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_optimizer_kind {
	PFLD_SGD = 0,  // v = momentum v + g; p -= lr v, nesterov: p -= lr (g + momentum v) (PyTorch)
	PFLD_ADAGRAD,  // s += g^2; p -= lr g / (sqrt(s) + epsilon)
	PFLD_ADADELTA, // s = rho s + (1 - rho) g^2; d = g sqrt(u + epsilon) / sqrt(s + epsilon); u = rho u + (1 - rho) d^2; p -= lr d
	PFLD_RMSPROP,  // s = rho s + (1 - rho) g^2; p -= lr g / (sqrt(s) + epsilon); TensorFlow: / sqrt(s + epsilon)
	PFLD_ADAM,     // m, v moments; PyTorch: p -= lr mhat / (sqrt(vhat) + epsilon), mhat = m / (1 - beta1^t), vhat = v / (1 - beta2^t)
	               // TensorFlow: p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon)
	PFLD_ADAMW,    // Adam with decoupled decay: p -= lr weight_decay p first
};
struct pfld_optimizer_options {
	enum pfld_optimizer_kind kind;
	double learning_rate; // used by the trainer; pfld_optimizer_step() takes the rate of the step
	double momentum;      // SGD; RMSprop's momentum is not offered
	bool nesterov;
	double beta1, beta2;  // Adam; 0 means 0.9 and 0.999
	double rho;           // RMSprop, Adadelta; 0 means 0.9
	double epsilon;       // 0 means 1e-8 (Adam), 1e-7 (Adagrad), 1e-6 (Adadelta), 1e-8 (RMSprop)
	bool tensorflow_epsilon; // TensorFlow's place for epsilon in Adam and RMSprop; else PyTorch's
	double weight_decay;     // default for parameters without a decay of their own; L2 (added to g), AdamW: decoupled
	double clip_norm;        // scale all gradients so that their joint norm is at most this; 0: off
	double clip_value;       // cut each gradient to +-this; 0: off
};
PFLD_API const char *pfld_optimizer_name(enum pfld_optimizer_kind kind);
PFLD_API bool pfld_optimizer_from_name(const char *name, enum pfld_optimizer_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
