# SPDX-License-Identifier: GPL-2.0-only
# Ask apt for packages: of this system, or of another suite with private lists.
# shellcheck shell=bash

APT_ETC=${APT_ETC:-/etc/apt}

# By directory of lists that was updated: what the update complained about, or
# that it did not help, which is then why a package is missing.
declare -A UPDATED=()

# Use the system's own lists.
apt_use_system() {
	APT_LISTS=/var/lib/apt/lists
	APT_CONFIG_OPTION=()
	LOG=
}

why_missing() {
	echo "${UPDATED[$APT_LISTS]:-$NOT_IN_SOURCES}"
}

NOT_IN_SOURCES="not in apt's sources"

os_codename() {
	# shellcheck source=/dev/null
	(. "${OS_RELEASE:-/etc/os-release}" && echo "${VERSION_CODENAME:-}")
}

require_apt() {
	command -v apt-get >/dev/null ||
		die "needs Debian 12 or 13: there is no apt-get here"
}

require_network() {
	((OFFLINE)) || return 0
	die "offline: $1 is not here; run once without --offline"
}

# One line out of a log of apt or dpkg, the likely cause first. $1: the log.
apt_complaint() {
	local line

	if grep -qiE 'no space left|enough free space' "$1"; then
		echo "disk full"
	elif grep -qE 'Could not get lock|Unable to (acquire|lock)' "$1"; then
		echo "the package system was locked by another program for $LOCK_WAIT s: try again later"
	elif line=$(grep -m1 -E 'Could not resolve|Temporary failure|Could not connect|Cannot initiate|Connection' "$1"); then
		echo "no network? $(trim "$line")"
	elif line=$(grep -m1 -E '^(E|W):|^dpkg.*error' "$1"); then
		trim "$line"
	else
		trim "$(tail -n 1 "$1")"
	fi
}

trim() {
	sed -E 's/^([EW]:|Err:[0-9]+)? *//; s/  +/ /g' <<<"$1" | head -n 1 | cut -c 1-200
}

# Run apt-get as root, its chatter in LOG. apt waits for dpkg's lock by itself
# but not for that of the lists, hence the loop.
apt_as_root() {
	local until=$((SECONDS + LOCK_WAIT))

	need_root "run apt-get $1"
	while :; do
		as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
			apt-get -qq -y -o "DPkg::Lock::Timeout=$LOCK_WAIT" \
			"$@" >"$LOG" 2>&1 </dev/null 9>&- && return 0
		grep -qE 'Could not get lock|Unable to lock' "$LOG" || return 1
		((SECONDS < until)) || return 1
		sleep 1
	done
}

open_log() {
	[[ -z $LOG ]] || return 0
	scratch_beside "$CACHE/log"
	LOG=$DIR/apt
}

# Fetch the lists that the apt_* functions use now, once. $1: what for.
apt_update() {
	open_log
	[[ -z ${UPDATED[$APT_LISTS]:-} ]] || return 0
	require_network "${1:-a package list}"
	say "fetching package lists"
	if ((${#APT_CONFIG_OPTION[@]})); then
		LC_ALL=C apt-get "${APT_CONFIG_OPTION[@]}" -qq update >"$LOG" 2>&1 </dev/null || true
	else
		apt_as_root update || true
	fi
	UPDATED[$APT_LISTS]=$NOT_IN_SOURCES
	if grep -qE '^(E|W|Err)' "$LOG"; then
		UPDATED[$APT_LISTS]=$(apt_complaint "$LOG")
	fi
}

have_lists() {
	compgen -G "$APT_LISTS/*_Packages*" >/dev/null
}

apt_install() {
	local attempt

	open_log
	have_lists || apt_update "package $1"
	for attempt in 1 2; do
		say "installing $*"
		apt_as_root install --no-install-recommends "$@" && return 0
		if ((attempt == 1)) && [[ -z ${UPDATED[$APT_LISTS]:-} ]] &&
			grep -qE 'Unable to locate|no installation candidate|404|Hash Sum' "$LOG"; then
			apt_update
			continue
		fi
		if grep -q 'Unable to locate' "$LOG"; then
			die "cannot install $(sed -n 's/^E: Unable to locate package //p' "$LOG" | paste -sd ' '): $(why_missing)"
		fi
		die "cannot install $*: $(apt_complaint "$LOG")"
	done
}

# Names of binary packages that start with $1 and match the pattern $2, the
# newest version last.
apt_names() {
	apt-cache "${APT_CONFIG_OPTION[@]}" pkgnames "$1" | grep -E "$2" | sort -V
}

# A field of the version of a package that would be fetched.
apt_field() {
	apt-cache "${APT_CONFIG_OPTION[@]}" show --no-all-versions "$1" 2>/dev/null |
		sed -n "s/^$2: //p;/^\$/q"
}

# Use the lists of suite $1 from here on; $2: deb (default) or deb-src. The
# source comes from the machine's own entry for its release; nothing outside
# the cache is written. "#clear" because the system may have hooks for root.
apt_use_suite() {
	local home="$CACHE/apt/$1-${2:-deb}" stanza

	stanza=$(derive_source "$(os_codename)" "$1" "${2:-deb}")
	[[ -n $stanza ]] ||
		die "no entry for the main archive of $(os_codename) in $APT_ETC to derive suite $1 from"
	make_dir "$home/lists/partial"
	make_dir "$home/sources"
	make_dir "$home/cache/archives/partial"
	: >"$home/status"
	printf '%s\n' "$stanza" >"$home/sources/ringside.sources" || die "cannot write to $home"
	cat >"$home/apt.conf" <<-EOF || die "cannot write to $home"
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$home/sources";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::State::lists "$home/lists";
		Dir::State::status "$home/status";
		Dir::Cache "$home/cache";
		Dir::Cache::pkgcache "pkgcache.bin";
		Dir::Cache::srcpkgcache "";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		#clear APT::Update;
		#clear Acquire::IndexTargets::deb::DEP-11;
	EOF
	APT_CONFIG_OPTION=(-c "$home/apt.conf")
	APT_LISTS=$home/lists
	open_log
	compgen -G "$APT_LISTS/*_InRelease" >/dev/null || apt_update "the package list of $1"
}

# False when the archive answered that it has no such suite.
apt_knows_suite() {
	! grep -qs 'does not have a Release file' "$LOG" ||
		grep -qE 'Could not (resolve|connect)|Temporary failure|Connection' "$LOG"
}

# $1: codename of this release, $2: suite, $3: type.
derive_source() {
	local files

	mapfile -t files < <(compgen -G "$APT_ETC/sources.list"
		compgen -G "$APT_ETC/sources.list.d/*.list"
		compgen -G "$APT_ETC/sources.list.d/*.sources")
	((${#files[@]})) || return 0
	awk -v codename="$1" -v suite="$2" -v type="$3" \
		-f "$SETUP/sources.awk" "${files[@]}"
}

# Fetch into the present directory; apt checks sizes and hashes. Lists that
# are older than the archive name files that are gone: update once.
apt_fetch() {
	open_log
	require_network "$*"
	say "fetching $*"
	apt_download "$@" && return
	if [[ -z ${UPDATED[$APT_LISTS]:-} ]] && grep -qE '404|Hash Sum|Unable to find a source' "$LOG"; then
		apt_update
		apt_download "$@" && return
	fi
	die "cannot fetch $*: $(apt_complaint "$LOG")"
}

apt_download() {
	LC_ALL=C apt-get "${APT_CONFIG_OPTION[@]}" -qq -o APT::Sandbox::User=root \
		download "$@" >"$LOG" 2>&1 </dev/null
}

# Make directory $1 out of the packages $3.., all or nothing; $2 names a
# function that is given the unpacked tree to finish it ("true" for none).
unpack_packages() {
	local final=$1 finish=$2 deb scratch
	shift 2

	lock "$(basename "$final")"
	if [[ ! -d $final ]]; then
		rm -rf -- "$final".*.tmp	# of a set-up that was killed
		scratch_beside "$final"
		scratch=$DIR
		mkdir "$scratch/tree" "$scratch/debs" || die "cannot write to $scratch"
		cd "$scratch/debs" || die "cannot enter $scratch"
		apt_fetch "$@"
		for deb in *.deb; do
			unpack_deb "$deb" "$scratch/tree"
		done
		cd "$CACHE" || die "cannot enter $CACHE"
		"$finish" "$scratch/tree"
		mv -T -- "$scratch/tree" "$final" || die "cannot write to $final"
		rm -rf -- "$scratch"
	fi
	unlock
}

unpack_deb() {
	local err

	err=$(dpkg-deb -x "$1" "$2" 2>&1) && return
	rm -f -- "$1"
	[[ $err == *"No space left"* ]] && die "disk full: cannot unpack $1 under $CACHE"
	die "$1 is damaged and was removed, run again: $(head -n 1 <<<"$err")"
}
