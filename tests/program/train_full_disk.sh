# SPDX-License-Identifier: MIT
# No room for a checkpoint, by a limit on file sizes and, where this user may mount, on a small file system: one line with
# the reason, and the old checkpoint whole.
. "$(dirname "$0")/common.sh"
make_faces faces 16 train
run="$SMALL --max_epoch 2 --file_list faces/list.txt"
"$PFLD" train $run --model_dir m --stop_epoch 1
before=$(cksum <m/last.safetensors)
limited() {
	(ulimit -f 400 && "$@")
}
refused 1 'm/.*safetensors.*: File too large' limited "$PFLD" train --resume --model_dir m --quiet
need "checksum after the limit" "$(cksum <m/last.safetensors)" "$before"
[ -z "$(find m -newer m/log.csv -name '.*' -o -name '*.tmp*')" ] || fail "left behind: $(ls -a m)"
"$PFLD" info m/last.safetensors >out.txt

cat >on_small_disk.sh <<'END'
mount -t tmpfs -o size=1600k none small || exit 99
cp m/last.safetensors m/run.json small/
status=0
"$1" train --resume --model_dir small --quiet 2>err.txt || status=$?
cksum <small/last.safetensors >after.txt
ls -a small >files.txt
exit $status
END
mkdir small
status=0
unshare -rm sh on_small_disk.sh "$PFLD" 2>unshare.txt || status=$?
if [ $status = 99 ] || grep -q unshare unshare.txt; then
	echo "no small file system here: $(cat unshare.txt)"
	exit 0
fi
need "exit code on a full disk" $status 1
grep -q 'No space left on device' err.txt || fail "the reason is missing: $(cat err.txt)"
need "lines" "$(wc -l <err.txt)" 1
need "checksum after the full disk" "$(cat after.txt)" "$before"
