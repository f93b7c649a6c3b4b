#!/bin/bash
# Prepares `make dist` for arm64: Debian's libraries of that architecture, unpacked into the cache with a
# clang for them; installs nothing (clang, lld and llvm are packages of e2e/packages.txt).
#
#   e2e/setup-arm64.sh
#
# Makes ~/.cache/rayscaler/arm64: root/, bin/aarch64-linux-gnu-clang, bin/pkg-config, and root/packages with
# lines "PACKAGE VERSION ARCHITECTURE PATH". Exit status: 0 it is there, 3 it cannot be had on this machine.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler
to=$cache/arm64

say() { echo "setup-arm64: $*" >&2; }
cannot() {
	say "$*"
	exit 3
}

. "$here/debian.sh"

# The package lists of arm64 apart from those of this machine, and as if no package was installed.
arm64_options() {
	apt_dir=$cache/apt-arm64
	mkdir -p "$apt_dir"
	: >"$apt_dir/status"
	apt_options=("${apt_options[@]//"$cache/apt/"/"$apt_dir/"}" -o APT::Architecture=arm64
		-o APT::Architectures::=arm64 -o Dir::State::status="$apt_dir/status")
}

make_arm64() {
	local new=$cache/arm64.new package triplet=aarch64-linux-gnu
	say "unpacking Debian's libraries for arm64 (32 MB) into $to"
	rm -rf "$new" "$to"
	mkdir -p "$new/root" "$new/bin"
	arm64_options
	prepare_apt || cannot "Debian's package lists for arm64 could not be read"
	# shellcheck disable=SC2046
	apt-get "${apt_options[@]}" install -y --no-install-recommends --download-only \
		$(awk '$1 == "build" && /-dev$/ { print $2 }' "$here/packages.txt") libgcc-12-dev >&2 ||
		cannot "Debian's packages for arm64 could not be downloaded"
	for package in "$apt_dir"/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$new/root"
		dpkg-deb -c "$package" | awk -v of="$(dpkg-deb -W --showformat='${Package} ${Version} ${Architecture}' "$package")" \
			'$1 ~ /^[-l]/ && $6 ~ /\.so/ { print of, substr($6, 2) }' >>"$new/root/packages"
	done
	rm -rf "$apt_dir/cache"
	cat >"$new/bin/$triplet-clang" <<-END
		#!/bin/bash
		exec clang --target=$triplet --sysroot=$to/root -fuse-ld=lld -Wno-unused-command-line-argument "\$@"
	END
	cat >"$new/bin/pkg-config" <<-END
		#!/bin/bash
		export PKG_CONFIG_SYSROOT_DIR=$to/root
		export PKG_CONFIG_LIBDIR=$to/root/usr/lib/$triplet/pkgconfig:$to/root/usr/share/pkgconfig
		exec $(command -v pkg-config) "\$@"
	END
	chmod 0755 "$new/bin"/*
	touch "$new/ready"
	mv "$new" "$to"
}

for tool in clang ld.lld llvm-strip pkg-config; do
	command -v "$tool" >/dev/null || cannot "$tool is missing; fix: make setup"
done
mkdir -p "$cache"
exec 9>"$cache/setup-arm64.lock"
flock -w 600 9 || cannot "another run did not end"
[ -e "$to/ready" ] || make_arm64
