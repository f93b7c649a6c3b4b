#!/bin/bash
# Makes the Python environment of the test bench (Ray included) in the user's cache.
#
#   e2e/setup-python.sh          make it if it is not there; prints the path of its python
#   e2e/setup-python.sh --path   print that path only
#
# The environment is named after a hash of requirements.txt and of the Python version: a change of
# either makes a new one, an unfinished one is made again. PYTHON chooses the interpreter. With
# KUBERAY=real it has requirements-kuberay.txt too, and is one of its own. Without, the packages that Ray
# Serve imports are in a folder beside it, which only the tests of Serve name in PYTHONPATH: with grpcio
# each `ray start --head` would start a server for Ray's client.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rayscaler
wanted=3.11

say() { echo "setup-python: $*" >&2; }

python_version() {
	"$1" -c 'import ensurepip, venv, sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

find_python() {
	for candidate in ${PYTHON:-} "/usr/bin/python$wanted" "python$wanted" python3; do
		command -v "$candidate" >/dev/null || continue
		[ "$(python_version "$candidate")" = "$wanted" ] || continue
		command -v "$candidate"
		return
	done
	say "no Python $wanted with the venv module: install python3 and python3-venv (Debian 12)," \
		"or name one with PYTHON=/path/to/python$wanted"
	return 1
}

python=$(find_python)
requirements=("$here/requirements.txt")
serve=$(grep -E '^(annotated-doc|anyio|fastapi|grpcio|grpcio-reflection|h11|opentelemetry-api|starlette|uvicorn)==' \
	"$here/requirements-kuberay.txt")
if [ "${KUBERAY:-standin}" = real ]; then
	requirements+=("$here/requirements-kuberay.txt")
	serve=
fi
key=$({ echo "$wanted"; cat "${requirements[@]}"; printf %s "$serve"; } | sha256sum | cut -c1-16)
venv=$cache/venv-$key

if [ "${1:-}" = --path ]; then
	echo "$venv/bin/python"
	exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/setup-python.lock"
if ! flock -n 9; then
	say "another run makes the environment, waiting for it (at most 20 minutes)"
	flock -w 1200 9
fi
if [ -e "$venv/complete" ]; then
	say "using $venv"
	echo "$venv/bin/python"
	exit 0
fi

say "making $venv with $python; Ray and pyarrow are about 120 MB to download, this takes a minute or two"
rm -rf "$venv"
"$python" -m venv "$venv" >&2
bar=off
[ -t 2 ] && bar=on
install() {
	"$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar "$bar" --only-binary :all: "$@" >&2
}
install "${requirements[@]/#/--requirement=}"
"$venv/bin/python" -m pip check >&2
# shellcheck disable=SC2086 # one word for each package
[ -z "$serve" ] || install --no-deps --target "$venv/serve" $serve
touch "$venv/complete"
say "done: $("$venv/bin/python" -c 'import ray; print("Ray", ray.__version__)')"
echo "$venv/bin/python"
