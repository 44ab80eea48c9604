#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether Keras loads what pfld_weights_save_keras() wrote: every array of the model against a safetensors file of the same
weights by pfld_weights_save(). Needs Keras 3 from the Python registry with any backend (never a dependency of the project).

    check_keras_h5.py MODEL ALPHA FILE.h5 FILE.safetensors      (MODEL as pfld names it, without top; ALPHA 0: none)
"""
import json
import sys

import keras
import numpy as np

A = keras.applications
NETS = {"vgg16": A.VGG16, "vgg19": A.VGG19, "xception": A.Xception, "inception_resnet_v2": A.InceptionResNetV2,
        "mobilenet_v1": A.MobileNet, "mobilenet_v2": A.MobileNetV2}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header, body, out = json.loads(data[8:8 + size]), data[8 + size:], {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = np.frombuffer(body[begin:end], "<f4").reshape(entry["shape"])
    return out


model, alpha, h5, safetensors = sys.argv[1:]
options = {"alpha": float(alpha)} if float(alpha) else {}
net = NETS[model](include_top=False, weights=None, input_shape=(96, 96, 3), **options)
net.load_weights(h5)
wanted, num, bad = read_safetensors(safetensors), 0, 0
for layer in net.layers:
    for variable in layer.weights:
        name = "%s/%s" % (layer.name, variable.name)
        if name not in wanted:
            name = "%s/depthwise_kernel" % layer.name
        num += 1
        if not np.array_equal(np.array(variable), wanted.pop(name)):
            bad += 1
            print("differs:", name)
print("%d arrays loaded by Keras %s, %d differ, %d not in it" % (num, keras.__version__, bad, len(wanted)))
sys.exit(1 if bad or wanted else 0)
