# SPDX-License-Identifier: MIT
# Memory policies and budgets of training, and the page that tells why something does not fit.
. "$(dirname "$0")/common.sh"
make_faces train 24 train
base="--file_list train/list.txt --batch_size 8 --image_size 32 --width 0.25 --max_epoch 2 --quiet"

"$PFLD" train $base --model_dir free
sha=$("$JSON_GET" free/run.json weights_sha256)
peak=$("$JSON_GET" free/run.json planned_peak_bytes)
need "measured peak" "$("$JSON_GET" free/run.json measured_peak_bytes)" "$peak"
# The same result under every policy, and under the smallest budget.
smallest=$("$PFLD" memory --points 98 --batch_size 8 --image_size 32 --width 0.25 --json >plan.json && "$JSON_GET" plan.json smallest_budget_bytes)
for policy in "--allow_growth" "--memory_fraction 0.1" "--memory_fraction 0.1 --allow_growth" "--memory_limit $peak" \
	"--memory_budget $smallest"; do
	"$PFLD" train $base --model_dir policy $policy
	need "weights with $policy" "$("$JSON_GET" policy/run.json weights_sha256)" "$sha"
	reserved=$("$JSON_GET" policy/run.json reserved_peak_bytes) taken=$("$JSON_GET" policy/run.json measured_peak_bytes)
	[ "$reserved" -ge "$taken" ] || fail "$policy: $reserved reserved, $taken taken"
	rm -r policy
done

# Too little: one page, non-zero exit, and the run that is there stays as it is. What the page proposes first then runs.
before=$(cat free/last.safetensors | cksum)
for limit in "--memory_limit 3500K" "--memory_budget 1K"; do
	if "$PFLD" train $base --model_dir free $limit 2>page.txt; then fail "$limit is enough"; fi
	grep -q "^out of memory: training needs" page.txt || fail "no page: $(cat page.txt)"
	grep -q "planned peak" page.txt || fail "no plan: $(cat page.txt)"
	need "last.safetensors" "$(cat free/last.safetensors | cksum)" "$before"
	need "lines of the program's own" "$(grep -c '^pfld train: out of memory\|^pfld train: a memory budget' page.txt)" 1
done
if "$PFLD" train $base --model_dir free --memory_limit 3500K 2>page.txt; then fail "3500K are enough"; fi
way=$(sed -n '/what would fit/{n;s/,.*//;p}' page.txt)
case $way in *--batch_size* | *--memory_budget* | *--image_size*) ;; *) fail "no way out: $(cat page.txt)" ;; esac
"$PFLD" train $base --model_dir fits --memory_limit 3500K $way || fail "$way does not fit"

refused 2 'a size such as 440M' "$PFLD" train $base --model_dir n --memory_budget big
refused 2 'a number in 0..1' "$PFLD" train $base --model_dir n --memory_fraction 2

# Inference has its page, too, where the program does not fit and where the weights alone do not.
eval="eval --model free --file_list train/list.txt"
if "$PFLD" $eval --memory_limit 100K 2>page.txt; then fail "100K are enough"; fi
grep -q "^out of memory: this net needs" page.txt || fail "no page: $(cat page.txt)"
if "$PFLD" $eval --memory_limit 1M --batch_size 24 2>page.txt; then fail "1M is enough"; fi
grep -q "bounded by --memory_limit" page.txt || fail "no bound: $(cat page.txt)"
way=$(sed -n '/what would fit/{n;p}' page.txt)
case $way in *--batch_size*) ;; *) fail "no way out: $(cat page.txt)" ;; esac
"$PFLD" $eval --memory_limit 1M $way || fail "$way does not fit"
