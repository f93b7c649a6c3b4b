#!/bin/bash
# The controller, run by another program, through scaling RayClusters with recorded Ray heads:
#   run_controller.sh STAGE RUNNER PROGRAM DIR COUNT_FILE
# RUNNER as in run_commands.sh. e2e/bench_fleet.py has the API server and the heads, in one C program. Passed:
# demand was answered by patches while the program ran on, and valgrind found nothing. Adds
# "STAGE:controller passed failed skipped" to COUNT_FILE. BUILD: the build tree.
set -u
stage=$1
export RAYSCALER=$2 RAYSCALER_PROGRAM=$3 PYTHONDONTWRITEBYTECODE=1
directory=$4
count=$5
here=$(cd "$(dirname "$0")/../.." && pwd)
export RAYSCALER_VALGRIND_LOGS=$directory/valgrind-controller
rm -rf "$RAYSCALER_VALGRIND_LOGS"
mkdir -p "$RAYSCALER_VALGRIND_LOGS"

status=0
"$("$here/e2e/setup-python.sh")" "$here/e2e/bench_fleet.py" 20 --pods 3 --seconds 15 >"$directory/controller.out" 2>&1 ||
	status=1
grep -q 'demand to patch: .* of [1-9]' "$directory/controller.out" || status=1
findings=$(find "$RAYSCALER_VALGRIND_LOGS" -type f -size +0 -exec head -40 {} +)
[ -z "$findings" ] || status=1
if [ "$stage" = valgrind ] && [ -z "$(ls "$RAYSCALER_VALGRIND_LOGS")" ]; then
	status=1
fi
if [ "$status" -eq 0 ]; then
	echo "$stage:controller 1 0 0" >>"$count"
	echo "$stage: the controller scaled 20 RayClusters without a finding"
else
	echo "$stage:controller 0 1 0" >>"$count"
	echo "FAIL  $stage of the controller:"
	tail -20 "$directory/controller.out"
	echo "$findings"
fi
exit "$status"
