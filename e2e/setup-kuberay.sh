#!/bin/bash
# Finds or makes KubeRay's operator for `make test-e2e KUBERAY=real`; installs and starts nothing.
#
# Taken from RAYSCALER_KUBERAY_OPERATOR (with its CRDs in RAYSCALER_KUBERAY_CRDS), else from the user's
# cache, else built once with `go install` from its Go module. Where the Go proxy refuses the module, build
# the program in a checkout of KubeRay's repository, as its own ray-operator/DEVELOPMENT.md says, and name it:
#
#   make test-e2e KUBERAY=real RAYSCALER_KUBERAY_OPERATOR=KUBERAY/ray-operator/bin/manager \
#     RAYSCALER_KUBERAY_CRDS=KUBERAY/ray-operator/config/crd/bases
#
# spec.tlsOptions needs cert-manager, built in a checkout of its repository (cmd/controller: go build): name it in
# RAYSCALER_CERT_MANAGER, its deploy/crds in RAYSCALER_CERT_MANAGER_CRDS. Without it those tests are skipped.
#
# Beside it runs the garbage collector of kube-controller-manager (e2e/setup-apiserver.sh). Standard output:
# the path of the program, and the directory of its CRDs.
#
# Exit status: 0 both are there, 3 they cannot be had on this machine (the message says why).
set -euo pipefail

version=v1.7.0
module=github.com/ray-project/kuberay/ray-operator
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler/kuberay-$version

say() { echo "setup-kuberay: $*" >&2; }
cannot() {
	say "$*"
	exit 3
}

program=${RAYSCALER_KUBERAY_OPERATOR:-$cache/ray-operator}
crds=${RAYSCALER_KUBERAY_CRDS:-$cache/crds}
if [ -n "${RAYSCALER_KUBERAY_OPERATOR:-}" ]; then
	[ -x "$program" ] || cannot "RAYSCALER_KUBERAY_OPERATOR=$program is no program"
	ls "$crds"/*rayclusters.yaml >/dev/null 2>&1 ||
		cannot "RAYSCALER_KUBERAY_CRDS must name KubeRay's config/crd/bases; $crds is not"
elif [ ! -x "$program" ] || [ ! -d "$crds" ]; then
	command -v go >/dev/null || cannot "KubeRay's operator is built with Go, and there is none in PATH"
	say "building $module $version, once; two cores need some 5 minutes"
	mkdir -p "$cache"
	CGO_ENABLED=0 GOBIN=$cache go install "$module@$version" >&2 ||
		cannot "the Go module of KubeRay $version cannot be had here; build its ray-operator in a checkout of the" \
			"tag $version and name it in RAYSCALER_KUBERAY_OPERATOR, its config/crd/bases in RAYSCALER_KUBERAY_CRDS"
	source=$(go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp -r "$source/config/crd/bases" "$crds"
	chmod -R u+w "$crds"
fi
echo "$program"
echo "$crds"
