#!/bin/bash
# The stage `node` of make test:  run-node.sh [PYTEST ARGUMENT...]
#
# The tests of e2e/node on a real node, at most NODE_SECONDS (900) with its start. Where this machine cannot run a node
# the stage says so in one line and counts as one skipped test. Leaves BUILD/test-results/node.count.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export BUILD=${BUILD:-build}
count=$(cd "$here/.." && realpath -m "$BUILD")/test-results/node.count
mkdir -p "${count%/*}"
rm -f "$count"

status=0
"$here/setup-node.sh" || status=$?
if [ "$status" -eq 3 ]; then
	echo "node:no-real-node 0 0 1" >"$count"
	exit 0
fi
[ "$status" -eq 0 ] || exit "$status"

[ $# -gt 0 ] || [ -n "${TEST_ALL:-}" ] || set -- -m 'not test_all'
timeout --signal=INT --kill-after=60 "${NODE_SECONDS:-900}" "$here/run-pytest.sh" node node "$@"
