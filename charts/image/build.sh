#!/bin/bash
# Builds the image with the first of buildah, podman and docker that works here.
#
#   charts/image/build.sh NAME:TAG VERSION      from the top of the repository
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: build.sh NAME:TAG VERSION" >&2; exit 2; }
name=$1
version=$2
file=charts/image/Dockerfile
label=--label=org.opencontainers.image
arguments=(--build-arg "VERSION=$version" --build-arg "COMMIT=${COMMIT:-unknown}" --build-arg "SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}"
	"$label.version=$version" "$label.revision=${REVISION:-unknown}" ${SOURCE:+"$label.source=$SOURCE"} -f "$file" -t "$name" .)

# A client alone builds nothing: a docker without its engine is not there.
for tool in buildah podman docker; do
	command -v "$tool" >/dev/null || continue
	if ! said=$(timeout 20 "$tool" info 2>&1); then
		echo "image: $tool does not work here: $(tail -n 1 <<<"$said")" >&2
		continue
	fi
	echo "image: building $name with $tool"
	case $tool in
	buildah) buildah build "${arguments[@]}" ;;
	*) "$tool" build "${arguments[@]}" ;;
	esac
	"$tool" inspect --type image --format 'image: {{.Size}} bytes' "$name" 2>/dev/null || "$tool" images "$name"
	exit 0
done
echo "image: none of buildah, podman and docker works here; fix: apt-get install buildah (or podman), or" \
	"start docker's engine. Without any of them: make rootfs, whose archive is the same root file system" \
	"(docker import, or FROM scratch and ADD)" >&2
exit 1
