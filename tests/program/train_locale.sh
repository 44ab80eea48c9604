# SPDX-License-Identifier: MIT
# A decimal comma in the environment changes no byte of what is read or written.
. "$(dirname "$0")/common.sh"
mkdir locales
localedef -i de_DE -f UTF-8 "$WORK/locales/de_DE.UTF-8" >out.txt 2>&1 || {
	echo "no locale with a decimal comma can be made here"
	exit 77
}
export LOCPATH="$WORK/locales"
for locale in C de_DE.UTF-8; do
	mkdir "$locale"
	cd "$locale"
	LC_ALL=$locale make_faces faces 12 train
	LC_ALL=$locale "$PFLD" train $SMALL --file_list faces/list.txt --test_list faces/list.txt --max_epoch 2 --model_dir m \
		--learning_rate 1.5e-3
	LC_ALL=$locale "$PFLD" eval --model m --file_list faces/list.txt --json >eval.json
	LC_ALL=$locale "$PFLD" predict --model m --file_list faces/list.txt --out points --quiet
	cut -d, -f1-8 m/log.csv >rows.csv
	cd ..
done
for file in faces/list.txt m/last.safetensors m/best.safetensors rows.csv eval.json; do
	cmp "C/$file" "de_DE.UTF-8/$file" || fail "$file differs by locale"
done
diff -r C/points de_DE.UTF-8/points || fail "points differ by locale"
"$JSON_GET" de_DE.UTF-8/m/run.json options learning_rate | grep -q '^0.0015$' || fail "the rate was misread"
