#!/bin/bash
# `make dev-cluster`: makes what it needs and is not there, then rayscaler_e2e/dev_cluster.py.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export RAYSCALER_APISERVER=${RAYSCALER_APISERVER:-real}
python=$("$here/setup-python.sh")
if [ "$RAYSCALER_APISERVER" = real ]; then
	"$here/setup-apiserver.sh"
fi
cd "$here"
PYTHONDONTWRITEBYTECODE=1 exec "$python" -m rayscaler_e2e.dev_cluster "$@"
