# What people download, made by the scripts in mk/dist without a network or a container engine.

DIST := $(BUILD)/dist
# Where the files will be, for the krew manifest: no place has them yet.
RELEASE_URL ?= https://rayscaler.invalid/releases/v$(VERSION)
# The URL of the repository and of the build platform; none of both is published with these sources.
RELEASE_SOURCE ?=
RELEASE_BUILDER ?= https://rayscaler.invalid/builders/unknown
RELEASE_MAINTAINER ?= rayscaler <rayscaler@localhost>
# What e2e/setup-arm64.sh made; without it the release has the architecture of this machine alone.
ARM64 ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rayscaler/arm64
ARM64_BUILD := $(BUILD)/arm64

# The whole commit, as provenance wants it; a changed tree and an unknown commit stay as they are.
DIST_COMMIT = $(or $(shell git rev-parse --verify --quiet '$(COMMIT)^{commit}' 2>/dev/null),$(COMMIT))

DIST_MAKE = PYTHONDONTWRITEBYTECODE=1 python3 mk/dist/dist.py --to $(DIST) --version '$(VERSION)' \
	--commit '$(DIST_COMMIT)' --time '$(SOURCE_DATE_EPOCH)' --maintainer '$(RELEASE_MAINTAINER)' \
	--image '$(IMAGE)' --url '$(RELEASE_URL)' \
	--source '$(RELEASE_SOURCE)' --builder '$(RELEASE_BUILDER)'

## dist: in $(BUILD)/dist the image as an OCI archive, a tarball, a .deb, an SBOM, the chart, the krew
##   manifest, provenance and SHA256SUMS; the same sources give the same bytes. After setup-arm64 for arm64 too
dist: $(PROGRAMS)
	@rm -rf $(DIST)
	@$(DIST_MAKE) --program $< --controller $(BUILD)/rayscaler-controller --architecture "$$(dpkg --print-architecture)"
	@if [ -e '$(ARM64)/ready' ]; then $(MAKE) --no-print-directory BUILD='$(ARM64_BUILD)' \
		CC='$(ARM64)/bin/aarch64-linux-gnu-clang' PKG_CONFIG='$(ARM64)/bin/pkg-config' all && \
		$(DIST_MAKE) --program $(ARM64_BUILD)/rayscaler \
		--controller $(ARM64_BUILD)/rayscaler-controller --help-of $< --architecture arm64 \
		--sysroot '$(ARM64)/root'; else echo 'dist: without arm64 (make setup-arm64)'; fi
	@$(DIST_MAKE) --finish
.PHONY: dist
