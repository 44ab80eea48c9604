# SPDX-License-Identifier: MIT
# The number of threads, for arithmetic and for loading, changes no bit; nor does where the program runs.
. "$(dirname "$0")/common.sh"
make_faces train 30 train
make_faces test 6 test
run="$SMALL --file_list train/list.txt --test_list test/list.txt --max_epoch 2 --loss pfld"
"$PFLD" train $run --threads 1 --loader_threads 1 --model_dir one
for threads in 2 3 7; do
	"$PFLD" train $run --threads $threads --loader_threads $((8 - threads)) --model_dir "m$threads"
	same_run one "m$threads"
	cmp -s one/last.safetensors "m$threads/last.safetensors" || fail "checkpoints of 1 and $threads threads differ"
	need threads "$("$JSON_GET" "m$threads/run.json" threads)" "$threads"
done
CUDA_VISIBLE_DEVICES=-1 "$PFLD" train $run --model_dir masked
same_run one masked
need "measured bytes" "$("$JSON_GET" one/run.json measured_peak_bytes)" "$("$JSON_GET" one/run.json planned_peak_bytes)"
"$PFLD" train $run --seed 2 --model_dir other
[ "$(sha_of other)" != "$(sha_of one)" ] || fail "another seed gave the same weights"
