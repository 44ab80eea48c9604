#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plans, checked from the outside: reads `pfld memory --all --json` for several nets, shares no code with the library.

    check_plan.py PFLD

From the list of tensors alone: what is live at each op, the largest sum of it (the lower bound), the sums by class and by
layer at that op, that no two tensors of a region that live at the same time overlap, and that the ends of the regions come
to the planned peak. Then --fit, --sweep, --svg and --memory_budget against plans of single batches.
"""
import json
import subprocess
import sys
import tempfile
import os
import xml.etree.ElementTree

MIB = 1 << 20
PEAK_LIMIT = {"--preset pt --width 1 --batch_size 64 --loss pfld --threads 2": (1.01, 1075 * MIB)}
CASES = [
    "--preset pt --width 1 --batch_size 64 --loss pfld --threads 2",
    "--preset pt --width 1 --batch_size 64 --loss pfld --threads 2 --memory_budget 440M",
    "--preset pt --width 1 --batch_size 8 --loss pfld_compat --slots 1 --optimizer sgd",
    "--preset paper --width 0.25 --batch_size 32 --threads 1",
    "--preset paper --width 0.25 --batch_size 2 --image_size 32 --points 68 --optimizer adagrad --slots 5",
    "--preset tf --width 0.5 --batch_size 33 --image_size 96 --loss pfld --accumulate 4 --threads 3",
    "--preset tf --width 1 --batch_size 1 --image_size 128 --flatten_head",
    "--preset pt --batch_size 16 --freeze conv1/*,stage3_*,conv2/*",
    "--preset paper --batch_size 7 --mode infer",
    "--preset tf --batch_size 1 --width 0.25 --mode infer --image_size 64",
    "--model mobilenet_v2 --alpha 0.35 --batch_size 4 --image_size 96",
    "--model xception --batch_size 2 --image_size 107 --freeze block1_*,block2_* --classes 3",
    "--model vgg16 --batch_size 2 --image_size 64 --mode infer",
]
failures = []


def check(good, *what):
    if not good:
        failures.append(" ".join(map(str, what)))


def pfld(exe, options, status=0):
    run = subprocess.run([exe, "memory", *options.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(run.returncode == status, options, "ends with", run.returncode, run.stderr.strip())
    return run.stdout


def plan_of(exe, options, status=0):
    return json.loads(pfld(exe, options + " --json", status))


def find_overlap(tensors):
    """Two tensors of one region that share a byte and an op, or None: a sweep over begins by address."""
    open_ones = []
    for t in sorted(tensors, key=lambda t: t["offset"]):
        open_ones = [o for o in open_ones if o["offset"] + o["bytes"] > t["offset"]]
        for o in open_ones:
            if o["first_op"] <= t["last_op"] and t["first_op"] <= o["last_op"]:
                return o["name"], t["name"]
        open_ones.append(t)
    return None


def live_bytes(tensors, num_ops):
    change = [0] * (num_ops + 1)
    for t in tensors:
        change[t["first_op"]] += t["bytes"]
        change[t["last_op"] + 1] -= t["bytes"]
    live, total = [], 0
    for step in change[:num_ops]:
        total += step
        live.append(total)
    return live


def check_sums(case, plan):
    """Class and layer sums belong to an op at which the most is live; what packing leaves unused is activations."""
    tensors, peak = plan["tensors"], plan["planned_peak_bytes"]
    live = live_bytes(tensors, plan["num_ops"])
    most = max(live)
    check(plan["lower_bound_bytes"] == most, case, "lower bound", plan["lower_bound_bytes"], "recomputed", most)
    check(sum(plan["by_class"].values()) == peak, case, "classes do not sum to the peak")
    check(sum(layer["bytes"] for layer in plan["layers"]) == peak, case, "layers do not sum to the peak")
    op = live.index(most)
    check(op == plan["peak_op"], case, "the peak is at", op, "not", plan["peak_op"])
    classes = dict.fromkeys(plan["by_class"], 0)
    layers = {}
    for t in tensors:
        if t["first_op"] <= op <= t["last_op"]:
            classes[t["class"]] += t["bytes"]
            layers[t["layer"]] = layers.get(t["layer"], 0) + t["bytes"]
    classes["activations"] += peak - most
    if peak > most:
        layers[""] = layers.get("", 0) + peak - most
    check(classes == plan["by_class"], case, "classes", plan["by_class"], "recomputed", classes)
    check(layers == {layer["name"]: layer["bytes"] for layer in plan["layers"]}, case, "layers differ")


def check_plan(case, plan):
    regions, tensors = plan["regions"], plan["tensors"]
    check(plan["num_tensors"] == len(tensors) and plan["num_ops"] == len(plan["ops"]), case, "counts")
    ends = [0] * len(regions)
    for t in tensors:
        check(0 <= t["first_op"] <= t["last_op"] < plan["num_ops"], case, t["name"], "lives from", t["first_op"])
        check(t["bytes"] > 0 and t["offset"] % 64 == 0, case, t["name"], "offset", t["offset"], "bytes", t["bytes"])
        ends[t["region"]] = max(ends[t["region"]], t["offset"] + t["bytes"])
    check(ends == [region["bytes"] for region in regions], case, "ends of regions", ends)
    check(sum(ends) == plan["planned_peak_bytes"], case, "regions end at", sum(ends), "not at the peak")
    for i, region in enumerate(regions):
        overlap = find_overlap([t for t in tensors if t["region"] == i])
        check(not overlap, case, "overlap in", region["name"], overlap)
    check_sums(case, plan)
    ratio, most = PEAK_LIMIT.get(case, (1.05, None))
    found = plan["planned_peak_bytes"] / plan["lower_bound_bytes"]
    check(found <= ratio, case, "is", found, "times the lower bound, more than", ratio)
    check(most is None or plan["planned_peak_bytes"] <= most, case, "takes", plan["planned_peak_bytes"])
    if plan["budget_bytes"]:
        check(plan["planned_peak_bytes"] <= plan["budget_bytes"], case, "the budget is not kept")
        check(plan["predicted_time_ratio"] > 1, case, "computing again takes time")
    check(plan["smallest_batch"] == (1 if "infer" in case else 2), case, "smallest batch", plan["smallest_batch"])
    check(plan["smallest_budget_bytes"] <= plan["planned_peak_bytes"], case, "smallest budget above the peak")


def check_budget(exe):
    """The smallest budget can be kept, one byte less cannot."""
    net = "--preset paper --width 0.5 --batch_size 16 --image_size 64"
    smallest = plan_of(exe, net)["smallest_budget_bytes"]
    plan = plan_of(exe, "%s --memory_budget %d" % (net, smallest))
    check(plan["planned_peak_bytes"] <= smallest, "the smallest budget is not kept")
    plan = plan_of(exe, "%s --memory_budget %d" % (net, smallest - 1), 1)
    check(plan["smallest_budget_bytes"] == smallest, "another smallest budget")


def check_fit(exe):
    net = "--preset pt --width 0.5 --image_size 64 --threads 2"
    for size in (40 * MIB, 123456789, 512 * MIB):
        fit = plan_of(exe, "%s --fit %d" % (net, size))
        for key, wanted in (("largest", "planned_peak_bytes"), ("largest_with_budget", "smallest_budget_bytes")):
            batch, bytes_ = fit[key]["batch"], fit[key]["bytes"]
            this = plan_of(exe, "%s --batch_size %d" % (net, batch))[wanted]
            more = plan_of(exe, "%s --batch_size %d" % (net, batch + 1))[wanted]
            check(this == bytes_ <= size < more == fit[key]["next_bytes"], "--fit", size, fit[key], this, more)
    check(plan_of(exe, net + " --fit 1K")["largest"]["batch"] == 0, "--fit 1K names a batch")
    check("none fits" in pfld(exe, net + " --fit 1K"), "--fit 1K does not say so")
    infer = plan_of(exe, net + " --mode infer --fit 64M")["largest"]
    check(infer["smallest_batch"] == 1 and infer["bytes"] <= 64 * MIB < infer["next_bytes"], "--fit of inference", infer)


def check_sweep(exe):
    net = "--preset tf --width 0.25"
    cells = plan_of(exe, net + " --sweep")["sweep"]
    places = [(cell["batch_size"], cell["image_size"]) for cell in cells]
    check(places == [(b, s) for b in (8, 16, 32, 64, 128) for s in (96, 112, 128)], "--sweep covers", places)
    for cell in cells[::4]:
        plan = plan_of(exe, "%s --batch_size %d --image_size %d" % (net, cell["batch_size"], cell["image_size"]))
        check(plan["planned_peak_bytes"] == cell["planned_peak_bytes"], "--sweep differs at", cell)


def check_svg(exe):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.svg")
        plan = plan_of(exe, "--width 0.25 --batch_size 4 --all --svg " + path)
        root = xml.etree.ElementTree.parse(path).getroot()
        titles = root.findall(".//{*}rect/{*}title")
        check(len(titles) == plan["num_tensors"], "the picture shows", len(titles), "of", plan["num_tensors"], "tensors")
        check("href" not in open(path).read(), "the picture needs other files")
        pfld(exe, "--width 0.25 --svg %s/none/plan.svg" % folder, 1)


def check_frozen(exe):
    """Frozen, an image classifier keeps nothing for backward: little more than inference takes."""
    net = "--model mobilenet_v2 --alpha 0.35 --batch_size 8"
    whole, frozen, infer = (plan_of(exe, net + more)["planned_peak_bytes"] for more in ("", " --freeze all", " --mode infer"))
    check(infer < frozen < infer + 32 * MIB < whole, "frozen takes", frozen, "inference", infer, "training", whole)


def check_refusals(exe):
    pfld(exe, "--freeze nothing_of_this_name", 1)
    pfld(exe, "--freeze *", 1)
    pfld(exe, "--image_size 100", 1)
    pfld(exe, "--model xception --image_size 64", 1)
    pfld(exe, "--model vgg16 --alpha 0.5", 1)
    pfld(exe, "--model vgg16 --points 68", 2)
    pfld(exe, "--classes 2", 2)
    pfld(exe, "--fit 2G --sweep", 2)
    pfld(exe, "--fit 0", 2)
    pfld(exe, "--mode infer --memory_budget 1G", 2)


def main():
    exe = sys.argv[1]
    for case in CASES:
        check_plan(case, plan_of(exe, case + " --all"))
    check(plan_of(exe, CASES[0] + " --all") == plan_of(exe, CASES[0] + " --all"), "two plans differ")
    for part in (check_budget, check_fit, check_sweep, check_svg, check_frozen, check_refusals):
        part(exe)
    for failure in failures:
        print("FAILED:", failure)
    print("%d plans checked, %d failures" % (len(CASES), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
