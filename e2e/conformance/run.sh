#!/bin/bash
# Compares rayscaler with Ray's own code:  run.sh PROBLEMS RAYCLUSTERS SEED [COUNT_FILE]
#
# The packing alone and whole snapshots, PROBLEMS each from SEED on, an eighth of them with --packing
# fewest-gpus and cheapest, the capacity of the groups of RAYCLUSTERS RayClusters, and the problems
# of named.py. Then the check is checked: spoiled answers must be found. What no class
# explains is left in BUILD/conformance. COUNT_FILE gets "name passed failed skipped" lines (see
# e2e/summary.sh). RAYSCALER_PYTHON: a python that has the pinned Ray; otherwise e2e's own is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
problems=$1
clusters=$2
seed=$3
counts=${4:-}
build=$(realpath -m "${BUILD:-build}")
python=${RAYSCALER_PYTHON:-$("$here/../setup-python.sh")}
export PYTHONDONTWRITEBYTECODE=1
[ -z "$counts" ] || { mkdir -p "$(dirname "$counts")" && : >"$counts"; }
mkdir -p "$build/conformance"

status=0
compare() { # NAME KIND PROGRAM COUNT [arguments]
	local result=$build/conformance/$1.result
	[ "$4" -gt 0 ] || return 0
	echo "0 1 0" >"$result" # what stays if it dies
	"$python" "$here/compare.py" "$2" "$build/$3" --count "$4" --seed "$seed" \
		--jobs "${JOBS:-2}" --out "$build/conformance/$1" --result "$result" "${@:5}" || status=1
	[ -z "$counts" ] || echo "conformance:$1 $(cat "$result")" >>"$counts"
}

compare named named tools/codec_schedule "$(PYTHONPATH=$here "$python" -c 'import named; print(len(named.CASES))')"
compare tool tool tools/codec_schedule "$problems"
compare resize resize tools/codec_schedule "$(((problems + 4) / 5))"
compare program program rayscaler "$problems"
compare cheapest cheapest rayscaler "$((problems / 8))"
compare capacity capacity tools/codec_capacity "$clusters"
few() { echo $(($1 < 200 ? $1 : 200)); }
compare spoiled-tool tool tools/codec_schedule "$(few "$problems")" --self-test
compare spoiled-resize resize tools/codec_schedule "$(few "$(((problems + 4) / 5))")" --self-test
compare spoiled-cheapest cheapest rayscaler "$(few "$((problems / 8))")" --self-test
compare spoiled-capacity capacity tools/codec_capacity "$(few "$clusters")" --self-test
exit $status
