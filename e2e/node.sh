#!/bin/bash
# `make node`: makes what it needs and is not there, then rayscaler_e2e/node with the same arguments.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/setup-python.sh")
parts=$("$here/setup-node.sh")
if found=$("$here/setup-kuberay.sh" 2>/dev/null); then
	{ read -r RAYSCALER_KUBERAY_OPERATOR && read -r RAYSCALER_KUBERAY_CRDS; } <<<"$found"
	export RAYSCALER_KUBERAY_OPERATOR RAYSCALER_KUBERAY_CRDS
else
	unset RAYSCALER_KUBERAY_OPERATOR RAYSCALER_KUBERAY_CRDS
	echo "node: KubeRay's operator cannot be had here (e2e/setup-kuberay.sh): its stand-in runs" >&2
fi
cd "$here"
# shellcheck disable=SC2046
PYTHONDONTWRITEBYTECODE=1 exec "$python" -m rayscaler_e2e.node \
	$(awk '$1 ~ /^(root|pause|ray-root|ray)$/ { print $1 "=" $2 }' <<<"$parts") "$@"
