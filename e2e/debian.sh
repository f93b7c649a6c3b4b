# Debian packages unpacked into the cache, without root and without installing them: sourced by the
# setup scripts, which define `cache` (a directory) and `say`.
#
#   prepare_apt                           reads the package lists, once
#   unpack_debian DIRECTORY PACKAGE[/SUITE]...   1 when they cannot be had
#   unpack_debian_root DIRECTORY PACKAGE...      the same, with all that they depend on: a root file system

apt_dir=$cache/apt
# Package lists of our own: the system's are left alone.
apt_options=(-q -o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache"
	-o Dir::Etc::SourceList="$apt_dir/sources.list" -o Dir::Etc::SourceParts=-
	-o APT::Sandbox::User="$(id -un)")

# The mirror that this machine uses for Debian.
debian_mirror() {
	sed -n -E -e 's|^deb (\[[^]]*\] )?(https?://[^ ]+) bookworm main.*|\2|p' \
		-e 's|^URIs: (https?://[^ ]*/debian/?)$|\1|p' \
		/etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1
}

# Under a lock: two setup scripts may come here at once.
prepare_apt() {
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	(
		flock -w 600 8 || exit 1
		[ -e "$apt_dir/ready" ] || read_lists
	) 8>"$apt_dir/lock"
}

read_lists() {
	command -v apt-get >/dev/null || return 1
	local mirror suite
	mirror=$(debian_mirror)
	for suite in bookworm bookworm-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
			"${mirror:-http://deb.debian.org/debian} $suite main"
	done >"$apt_dir/sources.list"
	say "reading Debian's package lists into $apt_dir"
	apt-get "${apt_options[@]}" update >&2 || return 1
	touch "$apt_dir/ready"
}

# Lists of last month name packages that are replaced since: they are read once more then.
download_debian() {
	prepare_apt || return 1
	apt-get "${apt_options[@]}" download "$@" >&2 && return
	rm -f "$apt_dir/ready"
	prepare_apt && apt-get "${apt_options[@]}" download "$@" >&2
}

unpack_debian() {
	local to=$1 new package
	shift
	new=$(mktemp -d "$cache/unpack.XXXXXX")
	(cd "$new" && download_debian "$@") || { rm -rf "$new"; return 1; }
	mkdir "$new/tree"
	for package in "$new"/*.deb; do
		dpkg-deb -x "$package" "$new/tree" || { rm -rf "$new"; return 1; }
	done
	rm -rf "$to"
	mv "$new/tree" "$to"
	rm -rf "$new"
}

# What the packages depend on is found by apt, for a system without any package. No script of a package runs, so what
# those of the essential ones would do is done here.
unpack_debian_root() {
	local to=$1 new package name
	shift
	prepare_apt || return 1
	new=$(mktemp -d "$cache/unpack.XXXXXX")
	mkdir -p "$new/partial" "$new"/tree/{etc,usr/{bin,sbin,lib,lib64}}
	for name in bin sbin lib lib64; do
		ln -s "usr/$name" "$new/tree/$name"
	done
	touch "$new/status"
	apt-get "${apt_options[@]}" -o Dir::State::status="$new/status" -o Dir::Cache::archives="$new" \
		--no-install-recommends --download-only -y install \
		base-files base-passwd bash coreutils dash findutils grep mawk sed "$@" >&2 || { rm -rf "$new"; return 1; }
	for package in "$new"/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -C "$new/tree" --keep-directory-symlink -x ||
			{ rm -rf "$new"; return 1; }
	done
	for name in passwd group; do
		cp "$new/tree/usr/share/base-passwd/$name.master" "$new/tree/etc/$name"
	done
	ln -s mawk "$new/tree/usr/bin/awk"
	rm -rf "$new"/tree/usr/share/{doc,man,locale,info}
	rm -rf "$to"
	mv "$new/tree" "$to"
	rm -rf "$new"
}
