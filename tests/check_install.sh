#!/bin/sh
# SPDX-License-Identifier: MIT
# The installed library from outside: static, shared and both; below DESTDIR and with a blank in the prefix; used by a C
# and a C++ program through pkg-config, moved elsewhere afterwards, and as a Meson subproject.
#   check_install.sh SOURCE_ROOT BUILD_ROOT MESON C_COMPILER [C++_COMPILER]
set -eu
root=$1 built=$2 meson=$3 cc=$4 cxx=${5:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
# Quiet unless it fails.
run() {
	"$@" >"$work/log" 2>&1 || {
		cat "$work/log"
		fail "$*"
	}
}

# ---- users ----
cat >"$work/user.c" <<'END'
#include <pfld/pfld.h>
#include <stdio.h>
int main(void)
{
	struct pfld_error error;
	struct pfld_device *device = NULL;
	struct pfld_dataset *dataset = NULL;
	struct pfld_image image = {0};
	char *value = NULL;
	if (pfld_device_open(&device, "cpu", NULL, &error) != PFLD_OK) return 1;
	pfld_device_close(&device);
	if (pfld_image_read(&image, "absent.png", NULL, NULL, &error) != PFLD_ERR_IO) return 2;
	if (pfld_dataset_open(&dataset, "absent.xml", NULL, &error) != PFLD_ERR_IO) return 3;
	if (pfld_file_metadata("absent.safetensors", "key", &value, &error) != PFLD_ERR_IO) return 4;
	return printf("libpfld %s\n", pfld_version()) > 0 ? 0 : 5;
}
END
sed 's/NULL/nullptr/g; s/= {0}/{}/' "$work/user.c" >"$work/user.cpp"

# ---- a project that has libpfld as a subproject; one compilation, three kinds of library ----
parent="$work/parent"
mkdir -p "$parent/subprojects/libpfld"
for part in meson.build meson_options.txt lib include backends; do cp -R "$root/$part" "$parent/subprojects/libpfld/"; done
cp "$work/user.c" "$parent/"
cat >"$parent/meson.build" <<'END'
project('parent', 'c', version: '7')
test('user', executable('user', 'user.c', dependencies: dependency('libpfld', fallback: 'libpfld'), install: true))
END
build="$work/build of parent"
# (That the file of pkg-config is relocatable is a default of ours that Meson does not take from a subproject.)
run "$meson" setup --prefix "/opt/with blank" -Dpkgconfig.relocatable=true --buildtype plain --warnlevel 0 -Dlibpfld:default_library=static "$build" "$parent"

flags() { env PKG_CONFIG_PATH="$pc" pkg-config "$@" libpfld; }

# Every -l of a line names a file: among its own -L, or the compiler's.
check_names() {
	eval "set -- $1"
	folders=''
	for word; do case $word in -L*) folders="$folders
${word#-L}" ;; esac; done
	for word; do
		case $word in
		-l*)
			name=lib${word#-l} found=no
			for suffix in so a; do [ "$($cc -print-file-name="$name.$suffix")" = "$name.$suffix" ] || found=yes; done
			while read -r folder; do
				if [ -n "$folder" ] && { [ -e "$folder/$name.so" ] || [ -e "$folder/$name.a" ]; }; then found=yes; fi
			done <<END
$folders
END
			[ "$found" = yes ] || fail "$word names no library"
			;;
		-L*) [ -d "${word#-L}" ] || fail "$word is no folder" ;;
		esac
	done
}

use() { # WHAT FLAGS...: build and run both users
	what=$1
	shift
	line=$(flags "$@")
	check_names "$line"
	eval "run $cc -std=c11 -Wall -Werror \"\$work/user.c\" $line -o \"\$work/user_c\""
	run env LD_LIBRARY_PATH="$lib" "$work/user_c"
	if [ -n "$cxx" ]; then
		eval "run $cxx -std=c++11 -Wall -Werror \"\$work/user.cpp\" $line -o \"\$work/user_cpp\""
		run env LD_LIBRARY_PATH="$lib" "$work/user_cpp"
	fi
	echo "$what: used with pkg-config $*"
}

locate() { # TREE: where its parts lie
	pc=$(dirname "$(find "$1" -name libpfld.pc)")
	lib=$(dirname "$pc")
	[ -f "$pc/libpfld.pc" ] || fail "no libpfld.pc in $1"
	for place in "$work" "$root" "$built" "with blank"; do
		if grep -qF "$place" "$pc/libpfld.pc"; then fail "libpfld.pc names $place"; fi
	done
}

for kind in static shared both; do
	run "$meson" configure -Dlibpfld:default_library=$kind "$build"
	run "$meson" compile -C "$build"
	run "$meson" test -C "$build" --no-suite libpfld
	tree="$work/tree of $kind"
	run env DESTDIR="$tree" "$meson" install -C "$build" --no-rebuild
	locate "$tree"
	ls "$lib" | grep -q '^libpfld\.a$' && has_static=yes || has_static=no
	[ -e "$lib/libpfld.so.0" ] && has_shared=yes || has_shared=no
	case $kind:$has_static:$has_shared in
	static:yes:no | shared:no:yes | both:yes:yes) ;;
	*) fail "$kind: static library $has_static, shared library $has_shared" ;;
	esac
	[ "$has_shared" = no ] || objdump -p "$lib/libpfld.so" | grep -q 'SONAME *libpfld\.so\.0$' || fail "$kind: soname"
	use $kind --cflags --libs
	use $kind --static --cflags --libs
	# All of it static, where this system has the libraries below in that form.
	others=$(pkg-config --static --libs libpng libjpeg jansson expat)
	case $(flags --static --libs) in *-lOpenCL*) others="$others -lOpenCL" ;; esac
	if [ "$has_static" = yes ] && echo 'int main(void) { return 0; }' | eval "$cc -static -x c - $others -o \"\$work/none\"" 2>"$work/log"; then
		eval "run $cc -static \"\$work/user.c\" $(flags --static --cflags --libs) -o \"\$work/user_static\""
		run "$work/user_static"
		echo "$kind: used by a program without shared libraries"
	fi
done

# ---- as this build installs it, moved, and used by the examples as their first lines say ----
run env DESTDIR="$work/own tree" "$meson" install -C "$built" --no-rebuild
mv "$work/own tree" "$work/moved away"
locate "$work/moved away"
use moved --cflags --libs
use moved --static --cflags --libs
cd "$work"
eval "run $cc \"\$root/examples/embed/main.c\" $(flags --cflags --libs) -o embed"
run env LD_LIBRARY_PATH="$lib" ./embed
eval "run $cc \"\$root/examples/custom_loss/main.c\" $(flags --cflags --libs) -lm -o custom_loss"
echo "examples: built from the installed library"
