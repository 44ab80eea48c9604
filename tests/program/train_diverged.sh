# SPDX-License-Identifier: MIT
# A loss that is not finite ends the run; run.json stays valid JSON, with null for what has no value, and so does one that
# names files in no encoding.
. "$(dirname "$0")/common.sh"
make_faces faces 16 train
refused 1 'not finite' "$PFLD" train $SMALL --file_list faces/list.txt --max_epoch 2 --learning_rate 1e30 --model_dir m
"$JSON_GET" m/run.json || fail "run.json of a diverged run is not valid"
need status "$("$JSON_GET" m/run.json status)" failed
"$PFLD" info m/last.safetensors >out.txt || fail "the checkpoint of a diverged run cannot be read"

"$PFLD" train $SMALL --file_list faces/list.txt --max_epoch 1 --model_dir untested
need "nme without a test list" "$("$JSON_GET" untested/run.json epochs 0 nme)" null

# A file name in Latin-1, with a quote and a control byte.
name=$(printf 'caf\351"\001.png')
first=$(sed -n 1p faces/list.txt)
{
	cat faces/list.txt
	printf '%s %s\n' "$name" "${first#* }"
} >faces/odd.txt
"$PFLD" train $SMALL --file_list faces/odd.txt --max_epoch 1 --max_bad 0.5 --model_dir odd 2>err.txt
"$JSON_GET" odd/run.json || fail "run.json with a foreign name is not valid"
need "skipped" "$("$JSON_GET" odd/run.json skipped '#')" 1
