#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the README's chapter "What training PFLD really needs" from plans, so that it stays true.

    memory_guide.py PFLD [--readme README.md] [--measure TRAIN_STEP] [--steps N] [--check]

PFLD is the program: `pfld memory --json` gives every planned number. --measure runs the benchmark train_step too, for the
peak of the process and the time of an epoch, and keeps what it found in memory_guide.json beside this script; without it
the numbers kept there are shown. --check writes nothing and fails when the chapter is not what it should be.
"""
import argparse
import json
import os
import subprocess
import sys

BEGIN, END = "<!-- written by bench/memory_guide.py: begin -->\n", "<!-- written by bench/memory_guide.py: end -->\n"
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "memory_guide.json")
BATCHES, SIZES = (8, 16, 32, 64, 128), (96, 112, 128)
CROPS = 75000  # of an epoch of the guide's readers
THREADS = 2
NET = {"preset": "tf", "loss": "pfld", "width": 1, "batch_size": 64, "image_size": 112, "threads": THREADS}
MIB = 1 << 20


def mib(count):
    return "%.0f" % (count / MIB) if count >= 100 * MIB else "%.1f" % (count / MIB)


def run(words):
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout)


class Guide:
    def __init__(self, pfld):
        self.pfld = pfld

    def memory(self, *flags, **changed):
        """One call of pfld memory; options of the net, changed as told."""
        options = dict(NET, **changed)
        words = [word for name, value in options.items() for word in ("--" + name, str(value))]
        return run([self.pfld, "memory", "--json", *words, *flags])


# ---- measured ----

def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown processor"


def measure(train_step, steps):
    cells = []
    for batch in BATCHES:
        for size in SIZES:
            found = run([
                train_step, "--json", "--preset", NET["preset"], "--width", str(NET["width"]), "--batch_size", str(batch),
                "--image_size", str(size), "--threads", str(THREADS), "--steps", str(steps)])
            cells.append({"batch_size": batch, "image_size": size, "resident_bytes": int(found["resident_mib"] * MIB),
                          "planned_bytes": found["planned_peak_bytes"], "images_per_s": found["images_per_s_median"]})
            print("batch %d, size %d: %.1f MiB resident, %.1f images/s" % (
                batch, size, found["resident_mib"], found["images_per_s_median"]), flush=True)
    return {"processor": processor(), "threads": THREADS, "steps": steps, "cells": cells}


# ---- the chapter ----

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def beside_the_guide(plan):
    classes = plan["by_class"]
    picture = 112 * 112 * 3 * 4 * 64
    return table(("batch 64, 112x112, Adam", "the guide", "libpfld, planned, MiB", "what it is"), (
        ("pixels", "9.6 MB", mib(classes["batch"]), "%s MiB a batch: three in flight, one where training, one where validation "
         "reads it; points, attributes, angles" % mib(picture)),
        ("parameters", "5 to 7 MB", mib(classes["parameters"]), "weights and moving statistics, angle net included"),
        ("activations", "30 to 40 MB", mib(classes["activations"]), "what backward needs of forward: raw outputs of "
         "convolutions, and gradients on their way"),
        ("gradients and optimizer", "15 to 20 MB", mib(classes["gradients"] + classes["optimizer"]),
         "one number and two of Adam's to each trained weight"),
        ("workspace", "", mib(classes["workspace"]), "scratch of ops, %d threads" % THREADS),
        ("sum", "\"about 70 MB\"", "**%s**" % mib(plan["planned_peak_bytes"]), "all that is taken"),
        ("reserved", "2 to 3 GB", "0", "nothing beyond the plan"),
    ))


def sweep(guide, measured):
    cells = guide.memory("--sweep")["sweep"]
    at = {(cell["batch_size"], cell["image_size"]): cell for cell in cells}
    text = table(["planned peak (smallest budget), MiB"] + ["%dx%d" % (size, size) for size in SIZES], [
        [batch] + ["%s (%s)" % (mib(at[batch, size]["planned_peak_bytes"]), mib(at[batch, size]["smallest_budget_bytes"]))
                   for size in SIZES] for batch in BATCHES])
    if not measured:
        return text
    found = {(cell["batch_size"], cell["image_size"]): cell for cell in measured["cells"]}

    def cell(batch, size):
        c = found[batch, size]
        return "%s of %s, %.1f h" % (mib(c["resident_bytes"]), mib(c["planned_bytes"]), CROPS / c["images_per_s"] / 3600)
    return text + "\nMeasured on %s, %d threads: peak resident memory of the whole process, of what was planned (one batch in " \
        "flight), MiB, and the time of an epoch of %s crops:\n\n" % (
            measured["processor"], measured["threads"], format(CROPS, ",")) + table(
            ["batch"] + ["%dx%d" % (size, size) for size in SIZES],
            [[batch] + [cell(batch, size) for size in SIZES] for batch in BATCHES])


def megabytes(plan):
    layers = [layer for layer in plan["layers"] if layer["name"]]
    rest = sum(layer["bytes"] for layer in layers[10:])
    rows = [("`%s`" % layer["name"], mib(layer["bytes"])) for layer in layers[:10]]
    rows.append(("%d more layers" % len(layers[10:]), mib(rest)))
    rows.append(("batches in flight, optimizer state", mib(plan["planned_peak_bytes"] - sum(l["bytes"] for l in layers))))
    return table(("layer", "MiB at the peak"), rows)


def levers(guide, base):
    def row(what, words, plan):
        peak = plan["planned_peak_bytes"]
        return (what, "`%s`" % words, mib(peak), "%.0f %%" % (100 * peak / base["planned_peak_bytes"]),
                "%.2f" % plan["predicted_time_ratio"] if plan["budget_bytes"] else "")

    smallest = base["smallest_budget_bytes"]
    half = base["planned_peak_bytes"] // 2 // MIB
    frozen = "conv1*,conv2*,stage3_*,stage4_*"
    rows = [row("nothing", "--batch_size 64 --image_size 112", base)]
    for what, words, changed in (
            ("batch", "--batch_size 16", {"batch_size": 16}),
            ("batch and size, as the guide advises", "--batch_size 32 --image_size 96", {"batch_size": 32, "image_size": 96}),
            ("size", "--image_size 96", {"image_size": 96}),
            ("width", "--width 0.5", {"width": 0.5}),
            ("width", "--width 0.25", {"width": 0.25}),
            ("budget, half", "--memory_budget %dM" % half, {"memory_budget": "%dM" % half}),
            ("budget, smallest", "--memory_budget %d" % smallest, {"memory_budget": smallest}),
            ("small batches added up", "--batch_size 16 --accumulate 4", {"batch_size": 16, "accumulate": 4}),
            ("optimizer", "--optimizer sgd", {"optimizer": "sgd"}),
            ("frozen layers", "--freeze %s" % frozen, {"freeze": frozen}),
            ("no angle net", "--loss wing", {"loss": "wing"}),
            ("fewer batches in flight", "--slots 1", {"slots": 1}),
            ("inference", "--mode infer", {"mode": "infer"})):
        rows.append(row(what, words, guide.memory(**changed)))
    return table(("lever", "option", "MiB", "of it", "predicted time of a step"), rows)


def fits(guide):
    rows = []
    for size in ("512M", "1G", "2G", "4G"):
        fit = guide.memory("--fit", size)
        rows.append((size, fit["largest"]["batch"], fit["largest_with_budget"]["batch"]))
    return table(("in", "largest batch", "with that as budget"), rows)


def line(guide, size):
    """Bytes of the fixed part and of each face, by the plans of two batches."""
    low, high = (guide.memory(batch_size=batch, image_size=size)["planned_peak_bytes"] for batch in (32, 128))
    slope = (high - low) / 96
    return low - 32 * slope, slope


def chapter(guide, measured):
    base = guide.memory()
    pt = guide.memory(preset="pt")
    fixed, face = line(guide, 112)
    _, small = line(guide, 96)
    smaller = guide.memory(image_size=96)["by_class"]["activations"] / base["by_class"]["activations"]
    kept = base["by_class"]["activations"] - base["planned_peak_bytes"] + base["lower_bound_bytes"]
    return """
A memory guide for the TensorFlow trainer puts batch 64 at "about 70 MB" and blames the framework for the 2 to 3 GB that are
seen. Parameters and optimizer are right in it; activations are short by a factor of %(low).0f to %(high).0f. This is the same net
(`--preset tf --loss pfld`) planned by `pfld memory`, to the byte and before anything is taken:

%(beside)s
PyTorch 1.13 keeps 1.87 GB of activations for the `pt` form at batch 64 and its process peaks at 2.8 to 4.2 GiB; here the plan
of `pt` says %(pt)s MiB. The difference is no estimate: batch norm and activation are not stored but computed where they are read.

Every batch and size, at full speed, and the smallest budget that `--memory_budget` can keep by computing blocks again, to the
same bits:

%(sweep)s
The guide's rule holds for the part that grows: %(face).1f MiB a face at 112x112 beside %(fixed).0f MiB that are always there, and
%(small).2f of it at 96x96 (96² / 112² = 0.73). Its "25 %% less activation memory" for 96 is %(less).0f %%.

Where every megabyte goes, at the peak of batch 64:

%(megabytes)s
`pfld memory --all` lists every tensor, `--svg FILE` draws when each lives and where.

What each lever does to it:

%(levers)s
Accumulating is not the same as a budget: batch norm then sees batches of 16. The largest batches that fit (`--fit`):

%(fits)s
""" % {"low": kept / 40e6, "high": kept / 30e6, "beside": beside_the_guide(base), "pt": mib(pt["planned_peak_bytes"]),
       "sweep": sweep(guide, measured), "face": face / MIB, "fixed": fixed / MIB, "small": small / face,
       "less": 100 * (1 - smaller), "megabytes": megabytes(base), "levers": levers(guide, base), "fits": fits(guide)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pfld")
    parser.add_argument("--readme", default=os.path.join(os.path.dirname(KEPT), "..", "README.md"))
    parser.add_argument("--measure", metavar="TRAIN_STEP")
    parser.add_argument("--steps", type=int, default=3, help="timed for each measured cell (3)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.measure:
        measured = measure(options.measure, options.steps)
        with open(KEPT, "w") as file:
            json.dump(measured, file, indent=1)
            file.write("\n")
    measured = json.load(open(KEPT)) if os.path.exists(KEPT) else None
    with open(options.readme) as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("memory_guide.py: %s needs the two comments once each: %s%s" % (options.readme, BEGIN, END))
    before, rest = text.split(BEGIN)
    fresh = before + BEGIN + chapter(Guide(options.pfld), measured) + END + rest.split(END)[1]
    if options.check:
        sys.exit(0 if fresh == text else "memory_guide.py: the chapter is out of date; run it without --check")
    with open(options.readme, "w") as file:
        file.write(fresh)


if __name__ == "__main__":
    main()
