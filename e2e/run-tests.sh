#!/bin/bash
# Runs the stages of `make test`:  run-tests.sh RESULTS_DIR STAGE...   (MAKE: the make to call)
#
# Each stage is the make target test-STAGE, which leaves RESULTS_DIR/STAGE.count (see summary.sh). A
# stage that fails does not keep later ones from running. A stage that ends badly without a failed
# test in its count, or without a count, is one failed test.
#
# e2e waits for Ray most of the time. Beside it run, one after the other at the lowest priority: `make ahead`,
# which compiles what later stages need (what does not compile fails again there), and the stages in BESIDE_E2E,
# which use only the CPU and have no deadlines. Later stages wait for e2e and `make ahead`, and run beside what is
# left of BESIDE_E2E, whose output comes last. They have a session of their own (`run-tests.sh --beside ...`), because
# Linux divides the CPU between sessions first (autogroup in sched(7)) and lets a nice value count only within one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
beside_only=
if [ "$1" = --beside ]; then
	beside_only=yes
	shift
fi
results=$1
shift
make=${MAKE:-make}
jobs=${JOBS:-$(nproc)}
beside=
for stage; do
	[ "$stage" != e2e ] || beside=" ${BESIDE_E2E:-} "
done

if [ -z "$beside_only" ]; then
	mkdir -p "$results"
	rm -f "$results"/*.count "$results"/*.seconds
fi

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

# $1: stage; the rest: what runs its command
run_stage() {
	local stage=$1 started=$SECONDS status=0
	shift
	echo
	echo "== $stage"
	"$@" "$make" --no-print-directory "test-$stage" || status=$?
	echo "$((SECONDS - started))" >"$results/$stage.seconds"
	settle "$stage" "$status"
}

# First `make ahead` builds the programs that two of these stages share.
if [ -n "$beside_only" ]; then
	{ echo 19 >/proc/self/autogroup; } 2>/dev/null || true
	flock "$results/ahead.lock" nice -n 19 "$make" --no-print-directory -k -j"$jobs" ahead >"$results/ahead.log" 2>&1 || true
	for stage; do
		run_stage "$stage" nice -n 19
	done >"$results/beside.log" 2>&1
	exit 0
fi

must setup "$make" --no-print-directory setup
must build "$make" --no-print-directory -j"$jobs" all

group=
trap '[ -z "$group" ] || kill -- "-$group" 2>/dev/null || true' EXIT
for stage; do
	case "$beside" in *" $stage "*) continue ;; esac
	if [ "$stage" = e2e ]; then
		"$make" --no-print-directory -k -j"$jobs" beside-programs || true
		setsid "$0" --beside "$results" $beside &
		group=$!
	fi
	run_stage "$stage" env
	[ -z "$group" ] || flock "$results/ahead.lock" true
done
if [ -n "$group" ]; then
	wait "$group" || true
	group=
	cat "$results/beside.log"
fi

"$here/summary.sh" "$results"
