# SPDX-License-Identifier: GPL-2.0-only
# What every set-up step uses: messages, the cache, locks, scratch and root.
# shellcheck shell=bash

# Seconds to wait for another program's lock (dpkg's, or a second set-up's).
LOCK_WAIT=${RINGSIDE_LOCK_WAIT:-300}
SCRATCH=()

say() {
	printf 'ringside setup: %s\n' "$*" >&2
}

# Exit 3 is "cannot measure" everywhere in Ringside.
die() {
	say "$@"
	exit 3
}

usage_error() {
	say "$@"
	exit 2
}

cache_root() {
	local base=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}

	if [[ -n ${RINGSIDE_CACHE:-} ]]; then
		realpath -m -- "$RINGSIDE_CACHE"
	elif [[ -n $base ]]; then
		echo "$base/ringside"
	else
		die "no home directory: set RINGSIDE_CACHE"
	fi
}

make_dir() {
	local err

	err=$(mkdir -p -- "$1" 2>&1) || die "cannot write to the cache: ${err#mkdir: }"
}

# Scratch stands beside what it becomes, so that the last step is one rename.
# Sets DIR.
scratch_beside() {
	make_dir "$(dirname "$1")"
	DIR=$(mktemp -d "$1.XXXXXX.tmp" 2>/dev/null) ||
		die "cannot write to $(dirname "$1")"
	SCRATCH+=("$DIR")
}

drop_scratch() {
	((${#SCRATCH[@]})) && rm -rf -- "${SCRATCH[@]}"
	SCRATCH=()
}

# Hold the lock of that name until unlock or exit.
lock() {
	make_dir "$CACHE/locks"
	exec 9>"$CACHE/locks/$1" || die "cannot write to $CACHE/locks"
	flock -n 9 && return
	say "another set-up is working on $1, waiting"
	flock -w "$LOCK_WAIT" 9 ||
		die "another set-up held $1 for $LOCK_WAIT s: try again later"
}

unlock() {
	exec 9>&-
}

as_root() {
	if ((EUID == 0)); then
		"$@"
	elif [[ -t 0 ]]; then
		sudo -- "$@"
	else
		sudo -n -- "$@"
	fi
}

# $1: what root is wanted for.
need_root() {
	((EUID == 0)) && return
	command -v sudo >/dev/null || die "need root or sudo to $1"
	[[ -t 0 ]] || sudo -n true 2>/dev/null || die "need root (sudo asks for a password) to $1"
}
