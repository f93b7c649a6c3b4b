#!/bin/bash
# Commands of the program, run by another program:  run_commands.sh STAGE RUNNER PROGRAM DIR COUNT_FILE
#
# RUNNER is under_valgrind.sh or under_confinement.sh: plan for each example snapshot, lint of each lint case
# and example, devices, and inputs that are refused. Each must end with its usual exit status; a
# finding of the runner changes it. DIR gets their output. COUNT_FILE: "STAGE passed failed skipped".
set -u
stage=$1
runner=$2
export RAYSCALER_PROGRAM=$3
directory=$4
count=$5
here=$(cd "$(dirname "$0")/../.." && pwd)
passed=0 failed=0
rm -rf "$directory"
mkdir -p "$directory/valgrind"
export RAYSCALER_VALGRIND_LOGS=$directory/valgrind

# $1: name; $2: exit status; the rest: arguments
run() {
	local name=$1 wanted=$2 status
	shift 2
	"$runner" "$@" >"$directory/$name.out" 2>&1 </dev/null
	status=$?
	if [ "$status" -eq "$wanted" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL  $name: exit status $status, not $wanted: rayscaler $*"
		head -40 "$directory/$name.out"
		find "$RAYSCALER_VALGRIND_LOGS" -type f -size +0 -exec head -40 {} +
	fi
}

cd "$here" || exit 1
for file in examples/*.snapshot.yaml; do
	name=$(basename "$file" .snapshot.yaml)
	run "plan-$name" 0 plan -f "$file"
done
run plan-json 0 plan -o json -f examples/gpu.snapshot.yaml
run plan-refused 1 plan -f Makefile
run plan-missing 1 plan -f examples/missing.yaml
run plan-usage 2 plan --no-such-flag
printf '{"submit": 0, "duration": 60, "resources": {"GPU": 1}, "count": 3}\n' >"$directory/workload.json"
run simulate 0 simulate -f examples/gpu.yaml -w "$directory/workload.json" --baseline ray
run simulate-refused 1 simulate -f examples/gpu.yaml -w Makefile
run record-usage 2 record demo
run lint-examples 0 lint -f examples
run lint-cases 1 lint -f src/test/lint_cases
run lint-json 1 lint -o json -f src/test/lint_cases/gpu-not-integer.request.bad.yaml
run lint-sarif 1 lint -o sarif -f src/test/lint_cases/gpu-not-integer.request.bad.yaml
run lint-refused 1 lint -f Makefile
run devices 0 devices
run devices-json 0 devices -o json
run version 0 version
run help 0 --help
run run-usage 2 run --no-such-flag
# No server listens there.
cat >"$directory/kubeconfig" <<'END'
current-context: none
clusters: [{name: none, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: none, user: {token: t}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
END
run status-refused 1 status --kubeconfig "$directory/kubeconfig"
run status-gpus-refused 1 status --gpus --kubeconfig "$directory/kubeconfig"

echo "$stage $passed $failed 0" >"$count"
echo "$stage: $passed commands of the program without a finding, $failed with one"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
