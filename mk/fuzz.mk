# libFuzzer: src/test/fuzz/<group>_<name>_fuzz.c is one program, built by clang with ASan and UBSan and
# linked with the archives of its group and of the layers that it uses. It starts from the files below and
# from src/test/fuzz/corpus/NAME, where that exists. New inputs of interest are kept in $(FUZZ_CORPUS).

FUZZ_SECONDS ?= 10
FUZZ_CORPUS ?= $(BUILD)/fuzz/corpus
FUZZ_TARGETS := $(sort $(patsubst src/test/fuzz/%_fuzz.c,%,$(wildcard src/test/fuzz/*_fuzz.c)))
# The target of the snapshot starts from the snapshots of the golden cases.
FUZZ_SEEDS_codec_snapshot := $(BUILD)/golden
fuzz-codec_snapshot: $(BUILD)/golden
FUZZ_SEEDS_codec_lint := src/test/lint_cases examples
FUZZ_SEEDS_gcs_state := src/test/data/gcs
fuzz_seeds = $(FUZZ_SEEDS_$(1)) $(wildcard src/test/fuzz/corpus/$(1))

# $(1): group, $(2): name
define fuzz_rules
$(BUILD)/fuzz/obj/test/fuzz/$(2)_fuzz.o: PRIVATE_CFLAGS = \
	$$(call vendor_flags,--cflags,$$(call vendor_of,$$(LINKS_$(1))))
$(BUILD)/fuzz/$(2): $(BUILD)/fuzz/obj/test/fuzz/$(2)_fuzz.o $(call archives,fuzz,$(1))
	$$(call link,fuzz,$(1))
fuzz-$(2): $(BUILD)/fuzz/$(2)
	@mkdir -p $(FUZZ_CORPUS)/$(2) $(BUILD)/fuzz/findings
	@rm -f $$<.passed
	@echo 'FUZZ    $(2), $(FUZZ_SECONDS) s'
	@$$< -max_total_time=$(FUZZ_SECONDS) -timeout=60 -rss_limit_mb=2048 \
		-max_len=65536 -dict=src/test/fuzz/words.dict -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/findings/$(2)- $(FUZZ_CORPUS)/$(2) \
		$(call fuzz_seeds,$(2)) > $$<.log 2>&1 || { tail -40 $$<.log; exit 1; }
	@grep number_of_executed_units $$<.log | sed 's/^stat::/        /'
	@touch $$<.passed
.PHONY: fuzz-$(2)
endef
$(foreach t,$(FUZZ_TARGETS),$(eval $(call fuzz_rules,$(call name_group,$(t)),$(t))))
.SECONDARY: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/obj/test/fuzz/%_fuzz.o)

## fuzz: every libFuzzer target for FUZZ_SECONDS (10); fuzz-NAME: one; fuzz-programs: build them
##   a finding is left in $(BUILD)/fuzz/findings
fuzz: $(FUZZ_TARGETS:%=fuzz-%)
fuzz-programs: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)
.PHONY: fuzz fuzz-programs

# Every target, as a stage of make test, JOBS at once (docs/CONTRIBUTING.md).
FUZZ_STAGE := $(FUZZ_TARGETS)
FUZZ_STAGE_SECONDS ?= $(if $(TEST_ALL),30,4)
test-fuzz:
	@mkdir -p $(RESULTS)
	@rm -f $(FUZZ_STAGE:%=$(BUILD)/fuzz/%.passed) $(RESULTS)/fuzz.count; status=0; \
		$(MAKE) --no-print-directory -k -j$(JOBS) FUZZ_SECONDS=$(FUZZ_STAGE_SECONDS) \
			$(FUZZ_STAGE:%=fuzz-%) || status=1; \
		for t in $(FUZZ_STAGE); do \
			if [ -e $(BUILD)/fuzz/$$t.passed ]; then echo "fuzz:$$t 1 0 0"; \
			else echo "fuzz:$$t 0 1 0"; fi; done > $(RESULTS)/fuzz.count; exit $$status
