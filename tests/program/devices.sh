# SPDX-License-Identifier: MIT
# devices: there is always a list to explain; and how many threads this process gets.
. "$(dirname "$0")/common.sh"
"$PFLD" devices --json >plain.json
need "the first device" "$("$JSON_GET" plain.json devices 0 name)" cpu
need "the variable" "$("$JSON_GET" plain.json environment CUDA_VISIBLE_DEVICES)" null
CUDA_VISIBLE_DEVICES=-1 PFLD_VISIBLE_DEVICES= "$PFLD" devices --json >masked.json
need "the first device" "$("$JSON_GET" masked.json devices 0 name)" cpu
need "the variable" "$("$JSON_GET" masked.json environment CUDA_VISIBLE_DEVICES)" -1
need "the empty variable" "$("$JSON_GET" masked.json environment PFLD_VISIBLE_DEVICES)" ""
grep -q 'CUDA_VISIBLE_DEVICES is' masked.json || fail "no note on what masks"
CUDA_VISIBLE_DEVICES=-1 "$PFLD" devices | grep -q 'CUDA_VISIBLE_DEVICES is "-1"' || fail "the text does not say what masks"
if command -v taskset >out.txt && taskset -c 0 true 2>err.txt; then
	taskset -c 0 "$PFLD" devices --json >one.json
	need "threads on one CPU" "$("$JSON_GET" one.json threads)" 1
fi
"$PFLD" memory --width 0.25 --batch_size 4 --json >plan.json
sum=0
for class in parameters gradients optimizer activations workspace batch other; do
	sum=$((sum + $("$JSON_GET" plan.json by_class $class)))
done
need "the sum of the classes" $sum "$("$JSON_GET" plan.json planned_peak_bytes)"
"$PFLD" memory --width 0.25 --batch_size 4 --json --all >all.json
need "tensors" "$("$JSON_GET" all.json tensors '#')" "$("$JSON_GET" plan.json num_tensors)"
"$PFLD" memory --mode infer --width 0.25 --batch_size 1 | grep -q '^peak ' || fail "no table"
"$PFLD" --version | grep -q '^pfld [0-9]' || fail "no version"
"$PFLD" --help | grep -q '^  train ' || fail "no commands"
for command in train eval predict prepare info devices memory; do
	"$PFLD" $command --help | grep -q '^Examples:' || fail "$command --help has no examples"
done
