#!/bin/bash
# The image has no code that reads or writes YAML, CSV and HTML, that simulates or that reads workloads and
# recordings: not linked, and libyaml not loaded.  image.sh PROGRAM
set -euo pipefail

names='^(yaml|csv|html|simul|sim|sharing|workload_(file|csv|column)|recording|cluster_set|lint_document|lint_shape)_'
linked=$(nm --defined-only --format=posix "$1" | awk 'NF >= 3 && $2 ~ /[TtDdRr]/ { print $1 }')
grep -q '^main$' <<<"$linked" || { echo "$1 has no symbols"; exit 1; }
status=0
for name in $(grep -E "$names" <<<"$linked"); do
	echo "$1 has $name, which is for the program on people's machines"
	status=1
done
for library in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(libyaml.*\)\]/\1/p'); do
	echo "$1 loads $library"
	status=1
done
exit $status
