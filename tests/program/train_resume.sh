# SPDX-License-Identifier: MIT
# A run that was killed, interrupted or stopped, and resumed, ends with the bits of one that was not: with a broken image
# among the faces, batches that wait for the optimizer, a plateau, and measuring every second epoch.
. "$(dirname "$0")/common.sh"
make_faces train 48 train
make_faces test 6 test
broken=$(sed -n 7p train/list.txt | cut -d' ' -f1)
[ -f "$broken" ] || broken=train/$broken
head -c 300 "$broken" >cut.png
mv cut.png "$broken"
run="$SMALL --file_list train/list.txt --test_list test/list.txt --max_epoch 4 --accumulate 3 --schedule plateau
	--lr_patience 1 --optimizer sgd --learning_rate 1e-5 --validation_freq 2"
"$PFLD" train $run --model_dir whole 2>whole.txt
need "epochs of whole" "$("$JSON_GET" whole/run.json epochs '#')" 4
need "files skipped in whole" "$("$JSON_GET" whole/run.json skipped '#')" 1

# Killed without warning, again and again, a little later each time.
"$PFLD" train $run --model_dir killed 2>log.txt &
for delay in 0.3 0.6 0.5; do
	sleep $delay
	kill -9 $! 2>/dev/null || true
	wait $! 2>/dev/null || true
	[ -f killed/last.safetensors ] || "$PFLD" train $run --model_dir killed --stop_epoch 1 2>log.txt
	"$PFLD" train --resume --model_dir killed --quiet 2>log.txt &
done
wait $! || fail "resuming after kill: $(cat log.txt)"
same_run whole killed

# Interrupted, which saves in mid-epoch.
interrupted=0
"$PFLD" train $run --model_dir stopped 2>log.txt &
for delay in 0.5 0.4 0.6; do
	sleep $delay
	kill -INT $! 2>/dev/null || true
	status=0
	wait $! || status=$?
	case $status in
	0) ;;
	130)
		grep -q -- "--resume --model_dir stopped" log.txt || fail "nothing says how to resume: $(cat log.txt)"
		interrupted=$((interrupted + 1))
		;;
	*) fail "interrupted with exit code $status: $(cat log.txt)" ;;
	esac
	"$PFLD" train --resume --model_dir stopped --quiet 2>log.txt &
done
wait $! || fail "resuming after an interrupt: $(cat log.txt)"
same_run whole stopped
echo "interrupted $interrupted times"

# Stopped at chosen epochs: one header, each epoch once, as many columns in each row.
"$PFLD" train $run --model_dir steps --stop_epoch 1 2>log.txt
for epoch in 2 3; do "$PFLD" train --resume --model_dir steps --stop_epoch $epoch --quiet 2>log.txt; done
"$PFLD" train --resume --model_dir steps --quiet 2>log.txt
same_run whole steps
need "columns of log.csv" "$(awk -F, '{print NF}' steps/log.csv | sort -u)" 14
need "epochs of log.csv" "$(cut -d, -f1 steps/log.csv | tr '\n' ' ')" "epoch 1 2 3 4 "
cmp -s whole/best.safetensors steps/best.safetensors || fail "the best of a resumed run is another"

# What cannot be resumed is refused by name, and a finished run has nothing to do.
refused 1 "batch_size is 4, was 8; --seed is 3, was 666" "$PFLD" train --resume --model_dir whole --batch_size 4 --seed 3
refused 1 "there is no absent/last.safetensors" "$PFLD" train --resume --model_dir absent
"$PFLD" train --resume --model_dir whole >out.txt
grep -q "nothing to do" out.txt || fail "a finished run went on"
cmp -s whole/best.safetensors steps/best.safetensors || fail "resuming a finished run changed it"
