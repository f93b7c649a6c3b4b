#!/bin/bash
# One table of all counts, then the closing line "N passed, N failed":  summary.sh RESULTS_DIR
#
# Every stage leaves RESULTS_DIR/<stage>.count with lines "name passed failed skipped", and
# run-tests.sh its seconds in RESULTS_DIR/<stage>.seconds. Exit status 1 when anything failed or
# nothing passed.
set -euo pipefail
shopt -s nullglob

results=$1
counts=("$results"/*.count)
printf '\n%-24s %8s %8s %8s %8s\n' tests passed failed skipped seconds
for file in "${counts[@]}"; do
	stage=$(basename "$file" .count)
	seconds=$(cat "$results/$stage.seconds" 2>/dev/null || echo -)
	awk -v seconds="$seconds" '{
		printf "%-24s %8d %8d %8d %8s\n", $1, $2, $3, $4, NR == 1 ? seconds : ""
	}' "$file"
done
cat /dev/null "${counts[@]}" | awk '
	{ passed += $2; failed += $3; skipped += $4 }
	END {
		if (skipped) printf "%d skipped\n", skipped
		printf "%d passed, %d failed\n", passed, failed
		exit failed > 0 || passed == 0
	}'
