# The image, manifests, and documents that are made from the source.

# The content of the image is the list of charts/image/rootfs.sh alone: the Dockerfile runs it in its build
# stage, `make rootfs` on this machine without a container engine.
IMAGE ?= localhost/rayscaler:$(VERSION)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
## image: the container image IMAGE, with buildah, podman or docker
image:
	@SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' COMMIT='$(COMMIT)' \
		REVISION='$(DIST_COMMIT)' SOURCE='$(RELEASE_SOURCE)' charts/image/build.sh '$(IMAGE)' '$(VERSION)'
## rootfs: the same root file system in $(BUILD)/rootfs and as a tar, with none of them
rootfs: $(BUILD)/rayscaler-controller
	@SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' charts/image/rootfs.sh $< $(BUILD)/rootfs \
		$(BUILD)/rayscaler-rootfs.tar.gz
.PHONY: image rootfs

## manifests: charts/manifests and the chart's copies of the CRDs, made from the chart and crd/; the
##   table of values in the chart's README
manifests:
	@charts/make-manifests.sh "$$(e2e/setup-apiserver.sh helm | awk '{ print $$2 }')"
	@cd e2e && PYTHONDONTWRITEBYTECODE=1 "$$(./setup-python.sh)" -m rayscaler_e2e.chart_docs

## docs: the documents that are made from tables of the source; unit tests compare
AUTOSCALER_CRD := crd/rayclusterautoscalers.rayscaler.dev.yaml
POOL_CRD := crd/gpupools.rayscaler.dev.yaml
DOCS := docs/REASONS.md docs/METRICS.md docs/OPTIONS.md docs/LINT.md src/test/data/hostile-fields.md \
	docs/AUTOSCALER_OBJECT.md $(AUTOSCALER_CRD) $(POOL_CRD) \
	charts/rayscaler/crds/$(notdir $(AUTOSCALER_CRD)) charts/rayscaler/crds/$(notdir $(POOL_CRD)) \
	charts/rayscaler/files/flags.txt
docs: $(DOCS)
docs/REASONS.md: $(BUILD)/tools/core_reasons
docs/METRICS.md: $(BUILD)/tools/ctl_metrics
docs/REASONS.md docs/METRICS.md:
	$< > $@
$(POOL_CRD): KIND := GPUPool
$(AUTOSCALER_CRD) $(POOL_CRD): $(BUILD)/tools/codec_object_schema
	$< $(KIND) > $@
# The chart refuses other names and values in extraArgs.
charts/rayscaler/files/flags.txt: $(BUILD)/tools/ctl_options
	$< --values > $@
charts/rayscaler/crds/%: crd/%
	cp $< $@
# Only the part after a line.
docs/LINT.md: $(BUILD)/tools/core_lint_rules
docs/OPTIONS.md: $(BUILD)/tools/ctl_options
src/test/data/hostile-fields.md: $(BUILD)/tools/kube_hostile_fields
docs/LINT.md docs/OPTIONS.md src/test/data/hostile-fields.md:
	sed -E '/^<!-- (rules|readers|flags)/q' $@ > $(BUILD)/$(@F)
	$< >> $(BUILD)/$(@F)
	cp $(BUILD)/$(@F) $@
docs/AUTOSCALER_OBJECT.md: $(BUILD)/tools/codec_object_schema
	sed '/^<!-- fields/q' $@ > $(BUILD)/$(@F)
	$< --fields >> $(BUILD)/$(@F)
	cp $(BUILD)/$(@F) $@
## dashboard-picture: docs/pictures/dashboard.png, from a scenario with a real Prometheus
dashboard-picture: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/plot_dashboard.py
## report-picture: docs/pictures/report.png, the page of docs/QUICKSTART.md
report-picture: $(BUILD)/rayscaler
	@cd e2e && PYTHONPATH=. BUILD=$(BUILD) $$(./setup-python.sh) plot_report.py
## rules: $(BUILD)/rules.md, the rules of all golden cases by subject
rules: $(BUILD)/tools/codec_golden
	@$< --rules > $(BUILD)/rules.md
	@echo $(BUILD)/rules.md
.PHONY: manifests docs rules dashboard-picture report-picture
