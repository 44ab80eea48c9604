#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden values of tests/test_golden.c: PFLD with its angle net in PyTorch, in double precision.

  python3 make_pfld.py            # writes pfld_pt.safetensors and pfld_paper.safetensors beside this file

Needs python3-torch and python3-numpy; never part of the build or of CI. Weights and batches come from formulas that the
test computes as well (value(), picture()). A file holds, as F64: "gradient/NAME" of every parameter at step 0 in this
library's layout, "losses" of 20 Adam steps at 1e-4, and what PyTorch's own float runs are away from that: "distance"
(relative distance of each gradient, names in the metadata key "names", in the worse of two layouts) and "loss_distance"
(largest relative difference of the loss over the steps, one number for each of four runs: two layouts, one and two threads).
"""
import json, os, struct
import numpy as np
import torch
import torch.nn.functional as F

WIDTH, POINTS, SIZE, BATCH, STEPS, RATE = 0.25, 98, 64, 8, 20, 1e-4


def value(name, count):
    """Uniform in -1..1, from the name and the index alone (FNV-1a, then SplitMix64)."""
    h = np.uint64(0xcbf29ce484222325)
    with np.errstate(over="ignore"):
        for byte in name.encode():
            h = (h ^ np.uint64(byte)) * np.uint64(0x100000001b3)
        z = h + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0 ** -52 - 1


def picture():
    """Smooth pictures (N, H, W, 3): a few waves each."""
    w = value("waves", BATCH * 3 * 4 * 4).reshape(BATCH, 3, 4, 4)
    y, x = np.meshgrid(np.arange(SIZE) / SIZE, np.arange(SIZE) / SIZE, indexing="ij")
    out = np.full((BATCH, SIZE, SIZE, 3), 0.5)
    for n in range(BATCH):
        for c in range(3):
            for a, fx, fy, p in w[n, c]:
                out[n, :, :, c] += 0.12 * a * np.sin(2 * np.pi * (3 * fx * x + 3 * fy * y + p))
    return out


class Net:
    """Parameters by this library's names; every layer is written out with torch.nn.functional."""

    def __init__(self, preset):
        self.preset, self.params, self.shapes = preset, {}, {}

    def param(self, name, shape, bound, constant=None):
        if name not in self.params:
            count = int(np.prod(shape))
            v = np.full(count, constant) if constant is not None else value(name, count) * bound
            self.params[name] = torch.tensor(v.reshape(shape), dtype=torch.float64)
        return self.params[name]

    def kernel(self, name, shape, fan_in):
        return self.param(name, shape, 1 / np.sqrt(fan_in))

    def conv(self, x, name, filters, k, stride=1, pad=0, bias=False):
        cin = x.shape[1]
        w = self.kernel(name + "/kernel", (k, k, cin, filters), k * k * cin).permute(3, 2, 0, 1)
        b = self.kernel(name + "/bias", (filters,), k * k * cin) if bias else None
        return F.conv2d(x, w.contiguous(memory_format=self.layout), b, stride, pad)

    def depthwise(self, x, name, stride):
        c = x.shape[1]
        w = self.kernel(name + "/depthwise_kernel", (3, 3, c, 1), 9).permute(2, 3, 0, 1)
        return F.conv2d(x, w.contiguous(memory_format=self.layout), None, stride, 1, groups=c)

    def norm(self, x, name, act=True):
        c = x.shape[1]
        g, b = self.param(name + "_bn/gamma", (c,), 0, 1.0), self.param(name + "_bn/beta", (c,), 0, 0.0)
        x = F.batch_norm(x, None, None, g, b, training=True, eps=1e-5)
        return F.relu(x) if act else x

    def linear(self, x, name, units):
        k = self.kernel(name + "/kernel", (x.shape[1], units), x.shape[1])
        return x @ k + self.kernel(name + "/bias", (units,), x.shape[1])

    def bottleneck(self, x, name, t, c, stride, residual):
        y = self.norm(self.conv(x, name + "_expand", x.shape[1] * t, 1), name + "_expand")
        y = self.norm(self.depthwise(y, name + "_depthwise", stride), name + "_depthwise")
        y = self.norm(self.conv(y, name + "_project", c, 1), name + "_project", act=False)
        return x + y if residual else y

    def stage(self, x, name, blocks, t, c, stride):
        for i in range(blocks):
            x = self.bottleneck(x, f"{name}_{i + 1}", t, c, stride if i == 0 else 1, i > 0)
        return x

    def forward(self, x):
        c = lambda n: int(n * WIDTH)
        x = self.norm(self.conv(x, "conv1", c(64), 3, 2, 1), "conv1")
        x = self.norm(self.conv(x, "conv2", c(64), 3, 1, 1) if self.preset == "pt" else self.depthwise(x, "conv2", 1), "conv2")
        tap = x = self.stage(x, "stage3", 5, 2, c(64), 2)
        x = self.stage(x, "stage4", 1, 2, c(128), 2)
        x = self.stage(x, "stage5", 6, 4, c(128), 1)
        s1 = self.stage(x, "stage6", 1, 2, c(16), 1)
        s2 = self.norm(self.conv(s1, "conv7", c(32), 3, 2, 1), "conv7")
        k = SIZE // 16
        s3 = F.relu(self.conv(s2, "conv8", c(128), k, bias=True)) if self.preset == "pt" else \
            self.norm(self.conv(s2, "conv8", c(128), k), "conv8")
        points = self.linear(torch.cat([s1.mean((2, 3)), s2.mean((2, 3)), s3.flatten(1)], 1), "fc", 2 * POINTS)
        a = self.norm(self.conv(tap, "angles_conv1", c(128), 3, 2, 1), "angles_conv1")
        a = self.norm(self.conv(a, "angles_conv2", c(128), 3, 1, 1), "angles_conv2")
        a = self.norm(self.conv(a, "angles_conv3", c(32), 3, 2, 1), "angles_conv3")
        a = self.norm(self.conv(a, "angles_conv4", c(128), k, 1, 1 if self.preset == "pt" else 0), "angles_conv4")
        if self.preset == "pt":
            a = F.max_pool2d(a, 3, 3)
        return points, self.linear(self.linear(a.flatten(1), "angles_fc1", 32), "angles_fc2", 3)

    def loss(self, batch):
        x, truth, attributes, angles = batch
        points, a = self.forward(x)
        share = attributes.mean(0)
        weight = (attributes * torch.where(share > 0, 1 / share, torch.zeros_like(share))).sum(1).clamp(min=1)
        turn = (1 - torch.cos(a - angles * np.pi / 180)).sum(1)
        return (turn * weight * ((points - truth) ** 2).sum(1)).mean()


def batch(dtype, layout):
    x = torch.tensor(picture(), dtype=dtype).permute(0, 3, 1, 2).contiguous(memory_format=layout)
    truth = torch.tensor(0.5 + 0.3 * value("targets", BATCH * 2 * POINTS).reshape(BATCH, -1), dtype=dtype)
    attributes = torch.tensor((value("attributes", BATCH * 6) > 0).astype(np.float64).reshape(BATCH, 6), dtype=dtype)
    return x, truth, attributes, torch.tensor(30 * value("angles", BATCH * 3).reshape(BATCH, 3), dtype=dtype)


def run(preset, dtype, layout, threads, steps):
    torch.set_num_threads(threads)
    net = Net(preset)
    net.layout = layout
    data = batch(torch.float64, layout)
    with torch.no_grad():
        net.loss(data)  # makes the parameters
    data = batch(dtype, layout)
    net.params = {k: v.to(dtype).requires_grad_() for k, v in net.params.items()}
    opt = torch.optim.Adam(net.params.values(), lr=RATE)
    losses, gradients = [], None
    for _ in range(steps):
        opt.zero_grad()
        loss = net.loss(data)
        loss.backward()
        gradients = gradients or {k: v.grad.double().numpy().copy() for k, v in net.params.items()}
        losses.append(loss.item())
        opt.step()
    return np.array(losses), gradients


def write(path, tensors, metadata):
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    for name, a in tensors.items():
        blob = np.ascontiguousarray(a, "<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(a.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


for preset in ("pt", "paper"):
    losses, exact = run(preset, torch.float64, torch.contiguous_format, 2, STEPS)
    # Zero in exact arithmetic: a beta whose only readers are 1 x 1 convolutions with a batch norm behind them.
    zero = [f"{s}_project_bn/beta" for s in ["stage4_1"] + [f"stage5_{i}" for i in range(1, 7)]]
    names = sorted(n for n in exact if n not in zero)
    distances, loss_distances = [], []
    for layout in (torch.contiguous_format, torch.channels_last):
        for threads in (1, 2):
            l, g = run(preset, torch.float32, layout, threads, STEPS)
            loss_distances.append(np.max(np.abs(l - losses) / losses))
            distances.append([np.linalg.norm(g[n] - exact[n]) / np.linalg.norm(exact[n]) for n in names])
    d = np.array(distances)
    worse = d[np.argmax(np.median(d, axis=1))]
    print(preset, "losses", losses[0], losses[-1], "median", np.median(worse), "largest", worse.max(), "loss", loss_distances)
    print("zero gradients, largest norm", max(np.linalg.norm(exact[n]) for n in zero))
    here = os.path.dirname(os.path.abspath(__file__))
    tensors = {"gradient/" + n: g for n, g in exact.items()}
    tensors.update(losses=losses, distance=worse, loss_distance=np.array(loss_distances))
    write(os.path.join(here, f"pfld_{preset}.safetensors"), tensors,
          {"names": " ".join(names), "zero": " ".join(zero), "torch": torch.__version__})
