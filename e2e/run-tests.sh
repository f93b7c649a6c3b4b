#!/bin/bash
# Runs the stages of `make test`:  run-tests.sh RESULTS_DIR STAGE...   (MAKE: the make to call)
#
# Each stage is the make target test-STAGE, which leaves RESULTS_DIR/STAGE.count (see summary.sh). A
# stage that fails does not keep later ones from running. A stage that ends badly without a failed
# test in its count, or without a count, is one failed test.
#
# e2e waits for Ray most of the time: beside it runs `make ahead`, at the lowest priority, which compiles
# what later stages need. What does not compile is told by them.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
results=$1
shift
make=${MAKE:-make}
jobs=${JOBS:-$(nproc)}

mkdir -p "$results"
rm -f "$results"/*.count "$results"/*.seconds

# $1: stage; $2: exit status of its target
settle() {
	local file=$results/$1.count failed all
	touch "$file"
	failed=$(awk '{ failed += $3 } END { print failed + 0 }' "$file")
	all=$(awk '{ all += $2 + $3 + $4 } END { print all + 0 }' "$file")
	if [ "$all" -eq 0 ]; then
		echo "$1:nothing-ran 0 1 0" >"$file"
	elif [ "$2" -ne 0 ] && [ "$failed" -eq 0 ]; then
		echo "$1:exit-status-$2 0 1 0" >>"$file"
	fi
}

# $1: name; the rest: the command. Without what these two make, no stage can run.
must() {
	local name=$1 status=0
	shift
	echo "== $name"
	"$@" || status=$?
	if [ "$status" -ne 0 ]; then
		settle "$name" "$status"
		"$here/summary.sh" "$results" || exit 1
	fi
}

must setup "$make" --no-print-directory setup
must build "$make" --no-print-directory -j"$jobs" all

ahead=
trap '[ -z "$ahead" ] || kill "$ahead" 2>/dev/null || true' EXIT
for stage; do
	echo
	echo "== $stage"
	started=$SECONDS
	status=0
	if [ "$stage" = e2e ]; then
		nice -n 19 "$make" --no-print-directory -k -j"$jobs" ahead >"$results/ahead.log" 2>&1 &
		ahead=$!
	fi
	"$make" --no-print-directory "test-$stage" || status=$?
	if [ -n "$ahead" ]; then
		wait "$ahead" || true
		ahead=
	fi
	echo "$((SECONDS - started))" >"$results/$stage.seconds"
	settle "$stage" "$status"
done

"$here/summary.sh" "$results"
