# SPDX-License-Identifier: MIT
# Wrong input: one clear line, an exit code that says whose fault it is, and the earlier checkpoint untouched.
. "$(dirname "$0")/common.sh"
make_faces faces 16 train
run="$SMALL --max_epoch 1 --model_dir m"
"$PFLD" train $run --file_list faces/list.txt
before=$(cksum <m/last.safetensors)

refused 1 'cannot open the list "absent.txt"' "$PFLD" train $run --file_list absent.txt
: >empty.txt
refused 1 'no faces' "$PFLD" train $run --file_list empty.txt
refused 1 'absent.txt' "$PFLD" train $run --file_list faces/list.txt --test_list absent.txt
refused 2 'file_list is missing; --file_list builtin:train' "$PFLD" train $run
refused 2 'unknown option --bach-size; did you mean --batch_size' "$PFLD" train $run --file_list faces/list.txt --bach-size 3
refused 2 'unknown option --qqqqqqqqq' "$PFLD" train $run --file_list faces/list.txt --qqqqqqqqq 3
refused 2 'batch_size: a whole number in 1..65536 is expected, got "x"' "$PFLD" train $run --batch_size x
refused 2 'max_epoch needs a value' "$PFLD" train $run --max_epoch
refused 2 'schedule: one of' "$PFLD" train $run --schedule cosin
refused 2 'lr_epoch' "$PFLD" train $run --file_list faces/list.txt --schedule steps
refused 2 'ascend' "$PFLD" train $run --file_list faces/list.txt --lr_epoch 20,10
refused 2 'multiple of 16' "$PFLD" train $run --file_list faces/list.txt --image_size 100
refused 2 'batch norm' "$PFLD" train $run --file_list faces/list.txt --batch_size 1
refused 2 '"stray" is not expected' "$PFLD" train $run --file_list faces/list.txt stray
refused 2 'no command "trian"' "$PFLD" trian
refused 1 '68' "$PFLD" train $run --file_list faces/list.txt --points 68
refused 1 'point 98 of 98' "$PFLD" train $run --file_list faces/list.txt --nme_points 0,98
refused 1 'opencl:9' "$PFLD" train $run --file_list faces/list.txt --device opencl:9
refused 1 'mmx' "$PFLD" train $run --file_list faces/list.txt --cpu_level mmx
refused 1 'absent.safetensors' "$PFLD" train $run --file_list faces/list.txt --pretrained_model absent.safetensors
refused 1 'empty.txt' "$PFLD" train $run --file_list faces/list.txt --pretrained_model empty.txt
refused 1 'absent_map' "$PFLD" train $run --file_list faces/list.txt --mirror_map absent_map

# A folder that cannot be made; one that cannot be written to (root may write anywhere).
refused 1 'cannot be written to: Not a directory' "$PFLD" train $run --file_list faces/list.txt --model_dir empty.txt/m
mkdir locked
chmod 555 locked
if [ "$(id -u)" != 0 ]; then
	refused 1 'locked cannot be written to: Permission denied' "$PFLD" train $run --file_list faces/list.txt --model_dir locked
fi

# Rows: one bad one costs a warning; too many stop the run; a row one token short is told with the counts.
sed '3s/ [^ ]*$//; 5s/^[^ ]* //' faces/list.txt >faces/bad.txt
refused 1 'faces/bad.txt:[35]' "$PFLD" train $run --file_list faces/bad.txt --max_bad 0.05
"$PFLD" train $SMALL --max_epoch 1 --model_dir other --file_list faces/bad.txt --max_bad 0.2 2>err.txt
grep -q 'warning: .*2 of 16 rows left out' err.txt || fail "bad rows are not told: $(cat err.txt)"
need "rows skipped" "$("$JSON_GET" other/run.json skipped '#')" 2
grep -q 'bad.txt' other/run.json || fail "run.json does not name the list"

# Images: the same.
image=$(sed -n 2p faces/list.txt | cut -d' ' -f1)
[ -f "$image" ] || image=faces/$image
echo "<html>" >"$image"
refused 1 'HTML' "$PFLD" train $run --file_list faces/list.txt --max_bad 0.01
"$PFLD" train $SMALL --max_epoch 1 --model_dir other --file_list faces/list.txt 2>err.txt
need "images skipped" "$("$JSON_GET" other/run.json skipped '#')" 1
"$JSON_GET" other/run.json skipped 0 reason | grep -q HTML || fail "the reason is not kept"

# Attributes are what pfld weighs by.
cut -d' ' -f1-197 faces/list.txt >faces/bare.txt
refused 1 'needs attributes.*--loss wing' "$PFLD" train $run --file_list faces/bare.txt --loss pfld

# eval, predict, info, memory
refused 2 'model is missing' "$PFLD" eval --file_list faces/list.txt
refused 2 'file_list is missing' "$PFLD" eval --model m
refused 1 'absent' "$PFLD" eval --model absent --file_list faces/list.txt
refused 1 'empty.txt' "$PFLD" eval --model empty.txt --file_list faces/list.txt
refused 2 'no images' "$PFLD" predict --model m
refused 2 'X0 < X1' "$PFLD" predict --model m --box 5,5,1,9 x.png
refused 1 'absent.png' "$PFLD" predict --model m absent.png
refused 2 'FILE is missing' "$PFLD" info
refused 1 'absent' "$PFLD" info absent
refused 2 'out is missing' "$PFLD" prepare --file_list faces/list.txt
refused 1 'multiple of 16' "$PFLD" memory --image_size 100

need "the earlier checkpoint's checksum" "$(cksum <m/last.safetensors)" "$before"
[ -z "$(find . -name '*.tmp*')" ] || fail "left behind: $(find . -name '*.tmp*')"
