#!/bin/bash
# Installs the Debian packages that are missing; does nothing, quickly, when all are there.
#
#   e2e/setup-packages.sh GROUP...     groups of e2e/packages.txt: build, test
#
# Needs root or sudo only when something is missing. Removes nothing (a package that conflicts with
# an installed one is an error to read) and lets no package start a service.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
policy=/usr/sbin/policy-rc.d

say() { echo "setup-packages: $*" >&2; }
cannot() {
	say "$*"
	exit 1
}

[ $# -gt 0 ] || cannot "usage: setup-packages.sh GROUP..."
for group in "$@"; do
	grep -q "^$group " "$here/packages.txt" || cannot "no group $group in $here/packages.txt"
done

command -v dpkg-query >/dev/null || cannot "this is no Debian system: install what corresponds to" \
	"the packages of $here/packages.txt by hand, then go on with make (not make demo, make test)"

wanted=$(awk -v groups=" $* " 'index(groups, " " $1 " ") { print $2 }' "$here/packages.txt")
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
	awk '$1 == "installed" { print $2 }')
missing=$(comm -23 <(sort -u <<<"$wanted") <(sort -u <<<"$installed"))
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086
set -- $missing

say "missing: $*"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || cannot "you are not root and there is no sudo; as root, run:" \
		"apt-get install --no-install-recommends $*"
	if [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
		cannot "sudo asks for a password and there is no terminal; as root, run:" \
			"apt-get install --no-install-recommends $*"
	fi
	as_root=(sudo)
fi

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# Debian's own way to install without starting anything. A policy that is there stays.
if [ ! -e "$policy" ]; then
	trap '"${as_root[@]}" rm -f "$policy"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
	"${as_root[@]}" chmod 0755 "$policy"
fi

say "reading the package lists"
apt update >&2 || say "the package lists could not be read in full, going on with what is there"
say "installing $# packages"
apt install -y --no-install-recommends --no-remove "$@" >&2 ||
	cannot "apt-get could not install: $*"
say "done"
