# SPDX-License-Identifier: MIT
# info: images by content and whole, models to the last layer, and hostile files refused with a reason, at once.
. "$(dirname "$0")/common.sh"
make_faces faces 8 train
image=$(ls faces/imgs | head -1)
cp "faces/imgs/$image" named.jpg
"$PFLD" info named.jpg --json >info.json
need format "$("$JSON_GET" info.json format)" PNG
need width "$("$JSON_GET" info.json width)" 32
need orientation "$("$JSON_GET" info.json orientation)" 1
"$PFLD" info "faces/imgs/$image" | grep -q "pixels_sha256 $("$JSON_GET" info.json pixels_sha256)" || fail "not the same pixels"
printf '<!doctype html><html></html>' >page.jpg
refused 1 'page.jpg.*HTML' "$PFLD" info page.jpg
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >pointer.png
refused 1 'pointer.png' "$PFLD" info pointer.png
head -c 200 named.jpg >cut.png
refused 1 'cut.png' "$PFLD" info cut.png
: >empty.png
refused 1 'empty.png' "$PFLD" info empty.png
# 65537 x 65536 pixels in 46 bytes: refused by its header.
printf '\211PNG\r\n\032\n\0\0\0\015IHDR\0\001\0\001\0\001\0\0\010\002\0\0\0\0\0\0\0' >huge.png
refused 1 '65537.*65536' "$PFLD" info huge.png

"$PFLD" train --width 0.25 --batch_size 4 --max_epoch 1 --quiet --file_list faces/list.txt --model_dir m
"$PFLD" info m/best.safetensors --json >model.json
need "parameters of paper at 0.25" "$("$JSON_GET" model.json parameters)" 94412
need "tensors" "$("$JSON_GET" model.json metadata preset)" paper
need "kind" "$("$JSON_GET" model.json kind)" model
"$PFLD" info m | grep -q '^conv1 .*conv2d' || fail "no layers"

# Image classifiers by name.
"$PFLD" info mobilenet_v2 --alpha 0.35 --json >named.json
need "parameters of MobileNetV2 0.35" "$("$JSON_GET" named.json parameters)" 1677128
need "statistics" "$("$JSON_GET" named.json statistics)" 14080
need "preprocessing" "$("$JSON_GET" named.json metadata preprocessing)" tf
"$PFLD" info vgg16 | grep -q '^block5_conv3 .*conv2d' || fail "no layers of vgg16"
refused 1 'xception is 64 x 64' "$PFLD" info xception --image_size 64
refused 2 'image classifier' "$PFLD" info named.jpg --alpha 0.5

# Pickled weights are not opened, whatever they are called.
printf '\200\002\212\nl\374\234F\371 j\250P\031.' >weights.pth
refused 1 'weights.pth.*pickled.*safetensors' "$PFLD" info weights.pth
cp weights.pth weights.safetensors
refused 1 'weights.safetensors' "$PFLD" info weights.safetensors

# Damaged and hostile headers.
file=m/best.safetensors
size=$(wc -c <$file)
head -c $((size - 1)) $file >short.safetensors
head -c 100 $file >head.safetensors
printf '\377\377\377\377\377\377\377\177{}' >length.safetensors
printf '\002\0\0\0\0\0\0\0[]' >list.safetensors
printf '\002\0\0\0\0\0\0\0{}tail' >tail.safetensors
header='{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}'
{
	printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0"
	printf '%s0000' "$header"
} >shape.safetensors
for name in short head length list tail shape; do refused 1 "$name.safetensors" "$PFLD" info $name.safetensors; done

# Offsets above 4 GiB, in a sparse file.
header='{"pad":{"dtype":"U8","shape":[5368709120],"data_offsets":[0,5368709120]},"tail":{"dtype":"F32","shape":[2],"data_offsets":[5368709120,5368709128]}}'
{
	printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0"
	printf '%s' "$header"
} >big.safetensors
if truncate -s $((8 + ${#header} + 5368709128)) big.safetensors 2>err.txt; then
	"$PFLD" info big.safetensors --json >big.json
	need "the tail's bytes" "$("$JSON_GET" big.json tensors 1 bytes)" 8
fi
