# SPDX-License-Identifier: GPL-2.0-only
# Fetch the kernel's checkpatch.pl with its word lists, for lint.
# shellcheck shell=bash

# Debian's kernel packages leave checkpatch out, linux-source is 150 MB; this
# program carries an unchanged copy in a source package of 0.2 MB.
CHECKPATCH_SOURCE=openfortivpn

step_checkpatch() {
	local final=$CACHE/checkpatch/$CHECKPATCH_SOURCE

	RESULT=$final/checkpatch.pl
	lock checkpatch
	[[ -e $RESULT ]] || fetch_checkpatch "$final"
	unlock
}

fetch_checkpatch() {
	local scratch

	require_network checkpatch
	require_apt
	apt_use_suite "$(os_codename)" deb-src
	rm -rf -- "$1".*.tmp
	scratch_beside "$1"
	scratch=$DIR
	cd "$scratch" || die "cannot enter $scratch"
	LC_ALL=C apt-get "${APT_CONFIG_OPTION[@]}" -qq source --download-only --tar-only \
		"$CHECKPATCH_SOURCE" >"$LOG" 2>&1 </dev/null ||
		die "cannot fetch the source of $CHECKPATCH_SOURCE: $(apt_complaint "$LOG")"
	mkdir tree
	tar -xf ./*.orig.tar.* -C tree --strip-components=4 --wildcards '*/checkpatch/*' 2>"$LOG" ||
		die "the source of $CHECKPATCH_SOURCE is damaged: $(apt_complaint "$LOG")"
	[[ -e tree/checkpatch.pl ]] || die "$CHECKPATCH_SOURCE carries no checkpatch.pl any more"
	mv -T tree "$1" || die "cannot write to $1"
	cd "$CACHE" || die "cannot enter $CACHE"
	# The lists of all source packages are 20 MB and of no further use.
	rm -rf -- "$scratch" "$CACHE/apt/$(os_codename)-deb-src"
}
