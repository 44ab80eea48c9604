# SPDX-License-Identifier: MIT
# What the shell tests of the program share. Each is run as: sh NAME.sh PFLD JSON_GET; works in a folder of its own, which
# is removed at the end. Plain sh and the usual tools; no python, no jq.
set -eu
PFLD=$(realpath "$1")
JSON_GET=$(realpath "$2")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/pfld-test-XXXXXX")
trap 'status=$?; cd /; rm -rf "$WORK"; exit $status' EXIT
cd "$WORK"
# A small net on small faces.
SMALL="--width 0.25 --image_size 32 --batch_size 8 --quiet"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# need NAME VALUE WANTED
need() {
	[ "$2" = "$3" ] || fail "$1 is $2, expected $3"
}

# refused CODE PATTERN COMMAND...: ends with that code and one line on stderr that matches, not counting warnings.
refused() {
	code=$1
	pattern=$2
	shift 2
	status=0
	"$@" >out.txt 2>err.txt || status=$?
	grep -v ': warning: ' err.txt >lines.txt || true
	[ "$status" = "$code" ] || fail "exit code $status instead of $code: $*: $(cat err.txt)"
	[ "$(wc -l <lines.txt)" = 1 ] || fail "not one line: $*: $(cat err.txt)"
	grep -q -- "$pattern" lines.txt || fail "\"$(cat lines.txt)\" does not match \"$pattern\": $*"
}

sha_of() {
	"$JSON_GET" "$1/run.json" weights_sha256
}

# What must be equal in two runs: the weights and the epochs, times apart.
same_run() {
	need "weights_sha256 of $2" "$(sha_of "$2")" "$(sha_of "$1")"
	cut -d, -f1-8 "$1/log.csv" >a.csv
	cut -d, -f1-8 "$2/log.csv" >b.csv
	cmp -s a.csv b.csv || fail "the epochs of $1 and $2 differ: $(diff a.csv b.csv)"
}

# A prepared list of N small faces in DIR: built-in faces cost more to draw than to train on.
make_faces() {
	"$PFLD" prepare --file_list "builtin:$3:$2" --out "$1" --image_size 32 --quiet
}
