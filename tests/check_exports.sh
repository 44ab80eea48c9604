#!/bin/sh
# SPDX-License-Identifier: MIT
# What the shared library exports is what the public headers promise with PFLD_API, and what lib/pfld.map lists.
#   check_exports.sh SOURCE_ROOT SHARED_LIBRARY
set -eu
cd "$1"
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The name before the parenthesis of every declaration that begins with PFLD_API or PFLD_API_STATUS.
for header in include/pfld/*.h; do
	sed -e 's,//.*,,' -e '/^[[:space:]]*#/d' "$header" | tr '\n' ' ' | grep -oE 'PFLD_API(_STATUS)? [^;(]*\(' |
		sed -E 's/^.*[ *]([a-z0-9_]+)\($/\1/'
done | sort -u >"$work/headers"
sed -n 's/^[[:space:]]\(pfld_[a-z0-9_]*\);$/\1/p' lib/pfld.map | sort -u >"$work/list"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/exported"

failed=0
compare() { # FILE FILE WHAT: lines of the first that the second lacks
	missing=$(comm -23 "$1" "$2" | tr '\n' ' ')
	if [ -n "$missing" ]; then
		echo "$3: $missing"
		failed=1
	fi
}
compare "$work/headers" "$work/list" "in a public header, not in lib/pfld.map"
compare "$work/list" "$work/headers" "in lib/pfld.map, in no public header"
compare "$work/headers" "$work/exported" "in a public header, not exported by the library"
compare "$work/exported" "$work/headers" "exported by the library, in no public header"
echo "$(wc -l <"$work/headers") functions in the headers, $(wc -l <"$work/exported") exported"
[ "$failed" = 0 ] && [ -s "$work/headers" ]
