#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes keras_backbones.json: features and gradients of the Keras backbones with weights that anyone can recompute.

Needs TensorFlow/Keras 3 from the Python registry (never a dependency of the project). Everything in float64.

Weights: for tensor "<layer>/<variable>" (Keras 3 names: a DepthwiseConv2D's variable is "kernel", a SeparableConv2D's
"depthwise_kernel" and "pointwise_kernel"; layouts HWIO, depthwise H,W,C,1; automatic names numbered as in a fresh process:
conv2d, conv2d_1 ...), element k in C order: u = 2 * (splitmix64(fnv1a64(name) + k) >> 11) / 2^53 - 1, divided in double.
splitmix64(s) is the first output of a generator with state s: s += 0x9e3779b97f4a7c15, then the mix; fnv1a64 over the bytes.
kernel: u * sqrt(6 / fan_in), fan_in = KH*KW*Cin (depthwise, also the depthwise part of separable: KH*KW); bias, beta: 0.1 u;
gamma: 1 + 0.1 u; moving_mean: 0.1 u; moving_variance: 1 + 0.5 |u|.
Input: pixel (y, x, c) of sample n = ((7y + 13x + 29c + 53n + 3nyx) mod 256) / 127.5 - 1, no other preprocessing.
features: inference mode, global average pooling, sample 0 (first 8 values, sum, L2).
step: training mode (batch statistics; dropout none), head = Dense(1), kernel u * sqrt(6 / features) named "head/kernel", bias 0,
binary cross-entropy from logits, labels n mod 2: the loss, and for some tensors the gradient's L2, sum and first 4 values.
block_8_project_BN/beta is zero in exact arithmetic (a batch norm follows): check that it vanishes.
"""
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, keras, tensorflow as tf
keras.config.set_floatx("float64")

def fnv(s):
    h = 0xcbf29ce484222325
    for b in s.encode(): h = ((h ^ b) * 0x100000001b3) & (2**64 - 1)
    return h

def uniform(name, n):
    with np.errstate(over="ignore"):
        z = np.uint64(fnv(name)) + np.arange(n, dtype=np.uint64) + np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z = z ^ (z >> np.uint64(31))
    return 2 * (z >> np.uint64(11)).astype(np.float64) / 2**53 - 1

def value(layer, var, shape):
    u = uniform(f"{layer}/{var}", int(np.prod(shape))).reshape(shape)
    if var in ("bias", "beta", "moving_mean"): return 0.1 * u
    if var == "gamma": return 1 + 0.1 * u
    if var == "moving_variance": return 1 + 0.5 * abs(u)
    depthwise = "depthwise" in var or (var == "kernel" and len(shape) == 4 and ("dw" in layer or "depthwise" in layer))
    fan = shape[0] * shape[1] * (1 if depthwise else shape[2]) if len(shape) == 4 else shape[0]
    return u * np.sqrt(6 / fan)

def pixels(n, size):
    s, y, x, c = np.ogrid[:n, :size, :size, :3]
    return ((7*y + 13*x + 29*c + 53*s + 3*s*y*x) % 256) / 127.5 - 1

A = keras.applications
NETS = {"vgg16": (lambda s: A.VGG16(include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 64),
        "vgg19": (lambda s: A.VGG19(include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 64),
        "xception": (lambda s: A.Xception(include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 107),
        "inception_resnet_v2": (lambda s: A.InceptionResNetV2(include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 107),
        "mobilenet_v2_0.5": (lambda s: A.MobileNetV2(alpha=.5, include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 75),
        "mobilenet_v1_0.5": (lambda s: A.MobileNet(alpha=.5, include_top=False, weights=None, input_shape=(s, s, 3), pooling="avg"), 75)}
out = {"made_by": f"keras {keras.__version__}, tensorflow {tf.__version__}, float64", "how": __doc__.split("\n\n", 2)[2]}
for name, (build, size) in NETS.items():
    keras.backend.clear_session()
    m = build(size)
    for l in m.layers:
        for v in l.weights: v.assign(value(l.name, v.name, v.shape))
    x = pixels(4, size); f = np.array(m(x, training=False))
    w = tf.Variable(uniform("head/kernel", f.shape[1]).reshape(-1, 1) * np.sqrt(6 / f.shape[1])); y = np.array([[0.], [1.], [0.], [1.]])
    with tf.GradientTape() as t:
        z = m(x, training=True) @ w
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, z))
    named = {f"{l.name}/{v.name}": v.value for l in m.layers for v in l.trainable_weights}
    keys = sorted(named); pick = [keys[i * (len(keys) - 1) // 9] for i in range(10)]
    first = next(f"{l.name}/{v.name}" for l in m.layers for v in l.trainable_weights)
    pick = list(dict.fromkeys([first] + pick))
    g = t.gradient(loss, [named[k] for k in pick] + [w])
    rec = lambda a: {"l2": float(np.linalg.norm(a)), "sum": float(a.sum()), "first": [float(q) for q in a.ravel()[:4]]}
    out[name] = {"size": size, "features": {"first": f[0, :8].tolist(), "sum": float(f[0].sum()), "l2": float(np.linalg.norm(f[0]))},
                 "step": {"batch": 4, "loss": float(loss), "gradients": {k: rec(np.array(a)) for k, a in zip(pick + ["head/kernel"], g)}}}
    print(name, out[name]["features"]["l2"], out[name]["step"]["loss"], {k: f"{v['l2']:.3g}" for k, v in out[name]["step"]["gradients"].items()}, flush=True)
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_backbones.json"), "w"), indent=1)
