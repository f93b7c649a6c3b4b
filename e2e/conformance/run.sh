#!/bin/bash
# Compares rayscaler with Ray's own scheduler:  run.sh PROBLEMS SEED [COUNT_FILE]
#
# The packing alone and whole snapshots, PROBLEMS each from SEED on. Problems that no class explains
# are left in BUILD/conformance. COUNT_FILE gets "name passed failed skipped" lines (see
# e2e/summary.sh). RAYSCALER_PYTHON: a python that has the pinned Ray; otherwise e2e's own is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
problems=$1
seed=$2
counts=${3:-}
build=$(realpath -m "${BUILD:-build}")
python=${RAYSCALER_PYTHON:-$("$here/../setup-python.sh")}
export PYTHONDONTWRITEBYTECODE=1
[ -z "$counts" ] || { mkdir -p "$(dirname "$counts")" && : >"$counts"; }

status=0
for subject in tool=tools/codec_schedule program=rayscaler; do
	kind=${subject%%=*}
	result=$build/conformance/$kind.result
	mkdir -p "$build/conformance"
	"$python" "$here/packing.py" "--$kind" "$build/${subject#*=}" --count "$problems" \
		--seed "$seed" --jobs "${JOBS:-2}" --out "$build/conformance/$kind" \
		--result "$result" || status=1
	[ -z "$counts" ] || echo "conformance:$kind $(cat "$result")" >>"$counts"
done
exit $status
