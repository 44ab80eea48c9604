# SPDX-License-Identifier: MIT
# Command lines of the originals, recipes, and the events of --json.
. "$(dirname "$0")/common.sh"
make_faces train 24 train
make_faces test 6 test

# The TensorFlow trainer's own options.
"$PFLD" train --file_list train/list.txt --test_list test/list.txt --batch_size 8 --image_size 32 --max_epoch 3 \
	--model_dir m --lr_epoch 1,2 --learning_rate 0.001 --weight_decay 5e-5 --level L5 --image_channels 3 \
	--save_image_example --debug True --seed 7 --width 0.25 >out.txt 2>err.txt
need warnings "$(cat err.txt)" "pfld train: warning: --level, --image_channels, --save_image_example: without effect here"
need "rates" "$(cut -d, -f8 m/log.csv | tr '\n' ' ')" "learning_rate 0.001 0.0001 1e-05 "
need "batch_size in run.json" "$("$JSON_GET" m/run.json options batch_size)" 8
need "schedule in run.json" "$("$JSON_GET" m/run.json options schedule)" steps
grep -q "^best: epoch " out.txt || fail "the best epoch is not told: $(cat out.txt)"
[ -s m/report.html ] || fail "no report"

# A run on from a folder takes the next epoch and keeps the log; a file starts at the first.
"$PFLD" train --file_list train/list.txt --test_list test/list.txt --batch_size 8 --image_size 32 --width 0.25 \
	--max_epoch 5 --model_dir m --pretrained_model m --quiet
need "epochs" "$(cut -d, -f1 m/log.csv | tr '\n' ' ')" "epoch 1 2 3 4 5 "
refused 1 'has trained 5 epochs already' "$PFLD" train $SMALL --file_list train/list.txt --max_epoch 5 --model_dir n \
	--pretrained_model m
"$PFLD" train $SMALL --file_list train/list.txt --max_epoch 1 --model_dir n --pretrained_model m/best.safetensors
need "epochs" "$(cut -d, -f1 n/log.csv | tr '\n' ' ')" "epoch 1 "

# Recipes set what is not given.
"$PFLD" train --recipe tf --file_list train/list.txt --image_size 32 --width 0.25 --batch_size 8 --max_epoch 1 --quiet \
	--model_dir tf
for pair in preset:tf loss:pfld_compat schedule:steps scaling:256 channels:rgb weight_decay:5e-05 learning_rate:0.001 \
	batch_size:8; do
	need "${pair%%:*} of the tf recipe" "$("$JSON_GET" tf/run.json options "${pair%%:*}")" "${pair#*:}"
done
"$PFLD" train --recipe pt --file_list train/list.txt --test_list test/list.txt --image_size 32 --width 0.25 --max_epoch 2 \
	--batch-size 8 --loss wing --quiet --model_dir pt
for pair in preset:pt loss:wing schedule:plateau scaling:255 channels:bgr weight_decay:1e-06 learning_rate:0.0001 \
	lr_patience:40; do
	need "${pair%%:*} of the pt recipe" "$("$JSON_GET" pt/run.json options "${pair%%:*}")" "${pair#*:}"
done
"$PFLD" eval --model pt --file_list test/list.txt --json >eval.json
need "NME by eval" "$("$JSON_GET" eval.json nme | cut -c1-10)" "$("$JSON_GET" pt/run.json best | cut -c1-10)"

# --debug True runs ten batches, --drop_last whole batches only; a batch of one is left out and told.
"$PFLD" train --file_list train/list.txt --image_size 32 --width 0.25 --batch_size 2 --debug True --max_epoch 1 \
	--model_dir debug --quiet
need "steps" "$("$JSON_GET" debug/run.json steps)" 10
head -17 train/list.txt >train/odd.txt
"$PFLD" train $SMALL --file_list train/odd.txt --max_epoch 2 --model_dir odd
need "steps" "$("$JSON_GET" odd/run.json steps)" 6
"$PFLD" train $SMALL --file_list train/odd.txt --max_epoch 2 --drop_last --model_dir whole
need "steps of whole batches" "$("$JSON_GET" whole/run.json steps)" 4
head -1 train/list.txt >train/one.txt
refused 1 'nothing to train on' "$PFLD" train $SMALL --file_list train/one.txt --max_epoch 2 --model_dir one
grep -q 'warning: .*holds one face' err.txt || fail "a batch of one is not told"

# Events.
"$PFLD" train --width 0.25 --image_size 32 --batch_size 8 --file_list train/list.txt --test_list test/list.txt \
	--max_epoch 2 --test_initial --json --model_dir events >events.txt
number=0
while read -r line; do
	number=$((number + 1))
	printf '%s\n' "$line" >event.json
	"$JSON_GET" event.json event >>names.txt || fail "event $number is not JSON: $line"
done <events.txt
need events "$(grep -v progress names.txt | tr '\n' ' ')" "initial epoch epoch end "
"$JSON_GET" events/run.json initial_nme >out.txt || fail "run.json does not tell the NME before training"

# A trace: an array of events, of whole ops, whose times do not overlap within a program.
"$PFLD" train $SMALL --file_list train/list.txt --test_list test/list.txt --max_epoch 1 --model_dir traced --trace trace.json
need "unit of the trace" "$("$JSON_GET" trace.json displayTimeUnit)" ms
grep -q '"name": "conv2d conv1", "cat": "train", "ph": "X"' trace.json || fail "no op in the trace"
grep -q '"cat": "infer"' trace.json || fail "no test in the trace"
grep -q '"args": {"live_bytes": [1-9]' trace.json || fail "no memory in the trace"
refused 1 'cannot be written' "$PFLD" train $SMALL --file_list train/list.txt --model_dir n --trace absent/trace.json
