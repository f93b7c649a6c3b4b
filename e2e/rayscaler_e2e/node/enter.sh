#!/bin/bash
# The first process of a node, in new namespaces: makes its file system and its network, and becomes `pause`.
#
#   enter.sh STATE ROOT PROGRAMS CPUS
#
# STATE: a directory for all that the node writes; ROOT: Debian's files, which stay as they are; PROGRAMS: a directory
# that becomes /usr/local/bin; CPUS: how many the kubelet sees.
set -euo pipefail

state=$1
root=$2
programs=$3
cpus=$4
new=$state/root

mount -t overlay overlay -o "lowerdir=$root,upperdir=$state/upper,workdir=$state/work" "$new"
mount -t proc proc "$new/proc"
mount -t sysfs sysfs "$new/sys"
mount --rbind /sys/fs/cgroup "$new/sys/fs/cgroup"
mount --rbind /dev "$new/dev"
mount -t tmpfs tmpfs "$new/run"
mount -t tmpfs tmpfs "$new/tmp"
for name in containerd kubelet etcd; do
	mount --bind "$state/$name" "$new/var/lib/$name"
done
mount --bind "$programs" "$new/usr/local/bin"
mount --bind "$state/etc" "$new/etc/kubernetes"

# The kubelet counts CPUs here. Pods have a /sys of their own.
mkdir -p "$new/run/cpu" "$new/run/no-node"
echo "0-$((cpus - 1))" >"$new/run/cpu/online"
for ((i = 0; i < cpus; i++)); do
	mkdir -p "$new/run/cpu/cpu$i/topology"
	echo "$i" | tee "$new/run/cpu/cpu$i/topology"/{core_id,thread_siblings_list} >/dev/null
	echo 0 >"$new/run/cpu/cpu$i/topology/physical_package_id"
done
mount --bind "$new/run/cpu" "$new/sys/devices/system/cpu"
[ ! -e "$new/sys/devices/system/node" ] || mount --bind "$new/run/no-node" "$new/sys/devices/system/node"

# A bridge, because a kernel may be without the kind `dummy`.
hostname node1
echo '127.0.0.1 localhost node1' >"$new/etc/hosts"
ip link set lo up
ip link add node0 type bridge
ip addr add 10.88.0.2/24 dev node0
ip link set node0 up
ip route add default via 10.88.0.2 dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

cd "$new"
pivot_root . mnt
umount -l /mnt
mount --make-rshared /
touch /etc/kubernetes/entered
exec /etc/kubernetes/pause
