#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds libpfld and runs its tests; installs what they need first (Debian, Ubuntu). See usage() below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. .ci/packages.sh

usage() {
	cat <<'END'
usage: ./test.sh [--all] [SUITE...]

Builds in build-test/ and runs all suites, or those named, each with the time that it may take on two cores. The last
line counts what passed, failed and was skipped; the exit status is 0 when nothing failed. Tests on real pictures and
faces skip where ../shared/data is absent; with CI set, no other test may skip.

  --all     also: everything with clang; everything under AddressSanitizer and UndefinedBehaviorSanitizer; the thread
            pool and the loader under ThreadSanitizer
END
}

# Seconds that a suite may take on two cores.
budget() {
	case $1 in
	base) echo 40 ;;
	io) echo 20 ;;
	device) echo 60 ;;
	ops) echo 60 ;;
	net) echo 120 ;;
	models) echo 90 ;;
	train) echo 60 ;;
	data) echo 120 ;;
	house) echo 90 ;;
	install) echo 120 ;;
	examples) echo 30 ;;
	*) echo 120 ;;
	esac
}

all=no suites=()
for argument; do
	case $argument in
	-h | --help) usage && exit 0 ;;
	--all) all=yes ;;
	-*) usage >&2 && exit 2 ;;
	*) suites+=("$argument") ;;
	esac
done

passed=0 failed=0 skipped=0
finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}

give_up() { # TEXT: the build failed
	echo "$1"
	failed=$((failed + 1))
	finish
}

# build FOLDER OPTION...: configure once, then compile.
build() {
	local folder=$1 start=$SECONDS said
	shift
	echo "building $folder"
	if [ ! -e "$folder/build.ninja" ]; then
		said=$(meson setup "$folder" "$@" 2>&1) || give_up "$said"
	fi
	said=$(ninja -C "$folder" 2>&1) || give_up "$(echo "$said" | grep -E -A12 '^FAILED|error:' | head -60)"
	echo "$said" | grep 'warning:' || true
	echo "built in $((SECONDS - start)) s"
}

# run FOLDER NAME LIMIT TIMEOUT_FACTOR MESON_ARGUMENT...: the tests chosen by the arguments, counted.
run() {
	local folder=$1 name=$2 limit=$3 factor=$4 start=$SECONDS counts took
	shift 4
	echo "suite $name, budget $limit s"
	rm -f "$folder/meson-logs/log-$name.json"
	meson test -C "$folder" --no-rebuild --print-errorlogs --timeout-multiplier "$factor" --logbase "log-$name" "$@" \
		>"$folder/output-$name.txt" 2>&1 </dev/null || grep -vE '^(ninja|Ok:|Expected Fail|Unexpected|$)' "$folder/output-$name.txt" || true
	counts=$(python3 tests/tally.py "$folder" "log-$name") || true
	took=$((SECONDS - start))
	echo "$counts" | sed '$d'
	read -r p f s < <(echo "$counts" | tail -1)
	passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
	echo "suite $name: $p passed, $f failed, $s skipped in $took s$([ "$took" -le "$limit" ] || echo ' (over its budget)')"
}

run_suites() { # FOLDER TIMEOUT_FACTOR [SUITE...]
	local folder=$1 factor=$2 suite
	shift 2
	local known=$(python3 tests/tally.py "$folder" --suites)
	[ $# -gt 0 ] || set -- $known
	for suite; do
		if ! grep -qx "$suite" <<<"$known"; then
			echo "there is no suite $suite; there are:" $known
			failed=$((failed + 1))
			finish
		fi
		run "$folder" "$suite" $(($(budget "$suite") * (factor > 2 ? factor : 1))) "$factor" --suite "libpfld:$suite"
	done
}

need cc c++ meson ninja pkg-config libpng libjpeg jansson expat hdf5 check locales OpenCL pocl
[ "$all" = no ] || need clang
# Asserts stay on: tests are to find what they find.
build build-test --buildtype release -Db_ndebug=false
run_suites build-test 2 "${suites[@]}"
if [ "$all" = yes ]; then
	CC=clang CXX=c++ build build-test-clang --buildtype release -Db_ndebug=false
	run_suites build-test-clang 2 "${suites[@]}"
	build build-test-asan --buildtype debugoptimized -Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=undefined
	export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
	run_suites build-test-asan 8 "${suites[@]}"
	build build-test-tsan --buildtype debugoptimized -Db_sanitize=thread -Dexamples=false -Dbench=false
	run build-test-tsan tsan 300 8 thread loader
fi
finish
