# SPDX-License-Identifier: GPL-2.0-only
# Fetch the kernel's own selftests, with what their Python library reads.
# shellcheck shell=bash

name_source_series() {
	PACKAGE=linux-source-$1
}

step_selftests() {
	local series=${1:-}

	[[ $series =~ ^[0-9]+\.[0-9]+$ ]] ||
		usage_error "selftests: of which series? (such as 6.12)"
	require_apt
	RESULT=$(newest_in_cache "$CACHE/selftests/linux-source-${series}_*")
	[[ -z $RESULT ]] || return 0
	require_network "selftests of $series"
	find_package name_source_series "$series"
	RESULT=$CACHE/selftests/${PACKAGE}_$VERSION
	unpack_packages "$RESULT" finish_selftests "$PACKAGE=$VERSION"
}

finish_selftests() {
	tar -C "$1" -xf "$1/usr/src/$PACKAGE.tar.xz" --strip-components=1 \
		"$PACKAGE/tools/testing/selftests" "$PACKAGE/tools/net/ynl" \
		"$PACKAGE/Documentation/netlink" 2>/dev/null ||
		die "cannot unpack the selftests of $PACKAGE under $CACHE"
	rm -rf -- "${1:?}/usr"
}
