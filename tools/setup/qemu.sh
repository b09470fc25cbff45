# SPDX-License-Identifier: GPL-2.0-only
# Fetch a private QEMU from backports where the distribution's is too old.
# shellcheck shell=bash

# The first release with igb and with scoreboards-ready plugins in Debian.
WANTED_QEMU=8
PRIVATE_QEMU_PACKAGES=(qemu-system-x86 qemu-system-common qemu-system-data seabios ipxe-qemu)

# Version of the distribution's QEMU without the epoch; 0 when there is none.
system_qemu_version() {
	local version

	version=$(dpkg-query -W -f '${Version}' qemu-system-x86 2>/dev/null)
	version=${version#*:}
	echo "${version:-0}"
}

step_qemu() {
	local suite version

	require_apt
	dpkg --compare-versions "$(system_qemu_version)" ge "$WANTED_QEMU" && return
	if ((OFFLINE)); then
		RESULT=$(newest_in_cache "$CACHE/qemu/*/qemu-system-x86_64")
		[[ -n $RESULT ]] || say "offline: no newer QEMU in the cache, the distribution's is used"
		return 0
	fi
	suite=$(os_codename)-backports
	apt_use_suite "$suite"
	version=$(apt_field qemu-system-x86 Version)
	if [[ -z $version ]] || dpkg --compare-versions "${version#*:}" lt "$WANTED_QEMU"; then
		say "no QEMU $WANTED_QEMU or later in $suite ($(why_missing)): the distribution's is used"
		return 0
	fi
	unpack_qemu "$version"
}

unpack_qemu() {
	local package packages=() depends home

	# What backports does not have is the ordinary release's and comes with
	# the distribution's QEMU.
	for package in "${PRIVATE_QEMU_PACKAGES[@]}"; do
		[[ -n $(apt_field "$package" Version) ]] && packages+=("$package")
	done
	depends=$(apt_field qemu-system-x86 Depends)
	home=$CACHE/qemu/${1#*:}
	unpack_packages "$home" finish_qemu "${packages[@]}"
	install_libraries "$depends" "$home/usr/bin/qemu-system-x86_64"
	RESULT=$home/qemu-system-x86_64
	"$RESULT" -device help 2>/dev/null | grep '"igb"' >/dev/null ||
		die "the QEMU from backports does not run here: remove $home to use the distribution's"
}

# The wrapper finds its own place, so the tree may be renamed into it. Debian's
# QEMU looks for modules that the private directory lacks in the system's one
# and aborts on those of another build: that path in the program is made void.
finish_qemu() {
	local modules

	[[ -x $1/usr/bin/qemu-system-x86_64 ]] || die "the backported package holds no qemu-system-x86_64"
	modules=$(cd "$1" && compgen -G "usr/lib/*/qemu" | head -n 1)
	LC_ALL=C sed -i "s#\x00/usr/${modules#usr/}\x00#\x00/not/${modules#usr/}\x00#g" \
		"$1/usr/bin/qemu-system-x86_64" || die "cannot write to $1"
	cat >"$1/qemu-system-x86_64" <<-EOF || die "cannot write to $1"
		#!/bin/sh
		# Run this private QEMU with its own modules and firmware.
		here=\$(dirname "\$(readlink -f "\$0")")
		QEMU_MODULE_DIR=\$here/$modules
		export QEMU_MODULE_DIR
		exec "\$here/usr/bin/qemu-system-x86_64" \\
			-L "\$here/usr/share/qemu" -L "\$here/usr/share/seabios" \\
			-L "\$here/usr/lib/ipxe/qemu" \\
			-L /usr/share/qemu -L /usr/share/seabios -L /usr/lib/ipxe/qemu "\$@"
	EOF
	chmod 755 "$1/qemu-system-x86_64"
}

# Install from the ordinary archive what of $1 (a Depends field) is a library
# and is missing, when the program $2 does not find all of its own.
install_libraries() {
	local names missing lost

	ldd "$2" | grep 'not found' >/dev/null || return 0
	apt_use_system
	mapfile -t names < <(tr ',' '\n' <<<"$1" | awk '$1 ~ /^(lib|zlib)/ { print $1 }')
	mapfile -t missing < <(missing_packages "${names[@]}")
	((${#missing[@]})) && apt_install "${missing[@]}"
	lost=$(ldd "$2" | awk '/not found/ { print $1 }' | paste -sd ' ')
	[[ -z $lost ]] || die "the backported QEMU needs libraries that $(os_codename) lacks: $lost"
}
