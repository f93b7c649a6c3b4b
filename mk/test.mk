# Unit tests, laws, e2e and conformance, and the stages of `make test`.

RESULTS := $(BUILD)/test-results
# A script of e2e/ in the Python environment of the tests, which is made if it is not there.
PYTHON = PYTHONDONTWRITEBYTECODE=1 BUILD='$(abspath $(BUILD))' "$$(e2e/setup-python.sh)"

# ---- all of it ----------------------------------------------------------------------------
# A stage is a target test-NAME that leaves $(RESULTS)/NAME.count with lines "name passed failed
# skipped". They run in this order, apart from BESIDE_E2E.

TEST_STAGES := unit features laws e2e quickstart node conformance schedule-ray growth fuzz tsan clang confined valgrind-e2e
# make test-all adds what tells little for its time beside the rest. TEST_ALL: not empty in that run.
TEST_ALL ?=
export TEST_ALL
ALL_STAGES := $(TEST_STAGES) valgrind benches lint-selftest
# Those that run beside e2e, at the lowest priority: they have no deadlines.
BESIDE_E2E ?= features laws conformance schedule-ray growth fuzz
export BESIDE_E2E

# KubeRay's operator of the e2e tests: standin or real (e2e/setup-kuberay.sh says from where).
KUBERAY ?= standin
export KUBERAY

## test: install what is missing, build, run every kind of test, count; test-NAME: one stage, of
##   unit features laws e2e quickstart node conformance schedule-ray growth fuzz tsan clang valgrind confined valgrind-e2e
##   KUBERAY=standin or real: KubeRay's operator of the e2e tests
## test-all: the same with valgrind, every clang test, coverage, longer fuzzing, each bench at its smallest
##   size, and the e2e tests marked test_all
test:
	@MAKE='$(MAKE)' e2e/run-tests.sh $(RESULTS) $(if $(TEST_ALL),$(ALL_STAGES),$(TEST_STAGES))
test-all:
	@$(MAKE) --no-print-directory test TEST_ALL=yes

# AHEAD: further targets (.ci/run adds those of lint).
AHEAD ?=
export AHEAD
## ahead: what later stages need, and AHEAD; make test compiles it beside the stage e2e
ahead: tsan-programs $(if $(TEST_ALL),clang-programs,clang-part-programs) fuzz-programs $(AHEAD)
## beside-programs: what e2e and the stages beside it both need
beside-programs: $(PROGRAMS) tools $(BUILD)/tools/laws $(BUILD)/test/codec_golden_test

.PHONY: test test-all ahead beside-programs $(ALL_STAGES:%=test-%)

# ---- unit tests ---------------------------------------------------------------------------
# src/test/<group>/<group>_<module>_test.c is one program, built with sanitizers and linked with the
# archives of its group and of the layers that it uses, and with nothing else but cmocka and libm.

TEST_PATHS := $(sort $(foreach g,$(GROUPS),$(patsubst src/test/%.c,%,$(wildcard src/test/$(g)/*_test.c))))
TESTS := $(notdir $(TEST_PATHS))
TEST_PROGRAMS := $(TESTS:%=$(BUILD)/test/%)

# Code that tests and their tools share, src/test/support/*.c: an archive, from which a program links only
# the objects that it uses.
# Those that need a feature whose folder is deleted are left out.
SUPPORT_LACKS := $(shell grep -o '"feature/[a-z_]*' src/test/support/*.c | tr -d '"' | while IFS=: read -r file folder; do \
	[ -d "src/$$folder" ] || echo "$$file"; done)
SUPPORT := $(patsubst src/%.c,%,$(filter-out $(SUPPORT_LACKS),$(wildcard src/test/support/*.c)))
support = $(DIR_$(1))/libtest_support.a
define support_rules
$(SUPPORT:%=$(DIR_$(1))/obj/%.o): PRIVATE_CFLAGS = \
	-Wno-missing-field-initializers $$(call vendor_flags,--cflags,cmocka $(PACKAGES))
$(call support,$(1)): $(SUPPORT:%=$(DIR_$(1))/obj/%.o) $(wildcard src/test/support)
	$$(pack)
endef
$(foreach v,release asan fuzz,$(eval $(call support_rules,$(v))))

# The group of a test, a tool or a fuzz target: the first word of its name.
name_group = $(firstword $(subst _, ,$(notdir $(1))))

# Of the same sources, by clang with the archives of the fuzz targets.
CC_clang := $(FUZZ_CC)
LINK_clang := $(SANITIZE) -fsanitize=fuzzer-no-link -Wl,--as-needed

# Clocks of tests do not depend on how fast the machine is (src/test/support/virtual_clock.h), except of those whose
# program waits outside of a loop: for its child processes.
MACHINE_CLOCK_TESTS := cli_supervise_test
VIRTUAL_CLOCK := -Wl,-u,virtual_clock_use
clock_of = $(if $(filter $(1),$(MACHINE_CLOCK_TESTS)),,$(VIRTUAL_CLOCK))

# $(1): group, $(2): name
define test_rules
$(BUILD)/asan/obj/test/$(1)/$(2).o $(BUILD)/fuzz/obj/test/$(1)/$(2).o: PRIVATE_CFLAGS = -Wno-missing-field-initializers \
	$$(call vendor_flags,--cflags,cmocka $$(call vendor_of,$$(LINKS_$(1))))
$(BUILD)/test/$(2): $(BUILD)/asan/obj/test/$(1)/$(2).o $(call support,asan) $(call archives,asan,$(1))
	$$(call link,asan,$(1),$$(call vendor_flags,--libs,cmocka) $$(call clock_of,$(2)))
$(BUILD)/fuzz/test/$(2): $(BUILD)/fuzz/obj/test/$(1)/$(2).o $(call support,fuzz) $(call archives,fuzz,$(1))
	$$(call link,clang,$(1),$$(call vendor_flags,--libs,cmocka) $$(call clock_of,$(2)))
unit-$(2) unit-$(2:_test=): $(BUILD)/test/$(2)
	$$<
.PHONY: unit-$(2) unit-$(2:_test=)
endef
$(foreach t,$(TESTS),$(eval $(call test_rules,$(call name_group,$(t)),$(t))))
.SECONDARY: $(TEST_PATHS:%=$(BUILD)/asan/obj/test/%.o) $(TEST_PATHS:%=$(BUILD)/fuzz/obj/test/%.o)

## unit: all unit tests, with ASan and UBSan; unit-<layer>_<module>: one; unit-programs: build them
# Honest counts: see the head of the script.
unit: $(TEST_PROGRAMS)
	@src/test/run_unit.sh $(RESULTS) $(TEST_PROGRAMS)
unit-programs: $(TEST_PROGRAMS)
# A program that does not compile is a failed test; the others run.
test-unit:
	@status=0; $(MAKE) --no-print-directory -k -j$(JOBS) unit-programs || status=1; \
		src/test/run_unit.sh $(RESULTS) $(TEST_PROGRAMS) || status=1; exit $$status

## mutants: errors in the source of the sharing of GPUs, of budgets and of reports, each of which a test must notice (src/test/mutants.py);
##   MUTANTS=REGEX: those whose number and file match
mutants:
	@$(PYTHON) src/test/mutants.py --tree $(BUILD)/mutants --only '$(MUTANTS)'
.PHONY: mutants

## golden: the golden decisions alone; GOLDEN_ONLY=0012 selects, UPDATE=1 rewrites the wanted members
golden: $(BUILD)/test/codec_golden_test
	$<
# Their snapshots without bases and templates.
$(BUILD)/golden: $(BUILD)/tools/codec_golden $(wildcard src/test/golden/*.yaml src/test/golden/base/*.yaml)
	@rm -rf $@
	@mkdir -p $@
	@$< --all $@
.PHONY: unit unit-programs golden

# ---- features -----------------------------------------------------------------------------
# None, and each feature alone, in builds of their own without optimization. The decision and the codecs link, so no
# other part names a feature that is not there; the golden cases that need no other feature pass, and without any each
# other one fails (src/test/golden/features.txt). The controller links as well, with none the whole program.
# In make test none and a quarter of the others, by the day of the year; in make test-all each.

FEATURE_PARTS := 4
FEATURE_PART ?= $(shell expr $$(date +%j) % $(FEATURE_PARTS) + 1)
FEATURE_SETS := none $(if $(TEST_ALL),$(FEATURES_ALL),$(shell printf '%s\n' $(FEATURES_ALL) | \
	awk 'NR % $(FEATURE_PARTS) + 1 == $(FEATURE_PART)'))
# $(call features_make,set)
features_make = $(MAKE) --no-print-directory BUILD='$(BUILD)/features/$(1)' FEATURES='$(filter-out none,$(1))' \
	WERROR=-w SANITIZE= FOR_SANITIZERS=-O0 HARDENING= EXTRA_CFLAGS=-O0
## features: golden cases and link with none and with single features (FEATURE_PART by the day of the year, 1 to 4);
##   features-none, features-NAME: one of them
features: $(FEATURE_SETS:%=features-%)
$(addprefix features-,none $(FEATURES_ALL)): features-%:
	@$(call features_make,$*) $(BUILD)/features/$*/test/codec_golden_test \
		$(BUILD)/features/$*/rayscaler-controller $(if $(filter none,$*),$(BUILD)/features/none/rayscaler)
	@src/test/run_unit.sh $(BUILD)/features/$*/test-results $(BUILD)/features/$*/test/codec_golden_test \
		> $(BUILD)/features/$*/log 2>&1 || { tail -60 $(BUILD)/features/$*/log; exit 1; }
	@sed 's/^unit /features:$* /' $(BUILD)/features/$*/test-results/unit.count
test-features:
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/features.count
	@status=0; $(MAKE) --no-print-directory -k -j$(JOBS) features > $(RESULTS)/features.log 2>&1 || status=1; \
		grep '^features:' $(RESULTS)/features.log > $(RESULTS)/features.count; \
		grep -v '^CC \|^LINK' $(RESULTS)/features.log; exit $$status
.PHONY: features $(addprefix features-,none $(FEATURES_ALL))

# ---- tools --------------------------------------------------------------------------------
# Programs that tests run and that are not installed: src/test/tools/<group>_<name>.c. VARIANT_<name>: of
# their libraries, where it is not release.

VARIANT_codec_growth_bench := work
TOOLS := $(patsubst src/test/tools/%.c,%,$(foreach g,$(GROUPS),$(wildcard src/test/tools/$(g)_*.c)))

define tool_rules
$(BUILD)/obj/test/tools/$(2).o: PRIVATE_CFLAGS = \
	$$(call vendor_flags,--cflags,$$(call vendor_of,$$(LINKS_$(1))))
$(BUILD)/tools/$(2): $(BUILD)/obj/test/tools/$(2).o $(call support,release) \
		$(call archives,$(or $(VARIANT_$(2)),release),$(1))
	$$(call link,$(or $(VARIANT_$(2)),release),$(1))
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rules,$(call name_group,$(t)),$(t))))
.SECONDARY: $(TOOLS:%=$(BUILD)/obj/test/tools/%.o)
## tools: the programs that tests and benches run, in $(BUILD)/tools
tools: $(TOOLS:%=$(BUILD)/tools/%)
.PHONY: tools

# ---- laws ---------------------------------------------------------------------------------
# src/test/laws, built as the program is, so that many snapshots can be tried.

LAWS_SEED ?= 1
LAWS_COUNT ?= 100000
LAWS_OBJECTS := $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/test/laws/*.c))
$(LAWS_OBJECTS): PRIVATE_CFLAGS = -Isrc/test/laws $(call vendor_flags,--cflags,$(VENDOR_codec))
# In a variable: $(call) would divide the option at its comma.
LAWS_LINK := -Wl,--wrap=schedule
$(BUILD)/tools/laws: $(LAWS_OBJECTS) $(call support,release) $(call archives,release,codec)
	$(call link,release,codec,$(LAWS_LINK))

## laws: the laws of the decision on random snapshots; a broken one is shrunk to $(BUILD)/laws
##   LAWS_COUNT (100000), LAWS_SEED: the first, or random, which is printed
RUN_LAWS = $(BUILD)/tools/laws --jobs $(JOBS) --out $(BUILD)/laws --count $(LAWS_COUNT) \
	--seed $(if $(filter random,$(LAWS_SEED)),$$(date +%s),$(LAWS_SEED))
laws: $(BUILD)/tools/laws
	@mkdir -p $(BUILD)/laws
	@$(RUN_LAWS)
# The faults that are planted must be found, and the files they leave must be golden cases. 13 ms of CPU
# time for each snapshot: fewer than by hand.
test-laws: LAWS_COUNT = $(if $(TEST_ALL),100000,15000)
test-laws: $(BUILD)/tools/laws $(BUILD)/test/codec_golden_test
	@mkdir -p $(RESULTS) $(BUILD)/laws
	@rm -rf $(BUILD)/laws/selftest $(RESULTS)/laws.count; mkdir $(BUILD)/laws/selftest
	@$(BUILD)/tools/laws --selftest $(BUILD)/laws/selftest --result $(RESULTS)/laws.count || true
	@GOLDEN_DIR=$(BUILD)/laws/selftest $(BUILD)/test/codec_golden_test \
		> $(BUILD)/laws/selftest.log 2>&1 || { cat $(BUILD)/laws/selftest.log; \
		echo 'laws:selftest-golden 0 1 0' >> $(RESULTS)/laws.count; }
	@$(RUN_LAWS) --result $(RESULTS)/laws.count
.PHONY: laws

# ---- e2e ----------------------------------------------------------------------------------

## test-e2e: the tests in e2e/tests; PYTEST="-k name" chooses
PYTEST ?=
test-e2e: $(PROGRAMS) tools
	@BUILD='$(BUILD)' e2e/run-pytest.sh e2e $(PYTEST)
# The quickstart of the README, as a test.
test-quickstart: $(PROGRAMS)
	@BUILD='$(BUILD)' e2e/run-quickstart.sh

## demo: a cluster that scales up and down on this machine, in half a minute once its parts are built
demo: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/demo.py
## dev-cluster: API server, operator, kubelet, controller and a RayCluster, until Ctrl-C
##   RUN_FLAGS: flags of `rayscaler run`
RUN_FLAGS ?=
dev-cluster: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD='$(BUILD)' e2e/dev-cluster.sh -- $(RUN_FLAGS)
## node: a real Kubernetes with one Node, KubeRay and the chart, in namespaces of its own, until Ctrl-C (e2e/README.md)
##   NODE_FLAGS: --gpus N, --cpus N, --set NAME=VALUE of the chart
NODE_FLAGS ?=
NODE_DIST := $(BUILD)/node-dist
node:
	@e2e/setup-node.sh --check
	@e2e/setup-packages.sh build
	@$(MAKE) --no-print-directory -j$(JOBS) node-dist
	@BUILD='$(BUILD)' e2e/node.sh $(NODE_FLAGS)
# node-dist: what `make dist` makes for this architecture.
node-dist: $(NODE_DIST)/SHA256SUMS
$(NODE_DIST)/SHA256SUMS: $(PROGRAMS) $(shell find charts/image charts/rayscaler/[^c]* mk/dist -name '[^_]*' -type f)
	@$(MAKE) --no-print-directory dist DIST='$(NODE_DIST)' ARM64= > $(BUILD)/node-dist.log || { cat $(BUILD)/node-dist.log; exit 1; }
## judge: KubeRay's own tests of autoscaling on the node of `make node`, by Ray's autoscaler and by rayscaler
##   KUBERAY_SOURCE=DIR: the tests of a checkout, as DIR/ray-operator/e2eautoscaler.test
##   JUDGE: --modes ray controller sidecar, --run REGULAR-EXPRESSION
JUDGE ?=
KUBERAY_SOURCE ?=
export KUBERAY_SOURCE
judge:
	@[ -n '$(KUBERAY_SOURCE)' ] || e2e/setup-apiserver.sh kubectl helm e2eautoscaler.test
	@redis=$$(e2e/setup-node.sh --redis) && $(PYTHON) e2e/judge.py --redis "$$redis" $(JUDGE)
# Its tests, of which make test-all runs those with the mark test_all too; skipped where no node can run. NODE=running: on
# the node of `make node` that runs already.
test-node: $(PROGRAMS) node-dist
	@BUILD='$(BUILD)' e2e/run-node.sh $(PYTEST)
.PHONY: demo dev-cluster node judge

# ---- conformance --------------------------------------------------------------------------
# e2e/conformance/README.md. Stages run a part: Ray's own scheduler takes most of the time.

## conformance: random problems to rayscaler and to Ray's own scheduler
##   PROBLEMS (10000) of packing and of whole snapshots each, RAYCLUSTERS (2000), SEED: the first
PROBLEMS ?= 10000
RAYCLUSTERS ?= 2000
SEED ?= 1
CONFORMANCE_PROGRAMS := $(PROGRAMS) $(BUILD)/tools/codec_schedule $(BUILD)/tools/codec_capacity
CONFORMANCE = BUILD='$(BUILD)' JOBS='$(JOBS)' \
	e2e/conformance/run.sh '$(PROBLEMS)' '$(RAYCLUSTERS)' '$(SEED)'
conformance: $(CONFORMANCE_PROGRAMS)
	@$(CONFORMANCE)
test-conformance: PROBLEMS = $(if $(TEST_ALL),4000,1000)
test-conformance: RAYCLUSTERS = $(if $(TEST_ALL),1000,250)
test-conformance: $(CONFORMANCE_PROGRAMS)
	@$(CONFORMANCE) $(RESULTS)/conformance.count
# The comparison of bench-schedule-ray at sizes that take a second: both must give the same answers. And
# bench-decide must run.
test-schedule-ray: $(BUILD)/tools/codec_schedule $(BUILD)/tools/codec_decide_bench
	@mkdir -p $(RESULTS)
	@$(PYTHON) e2e/conformance/bench_ray.py --check \
		--tool $< --result $(RESULTS)/schedule-ray.count 20x100x8 40x200x20 60x900x12 5x2000x20
	@$(PYTHON) e2e/conformance/bench_decide.py --tool $(BUILD)/tools/codec_decide_bench 20x100x8
.PHONY: conformance

# ---- growth -------------------------------------------------------------------------------
# bench-growth: in make test a part by the day of the year, of about a minute of CPU time, in make test-all
# everything. GROWTH_PART repeats one. A list that is above its aim fails, unless $(GROWTH_KNOWN) has it; a pair
# fails above 1,000 million blocks or 80 MiB and is printed below, as not all pairs have been looked at.

GROWTH_PARTS := 64
# Loads of bench-decide that are above their aims, each with a limit.
GROWTH_LOADS := own-selectors distinct resizable
GROWTH_PART ?= $(shell expr $$(date +%j) % $(GROWTH_PARTS) + 1)
test-growth: $(BUILD)/tools/codec_growth_bench $(BUILD)/tools/codec_decide_bench
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/growth.count
	@$(if $(TEST_ALL),,echo 'part $(GROWTH_PART) of $(GROWTH_PARTS) (GROWTH_PART=$(GROWTH_PART) repeats it)')
	@$< --jobs $(JOBS) --print-pairs --known $(GROWTH_KNOWN) --result $(RESULTS)/growth.count \
		$(if $(TEST_ALL),,--part $(GROWTH_PART)/$(GROWTH_PARTS))
	@$(PYTHON) e2e/conformance/bench_decide.py --tool $(word 2,$^) --costs $< $(if $(TEST_ALL),loads,$(GROWTH_LOADS))

# ---- other compilers and sanitizers -------------------------------------------------------
# Unit tests once more, in a build of their own.

# $(call unit_again,name,its build,its target): that target, and its count as one of the stage `name`
define unit_again
@mkdir -p $(RESULTS); rm -f $(RESULTS)/$(1).count $(2)/test-results/unit.count; status=0; \
	$(MAKE) --no-print-directory $(3) || status=1; \
	sed 's/^unit /$(1):unit /' $(2)/test-results/unit.count > $(RESULTS)/$(1).count || status=1; \
	exit $$status
endef

## tsan: unit tests with threads under ThreadSanitizer; tsan-programs: build them
# Those with work on other threads; without the one that reads a reply of 100 MiB, which takes
# too long.
TSAN_BUILD ?= $(BUILD)/tsan
TSAN_TESTS := $(filter-out ctl_pass_ray_test,$(filter net_work_test net_loop_test net_loop_thread_test \
	cli_simulate_test ctl_list_page_test ctl_pass_% ctl_cluster_% ctl_leader_test kube_informer_% kube_lease_%,$(TESTS)))
TSAN_MAKE = $(MAKE) --no-print-directory BUILD='$(TSAN_BUILD)' SANITIZE=-fsanitize=thread
tsan-programs:
	@$(TSAN_MAKE) -k -j$(JOBS) $(TSAN_TESTS:%=$(TSAN_BUILD)/test/%)
tsan: tsan-programs
	@TSAN_OPTIONS=halt_on_error=1 src/test/run_unit.sh $(TSAN_BUILD)/test-results \
		$(TSAN_TESTS:%=$(TSAN_BUILD)/test/%)
test-tsan:
	$(call unit_again,tsan,$(TSAN_BUILD),tsan)
.PHONY: tsan tsan-programs

## clang: program, tools and tests built by clang; clang-unit: run these tests; clang-programs: build
##   what it runs; clang-part: build and run one of CLANG_PARTS (8) parts, CLANG_PART by the day of the year
## coverage: clang-unit, the laws, and which branches of core they took (COVERAGE_PERCENT);
##   clang-coverage: on what clang-unit left
# With counters: with the laws of COVERAGE_LAWS random snapshots they show which branches were taken.
# src/test/coverage.py defines the branches that count.
CLANG_BUILD ?= $(BUILD)/clang
COVERAGE_PERCENT ?= 95
COVERAGE_LAWS ?= 10000
COUNTERS := -fprofile-instr-generate
CLANG_MAKE = $(MAKE) --no-print-directory BUILD='$(CLANG_BUILD)' CC=clang \
	EXTRA_CFLAGS='$(COUNTERS) -fcoverage-mapping' EXTRA_LDFLAGS='$(COUNTERS)'
COVERAGE_ENVIRONMENT = LLVM_PROFILE_FILE='$(abspath $(CLANG_BUILD))/profile/%m.profraw'
clang:
	@$(CLANG_MAKE) -k -j$(JOBS) all tools unit-programs $(CLANG_BUILD)/tools/laws
clang-programs:
	@$(CLANG_MAKE) -k -j$(JOBS) unit-programs $(CLANG_BUILD)/tools/laws
clang-unit: clang-programs
	@rm -rf $(CLANG_BUILD)/profile; mkdir -p $(CLANG_BUILD)/profile
	@MUTANTS=32 $(COVERAGE_ENVIRONMENT) src/test/run_unit.sh $(CLANG_BUILD)/test-results \
		$(TESTS:%=$(CLANG_BUILD)/test/%)
# Programs that link core and run here.
COVERAGE_OBJECTS = $(CLANG_BUILD)/tools/laws \
	$(patsubst %,$(CLANG_BUILD)/test/%,$(filter-out base_%,$(TESTS)))
# After clang-unit or by itself, on the counters that it left.
clang-coverage:
	@mkdir -p $(CLANG_BUILD)/laws
	@$(COVERAGE_ENVIRONMENT) $(CLANG_BUILD)/tools/laws --jobs $(JOBS) --out $(CLANG_BUILD)/laws \
		--count $(COVERAGE_LAWS) --seed 1
	@llvm-profdata merge -sparse -o $(CLANG_BUILD)/all.profdata $(CLANG_BUILD)/profile/*.profraw
	@llvm-cov export -instr-profile=$(CLANG_BUILD)/all.profdata $(firstword $(COVERAGE_OBJECTS)) \
		$(patsubst %,-object %,$(wordlist 2,$(words $(COVERAGE_OBJECTS)),$(COVERAGE_OBJECTS))) \
		src/core > $(CLANG_BUILD)/coverage.json
	@python3 src/test/coverage.py src/core $(COVERAGE_PERCENT) $(CLANG_BUILD)/coverage.json
coverage:
	@$(MAKE) --no-print-directory clang-unit
	@$(MAKE) --no-print-directory clang-coverage
## clang-part, clang-part-programs: the part of clang's tests that make test runs today
# It is linked with the archives of the fuzz targets: the sanitizers of gcc and clang find much
# the same, and gcc's run on all tests.
CLANG_PARTS := 8
CLANG_PART ?= $(shell expr $$(date +%j) % $(CLANG_PARTS) + 1)
CLANG_PART_PROGRAMS = $(addprefix $(BUILD)/fuzz/test/,$(shell printf '%s\n' $(TESTS) | \
	awk 'NR % $(CLANG_PARTS) + 1 == $(CLANG_PART)'))
clang-part-programs:
	@$(MAKE) --no-print-directory -k -j$(JOBS) $(CLANG_PART_PROGRAMS)
clang-part: clang-part-programs
	@MUTANTS=32 src/test/run_unit.sh $(BUILD)/fuzz/test-results $(CLANG_PART_PROGRAMS)
test-clang-unit:
	$(call unit_again,clang,$(CLANG_BUILD),clang-unit)
test-clang-part:
	$(call unit_again,clang,$(BUILD)/fuzz,clang-part)
ifeq ($(TEST_ALL),)
test-clang:
	@echo 'part $(CLANG_PART) of $(CLANG_PARTS) of the unit tests (CLANG_PART=$(CLANG_PART) repeats it)'
	@$(MAKE) --no-print-directory test-clang-part; status=$$?; \
		sed -i 's/clang:unit /clang:part-$(CLANG_PART)-of-$(CLANG_PARTS) /' $(RESULTS)/clang.count; exit $$status
else
test-clang:
	@status=0; $(MAKE) --no-print-directory test-clang-unit || status=1; \
		if $(MAKE) --no-print-directory clang-coverage > $(CLANG_BUILD)/coverage.txt; \
		then line='1 0'; else line='0 1'; status=1; fi; \
		echo "clang:coverage-of-core $$line 0" >> $(RESULTS)/clang.count; \
		tail -n 1 $(CLANG_BUILD)/coverage.txt; exit $$status
endif
.PHONY: clang clang-programs clang-unit clang-coverage coverage test-clang-unit clang-part clang-part-programs \
	test-clang-part

# ---- valgrind and confinement -------------------------------------------------------------
# src/test/run_commands.sh, run_controller.sh. With real Ray: e2e/tests/test_hardened.py and valgrind-e2e.
# Any other test of e2e runs so with RAYSCALER=src/test/under_valgrind.sh and the variables of that script.

## valgrind: commands and controller under valgrind; valgrind-e2e: with real Ray
## confined: the same confined to their system calls (src/test/tools/net_confine.c), writing no file;
##   profiled: under the chart's seccomp profile (src/test/under_profile.py)
valgrind: UNDER := under_valgrind.sh
confined: UNDER := under_confinement.sh
profiled: UNDER := under_profile.py
confined: $(BUILD)/tools/net_confine
# $(call run_under,script and its first arguments)
run_under = $(1) $(abspath src/test/$(UNDER)) $(abspath $(BUILD)/rayscaler) \
	$(abspath $(BUILD)/$(basename $(UNDER:under_%=%))) $(abspath $(RESULTS)/$@.count)
valgrind confined profiled: $(PROGRAMS) $(BUILD)/tools/gcs_fleet
	@mkdir -p $(RESULTS)
	@export BUILD='$(abspath $(BUILD))'; status=0; \
		$(call run_under,src/test/run_commands.sh $@) || status=1; \
		$(call run_under,src/test/run_controller.sh $@) || status=1; exit $$status
valgrind-e2e: $(PROGRAMS) tools
	@BUILD='$(BUILD)' e2e/run-pytest.sh valgrind-e2e valgrind
test-valgrind: valgrind
test-confined:
	@status=0; $(MAKE) --no-print-directory -k -Otarget -j2 confined profiled || status=1; \
		cat $(RESULTS)/profiled.count >> $(RESULTS)/confined.count || status=1; exit $$status
test-valgrind-e2e: valgrind-e2e
.PHONY: valgrind confined profiled valgrind-e2e
