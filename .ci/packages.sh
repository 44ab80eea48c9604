# SPDX-License-Identifier: MIT
# Sourced by quickstart.sh and test.sh: makes sure that the tools and libraries they name are there. On Debian and
# Ubuntu what is missing is installed, elsewhere it is named.

# What a need is called: how to see that it is there, its package on Debian and Ubuntu, its name for people.
is_there() {
	case $1 in
	cc) command -v cc >/dev/null && echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1 ;;
	c++ | clang | meson | ninja | pkg-config) command -v "$1" >/dev/null ;;
	locales) [ -e /usr/share/i18n/locales/de_DE ] || locale -a 2>/dev/null | grep -qi '^de_DE.utf' ;;
	pocl) ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 ;;
	*) command -v pkg-config >/dev/null && pkg-config --exists "$1" ;;
	esac
}
packages_of() {
	case $1 in
	cc) echo gcc libc6-dev ;;
	c++) echo g++ ;;
	ninja) echo ninja-build ;;
	libpng) echo libpng-dev ;;
	libjpeg) echo libjpeg-dev ;;
	jansson) echo libjansson-dev ;;
	hdf5) echo libhdf5-dev ;;
	expat) echo libexpat1-dev ;;
	OpenCL) echo ocl-icd-opencl-dev ;;
	pocl) echo pocl-opencl-icd ;;
	*) echo "$1" ;;
	esac
}
describe() {
	case $1 in
	cc) echo "a C compiler (gcc or clang)" ;;
	c++) echo "a C++ compiler" ;;
	libpng | libjpeg | jansson | expat | hdf5 | check) echo "$1 (with its headers)" ;;
	locales) echo "the locale de_DE.UTF-8" ;;
	OpenCL) echo "an OpenCL loader (ocl-icd, with its headers)" ;;
	pocl) echo "PoCL, the OpenCL driver for CPUs" ;;
	*) echo "$1" ;;
	esac
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

install_packages() {
	local log
	log=$(mktemp)
	echo "installing $*"
	if ! { as_root apt-get update -q && as_root apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$@"; } \
		</dev/null >"$log" 2>&1; then
		tail -20 "$log" >&2
		echo "apt-get could not install them" >&2
	fi
	rm -f "$log"
}

# need NAME...: returns when all are there, else ends the script.
need() {
	local name missing=() packages=() version
	for name; do is_there "$name" || missing+=("$name"); done
	if [ ${#missing[@]} -gt 0 ] && command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
		for name in "${missing[@]}"; do packages+=($(packages_of "$name")); done
		install_packages "${packages[@]}"
		missing=()
		for name; do is_there "$name" || missing+=("$name"); done
	fi
	if [ ${#missing[@]} -gt 0 ]; then
		echo "missing here:" >&2
		for name in "${missing[@]}"; do echo "  $(describe "$name")" >&2; done
		exit 1
	fi
	version=$(meson --version)
	if [ "${version%%.*}" -lt 1 ]; then
		echo "meson $version is too old: 1.0 or newer is needed (pipx install meson)" >&2
		exit 1
	fi
}
