#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles by itself, twice in one file, as C11 and as C++11 and C++17, without a warning.
#   check_headers.sh SOURCE_ROOT COMPILER...      ("c:gcc" or "c++:g++")
set -eu
cd "$1"
shift
failed=0 num=0
for compiler; do
	language=${compiler%%:*} program=${compiler#*:}
	case $language in
	c) standards="c11" ;;
	*) standards="c++11 c++17" ;;
	esac
	for header in include/pfld/*.h; do
		name=${header#include/}
		for standard in $standards; do
			num=$((num + 1))
			printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
				$program -std="$standard" -x "$language" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude - || {
				echo "$name does not stand alone as $standard with $program"
				failed=1
			}
		done
	done
done
echo "$num compilations of single headers"
[ "$failed" = 0 ] && [ "$num" -gt 0 ]
