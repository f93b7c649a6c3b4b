#!/bin/bash
# Makes from the chart what those without helm apply, and the copies of the CRDs in the chart:
#
#   charts/make-manifests.sh HELM [DIRECTORY]
#
# DIRECTORY (default: charts/manifests) gets install.yaml: CRDs, Namespace and what the chart renders with
# its default values in namespace rayscaler-system, without the labels that are helm's.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
helm=$1
to=${2:-$here/manifests}
crds=("$here"/../crd/*.rayscaler.dev.yaml)

rendered=$("$helm" template rayscaler "$here/rayscaler" --namespace rayscaler-system)
mkdir -p "$to"
{
	echo '# rayscaler for all namespaces, made from charts/rayscaler by `make manifests`.'
	echo '# kubectl apply --server-side -f install.yaml'
	for crd in "${crds[@]}"; do
		[ "$crd" = "${crds[0]}" ] || echo ---
		cat "$crd"
	done
	cat <<-'EOF'
	---
	apiVersion: v1
	kind: Namespace
	metadata:
	  name: rayscaler-system
	  labels:
	    app.kubernetes.io/name: rayscaler
	    pod-security.kubernetes.io/enforce: restricted
	EOF
	grep -v -E '^# Source: |^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): ' <<<"$rendered"
} >"$to/install.yaml"
if [ $# -eq 1 ]; then
	mkdir -p "$here/rayscaler/crds"
	cp "${crds[@]}" "$here/rayscaler/crds/"
fi
