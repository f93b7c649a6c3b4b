# Debian packages unpacked into the cache, without root and without installing them: sourced by the
# setup scripts, which define `cache` (a directory) and `say`.
#
#   prepare_apt                           reads the package lists, once
#   unpack_debian DIRECTORY PACKAGE[/SUITE]...   1 when they cannot be had

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
