# SPDX-License-Identifier: MIT
# From faces to crops and lists, to a model, to measures and points: the parts agree with each other.
. "$(dirname "$0")/common.sh"
"$PFLD" prepare --file_list builtin:test:12 --out plain --image_size 32 --json >out.json
need "faces" "$("$JSON_GET" out.json faces)" 12
need "rows" "$(wc -l <plain/list.txt)" 12
need "tokens in a row" "$(awk '{print NF}' plain/list.txt | sort -u)" 206
need "images" "$(ls plain/imgs | wc -l)" 12
"$PFLD" prepare --file_list builtin:test:4 --out copies --copies 3 --image_size 32 --quiet
need "rows of 3 copies" "$(wc -l <copies/list.txt)" 12
cksum copies/list.txt copies/imgs/* >first.txt
"$PFLD" prepare --file_list builtin:test:4 --out copies --copies 3 --image_size 32 --quiet
cksum copies/list.txt copies/imgs/* >second.txt
cmp -s first.txt second.txt || fail "a second run wrote other crops"

"$PFLD" train $SMALL --file_list copies/list.txt --max_epoch 2 --model_dir m
for batch in 1 5 12; do "$PFLD" eval --model m --file_list plain/list.txt --batch_size $batch --json >"eval$batch.json"; done
cmp eval1.json eval5.json || fail "the answer depends on the batch size"
cmp eval1.json eval12.json || fail "the answer depends on the batch size"
for key in nme nme_median failure_rate auc images; do
	"$JSON_GET" eval1.json $key >out.txt || fail "eval does not print $key"
done
for subset in pose expression illumination makeup occlusion blur; do
	"$JSON_GET" eval1.json subsets $subset images >out.txt || fail "eval does not print subset $subset"
done
"$PFLD" eval --model m/best.safetensors --file_list plain/list.txt | grep -q '^all  *12 ' || fail "no table"

# The faces themselves and their crops measure alike: within 2 %.
"$PFLD" eval --model m --file_list builtin:test:12 --json >raw.json
echo "$("$JSON_GET" raw.json nme) $("$JSON_GET" eval1.json nme)" | awk '{d = $1 - $2; if (d < 0) d = -d; exit !(d < 0.02 * $1)}' ||
	fail "NME of faces and of their crops: $("$JSON_GET" raw.json nme) and $("$JSON_GET" eval1.json nme)"

# predict: on a list, on images, with a box, without.
"$PFLD" predict --model m --file_list builtin:test:3 --out points >names.txt
need "pictures named" "$(wc -l <names.txt)" 3
need "files" "$(ls points | wc -l)" 9
need "points in a .pts" "$(grep -c '^[-0-9.]* [-0-9.]*$' points/0_builtin_test_0.pts)" 98
"$JSON_GET" points/0_builtin_test_0.json points 97 >out.txt || fail "98 points are expected"
mkdir images
cp "plain/imgs/$(ls plain/imgs | head -1)" images/a.png
cp images/a.png images/b.PNG
"$PFLD" predict --model m images >folder.json 2>err.txt
need "results" "$("$JSON_GET" folder.json '#')" 2
grep -q "centred square" err.txt || fail "the square is not told"
"$PFLD" predict --model m --box 0,0,31,31 images/a.png images/b.PNG --out both --quiet
need "files" "$(ls both | tr '\n' ' ')" "a.json a.png a.pts b.json b.png b.pts "
cmp -s both/a.pts both/b.pts || fail "equal images gave other points"
"$PFLD" predict --model m images/a.png images/absent.png >part.json 2>err.txt && fail "a missing image is no success"
need "results beside a missing image" "$("$JSON_GET" part.json '#')" 1
