#!/bin/bash
# Runs tests of e2e/ as a stage of `make test`:  run-pytest.sh STAGE [PYTEST ARGUMENT...]
#
# Makes what the tests need and is not there: the Python environment and, for the real API server
# (RAYSCALER_APISERVER=real, the default), kube-apiserver and etcd. Where those cannot be had the
# tests run on the embedded API server and the count says so, as one skipped line of its own.
# kubectl, kube-controller-manager, kube-scheduler and helm are made with them; a test without them is skipped.
# KUBERAY=real runs them with KubeRay's own operator and CRDs in place of the stand-in, and those of
# e2e/kuberay, which need it.
# Leaves BUILD/test-results/STAGE.count.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
stage=$1
shift
export RAYSCALER_APISERVER=${RAYSCALER_APISERVER:-real} RAYSCALER_RESULT_NAME=$stage
export BUILD=${BUILD:-build}
results=$(cd "$here/.." && realpath -m "$BUILD")/test-results
count=$results/$stage.count
mkdir -p "$results"
rm -f "$count"
cd "$here"

python=$("$here/setup-python.sh")
missing=
if [ "$RAYSCALER_APISERVER" = real ]; then
	status=0
	found=$("$here/setup-apiserver.sh" etcd kube-apiserver kubectl kube-controller-manager kube-scheduler helm) || status=$?
	echo "$found"
	if [ "$status" -eq 3 ] && [ "$(grep -c -E '^(etcd|kube-apiserver) ' <<<"$found")" -eq 2 ]; then
		status=0
		echo "!! $stage: not all of kubectl, kube-controller-manager, kube-scheduler and helm can be had" >&2
	fi
	if [ "$status" -eq 3 ]; then
		missing=yes
		export RAYSCALER_APISERVER=embedded
		echo "!! $stage: no real API server on this machine, going on with the embedded one" >&2
	elif [ "$status" -ne 0 ]; then
		exit "$status"
	fi
fi

if [ "${KUBERAY:-standin}" = real ]; then
	found=$("$here/setup-kuberay.sh")
	{ read -r RAYSCALER_KUBERAY_OPERATOR && read -r RAYSCALER_KUBERAY_CRDS; } <<<"$found"
	export RAYSCALER_KUBERAY_OPERATOR RAYSCALER_KUBERAY_CRDS
	export PYTEST_ADDOPTS="-o 'testpaths=tests kuberay' ${PYTEST_ADDOPTS:-}"
fi

# All tests run in three processes, each with an API server and stand-ins of its own, because a test waits for half of
# its time.
if [ $# -eq 0 ]; then
	set -- -n "${E2E_PROCESSES:-3}"
	# The tests that only make test-all runs (pytest.ini); chosen by arguments they run as well.
	[ -n "${TEST_ALL:-}" ] || set -- "$@" -m 'not test_all'
fi

status=0
PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "$@" || status=$?
if [ -n "$missing" ]; then
	echo "$stage:no-real-api-server 0 0 1" >>"$count"
fi
exit "$status"
