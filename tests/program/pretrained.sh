# SPDX-License-Identifier: MIT
# Weights for 98 points start a net for 68: all but the last layer. Other differences are refused by name.
. "$(dirname "$0")/common.sh"
make_faces faces 16 train
"$PFLD" train $SMALL --file_list faces/list.txt --max_epoch 1 --model_dir m98 --loss pfld

# The same pictures with the first 68 of their points, as 300W has them: .pts files, counted from 1.
mkdir faces68
while read -r image rest; do
	[ -f "$image" ] || image=faces/$image
	name=$(basename "$image" .png)
	cp "$image" "faces68/$name.png"
	echo "$rest" | awk '{
		print "version: 1\nn_points: 68\n{"
		for (i = 0; i < 68; i++) printf "%.4f %.4f\n", $(2 * i + 1) * 32 + 0.5, $(2 * i + 2) * 32 + 0.5
		print "}"
	}' >"faces68/$name.pts"
done <faces/list.txt
"$PFLD" train --width 0.25 --image_size 32 --batch_size 8 --file_list faces68 --max_epoch 1 --model_dir m68 \
	--pretrained_model m98/last.safetensors >out.txt
grep -q "all but the last layer, as it has 98 points and this run 68" out.txt || fail "not told: $(cat out.txt)"
need "points" "$("$JSON_GET" m68/run.json num_points)" 68
refused 1 'faces68' "$PFLD" eval --model m98 --file_list faces68
"$PFLD" eval --model m68 --file_list faces68 >out.txt

# From a net without the angle net to one with it, and back.
"$PFLD" train --width 0.25 --image_size 32 --batch_size 8 --file_list faces/list.txt --max_epoch 1 --model_dir wing \
	--pretrained_model m98/last.safetensors >out.txt
"$PFLD" train --width 0.25 --image_size 32 --batch_size 8 --file_list faces/list.txt --max_epoch 1 --model_dir again \
	--loss pfld --pretrained_model wing/best.safetensors >out.txt
grep -q "the angle net is not in it" out.txt || fail "the fresh angle net is not told: $(cat out.txt)"

refused 1 'width 0.25, this run of 0.5' "$PFLD" train --width 0.5 --image_size 32 --batch_size 8 --quiet --max_epoch 1 \
	--file_list faces/list.txt --model_dir x --pretrained_model m98/last.safetensors
refused 1 'preset paper, this run of pt' "$PFLD" train $SMALL --preset pt --max_epoch 1 --file_list faces/list.txt \
	--model_dir x --pretrained_model m98/last.safetensors
refused 1 'pooled head' "$PFLD" train $SMALL --flatten_head --max_epoch 1 --file_list faces/list.txt --model_dir x \
	--pretrained_model m98/last.safetensors
