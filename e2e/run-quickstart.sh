#!/bin/bash
# The demo as a stage of `make test`: one test, on the embedded API server whatever the others use.
# Leaves BUILD/test-results/quickstart.count.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export BUILD=${BUILD:-build}
results=$(cd "$here/.." && realpath -m "$BUILD")/test-results
mkdir -p "$results"
python=$("$here/setup-python.sh")
status=0
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/demo.py" || status=$?
if [ "$status" -eq 0 ]; then
	echo 'quickstart 1 0 0' >"$results/quickstart.count"
else
	echo 'quickstart 0 1 0' >"$results/quickstart.count"
fi
exit "$status"
