#!/bin/bash
# Runs tests of e2e/ as a stage of `make test`:  run-pytest.sh STAGE [PYTEST ARGUMENT...]
#
# Makes what the tests need and is not there: the Python environment, etcd and kube-apiserver, kubectl,
# kube-controller-manager, kube-scheduler and helm. A test without one that it needs is skipped.
# KUBERAY=real runs them with KubeRay's own operator and CRDs in place of the stand-in, and those of
# e2e/kuberay, which need it.
# Leaves BUILD/test-results/STAGE.count.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
stage=$1
shift
export RAYSCALER_RESULT_NAME=$stage
export BUILD=${BUILD:-build}
results=$(cd "$here/.." && realpath -m "$BUILD")/test-results
mkdir -p "$results"
rm -f "$results/$stage.count"
cd "$here"

python=$("$here/setup-python.sh")
status=0
"$here/setup-apiserver.sh" etcd kube-apiserver kubectl kube-controller-manager kube-scheduler helm || status=$?
if [ "$status" -eq 3 ]; then
	echo "!! $stage: without all of these programs; tests that need a missing one are skipped" >&2
elif [ "$status" -ne 0 ]; then
	exit "$status"
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
	if [ -z "${TEST_ALL:-}" ]; then
		set -- "$@" -m 'not test_all'
		export E2E_PART=${E2E_PART:-$((10#$(date +%j) % 3 + 1))/3}
		echo "of the tests marked rotates part $E2E_PART (E2E_PART=$E2E_PART repeats it)"
	fi
fi

PYTHONDONTWRITEBYTECODE=1 exec "$python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "$@"
