#!/bin/bash
# A function or a variable that no other file of the program uses is static, or is on the list of those
# for tests. A name missing on either side is an error.
set -euo pipefail

for_tests=$1
shift
used=$(nm --undefined-only --format=posix "$@" | awk 'NF >= 2 { print $1 }' | sort -u)
alone=$(nm --defined-only --extern-only --format=posix "$@" | awk 'NF >= 3 { print $1 }' | grep -vx main | sort -u |
	comm -23 - <(echo "$used"))
listed=$(printf '%s\n' $for_tests | sort -u)
status=0
for name in $(comm -23 <(echo "$alone") <(echo "$listed")); do
	nm --defined-only --extern-only -A "$@" | awk -v name="$name" \
		'$NF == name { print $1 " exports " name ", which no other file of the program uses" }'
	status=1
done
for name in $(comm -13 <(echo "$alone") <(echo "$listed")); do
	echo "FOR_TESTS in mk/lint.mk: $name is used by the program, or does not exist"
	status=1
done
for name in $listed; do
	grep -rqw --include='*.[ch]' "$name" src/test || { echo "FOR_TESTS in mk/lint.mk: no test uses $name"; status=1; }
done
exit $status
