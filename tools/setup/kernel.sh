# SPDX-License-Identifier: GPL-2.0-only
# Fetch a kernel, or the headers or the source of one, and unpack it in the cache.
# shellcheck shell=bash

# The kernel that the figures in docs are for; in Debian 12 and 13 alike.
DEFAULT_SERIES=6.12
# Whether the user named the kernel.
NAMED=0

# The one in the cache with the highest version. $1: directory and pattern.
newest_in_cache() {
	compgen -G "$1" | grep -v '\.tmp$' | sort -V | tail -n 1
}

# Name the image package for a series (6.12), a release (6.12.9-amd64) or a
# package name. Sets PACKAGE, or leaves it empty when apt knows none.
name_image() {
	local series=${1//./\\.}

	case $1 in
	linux-image-*) PACKAGE=$1 ;;
	*-amd64) PACKAGE=linux-image-$1 ;;
	*) PACKAGE=$(apt_names "linux-image-$1" \
		"^linux-image-$series\.[0-9][^-]*(-[0-9]+)?-amd64\$" | tail -n 1) ;;
	esac
}

name_headers() {
	PACKAGE=linux-headers-$1
}

# Find the package that "$@" names, in the suite asked for or else in the
# system's lists, then in backports (which has the kernel for a machine that
# takes no security updates). Sets PACKAGE and VERSION.
find_package() {
	if [[ -n $SUITE ]]; then
		apt_use_suite "$SUITE"
		if ! apt_knows_suite; then
			rm -rf -- "$CACHE/apt/$SUITE-deb"
			usage_error "suite '$SUITE' is not in the archive"
		fi
	fi
	find_in_lists "$@" && return
	apt_update "$2"
	find_in_lists "$@" && return
	if [[ -z $SUITE ]]; then
		apt_use_suite "$(os_codename)-backports"
		find_in_lists "$@" && return
	fi
	no_package "${PACKAGE:-for kernel $2}"
}

# A name that the user gave and that no list has is wrong use, when no list
# was out of reach.
no_package() {
	local complaint

	for complaint in "${UPDATED[@]}"; do
		[[ $complaint == "$NOT_IN_SOURCES" ]] || NAMED=0
	done
	((NAMED)) && usage_error "no package $1: $(why_missing)"
	die "no package $1: $(why_missing)"
}

# Whether the directory $1 of a kernel in the cache is of the suite asked for.
of_suite() {
	[[ -n $1 && (-z $SUITE || -e $CACHE/suites/$(basename "$1")@$SUITE) ]]
}

note_suite() {
	[[ -n $SUITE ]] || return 0
	make_dir "$CACHE/suites"
	: >"$CACHE/suites/$(basename "$1")@$SUITE" || die "cannot write to $CACHE/suites"
}

find_in_lists() {
	"$@"
	VERSION=
	[[ -z $PACKAGE ]] || VERSION=$(apt_field "$PACKAGE" Version)
	[[ -n $VERSION ]]
}

step_kernel() {
	local what=${1:-$DEFAULT_SERIES} parts

	[[ $what =~ ^(linux-image-)?[0-9]+\.[0-9]+([-.+~a-z0-9]*-amd64)?$ ]] ||
		usage_error "kernel: '$what' is not a series (6.12), a release or a package name"
	require_apt
	NAMED=$#
	PACKAGE=
	[[ $what == *-amd64 ]] && name_image "$what"
	# An exact package that was unpacked once stays usable when the archive
	# has dropped it.
	if [[ -n $PACKAGE || $OFFLINE == 1 ]]; then
		RESULT=$(newest_in_cache "$CACHE/kernels/${PACKAGE:-linux-image-$what.*}_*")
		of_suite "$RESULT" && return 0
		require_network "kernel $what${SUITE:+ of suite $SUITE}"
	fi
	find_package name_image "$what"
	# Since 7.x the image package only depends on those that hold the files.
	mapfile -t parts < <(apt_field "$PACKAGE" Depends | grep -oE \
		'linux-(base|binary|modules)-[0-9][^ ,]*')
	RESULT=$CACHE/kernels/${PACKAGE}_$VERSION
	unpack_packages "$RESULT" finish_kernel "$PACKAGE=$VERSION" "${parts[@]}"
	note_suite "$RESULT"
}

# Since 7.x the image lies with the modules: put it where all others have it.
finish_kernel() {
	local image release

	for image in "$1"/usr/lib/modules/*/vmlinuz; do
		[[ -e $image ]] || break
		release=$(basename "$(dirname "$image")")
		mkdir -p "$1/boot"
		ln -s "../usr/lib/modules/$release/vmlinuz" "$1/boot/vmlinuz-$release"
		ln -s "../usr/lib/modules/$release/config" "$1/boot/config-$release"
	done
	compgen -G "$1/boot/vmlinuz-*" >/dev/null ||
		die "package $PACKAGE holds no kernel: is it a meta package?"
}

step_headers() {
	local release=${1:-} parts home

	[[ $release =~ ^[0-9]+\.[0-9]+[-.+~a-z0-9]*$ ]] ||
		usage_error "headers: for which release? (such as 6.12.9-amd64)"
	require_apt
	home=$(newest_in_cache "$CACHE/headers/linux-headers-${release}_*")
	if [[ -z $home ]]; then
		require_network "linux-headers-$release"
		find_package name_headers "$release"
		mapfile -t parts < <(apt_field "$PACKAGE" Depends | grep -oE \
			'linux-(headers-[^ ,]*-common|kbuild-[^ ,]*)')
		home=$CACHE/headers/${PACKAGE}_$VERSION
		unpack_packages "$home" finish_headers "$PACKAGE=$VERSION" "${parts[@]}"
	fi
	RESULT=$home/usr/src/linux-headers-$release
	need_compiler "$RESULT"
}

# Kernel and modules need the same major version of gcc: install the one that
# the headers in $1 name when the release's default is another.
need_compiler() {
	local compiler

	compiler=$(grep -oE 'gcc-[0-9]+' "$1/.kernelvariables" | head -n 1)
	[[ -n $compiler ]] && ! command -v "$compiler" >/dev/null || return 0
	apt_use_system
	[[ -n $(apt_field "$compiler" Version) ]] ||
		die "modules for $(basename "$1") need $compiler, which $(os_codename) lacks"
	require_network "$compiler"
	apt_install "$compiler"
}

# Make the tree work where it is: Debian's Makefile names it by absolute paths.
# BTF for modules is left out of the make side (not of autoconf.h, on which
# the layout of struct module depends): it would need pahole.
finish_headers() {
	# shellcheck disable=SC2016 # for make
	local build=$1/usr/src/$PACKAGE here='$(dir $(lastword $(MAKEFILE_LIST)))'

	if ! sed -i -E -e "s#^KBUILD_OUTPUT *=.*#KBUILD_OUTPUT := \$(realpath $here)#" \
		-e "s#^include /usr/src/#include $here../#" "$build/Makefile" ||
		! sed -i '/^CONFIG_DEBUG_INFO_BTF_MODULES=/d' "$build/include/config/auto.conf"; then
		die "$PACKAGE looks unlike any known: cannot adapt it"
	fi
	if ldd "$build/scripts/mod/modpost" 2>&1 | grep 'not found' >/dev/null; then
		die "the tools of $PACKAGE need a newer Debian than $(os_codename)"
	fi
}

# The source of the version that the kernel says it was built from, and no other.
name_source() {
	PACKAGE=linux-source-$(grep -oE '^[0-9]+\.[0-9]+' <<<"$1")=$1
}

step_source() {
	local version=${1:-}

	[[ $version =~ ^[0-9]+\.[0-9]+[-.+~a-z0-9]*$ ]] ||
		usage_error "source: of which version? (such as 6.12.9-1)"
	require_apt
	name_source "$version"
	RESULT=$CACHE/sources/${PACKAGE/=/_}
	[[ ! -d $RESULT ]] || return 0
	require_network "$PACKAGE"
	find_package name_source "$version"
	unpack_packages "$RESULT" finish_source "$PACKAGE"
}

# Drivers and the version are all that is used; graphics are half of the drivers.
finish_source() {
	local name=${PACKAGE%%=*}

	[[ -e $1/usr/src/$name.tar.xz ]] || die "package $PACKAGE holds no source"
	tar -C "$1" -xf "$1/usr/src/$name.tar.xz" --strip-components=1 \
		--exclude="$name/drivers/gpu" "$name/Makefile" "$name/drivers" 2>/dev/null ||
		die "cannot unpack the source of $PACKAGE under $CACHE"
	rm -rf -- "${1:?}/usr"
}
