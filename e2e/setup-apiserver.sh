#!/bin/bash
# Finds or makes the real programs of Kubernetes for the tests; installs and starts nothing.
#
#   e2e/setup-apiserver.sh [PROGRAM...]
#
# PROGRAM: etcd, kube-apiserver (these two are the default), kubectl, kube-controller-manager,
# kube-scheduler, helm; of a real node kubelet, kube-proxy, device-plugin, dra-driver, kube-router; e2eautoscaler.test of KubeRay;
# kube-apiserver-1.37 and kube-scheduler-1.37, for what 1.34 lacks (test_native_gangs.py).
# The servers are taken from KUBEBUILDER_ASSETS, else PATH, else the user's cache; kubectl,
# kube-controller-manager and kube-scheduler from KUBEBUILDER_ASSETS, else the cache, all others from
# the cache: they have to be of the versions that are pinned here. Missing programs are built once into the cache, from
# e2e/apiserver (one build for all of Kubernetes, so that what they share is compiled once; etcd is a module of its own
# there, because its dependencies have other versions, and so are the programs of node/, because only a real
# node needs their dependencies), helm from its own module, and programs of other projects from modules that pin them, with the Go in PATH when it is new
# enough, else with Debian's Go, unpacked into the cache. Standard output: one line "NAME PATH" each.
#
# Exit status: 0 all are there, 3 one cannot be had on this machine (the message says why; those
# that are there are printed).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler
helm_version=v3.19.5
kube_router_version=v2.1.0
if [ $# -eq 0 ]; then
	set -- etcd kube-apiserver
fi
wanted=("$@")

say() { echo "setup-apiserver: $*" >&2; }
cannot() {
	say "$*"
	print_found
	exit 3
}

# kubectl, the controllers and the scheduler of other versions would make other outputs.
pinned() { case $1 in etcd | kube-apiserver) return 1 ;; esac }
of_cache() { of_node "$1" || of_newest "$1" || [ -n "$(module_of "$1")" ] || [ -n "$(installed_version "$1")" ]; }
of_node() { case $1 in kubelet | kube-proxy | device-plugin) ;; *) return 1 ;; esac }

of_newest() { case $1 in *-1.37) ;; *) return 1 ;; esac }

# Programs that are installed from a module of their own.
installed_version() {
	case $1 in
	helm) echo "$helm_version" ;;
	kube-router) echo "$kube_router_version" ;;
	esac
}

# Programs of other projects: the directory of the module here that pins them.
module_of() {
	case $1 in
	dra-driver) echo dra-driver ;;
	e2eautoscaler.test) echo kuberay-suite ;;
	esac
}

find_program() {
	if ! of_cache "$1" && [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; then
		echo "$KUBEBUILDER_ASSETS/$1"
	elif ! pinned "$1" && command -v "$1" >/dev/null; then
		command -v "$1"
	elif [ -x "$cache/bin/$1" ]; then
		echo "$cache/bin/$1"
	else
		return 1
	fi
}

. "$here/debian.sh"

# ---- builds --------------------------------------------------------------------------------------

# $1: the folder of its module
kubernetes_version() {
	awk '$1 == "k8s.io/kubernetes" { print $2 }' "${1:-$here/apiserver}/go.mod"
}

# go_can VERSION MINIMUM: is VERSION, as "go version" prints it, at least MINIMUM (1.N)?
go_can() {
	local minor=${1#go1.}
	minor=${minor%%[!0-9]*}
	[ "${minor:-0}" -ge "${2#1.}" ]
}

go_version() { GOTOOLCHAIN=local "$1" version 2>/dev/null | awk '{ print $3 }'; }

# Sets `go`. From 1.21 on, a Go that is too old fetches the one that go.mod asks for.
find_go() {
	go=$(command -v go || true)
	if [ -n "$go" ] && go_can "$(go_version "$go")" 1.24; then
		return
	fi
	go=$cache/golang/bin/go
	if [ ! -x "$go" ]; then
		unpack_go || cannot "no Go from 1.24 on in PATH (found: $(command -v go || echo none))," \
			"and Debian's (bookworm-backports) could not be downloaded"
	fi
	export GOPATH="$cache/go" GOCACHE="$cache/go/build" GOFLAGS="-modcacherw"
	say "Go: $go ($(go_version "$go")), which fetches the toolchain that go.mod asks for"
}

unpack_go() {
	prepare_apt || return 1
	local minor
	for minor in 25 24 23 22 21; do
		apt-cache "${apt_options[@]}" show "golang-1.$minor-go" >/dev/null 2>&1 || continue
		say "unpacking Debian's golang-1.$minor-go into the cache"
		unpack_debian "$cache/golang-debian" "golang-1.$minor-go" "golang-1.$minor-src" || return 1
		ln -sfn "golang-debian/usr/lib/go-1.$minor" "$cache/golang"
		return
	done
	return 1
}

prepare_go() {
	[ -n "${go:-}" ] || find_go
	export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath" GOTOOLCHAIN=auto
}

# $1: e2e/apiserver, its node/ or newest/; one build for all of the rest, directories there.
build_kubernetes() {
	local version total started=$SECONDS name new=$cache/bin/new
	version=$(kubernetes_version "$1")
	prepare_go
	cd "$1"
	shift
	of_newest "$1" || [ "$version" = "$(kubernetes_version)" ] || cannot "$PWD/go.mod has another version of Kubernetes"
	say "downloading the modules of Kubernetes $version (about 100 MB)"
	"$go" mod download >&2 || cannot "the Go modules of Kubernetes could not be downloaded"
	total=$("$go" list -deps "${@/#/./}" | wc -l)
	say "building $* $version from source, once; two cores need" \
		"4 to 6 minutes for the server, 1 for kubectl, 2 for the controllers, 1 for the scheduler, 2 for the kubelet"
	local stamp=k8s.io/component-base/version minor=${version#v1.}
	rm -rf "$new"
	mkdir "$new"
	"$go" build -v -o "$new/" -ldflags "-s -w \
		-X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} \
		-X $stamp.gitTreeState=archive -X $stamp.buildDate=1970-01-01T00:00:00Z" "${@/#/./}" 2>&1 |
		show_progress "$total" || cannot "$* could not be built"
	for name; do
		mv "$new/$name" "$cache/bin/$name"
		source_key "$name" >"$cache/bin/$name.key"
	done
	rmdir "$new"
	say "built $* in $((SECONDS - started)) s"
}

build_etcd() {
	local started=$SECONDS
	prepare_go
	say "building etcd from source: 1 minute on two cores, once"
	(cd "$here/apiserver/etcd" && "$go" build -v -o "$cache/bin/etcd.new" -ldflags "-s -w" . 2>&1) |
		show_progress "about 500" || cannot "etcd could not be built"
	mv "$cache/bin/etcd.new" "$cache/bin/etcd"
	rm -rf "$cache/etcd"
	source_key etcd >"$cache/bin/etcd.key"
	"$cache/bin/etcd" --version >&2
	say "built etcd in $((SECONDS - started)) s"
}

# $1: its name; $2: its package; $3: flags of the linker
install_program() {
	local started=$SECONDS version
	version=$(installed_version "$1")
	prepare_go
	say "building $1 $version from source: 2 minutes on two cores, once"
	GOBIN=$cache/bin "$go" install -v -ldflags "-s -w $3" "$2@$version" 2>&1 | show_progress "about 1000" ||
		cannot "$1 could not be built"
	source_key "$1" >"$cache/bin/$1.key"
	say "built $1 $version in $((SECONDS - started)) s"
}

build_helm() {
	local minor version
	version=$(kubernetes_version)
	minor=${version#v1.}
	install_program helm helm.sh/helm/v3/cmd/helm "-X helm.sh/helm/v3/internal/version.version=$helm_version \
		-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
		-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=${minor%%.*}"
}

# A DRA driver, kubernetes-sigs' example, or a program of KubeRay's tests.
build_of_module() {
	local name=$1 started=$SECONDS words=build package=sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin
	if [ "$name" = e2eautoscaler.test ]; then
		words="test -c" package=github.com/ray-project/kuberay/ray-operator/test/e2eautoscaler
	fi
	prepare_go
	say "building $name from source: 1 minute on two cores, once"
	# shellcheck disable=SC2086
	(cd "$here/apiserver/$(module_of "$name")" &&
		"$go" $words -v -ldflags "-s -w" -o "$cache/bin/$name.new" "$package" 2>&1) |
		show_progress "about 700" || cannot "$name could not be built"
	mv "$cache/bin/$name.new" "$cache/bin/$name"
	source_key "$name" >"$cache/bin/$name.key"
	say "built $name in $((SECONDS - started)) s"
}

# What `go build -v` says: a package per line, else an error.
show_progress() {
	local total=$1 compiled=0 started=$SECONDS shown=$SECONDS line
	while IFS= read -r line; do
		if [[ $line = *[[:space:]]* ]]; then
			echo "$line" >&2
			continue
		fi
		compiled=$((compiled + 1))
		if [ $((SECONDS - shown)) -ge 10 ]; then
			shown=$SECONDS
			say "compiled $compiled of $total packages, $((SECONDS - started)) s"
		fi
	done
}

source_key() {
	if [ -n "$(installed_version "$1")" ]; then
		installed_version "$1"
	elif [ "$1" = etcd ]; then
		cat "$here"/apiserver/etcd/*
	elif [ -n "$(module_of "$1")" ]; then
		cat "$here/apiserver/$(module_of "$1")"/*
	elif of_node "$1"; then
		cat "$here/apiserver/node/$1/main.go" "$here"/apiserver/node/go.{mod,sum}
	elif of_newest "$1"; then
		cat "$here/apiserver/newest/$1/main.go" "$here"/apiserver/newest/go.{mod,sum}
	else
		cat "$here/apiserver/$1/main.go" "$here"/apiserver/go.{mod,sum}
	fi | sha256sum | cut -c1-16
}

# A cached build of older sources is made again; what somebody else put there is used as it is.
drop_old_build() {
	local key=$cache/bin/$1.key
	if [ -e "$key" ] && [ "$(cat "$key")" != "$(source_key "$1")" ]; then
		rm -f "$cache/bin/$1" "$key"
	fi
}

# etcd 3.4, which earlier versions of this script unpacked: it costs seven times as much while nothing happens.
is_of_debian() {
	[ "$1" = etcd ] && [ "$(readlink "$cache/bin/etcd")" = ../etcd/usr/bin/etcd ]
}

print_found() {
	local name path
	for name in "${wanted[@]}"; do
		if path=$(find_program "$name"); then
			echo "$name $path"
		fi
	done
}

make_missing() {
	local name kubernetes=() node=() newest=() modules=() etcd= helm= router=
	for name in "${wanted[@]}"; do
		drop_old_build "$name"
		if find_program "$name" >/dev/null && ! is_of_debian "$name"; then
			continue
		fi
		case $name in
		etcd) etcd=yes ;;
		helm) helm=yes ;;
		kube-router) router=yes ;;
		kubelet | kube-proxy | device-plugin) node+=("$name") ;;
		*-1.37) newest+=("$name") ;;
		dra-driver | e2eautoscaler.test) modules+=("$name") ;;
		*) kubernetes+=("$name") ;;
		esac
	done
	[ "${#kubernetes[@]}" -eq 0 ] || build_kubernetes "$here/apiserver" "${kubernetes[@]}"
	[ "${#node[@]}" -eq 0 ] || build_kubernetes "$here/apiserver/node" "${node[@]}"
	[ "${#newest[@]}" -eq 0 ] || build_kubernetes "$here/apiserver/newest" "${newest[@]}"
	for name in "${modules[@]}"; do
		build_of_module "$name"
	done
	[ -z "$etcd" ] || build_etcd
	[ -z "$helm" ] || build_helm
	[ -z "$router" ] || install_program kube-router github.com/cloudnativelabs/kube-router/v2/cmd/kube-router ""
	rm -rf "$cache/go" "$cache/golang" "$cache/golang-debian" # some 3 GB that nothing needs now
}

main() {
	local name
	for name in "${wanted[@]}"; do
		case $name in
		etcd | kube-apiserver | kubectl | kube-controller-manager | kube-scheduler | kubelet | kube-proxy | helm) ;;
		device-plugin | dra-driver | kube-router | e2eautoscaler.test | kube-apiserver-1.37 | kube-scheduler-1.37) ;;
		*) say "unknown program $name"; exit 2 ;;
		esac
	done
	mkdir -p "$cache/bin"
	exec 9>"$cache/setup-apiserver.lock"
	if ! flock -n 9; then
		say "another run is at it, waiting (at most 30 minutes)"
		flock -w 1800 9 || cannot "the other run did not end"
	fi
	make_missing
	print_found
}

main
exit
