# SPDX-License-Identifier: GPL-2.0-only
# Install the Debian packages of a purpose that are missing.
# shellcheck shell=bash

# The packages for purpose $1: tests need what a measurement needs, too.
packages_for() {
	awk -v purpose="$1" '/^#/ || !NF { next }
		$1 == "bench" || $1 == purpose { print $2 }' "$SETUP/packages.txt"
}

# Those of the arguments that are not installed.
missing_packages() {
	comm -23 <(printf '%s\n' "$@" | sort -u) <(
		dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
			sed -n 's/^installed //p' | sort -u
	)
}

step_packages() {
	local purpose=${1:-} wanted missing

	[[ $purpose =~ ^(bench|kunit|peers|test)$ ]] ||
		usage_error "packages: which purpose? bench, kunit, peers or test"
	require_apt
	mapfile -t wanted < <(packages_for "$purpose")
	mapfile -t missing < <(missing_packages "${wanted[@]}")
	((${#missing[@]})) || return 0
	require_network "${missing[*]}"
	lock install
	apt_install "${missing[@]}"
	unlock
}
