#!/bin/bash
# Finds or makes the real kube-apiserver and etcd for the tests; installs and starts nothing.
#
#   e2e/setup-apiserver.sh
#
# kube-apiserver is taken from KUBEBUILDER_ASSETS, else PATH, else the user's cache; else it is built
# once into the cache from e2e/apiserver, with the Go in PATH when it is new enough, else with
# Debian's Go, unpacked into the cache. etcd likewise; the last resort is Debian's etcd-server,
# unpacked. Standard output: one line "NAME PATH" each.
#
# Exit status: 0 both are there, 3 they cannot be had on this machine (the message says why).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler

say() { echo "setup-apiserver: $*" >&2; }
cannot() {
	say "$*"
	say "the real API server is not available; APISERVER=embedded works without it"
	exit 3
}

find_program() {
	if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; then
		echo "$KUBEBUILDER_ASSETS/$1"
	elif command -v "$1" >/dev/null; then
		command -v "$1"
	elif [ -x "$cache/bin/$1" ]; then
		echo "$cache/bin/$1"
	else
		return 1
	fi
}

. "$here/debian.sh"

# ---- etcd ---------------------------------------------------------------------------------------

make_etcd() {
	say "unpacking Debian's etcd-server into $cache/etcd (no service is installed)"
	unpack_debian "$cache/etcd" etcd-server ||
		cannot "no etcd in PATH, and Debian's etcd-server could not be downloaded"
	mkdir -p "$cache/bin"
	ln -sf ../etcd/usr/bin/etcd "$cache/bin/etcd"
	"$cache/bin/etcd" --version >&2
}

# ---- kube-apiserver -----------------------------------------------------------------------------

kubernetes_version() {
	awk '$1 == "k8s.io/kubernetes" { print $2 }' "$here/apiserver/go.mod"
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

build_apiserver() {
	local version total started=$SECONDS
	version=$(kubernetes_version)
	find_go
	export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath" GOTOOLCHAIN=auto
	cd "$here/apiserver"
	say "downloading the modules of Kubernetes $version (about 100 MB)"
	"$go" mod download >&2 || cannot "the Go modules of Kubernetes could not be downloaded"
	total=$("$go" list -deps . | wc -l)
	say "building kube-apiserver $version from source: 4 to 6 minutes on two cores, once"
	local stamp=k8s.io/component-base/version minor=${version#v1.}
	"$go" build -v -o "$cache/bin/kube-apiserver.new" -ldflags "-s -w \
		-X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} \
		-X $stamp.gitTreeState=archive -X $stamp.buildDate=1970-01-01T00:00:00Z" . 2>&1 |
		show_progress "$total" || cannot "kube-apiserver could not be built"
	mv "$cache/bin/kube-apiserver.new" "$cache/bin/kube-apiserver"
	source_key >"$cache/bin/kube-apiserver.key"
	rm -rf "$cache/go" "$cache/golang" "$cache/golang-debian" # some 3 GB that nothing needs now
	say "built $("$cache/bin/kube-apiserver" --version) in $((SECONDS - started)) s"
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

source_key() { cat "$here"/apiserver/{main.go,go.mod,go.sum} | sha256sum | cut -c1-16; }

# A cached build of older sources is made again; what somebody else put there is used as it is.
drop_old_build() {
	local key=$cache/bin/kube-apiserver.key
	if [ -e "$key" ] && [ "$(cat "$key")" != "$(source_key)" ]; then
		rm -f "$cache/bin/kube-apiserver" "$key"
	fi
}

main() {
	mkdir -p "$cache/bin"
	exec 9>"$cache/setup-apiserver.lock"
	if ! flock -n 9; then
		say "another run is at it, waiting (at most 30 minutes)"
		flock -w 1800 9 || cannot "the other run did not end"
	fi
	drop_old_build
	find_program etcd >/dev/null || make_etcd
	find_program kube-apiserver >/dev/null || build_apiserver
	for name in kube-apiserver etcd; do
		echo "$name $(find_program "$name")"
	done
}

main
exit
