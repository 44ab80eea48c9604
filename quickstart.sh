#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From a fresh machine to a trained landmark network. See usage() below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. .ci/packages.sh

usage() {
	cat <<'END'
usage: ./quickstart.sh [SECONDS]

Installs what is missing (Debian, Ubuntu; elsewhere it is named), builds libpfld in build/, and trains PFLD on faces
that the library draws itself. That takes about five minutes on two cores and needs no download. Training stops after
SECONDS (360) in any case; what it has learned until then counts. The report is in build/quickstart/report.html.
END
}

case ${1:-} in
-h | --help) usage && exit 0 ;;
*[!0-9]*) usage >&2 && exit 2 ;;
esac
limit=${1:-360}
model_dir=build/quickstart
pfld=build/examples/pfld/pfld

need cc meson ninja pkg-config libpng libjpeg jansson expat hdf5
echo "== building in build/"
if [ ! -e build/build.ninja ]; then
	said=$(meson setup build --buildtype release -Dtests=false -Dbench=false 2>&1) || { echo "$said"; exit 1; }
fi
said=$(ninja -C build 2>&1) || { echo "$said" | grep -E -A12 '^FAILED|error:'; exit 1; }

echo "== training PFLD on built-in faces"
rm -rf "$model_dir"
train=("$pfld" train --file_list builtin:train:2000 --test_list builtin:test:200 --test_initial --augment none --width 0.25
	--batch_size 16 --learning_rate 3e-3 --max_epoch 8 --validation_freq 1 --model_dir "$model_dir")
echo "${train[*]}"
# Ctrl-C, and the limit, finish the step and save; what is there is a result all the same.
timeout --foreground --signal INT "$limit" "${train[@]}" || [ -e "$model_dir/run.json" ] || exit 1

python3 - "$model_dir" <<'END'
import json, os, sys
folder = sys.argv[1]
with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
    run = json.load(file)
measured = [epoch for epoch in run["epochs"] if epoch["nme"] is not None]
print("\n== NME on builtin:test (mean distance of the points, by the distance of the outer eye corners)")
print("before training: %6.2f %%" % (100 * run["initial_nme"]))
if not measured:
    sys.exit("training ended before the first test")
best = min(measured, key=lambda epoch: epoch["nme"])
print("after %2d epochs: %6.2f %%, median %.2f %%" % (best["epoch"], 100 * best["nme"], 100 * best["nme_median"]))
print("\nThe report: %s" % os.path.abspath(os.path.join(folder, "report.html")))
END
cat <<END
The network: $model_dir/best.safetensors. Try it, or train on faces of your own:
  $pfld predict --help
  $pfld train --help
END
