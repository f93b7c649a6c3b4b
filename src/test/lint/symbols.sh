#!/bin/bash
# The archives of the pure layers may call each other and the listed functions, nothing else: no I/O, no
# clock, no random numbers.  symbols.sh 'allowed names' ARCHIVE...
set -euo pipefail

allowed=$1
shift
defined=$(nm --defined-only --format=posix "$@" | awk 'NF >= 2 { print $1 }' | sort -u)
bad=$(nm --undefined-only --format=posix "$@" | awk 'NF >= 2 { print $1 }' | sort -u |
	comm -23 - <(printf '%s\n' $defined $allowed | sort -u))
[ -n "$defined" ] || { echo "no symbols in: $*"; exit 1; }
if [ -n "$bad" ]; then
	for name in $bad; do
		nm --undefined-only -A "$@" | awk -v name="$name" \
			'$NF == name { print $1 " calls " name ", which is not on the list (PURE_SYMBOLS)" }'
	done
	exit 1
fi
