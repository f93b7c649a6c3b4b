#!/bin/bash
# `make dev-cluster`: makes what it needs and is not there, then rayscaler_e2e/dev_cluster.py.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/setup-python.sh")
"$here/setup-apiserver.sh"
cd "$here"
PYTHONDONTWRITEBYTECODE=1 exec "$python" -m rayscaler_e2e.dev_cluster "$@"
