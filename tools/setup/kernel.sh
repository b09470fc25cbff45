# SPDX-License-Identifier: GPL-2.0-only
# Fetch a kernel, or the headers of one, and unpack it in the cache.
# shellcheck shell=bash

# The kernel that the figures in docs are for; in Debian 12 and 13 alike.
DEFAULT_SERIES=6.12

# The one in the cache with the highest version. $1: directory and pattern.
newest_in_cache() {
	compgen -G "$1" | grep -v '\.tmp$' | sort -V | tail -n 1
}

# Name the image package for a series (6.12), a release (6.12.9-amd64) or a
# package name. Sets PACKAGE, or leaves it empty when apt knows none.
resolve_image() {
	local series=${1//./\\.}

	case $1 in
	linux-image-*) PACKAGE=$1 ;;
	*-amd64) PACKAGE=linux-image-$1 ;;
	*) PACKAGE=$(apt_names "linux-image-$1" \
		"^linux-image-$series\.[0-9][^-]*(-[0-9]+)?-amd64\$" | tail -n 1) ;;
	esac
}

step_kernel() {
	local what=${1:-$DEFAULT_SERIES} version

	[[ $what =~ ^(linux-image-)?[0-9]+\.[0-9]+([-.+~a-z0-9]*-amd64)?$ ]] ||
		usage_error "kernel: '$what' is not a series (6.12), a release or a package name"
	require_apt
	PACKAGE=
	[[ $what == *-amd64 ]] && resolve_image "$what"
	# An exact package that was unpacked once stays usable when the archive
	# has dropped it.
	if [[ -n $PACKAGE || $OFFLINE == 1 ]]; then
		RESULT=$(newest_in_cache "$CACHE/kernels/${PACKAGE:-linux-image-$what.*}_*")
		[[ -z $RESULT ]] || return 0
		require_network "kernel $what"
	fi
	find_image "$what"
	version=$(apt_field "$PACKAGE" Version)
	[[ -n $version ]] || die "no kernel package $PACKAGE: $UPDATE_COMPLAINT"
	RESULT=$CACHE/kernels/${PACKAGE}_$version
	unpack_packages "$RESULT" check_kernel "$PACKAGE=$version"
}

# Resolve, with fresh lists when the present ones do not know it.
find_image() {
	[[ -z $SUITE ]] || apt_use_suite "$SUITE"
	open_log
	resolve_image "$1"
	if [[ -z $PACKAGE || -z $(apt_field "$PACKAGE" Version) ]]; then
		apt_update "kernel $1"
		resolve_image "$1"
	fi
	[[ -n $PACKAGE ]] || die "no kernel package for $1: $UPDATE_COMPLAINT"
}

check_kernel() {
	compgen -G "$1/boot/vmlinuz-*" >/dev/null ||
		die "package $PACKAGE holds no kernel: is it a meta package?"
}

step_headers() {
	local release=${1:-} version package packages

	[[ $release =~ ^[0-9]+\.[0-9]+[-.+~a-z0-9]*$ ]] ||
		usage_error "headers: for which release? (such as 6.12.9-amd64)"
	require_apt
	package=linux-headers-$release
	RESULT=$(newest_in_cache "$CACHE/headers/${package}_*")
	[[ -z $RESULT ]] || { RESULT+=/usr/src/$package; return 0; }
	require_network "$package"
	[[ -z $SUITE ]] || apt_use_suite "$SUITE"
	open_log
	[[ -n $(apt_field "$package" Version) ]] || apt_update "$package"
	version=$(apt_field "$package" Version)
	[[ -n $version ]] || die "no package $package: $UPDATE_COMPLAINT"
	mapfile -t packages < <(apt_field "$package" Depends | grep -oE \
		'linux-(headers-[^ ,]*-common|kbuild-[^ ,]*)')
	PACKAGE=$package
	unpack_packages "$CACHE/headers/${package}_$version" finish_headers \
		"$package=$version" "${packages[@]}"
	RESULT=$CACHE/headers/${package}_$version/usr/src/$package
}

# Make the tree work where it is: Debian's Makefile includes an absolute path.
# BTF for modules is left out of the make side (not of autoconf.h, on which
# the layout of struct module depends): it would need pahole.
finish_headers() {
	local build=$1/usr/src/$PACKAGE

	# shellcheck disable=SC2016 # for make
	sed -i 's#^include /usr/src/#include $(dir $(lastword $(MAKEFILE_LIST)))../#' \
		"$build/Makefile" || die "$PACKAGE looks unlike any known: cannot adapt it"
	sed -i '/^CONFIG_DEBUG_INFO_BTF_MODULES=/d' "$build/include/config/auto.conf" ||
		die "$PACKAGE looks unlike any known: cannot adapt it"
	if ldd "$build/scripts/mod/modpost" 2>&1 | grep 'not found' >/dev/null; then
		die "the tools of $PACKAGE need a newer Debian than $(os_codename)"
	fi
}
