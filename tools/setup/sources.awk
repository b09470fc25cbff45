# SPDX-License-Identifier: GPL-2.0-only
# Derive an apt source for another suite from the entry of this Debian release.
#
# Input: apt's *.sources (deb822) and *.list (one-line) files.
# Variables: codename (this release), suite (the one wanted), type (deb or
# deb-src). Output: one deb822 stanza, or nothing when no entry fits. Only
# entries with component main and a network or file address count; an address
# that ends in /debian, as mirrors of the archive do, goes before others that
# happen to name a suite after the release.

function is_release(name) {
	return name == codename || name == "stable" || name == "oldstable"
}

function offer(uri, signed_by,    stanza) {
	if (uri == "" || uri ~ /^cdrom:/)
		return
	stanza = "Types: " type "\nURIs: " uri "\nSuites: " suite "\nComponents: main\n"
	if (signed_by != "")
		stanza = stanza "Signed-By:" signed_by "\n"
	if (uri ~ /\/debian\/?$/) {
		if (best == "")
			best = stanza
	} else if (second == "")
		second = stanza
}

function has(list, word,    words, n, i) {
	n = split(list, words)
	for (i = 1; i <= n; i++)
		if (words[i] == word)
			return 1
	return 0
}

function end_stanza(    words, n, i) {
	if (has(field["types"], "deb") && has(field["components"], "main") &&
	    tolower(field["enabled"]) !~ /^ *(no|false|off|0) *$/) {
		n = split(field["suites"], words)
		for (i = 1; i <= n; i++)
			if (is_release(words[i])) {
				split(field["uris"], words)
				offer(words[1], field["signed-by"])
				break
			}
	}
	split("", field)
	key = ""
}

function one_line(line,    options, signed_by, words, n, i) {
	sub(/#.*/, "", line)
	if (line !~ /^[ \t]*deb[ \t]/)
		return
	sub(/^[ \t]*deb[ \t]+/, "", line)
	if (line ~ /^\[/) {
		options = substr(line, 2, index(line, "]") - 2)
		line = substr(line, index(line, "]") + 1)
		n = split(options, words)
		for (i = 1; i <= n; i++)
			if (tolower(words[i]) ~ /^signed-by=/)
				signed_by = " " substr(words[i], 11)
	}
	split(line, words)
	if (is_release(words[2]) && has(line, "main"))
		offer(words[1], signed_by)
}

FNR == 1 { end_stanza(); deb822 = FILENAME ~ /\.sources$/ }
{ sub(/\r$/, "") }
!deb822 { one_line($0); next }
/^#/ { next }
/^[ \t]*$/ { end_stanza(); next }
/^[ \t]/ { field[key] = field[key] "\n" $0; next }
{
	key = tolower(substr($0, 1, index($0, ":") - 1))
	field[key] = substr($0, index($0, ":") + 1)
}
END { end_stanza(); printf "%s", best != "" ? best : second }
