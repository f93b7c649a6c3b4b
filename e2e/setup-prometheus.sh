#!/bin/bash
# Finds Prometheus and promtool for the tests, else unpacks Debian's package; installs and starts
# nothing.
#
#   e2e/setup-prometheus.sh
#
# Taken from PATH, else the user's cache, else Debian's package `prometheus`, unpacked into the cache.
# Standard output: one line "NAME PATH" each.
#
# Exit status: 0 both are there, 3 they cannot be had on this machine (the message says why).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler

say() { echo "setup-prometheus: $*" >&2; }
cannot() {
	say "$*"
	exit 3
}

. "$here/debian.sh"

find_program() { command -v "$1" || { [ -x "$cache/bin/$1" ] && echo "$cache/bin/$1"; }; }

make_prometheus() {
	say "unpacking Debian's prometheus (20 MB) into $cache/prometheus (no service is installed)"
	unpack_debian "$cache/prometheus" prometheus ||
		cannot "no prometheus and promtool in PATH, and Debian's package could not be downloaded"
	rm -rf "$cache/prometheus/usr/share" # its web pages
	ln -sf ../prometheus/usr/bin/prometheus ../prometheus/usr/bin/promtool "$cache/bin/"
	"$cache/bin/promtool" --version >&2 || cannot "Debian's promtool does not run on this machine"
}

mkdir -p "$cache/bin"
exec 9>"$cache/setup-prometheus.lock"
if ! flock -n 9; then
	say "another run is at it, waiting (at most 10 minutes)"
	flock -w 600 9 || cannot "the other run did not end"
fi
{ find_program prometheus && find_program promtool; } >/dev/null || make_prometheus
for name in prometheus promtool; do
	echo "$name $(find_program "$name")"
done
