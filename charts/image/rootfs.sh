#!/bin/bash
# Makes the root file system of the image: the program (the controller alone: src/image), the shared libraries that it loads, the loader,
# the CA certificates and time zones of the system, and the few files that the C library reads. Nothing else: no
# shell, no package manager, nothing that can be written to.
#
#   [SYSROOT=DIRECTORY] charts/image/rootfs.sh PROGRAM DIRECTORY [TAR.GZ]
#
# The one list of what is in the image: the Dockerfile runs it in its build stage, `make rootfs` without any
# container engine. The same inputs give the same bytes: names sorted, times SOURCE_DATE_EPOCH, owner 0.
set -euo pipefail
export LC_ALL=C

USER_ID=65532 # as distroless's "nonroot"
CA_BUNDLE=${CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}
ZONES=/usr/share/zoneinfo
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}

cannot() {
	echo "rootfs: $*" >&2
	exit 1
}

[ $# -eq 2 ] || [ $# -eq 3 ] || cannot "usage: rootfs.sh PROGRAM DIRECTORY [TAR.GZ]"
program=$1
root=$2
archive=${3:-}
# With SYSROOT: for another machine, whose libraries are below that directory.
SYSROOT=${SYSROOT:+$(readlink -f "$SYSROOT")}
strip=${SYSROOT:+llvm-}strip
for tool in readelf "$strip" tar gzip; do
	command -v "$tool" >/dev/null || cannot "$tool is missing; fix: apt-get install binutils tar gzip ${SYSROOT:+llvm}"
done
[ -x "$program" ] || cannot "$program is not there; fix: make"
triplet=$(readelf -h "$program" | sed -n -e 's/.*Machine: .*X86-64.*/x86_64/p' -e 's/.*Machine: .*AArch64.*/aarch64/p')
triplet=${triplet:-$(uname -m)}-linux-gnu
[ -s "$CA_BUNDLE" ] || cannot "$CA_BUNDLE is not there; fix: apt-get install ca-certificates, or set CA_BUNDLE"
[ -s "$ZONES/Europe/Berlin" ] || cannot "$ZONES/Europe/Berlin is not there; fix: apt-get install tzdata"
# It is emptied: only what this script made, or nothing.
[ ! -e "$root" ] || [ -e "$root/usr/bin/rayscaler" ] || [ -z "$(ls -A "$root")" ] ||
	cannot "$root holds something else; fix: name another directory"
rm -rf "$root"

# Directories as Debian merges them, so that every path that a binary has in it leads here.
install -d -m 0755 "$root" "$root/etc/ssl/certs" "$root/run" "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/var"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
ln -s /run "$root/var/run"

# A file under the name by which it is looked for, without its symbolic links. $1 is a path with all of
# its directories resolved, so that it cannot leave the root through one of the links above.
put() {
	local directory
	directory=$(readlink -f "$(dirname "$1")")
	install -D -m "$2" "$1" "$root${directory#"$SYSROOT"}/$(basename "$1")"
}

install -m 0755 "$program" "$root/usr/bin/rayscaler"
# The build id is a digest of the debug information too, which names the folder of the build.
"$strip" --strip-debug --remove-section=.note.gnu.build-id "$root/usr/bin/rayscaler"
# KubeRay starts the autoscaler container with these names (src/image/kuberay_command.h).
ln -s rayscaler "$root/usr/bin/bash"
ln -s rayscaler "$root/usr/bin/ray"

# The libraries that a program loads, and those that they load: each once, as "$found".
found=
add_libraries() {
	local name file
	for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[[ "$name" != "${loader##*/}" && " $found " != *"/$name "* ]] || continue
		file=$(find_library "$name") || cannot "$program lacks $name"
		found="$found $file"
		add_libraries "$file"
	done
}
find_library() {
	local directory
	for directory in "$SYSROOT"/{usr/lib,lib}{"/$triplet",,64} "$SYSROOT/usr/local/lib"; do
		if [ -e "$directory/$1" ]; then
			echo "$directory/$1"
			return
		fi
	done
	return 1
}
loader=$(readelf -l "$program" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
[ -n "$loader" ] || cannot "$program names no loader"
add_libraries "$program"
for file in $found "$SYSROOT$loader"; do
	put "$file" 0755
done

# The license of each package that a file comes from, and the texts that these files refer to.
add_license() {
	local text=$SYSROOT/usr/share/doc/$1/copyright
	[ -s "$text" ] || cannot "$text, the license of $1, is not there"
	install -D -m 0644 "$text" "$root/usr/share/doc/$1/copyright"
}
package_of() {
	if [ -n "$SYSROOT" ]; then
		awk -v name="/${1##*/}" 'index($4, name) && substr($4, length($4) - length(name) + 1) == name { print $1; exit }' "$SYSROOT/packages"
	else
		{ dpkg-query -S "$1" "${1#/usr}" 2>/dev/null || true; } | sed -n '1s/:.*//p' # one of both paths is unknown
	fi
}
for file in $found "$SYSROOT$loader"; do
	package=$(package_of "$file")
	[ -n "$package" ] || cannot "$file belongs to no Debian package, so its license is unknown"
	add_license "$package"
done
SYSROOT='' add_license ca-certificates
SYSROOT='' add_license tzdata
install -D -m 0644 -t "$root/usr/share/common-licenses" /usr/share/common-licenses/*[0-9c]
install -D -m 0644 "$(dirname "$0")/../../LICENSE" "$root/usr/share/doc/rayscaler/copyright"

install -m 0644 "$CA_BUNDLE" "$root/etc/ssl/certs/ca-certificates.crt"
# Of schedules (src/ctl/shared/time_zones.c). posix/ has the same again, right/ counts leap seconds.
(cd "$ZONES" && find . -name posix -prune -o -name right -prune -o \( -type f -o -type l \) -name '[A-Z]*' -print) |
	while read -r zone; do
		install -D -m 0644 "$(readlink -f "$ZONES/$zone")" "$root$ZONES/$zone"
	done
# getaddrinfo: /etc/hosts, then DNS, both in libc itself. The kubelet mounts hosts and resolv.conf.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo "root:x:0:0:root:/:/nonexistent
rayscaler:x:$USER_ID:$USER_ID:rayscaler:/nonexistent:/nonexistent" >"$root/etc/passwd"
echo "root:x:0:
rayscaler:x:$USER_ID:" >"$root/etc/group"
chmod 0644 "$root/etc/nsswitch.conf" "$root/etc/passwd" "$root/etc/group"

# Every library must be found inside, by the loader's own search and without a cache; the loader of another
# machine does not run here.
for directory in $(find "$root/usr/lib" "$root/usr/lib64" -name '*.so*' -printf '%h\n' | sort -u); do
	search=${search:+$search:}$directory
done
[ -n "$SYSROOT" ] || outside=$("$root$(readlink -f "$(dirname "$loader")")/$(basename "$loader")" --inhibit-cache \
	--library-path "$search" --list "$root/usr/bin/rayscaler" |
	awk -v root="$root/" '$2 == "=>" && index($3, root) != 1 && $1 != "linux-vdso.so.1" { print $1 }')
[ -z "${outside:-}" ] || cannot "not found inside of $root: $(paste -sd ' ' <<<"$outside")"

find "$root" -depth -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

echo "rootfs: $root"
echo "rootfs: program $(stat -c %s "$root/usr/bin/rayscaler") bytes"
echo "rootfs: all $(find "$root" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }') bytes in" \
	"$(find "$root" -type f | wc -l) files"
if [ -n "$archive" ]; then
	tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu \
		--mtime="@$SOURCE_DATE_EPOCH" -cf - . | gzip -n >"$archive"
	echo "rootfs: $archive $(stat -c %s "$archive") bytes"
fi
