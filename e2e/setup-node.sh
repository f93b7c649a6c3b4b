#!/bin/bash
# Makes in the user's cache what a real node needs (rayscaler_e2e/node): a root file system with containerd and runc
# from Debian's packages, the programs of Kubernetes, and the layers of the images. Installs and starts nothing.
#
#   e2e/setup-node.sh            makes what is missing; prints lines "NAME PATH"
#   e2e/setup-node.sh --redis    the root file system of an image of Redis alone, for `make judge`; prints its path
#   e2e/setup-node.sh --check    only tells whether this machine can run a node
#
# Exit status: 0 all is there, 3 this machine cannot run a node, or a part cannot be had (one line says why).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler
node_packages=(conntrack containerd containernetworking-plugins dnsmasq-base iproute2 ipset iptables kmod mount procps runc util-linux)
ray_packages=(hostname iproute2 libc-bin libstdc++6 procps python-is-python3 python3 wget)
programs=(etcd kube-apiserver kubectl kube-controller-manager kube-scheduler helm kubelet kube-proxy device-plugin dra-driver)

say() { echo "setup-node: $*" >&2; }
cannot() {
	say "no node on this machine: $*"
	exit 3
}

. "$here/debian.sh"

# ---- what the machine must allow -------------------------------------------------------------------

check_machine() {
	local tried name
	[ "$(uname -s)" = Linux ] || cannot "it needs Linux"
	[ "$(id -u)" -eq 0 ] || cannot "it needs root"
	for name in unshare nsenter mount pivot_root dpkg-deb gcc; do
		command -v "$name" >/dev/null || cannot "it needs $name"
	done
	grep -qw overlay /proc/filesystems || cannot "it needs overlayfs"
	mkdir -p "$cache"
	tried=$(mktemp -d "$cache/probe.XXXXXX")
	mkdir "$tried"/{lower,upper,work,root}
	unshare --mount --net --pid --ipc --uts --fork mount -t overlay overlay \
		-o "lowerdir=$tried/lower,upperdir=$tried/upper,workdir=$tried/work" "$tried/root" 2>/dev/null || name=
	rm -rf "$tried"
	[ -n "$name" ] || cannot "it needs the right to make namespaces and to mount overlayfs"
	if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
		check_cgroups /sys/fs/cgroup
	else
		for name in cpu cpuset memory pids; do
			check_cgroups "/sys/fs/cgroup/$name"
		done
	fi
}

check_cgroups() {
	local tried=$1/rayscaler-probe-$$
	mkdir "$tried" 2>/dev/null || cannot "it needs the right to make cgroups in $1"
	rmdir "$tried"
}

# ---- parts -------------------------------------------------------------------------------------------

# $1: directory below the cache, named after what it is made of; the rest: the command that makes it
make_part() {
	local to=$1 started=$SECONDS
	shift
	[ ! -e "$to" ] || return 0
	rm -rf "${to%-*}"-*
	"$@" "$to.new" || cannot "${to##*/} could not be made"
	mv "$to.new" "$to"
	say "made $to in $((SECONDS - started)) s"
}

key() { sha256sum | cut -c1-16; }

make_root() {
	unpack_debian_root "$1" "${node_packages[@]}" || return 1
	local name
	for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
		ln -sf xtables-nft-multi "$1/usr/sbin/$name"
	done
	mkdir -p "$1"/{dev,proc,sys,run,tmp,mnt,etc/kubernetes,usr/local/bin,var/lib/{containerd,kubelet,etcd}}
}

# The pause container of a Pod, which is also the first process of the node: reaps every child, ends on SIGTERM.
make_pause() {
	mkdir "$1"
	gcc -O2 -static -s -o "$1/pause" "$here/rayscaler_e2e/node/pause.c"
}

make_redis() { unpack_debian_root "$1" redis-server redis-tools && mkdir -p "$1/tmp" "$1/proc" "$1/sys" "$1/dev"; }

make_ray_root() { unpack_debian_root "$1" "${ray_packages[@]}"; }

# ray[default] in the place where Debian's Python looks for it.
make_ray() {
	local python packages=$1/usr/local/lib/python3.11/dist-packages
	python=$("$here/setup-python.sh")
	ray_requirements >"$cache/ray.txt"
	"$python" -m pip install --disable-pip-version-check --no-input --progress-bar off --quiet --no-deps \
		--only-binary :all: --target "$packages" --requirement "$cache/ray.txt" >&2 || return 1
	mkdir -p "$1/usr/local/bin"
	mv "$packages"/bin/* "$1/usr/local/bin/"
	rmdir "$packages/bin"
	(cd "$packages" && "$python" -S -c 'import aiohttp, aiohttp_cors, colorful, opencensus, prometheus_client, pydantic') || return 1
	grep -lI '^#!.*python' "$1"/usr/local/bin/* | xargs sed -i '1s|.*|#!/usr/bin/python3|'
}
ray_requirements() {
	sed -n '1,/^# Tests/p; /^\(pydantic\|annotated-types\|typing-inspection\)/p' "$here/requirements.txt"
	cat "$here/requirements-kuberay.txt"
}

main() {
	check_machine
	[ "${1:-}" != --check ] || exit 0
	mkdir -p "$cache/node"
	exec 9>"$cache/setup-node.lock"
	flock -w 1800 9 || cannot "another run of this script did not end"
	if [ "${1:-}" = --redis ]; then
		local redis
		redis=$cache/node/redis-$(declare -f make_redis unpack_debian_root | key)
		make_part "$redis" make_redis
		echo "$redis"
		exit 0
	fi
	"$here/setup-apiserver.sh" "${programs[@]}" || cannot "a program of Kubernetes cannot be had"
	local root pause ray_root ray
	root=$cache/node/root-$(declare -f make_root unpack_debian_root | cat - <(echo "${node_packages[@]}") | key)
	pause=$cache/node/pause-$(key <"$here/rayscaler_e2e/node/pause.c")
	ray_root=$cache/node/rayroot-$(declare -f make_ray_root unpack_debian_root | cat - <(echo "${ray_packages[@]}") | key)
	ray=$cache/node/ray-$({ declare -f make_ray; ray_requirements; } | key)
	make_part "$root" make_root
	make_part "$pause" make_pause
	make_part "$ray_root" make_ray_root
	make_part "$ray" make_ray
	printf '%s\n' "root $root" "pause $pause/pause" "ray-root $ray_root" "ray $ray"
}

main "$@"
exit
