#!/bin/bash
# Runs unit test programs and counts the results of cmocka:  run_unit.sh RESULTS_DIR PROGRAM...
# A test counts as passed only by its own OK line. Announced tests without a result (a crash, a
# sanitizer report, a time-out) count as failed, and so does a program that announces none or
# ends with a status that contradicts its output. Writes RESULTS_DIR/unit.count:
# "unit passed failed skipped". Exit status 1 when anything failed.
set -u
results=$1
shift
# Of CPU; a program that waits for ever ends at four times as much by the clock.
limit_seconds=${UNIT_TIMEOUT_SECONDS:-300}
mkdir -p "$results/unit"
rm -f "$results/unit.count" "$results/unit"/*.log "$results/unit"/*.count

run_one() {
	local program=$1 name log status counts
	name=$(basename "$program")
	log=$results/unit/$name.log
	(
		ulimit -t "$limit_seconds"
		exec timeout -k 5 $((4 * limit_seconds)) "$program"
	) >"$log" 2>&1
	status=$?
	counts=$(awk -v status="$status" '
		/^\[==========\] .*Running [0-9]+ test/ {
			for (i = 1; i < NF; i++) if ($i == "Running") announced += $(i + 1)
		}
		/^\[       OK \] / { passed++ }
		# cmocka names these again in its summary.
		/^\[  SKIPPED \] / && !/ test\(s\)/ && !seen[$4]++ { skipped++ }
		/^\[  FAILED  \] / && !/ test\(s\)/ && !seen[$4]++ { failed++ }
		END {
			lost = announced - passed - failed - skipped
			if (lost > 0) failed += lost
			if (!announced || (status != 0 && !failed)) failed++
			print passed + 0, failed + 0, skipped + 0
		}' "$log")
	echo "$counts" >"$results/unit/$name.count"
	set -- $counts
	if [ "$2" -ne 0 ]; then
		printf 'FAIL  %-40s %4d passed %4d failed (exit status %d), %s:\n' "$name" "$1" \
			"$2" "$status" "$log"
		grep -v '^\[       OK \]\|^\[ RUN      \]' "$log" | head -60
	else
		printf 'ok    %-40s %4d passed\n' "$name" "$1"
	fi
}
export -f run_one
export results limit_seconds

# From the end of the alphabet: programs of the upper layers wait most of their time, those of the lower ones compute.
printf '%s\n' "$@" | tac | xargs -r -n 1 -P "${UNIT_JOBS:-6}" bash -c 'run_one "$0"'

cat "$results/unit"/*.count 2>/dev/null | awk -v want="$#" '
	{ passed += $1; failed += $2; skipped += $3 }
	END {
		if (NR != want) failed += want - NR
		print "unit", passed + 0, failed + 0, skipped + 0
	}' >"$results/unit.count"
read -r _ passed failed skipped <"$results/unit.count"
echo "unit tests: $# programs, $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
