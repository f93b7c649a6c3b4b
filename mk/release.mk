# What people download, made by the scripts in mk/release without a network or a container engine.

RELEASE := $(BUILD)/release
# Where the files will be, for the krew manifest: no place has them yet.
RELEASE_URL ?= https://rayscaler.invalid/releases/v$(VERSION)
RELEASE_MAINTAINER ?= rayscaler <rayscaler@localhost>
# What e2e/setup-arm64.sh made; without it the release has the architecture of this machine alone.
ARM64 ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rayscaler/arm64
ARM64_BUILD := $(BUILD)/arm64

RELEASE_MAKE = PYTHONDONTWRITEBYTECODE=1 python3 mk/release/release.py --to $(RELEASE) --version '$(VERSION)' \
	--commit '$(COMMIT)' --time '$(SOURCE_DATE_EPOCH)' --maintainer '$(RELEASE_MAINTAINER)' \
	--image '$(firstword $(subst :, ,$(notdir $(IMAGE))))' --url '$(RELEASE_URL)'

## release: in $(BUILD)/release the image as an OCI archive, a tarball, a .deb, an SBOM, the chart, the krew
##   manifest and SHA256SUMS; the same sources give the same bytes. After setup-arm64 for arm64 too
release: $(BUILD)/rayscaler
	@rm -rf $(RELEASE)
	@$(RELEASE_MAKE) --program $< --architecture "$$(dpkg --print-architecture)"
	@if [ -e '$(ARM64)/ready' ]; then $(MAKE) --no-print-directory BUILD='$(ARM64_BUILD)' \
		CC='$(ARM64)/bin/aarch64-linux-gnu-clang' PKG_CONFIG='$(ARM64)/bin/pkg-config' all && \
		$(RELEASE_MAKE) --program $(ARM64_BUILD)/rayscaler --help-of $< --architecture arm64 \
		--sysroot '$(ARM64)/root'; else echo 'release: without arm64 (make setup-arm64)'; fi
	@$(RELEASE_MAKE) --finish
.PHONY: release
