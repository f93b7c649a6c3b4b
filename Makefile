# rayscaler: one file for GNU Make. `make help` lists the targets and the variables.
# Everything that is built lands under $(BUILD); sources are found by wildcard, so a new file in
# a folder of src/ needs no edit here.
#
# Contents:  1 variables  2 layers  3 compiler  4 program  5 unit tests  6 lint
#            7 setup, install, clean  8 test  9 demo and dev-cluster  10 conformance
#            11 bench  12 fuzz  13 clang, coverage, valgrind, confinement
#            14 image  15 help

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

# ---- 1 variables --------------------------------------------------------------------------

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
VERSION ?= 0.1.0

# `CC ?=` has no effect: Make predefines CC.
ifeq ($(origin CC),default)
CC := gcc
endif
AR := ar
PKG_CONFIG ?= pkg-config
PROTOC_C ?= protoc-c

# How many commands `make test` and `make lint` run at once.
JOBS ?= $(shell nproc)
export JOBS

# Added after the flags of this file, for variants: make BUILD=build-cov EXTRA_CFLAGS=--coverage
EXTRA_CFLAGS ?=
EXTRA_LDFLAGS ?=
# A compiler newer than ours may know new warnings: make WERROR=
WERROR ?= -Werror

all: $(BUILD)/rayscaler

# ---- 2 layers -----------------------------------------------------------------------------
# From the lowest to the highest; each is one folder of src/ and one archive. Folders with the same first
# name are a group: tests, libraries and flags go by group. USES_<layer>: the layers whose headers it
# may include, itself left out. VENDOR_<group>: pkg-config names that it may use.  `make lint` holds both.

MODEL := base core/model
CORE := $(MODEL) core/capacity core/nodes core/schedule core/decide core/report core/lint core
CODEC := codec/text codec/objects
CLIENTS := $(MODEL) $(CODEC) net

LAYERS := $(CORE) $(CODEC) net kube gcs ctl/shared ctl/queue ctl/pass ctl/report ctl/watch ctl cli
GROUPS := base core codec net kube gcs ctl cli

USES_base          :=
USES_core/model    := base
USES_core/capacity := $(MODEL)
USES_core/nodes    := $(MODEL)
USES_core/schedule := $(MODEL)
USES_core/decide   := $(MODEL) core/capacity core/nodes core/schedule
USES_core/report   := $(MODEL) core/capacity core/decide
USES_core/lint     := $(MODEL) core/capacity core/nodes
USES_core          := $(MODEL) core/decide core/report
USES_codec/text    := $(MODEL)
USES_codec/objects := $(CORE) codec/text
USES_net           := base codec/text
USES_kube          := $(CLIENTS)
USES_gcs           := $(CLIENTS)
USES_ctl/shared    := $(CLIENTS) kube
USES_ctl/queue     := $(MODEL) net
USES_ctl/pass      := $(CLIENTS) kube gcs core core/capacity core/report ctl/shared ctl/queue
USES_ctl/report    := $(CLIENTS) kube gcs core/capacity core/decide core/report ctl/shared ctl/pass
USES_ctl/watch     := $(CLIENTS) kube core/nodes core/decide core/lint ctl/shared ctl/pass ctl/report
USES_ctl           := $(CLIENTS) kube gcs core/decide ctl/shared ctl/queue ctl/pass ctl/report ctl/watch
USES_cli           := $(CORE) $(CODEC) net kube ctl ctl/shared ctl/pass ctl/watch

VENDOR_base  :=
VENDOR_core  :=
VENDOR_codec := libcjson yaml-0.1 openssl
VENDOR_net   := libcurl libuv libnghttp2 libmicrohttpd openssl
VENDOR_kube  := openssl
VENDOR_gcs   := libprotobuf-c
VENDOR_ctl   :=
VENDOR_cli   :=

group_of = $(sort $(foreach l,$(1),$(firstword $(subst /, ,$(l)))))
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
# What a program of this group links, highest first (an archive needs those after it): its layers and all
# that they use, directly or not.
$(foreach l,$(LAYERS),$(eval CLOSURE_$(l) := $(sort $(l) $(foreach u,$(USES_$(l)),$(CLOSURE_$(u))))))
$(foreach g,$(GROUPS),$(eval LINKS_$(g) := $(filter \
	$(foreach l,$(filter $(g) $(g)/%,$(LAYERS)),$(CLOSURE_$(l))),$(call reverse,$(LAYERS)))))

PACKAGES := $(sort $(foreach g,$(GROUPS),$(VENDOR_$(g))))

# Goals that compile need the libraries; the others must work without them.
NEEDS_NOTHING := clean help image setup setup-build format demo test dev-cluster
ifneq ($(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),all)),)
TOOLS_MISSING := $(shell for t in $(CC) $(PKG_CONFIG) $(PROTOC_C); do \
	command -v $$t >/dev/null || echo $$t; done)
ifneq ($(TOOLS_MISSING),)
$(error missing tools: $(TOOLS_MISSING) -- run "make setup" (as root or with sudo) to install \
	what the build needs)
endif
PACKAGES_MISSING := $(shell for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p || echo $$p; done)
ifneq ($(PACKAGES_MISSING),)
$(error missing libraries (pkg-config names): $(PACKAGES_MISSING) -- run "make setup" (as root or \
	with sudo) to install what the build needs)
endif
endif

# $(call vendor_flags,--cflags or --libs,packages)
vendor_flags = $(if $(2),$(shell $(PKG_CONFIG) $(1) $(2)))
# All packages that the layers of a list use.
vendor_of = $(sort $(foreach g,$(call group_of,$(1)),$(VENDOR_$(g))))

# ---- 3 compiler ---------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wpointer-arith -Wundef -Wvla -Wformat=2 $(WERROR)
ifneq ($(findstring clang,$(CC)),)
WARNINGS += -Wno-string-conversion # CHECK(!"what cannot happen")
endif
LANGUAGE := -std=gnu17 -D_GNU_SOURCE -Isrc -I$(BUILD)/gen
HARDENING := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
RELEASE_CFLAGS := -O2 -g $(HARDENING)
RELEASE_LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
# gcc sees uninitialized variables that are not there in what the sanitizers add.
ASAN_CFLAGS := -O1 -g -fno-omit-frame-pointer -U_FORTIFY_SOURCE -Wno-maybe-uninitialized $(SANITIZE)
ifneq ($(findstring clang,$(CC)),)
ASAN_CFLAGS := $(filter-out -Wno-maybe-uninitialized,$(ASAN_CFLAGS))
endif
ASAN_LDFLAGS := $(SANITIZE) -Wl,--as-needed

CFLAGS_ctl := -DRAYSCALER_VERSION='"$(VERSION)"'
CFLAGS_cli := $(CFLAGS_ctl)

# Objects are built anew when the compiler or its flags change.
FLAGS_NOW := $(CC) $(WARNINGS) $(LANGUAGE) $(RELEASE_CFLAGS) $(RELEASE_LDFLAGS) $(ASAN_CFLAGS) \
	$(EXTRA_CFLAGS) $(EXTRA_LDFLAGS) $(VERSION)
FLAGS_FILE := $(BUILD)/flags
$(shell mkdir -p $(BUILD); printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | \
	cmp -s - $(FLAGS_FILE) || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $(FLAGS_FILE))

# ---- 4 program ----------------------------------------------------------------------------

PROTOS := $(wildcard src/gcs/*.proto)
GEN_C := $(PROTOS:src/gcs/%.proto=$(BUILD)/gen/%.pb-c.c)
GEN_H := $(GEN_C:.c=.h)
.SECONDARY: $(GEN_C) $(GEN_H)

# make V=1 shows the commands.
ifneq ($(V),1)
Q := @
say = @echo '$(1)  $(2)'
endif

$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h &: src/gcs/%.proto
	@mkdir -p $(@D)
	$(call say,PROTOC,$<)
	$(Q)$(PROTOC_C) --c_out=$(BUILD)/gen -Isrc/gcs $<

# $(call layer_rules,layer)
define layer_rules
SOURCES_$(1) := $$(sort $$(wildcard src/$(1)/*.c))
NAMES_$(1) := $$(SOURCES_$(1):src/%.c=%)
OBJECTS_$(1) := $$(NAMES_$(1):%=$(BUILD)/obj/%.o)
ASAN_OBJECTS_$(1) := $$(NAMES_$(1):%=$(BUILD)/asan/obj/%.o)
$$(OBJECTS_$(1)) $$(ASAN_OBJECTS_$(1)): PRIVATE_CFLAGS = $$(CFLAGS_$(call group_of,$(1))) \
	$$(call vendor_flags,--cflags,$$(call vendor_of,$$(CLOSURE_$(1))))
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rules,$(l))))

OBJECTS_gcs += $(GEN_C:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
ASAN_OBJECTS_gcs += $(GEN_C:$(BUILD)/gen/%.c=$(BUILD)/asan/obj/gen/%.o)

COMPILE = $(CC) $(LANGUAGE) $(WARNINGS) $(PRIVATE_CFLAGS)

$(BUILD)/obj/%.o: src/%.c $(FLAGS_FILE) | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC    ,$<)
	$(Q)$(COMPILE) $(RELEASE_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/asan/obj/%.o: src/%.c $(FLAGS_FILE) | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC asan,$<)
	$(Q)$(COMPILE) $(ASAN_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

# Generated code is not ours to keep free of warnings.
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC    ,$<)
	$(Q)$(CC) $(LANGUAGE) -w $(RELEASE_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/asan/obj/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC    ,$<)
	$(Q)$(CC) $(LANGUAGE) -w $(ASAN_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

# An archive is made anew, so that an object of a deleted source does not stay in it; without
# sources it is an empty archive.
archive = lib$(subst /,_,$(1)).a
define archive_rules
$(BUILD)/$(call archive,$(1)): $$(OBJECTS_$(1)) $$(wildcard src/$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	@$$(AR) rcsD $$@ $$(OBJECTS_$(1))
$(BUILD)/asan/$(call archive,$(1)): $$(ASAN_OBJECTS_$(1)) $$(wildcard src/$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	@$$(AR) rcsD $$@ $$(ASAN_OBJECTS_$(1))
endef
$(foreach l,$(LAYERS),$(eval $(call archive_rules,$(l))))

# $(call archives,directory,group): what a program of this group links, in order.
archives = $(foreach l,$(LINKS_$(2)),$(1)/$(call archive,$(l)))
libraries = $(call vendor_flags,--libs,$(call vendor_of,$(LINKS_$(1)))) -lm

$(BUILD)/rayscaler: $(call archives,$(BUILD),cli) $(FLAGS_FILE)
	$(call say,LINK  ,$@)
	$(Q)$(CC) $(RELEASE_CFLAGS) $(RELEASE_LDFLAGS) $(EXTRA_CFLAGS) -o $@ $(OBJECTS_cli) \
		$(filter-out %/libcli.a,$(call archives,$(BUILD),cli)) $(call libraries,cli) $(EXTRA_LDFLAGS)

# ---- 5 unit tests -------------------------------------------------------------------------
# src/test/<group>/<group>_<module>_test.c is one program, built with sanitizers and linked with the
# archives of its group and of what that uses, and with nothing else but cmocka and libm.

TEST_PATHS := $(sort $(foreach g,$(GROUPS),$(patsubst src/test/%.c,%,$(wildcard src/test/$(g)/*_test.c))))
TESTS := $(notdir $(TEST_PATHS))
TEST_PROGRAMS := $(TESTS:%=$(BUILD)/test/%)
RESULTS := $(BUILD)/test-results

# Code that tests and their tools share, src/test/support/*.c: an archive, from which a program takes only
# what it uses.
SUPPORT := $(patsubst src/%.c,%,$(wildcard src/test/support/*.c))
$(foreach d,$(BUILD)/obj $(BUILD)/asan/obj,$(SUPPORT:%=$(d)/%.o)): PRIVATE_CFLAGS = \
	-Wno-missing-field-initializers $(call vendor_flags,--cflags,cmocka $(PACKAGES))
$(BUILD)/libtest_support.a: $(SUPPORT:%=$(BUILD)/obj/%.o)
$(BUILD)/asan/libtest_support.a: $(SUPPORT:%=$(BUILD)/asan/obj/%.o)
$(BUILD)/libtest_support.a $(BUILD)/asan/libtest_support.a: $(wildcard src/test/support)
	@mkdir -p $(@D)
	@rm -f $@
	@$(AR) rcsD $@ $(filter %.o,$^)

define test_rules
$(BUILD)/test/$(2): $(BUILD)/asan/obj/test/$(1)/$(2).o $(BUILD)/asan/libtest_support.a \
		$$(call archives,$(BUILD)/asan,$(1))
	@mkdir -p $$(@D)
	$$(call say,LINK  ,$$@)
	$$(Q)$$(CC) $$(ASAN_LDFLAGS) $$(EXTRA_CFLAGS) -o $$@ $$^ \
		$$(call libraries,$(1)) $$(call vendor_flags,--libs,cmocka) $$(EXTRA_LDFLAGS)
$(BUILD)/asan/obj/test/$(1)/$(2).o: PRIVATE_CFLAGS = -Wno-missing-field-initializers $$(call vendor_flags,--cflags,cmocka \
	$$(call vendor_of,$$(LINKS_$(1))))
unit-$(2) unit-$(2:_test=): $(BUILD)/test/$(2)
	$(BUILD)/test/$(2)
.PHONY: unit-$(2) unit-$(2:_test=)
endef
$(foreach t,$(TESTS),$(eval $(call test_rules,$(firstword $(subst _, ,$(t))),$(t))))
.SECONDARY: $(TEST_PATHS:%=$(BUILD)/asan/obj/test/%.o)

unit-programs: $(TEST_PROGRAMS)

# Honest counts: see the head of the script.
unit: $(TEST_PROGRAMS)
	@src/test/run_unit.sh $(RESULTS) $(TEST_PROGRAMS)

# Programs that tests run and that are not installed: src/test/tools/<group>_<name>.c.
TOOLS := $(patsubst src/test/tools/%.c,%,$(foreach g,$(GROUPS),$(wildcard src/test/tools/$(g)_*.c)))

define tool_rules
$(BUILD)/tools/$(2): $(BUILD)/obj/test/tools/$(2).o $(BUILD)/libtest_support.a \
		$$(call archives,$(BUILD),$(1))
	@mkdir -p $$(@D)
	$$(call say,LINK  ,$$@)
	$$(Q)$$(CC) $$(RELEASE_LDFLAGS) $$(EXTRA_CFLAGS) -o $$@ $$^ $$(call libraries,$(1)) \
		$$(EXTRA_LDFLAGS)
$(BUILD)/obj/test/tools/$(2).o: PRIVATE_CFLAGS = \
	$$(call vendor_flags,--cflags,$$(call vendor_of,$$(LINKS_$(1))))
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rules,$(firstword $(subst _, ,$(t))),$(t))))
.SECONDARY: $(TOOLS:%=$(BUILD)/obj/test/tools/%.o)
tools: $(TOOLS:%=$(BUILD)/tools/%)
.PHONY: tools

# Laws of the decision on random snapshots (src/test/laws/laws.c), built as the program is, so that
# many can be tried. LAWS_SEED: the first seed, or "random"; LAWS_COUNT: how many.
LAWS_SEED ?= 1
LAWS_COUNT ?= 100000
LAWS_OBJECTS := $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/test/laws/*.c))
$(LAWS_OBJECTS): PRIVATE_CFLAGS = -Isrc/test/laws $(call vendor_flags,--cflags,$(VENDOR_codec))
$(BUILD)/tools/laws: $(LAWS_OBJECTS) $(call archives,$(BUILD),codec)
	@mkdir -p $(@D)
	$(call say,LINK  ,$@)
	$(Q)$(CC) $(RELEASE_LDFLAGS) -Wl,--wrap=schedule $(EXTRA_CFLAGS) -o $@ $^ \
		$(call libraries,codec) $(EXTRA_LDFLAGS)

# LAWS_SEED=random takes the time; it is printed. What breaks a law is shrunk to $(BUILD)/laws.
RUN_LAWS = $(BUILD)/tools/laws --jobs $(JOBS) --out $(BUILD)/laws --count $(LAWS_COUNT) \
	--seed $(if $(filter random,$(LAWS_SEED)),$$(date +%s),$(LAWS_SEED))
laws: $(BUILD)/tools/laws
	@mkdir -p $(BUILD)/laws
	@$(RUN_LAWS)

# The faults that are planted must be found, and the files they leave must be golden cases. Half of the
# default number, for the time of make test.
test-laws: LAWS_COUNT = 50000
test-laws: $(BUILD)/tools/laws $(BUILD)/test/codec_golden_test
	@mkdir -p $(RESULTS) $(BUILD)/laws
	@rm -rf $(BUILD)/laws/selftest $(RESULTS)/laws.count; mkdir $(BUILD)/laws/selftest
	@$(BUILD)/tools/laws --selftest $(BUILD)/laws/selftest --result $(RESULTS)/laws.count || true
	@GOLDEN_DIR=$(BUILD)/laws/selftest $(BUILD)/test/codec_golden_test \
		> $(BUILD)/laws/selftest.log 2>&1 || { cat $(BUILD)/laws/selftest.log; \
		echo 'laws:selftest-golden 0 1 0' >> $(RESULTS)/laws.count; }
	@$(RUN_LAWS) --result $(RESULTS)/laws.count
.PHONY: laws test-laws

# The golden decisions alone: GOLDEN_ONLY=0012 selects by name, UPDATE=1 rewrites the wanted members.
golden: $(BUILD)/test/codec_golden_test
	$(BUILD)/test/codec_golden_test
.PHONY: golden
# Their snapshots without bases and templates.
$(BUILD)/golden: $(BUILD)/tools/codec_golden $(wildcard src/test/golden/*.yaml src/test/golden/base/*.yaml)
	@rm -rf $@
	@mkdir -p $@
	@$< --all $@

# Documents that are made from tables of the source; unit tests compare.
DOCS += docs/REASONS.md
docs/REASONS.md: $(BUILD)/tools/core_reasons
	$< > $@
DOCS += docs/METRICS.md
docs/METRICS.md: $(BUILD)/tools/ctl_metrics
	$< > $@
# What stands behind the line "<!-- rules" alone.
DOCS += docs/LINT.md
docs/LINT.md: $(BUILD)/tools/core_lint_rules
	sed '/^<!-- rules/q' $@ > $(BUILD)/LINT.md
	$< >> $(BUILD)/LINT.md
	cp $(BUILD)/LINT.md $@
# The same behind "<!-- readers".
DOCS += docs/internals/hostile-objects.md
docs/internals/hostile-objects.md: $(BUILD)/tools/kube_hostile_fields
	sed '/^<!-- readers/q' $@ > $(BUILD)/hostile-objects.md
	$< >> $(BUILD)/hostile-objects.md
	cp $(BUILD)/hostile-objects.md $@
docs: $(DOCS)
.PHONY: docs

# ---- 6 lint -------------------------------------------------------------------------------
# Each check is a target of its own: lint-layers, lint-format, ... `make lint-selftest` plants a
# fault for each and sees it fail.

LINTS := layers symbols banned size format scripts cppcheck tidy analyzer
LINT_C := $(sort $(foreach g,$(GROUPS) test,$(wildcard src/$(g)/*.[ch] src/$(g)/*/*.[ch])))

# How the name of a library's header starts (or, from a dot on, ends): the layers it belongs to.
VENDOR_HEADERS := curl/:net uv.h:net nghttp2/:net microhttpd.h:net cjson/:codec yaml.h:codec \
	openssl/:codec,net,kube protobuf-c/:gcs .pb-c.h:gcs cmocka.h:test

# Base and core do no I/O and read no clock: their headers of the C library, and the functions that
# their archives may call. What is missing here has to be pure before it is added.
PURE_LAYERS := $(filter base core core/%,$(LAYERS))
PURE_HEADERS := ctype.h float.h inttypes.h limits.h math.h setjmp.h stdalign.h stdarg.h stdbool.h stddef.h \
	stdint.h stdio.h stdlib.h string.h sanitizer/asan_interface.h
PURE_SYMBOLS := abort calloc free malloc realloc qsort qsort_r bsearch llabs \
	memchr memcmp memcpy memmove memset strchr strchrnul strcmp strcspn strlen strncmp strnlen strrchr \
	strspn strstr snprintf vsnprintf _setjmp longjmp __longjmp_chk \
	__divti3 __memcpy_chk __memmove_chk __memset_chk __snprintf_chk __vsnprintf_chk __stack_chk_fail \
	ceil floor fabs fmin fmax isnan llround nearbyint pow round rint trunc _GLOBAL_OFFSET_TABLE_

BANNED := strcpy strncpy stpcpy strcat strncat sprintf vsprintf strtok atoi atol atoll atof gets \
	alloca sleep usleep nanosleep
FILE_LINES := 500
# Longer files that are one table.
TABLES :=

lint:
	@$(MAKE) --no-print-directory -k -Otarget -j$(JOBS) $(LINTS:%=lint-%) && echo 'lint: all passed'

empty :=
comma := ,
with_commas = $(subst $(empty) $(empty),$(comma),$(strip $(1)))

lint-layers:
	@awk -v layers='$(foreach l,$(LAYERS),$(l):$(call with_commas,$(l) $(USES_$(l))))' \
		-v groups='$(foreach g,$(GROUPS),$(g):$(call with_commas,$(LINKS_$(g))))' \
		-v vendors='$(VENDOR_HEADERS)' -v pure='$(call with_commas,$(PURE_LAYERS))' \
		-v pure_headers='$(call with_commas,$(PURE_HEADERS))' \
		-f src/test/lint/includes.awk $(LINT_C)
	@echo 'ok      $@'

lint-symbols: $(foreach l,$(PURE_LAYERS),$(BUILD)/$(call archive,$(l)))
	@src/test/lint/symbols.sh '$(PURE_SYMBOLS)' $^
	@echo 'ok      $@'

lint-banned:
	@src/test/lint/banned.sh '$(BANNED)' $(LINT_C)
	@echo 'ok      $@'

# Files; functions are measured by lint-tidy.
lint-size:
	@awk -v limit=$(FILE_LINES) -v tables='$(call with_commas,$(TABLES))' \
		-f src/test/lint/size.awk $(LINT_C)
	@echo 'ok      $@'

lint-format:
	@bad=0; for f in $(LINT_C); do clang-format "$$f" | cmp -s - "$$f" || \
		{ echo "$$f: not in the form of .clang-format, run make format"; bad=1; }; done; \
		exit $$bad
	@echo 'ok      $@'

format:
	clang-format -i $(LINT_C)

lint-scripts:
	@for f in $(wildcard src/test/*.sh src/test/*/*.sh e2e/*.sh charts/*.sh .ci/run); do bash -n $$f || exit 1; done
	@find e2e -name '*.py' -print0 | xargs -0 python3 -c \
		'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]'
	@echo 'ok      $@'

# varFuncNullUB: NULL is a pointer here. The others do not follow a pointer that is taken back, one that
# moves within an array, and take the member of a designator for a variable of that name.
lint-cppcheck:
	@cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -Isrc \
		--enable=warning,performance,portability --suppress=varFuncNullUB \
		--suppress=autoVariables --suppress=objectIndex \
		--suppress=unknownEvaluationOrder \
		$(filter-out src/test/%,$(LINT_C))
	@echo 'ok      $@'

# Slow, so only for what changed: the object carries the dependencies.
LINT_NAMES := $(foreach l,$(LAYERS),$(NAMES_$(l)))
lint-tidy: $(LINT_NAMES:%=$(BUILD)/lint/tidy/%.ok) $(TEST_PATHS:%=$(BUILD)/lint/tidy/test/%.ok) \
		$(SUPPORT:%=$(BUILD)/lint/tidy/%.ok)
	@echo 'ok      $@'
lint-analyzer: $(LINT_NAMES:%=$(BUILD)/lint/analyzer/%.ok)
	@echo 'ok      $@'

ANALYZER_CFLAGS := $(CFLAGS_cli) $(call vendor_flags,--cflags,$(PACKAGES))
TIDY = clang-tidy --quiet $(1) $< -- $(LANGUAGE) $(CFLAGS_$(word 2,$(subst /, ,$<))) 2>/dev/null
# Tests may repeat themselves, but their functions stay short as well.
$(BUILD)/lint/tidy/test/%.ok: src/test/%.c .clang-tidy $(BUILD)/asan/obj/test/%.o
	@mkdir -p $(@D)
	$(call say,TIDY  ,$<)
	$(Q)$(call TIDY,--checks='-*$(comma)readability-function-*')
	@touch $@
$(BUILD)/lint/tidy/%.ok: src/%.c .clang-tidy $(BUILD)/obj/%.o
	@mkdir -p $(@D)
	$(call say,TIDY  ,$<)
	$(Q)$(call TIDY,)
	@touch $@
$(BUILD)/lint/analyzer/%.ok: src/%.c $(BUILD)/obj/%.o
	@mkdir -p $(@D)
	$(call say,ANALYZ,$<)
	$(Q)gcc $(LANGUAGE) $(ANALYZER_CFLAGS) -O1 -fanalyzer -Werror -c -o /dev/null $<
	@touch $@

lint-selftest:
	@src/test/lint/selftest.sh

.PHONY: lint lint-selftest format $(LINTS:%=lint-%)

# ---- 7 setup, install, clean --------------------------------------------------------------

# Debian packages; the Python environment and the API server of the tests are made by their stages.
setup:
	@e2e/setup-packages.sh build test
setup-build:
	@e2e/setup-packages.sh build

# kubectl finds its plugins by name: the link makes `kubectl rayscaler` work.
install: $(BUILD)/rayscaler
	install -D -m 0755 $(BUILD)/rayscaler $(DESTDIR)$(PREFIX)/bin/rayscaler
	ln -sf rayscaler $(DESTDIR)$(PREFIX)/bin/kubectl-rayscaler

# charts/manifests and the chart's copy of the CRD, made from chart and crd/; the table of values in
# docs/INSTALL.md, made from values.yaml.
manifests:
	@charts/make-manifests.sh "$$(e2e/setup-apiserver.sh helm | awk '{ print $$2 }')"
	@cd e2e && PYTHONDONTWRITEBYTECODE=1 "$$(./setup-python.sh)" -m rayscaler_e2e.chart_docs
.PHONY: manifests

clean:
	rm -rf $(BUILD)

# ---- 8 test -------------------------------------------------------------------------------
# A stage is a target test-NAME that leaves $(RESULTS)/NAME.count with lines "name passed failed
# skipped". Sections below add theirs: TEST_STAGES += NAME. They run in this order.

TEST_STAGES := unit laws

# The API server of the e2e tests: real or embedded.
APISERVER ?= real
export RAYSCALER_APISERVER := $(APISERVER)
# KubeRay's operator of the e2e tests: standin or real (e2e/setup-kuberay.sh says from where).
KUBERAY ?= standin
export KUBERAY

test:
	@MAKE='$(MAKE)' e2e/run-tests.sh $(RESULTS) $(TEST_STAGES)

# What is compiled beside the stage e2e. AHEAD: further targets (.ci/run adds those of lint).
AHEAD ?=
export AHEAD
ahead: tsan-programs clang-programs fuzz-programs $(AHEAD)
.PHONY: ahead

# What does not compile is a failed test; the others run.
test-unit:
	@status=0; $(MAKE) --no-print-directory -k -j$(JOBS) unit-programs || status=1; \
		src/test/run_unit.sh $(RESULTS) $(TEST_PROGRAMS) || status=1; exit $$status

# All of e2e/tests, on the chosen API server. PYTEST: further arguments, for example -k paging.
TEST_STAGES += e2e
PYTEST ?=
test-e2e: $(BUILD)/rayscaler tools
	@BUILD='$(BUILD)' e2e/run-pytest.sh e2e $(PYTEST)
.PHONY: test-e2e

# ---- 9 demo and dev-cluster ---------------------------------------------------------------
demo: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD='$(BUILD)' "$$(e2e/setup-python.sh)" e2e/demo.py
# The quickstart of the README, as a test.
TEST_STAGES += quickstart
test-quickstart: $(BUILD)/rayscaler
	@BUILD='$(BUILD)' e2e/run-quickstart.sh
.PHONY: demo test-quickstart


# A cluster for use by hand, until Ctrl-C. RUN_FLAGS: flags of `rayscaler run`.
RUN_FLAGS ?=
dev-cluster: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD='$(BUILD)' e2e/dev-cluster.sh -- $(RUN_FLAGS)
.PHONY: dev-cluster

# docs/pictures/dashboard.png: the chart's dashboard over a scenario, from a real Prometheus.
dashboard-picture: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@BUILD='$(BUILD)' PYTHONDONTWRITEBYTECODE=1 "$$(e2e/setup-python.sh)" e2e/plot_dashboard.py
.PHONY: dashboard-picture

# ---- 10 conformance -----------------------------------------------------------------------
# Random problems to rayscaler and to Ray's own code (e2e/conformance/README.md). PROBLEMS: how many,
# of the packing and of whole snapshots each; RAYCLUSTERS: how many for the capacity of groups; SEED:
# the first. A stage of make test runs a fifth of it: Ray's own scheduler takes most of the time.
PROBLEMS ?= 10000
RAYCLUSTERS ?= 2000
SEED ?= 1
CONFORMANCE_PROGRAMS := $(BUILD)/rayscaler $(BUILD)/tools/codec_schedule $(BUILD)/tools/codec_capacity
CONFORMANCE = BUILD='$(BUILD)' JOBS='$(JOBS)' \
	e2e/conformance/run.sh '$(PROBLEMS)' '$(RAYCLUSTERS)' '$(SEED)'
conformance: $(CONFORMANCE_PROGRAMS)
	@$(CONFORMANCE)
TEST_STAGES += conformance
test-conformance: PROBLEMS = 2000
test-conformance: RAYCLUSTERS = 500
test-conformance: $(CONFORMANCE_PROGRAMS)
	@$(CONFORMANCE) $(RESULTS)/conformance.count
.PHONY: conformance test-conformance

# ---- 11 bench -----------------------------------------------------------------------------
# Reaction time, memory and CPU on a real kube-apiserver and a real Ray, beside Ray's own autoscaler
# in the same run. BENCH: further arguments, for example --rounds 5.
BENCH ?=
bench-reaction: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@BUILD='$(BUILD)' "$$(e2e/setup-python.sh)" e2e/bench_reaction.py $(BENCH)
# Times and memory of the packing at large sizes, and how they grow.
bench-schedule: $(BUILD)/tools/core_schedule_bench
	@$< && $< growth && $< families
# Times and memory of whole decisions on snapshots.
bench-decide: $(BUILD)/tools/codec_decide_bench
	@PYTHONDONTWRITEBYTECODE=1 "$$(e2e/setup-python.sh)" e2e/conformance/bench_decide.py --tool $<
# The packing's time beside that of Ray's scheduler on the same problems, LIMIT seconds of CPU at
# most for Ray and each size. SIZES: nodes x tasks x shapes, as 1000x10000x20.
LIMIT ?= 1800
SIZES ?=
bench-schedule-ray: $(BUILD)/tools/codec_schedule $(BUILD)/rayscaler
	@PYTHONDONTWRITEBYTECODE=1 "$$(e2e/setup-python.sh)" e2e/conformance/bench_ray.py \
		--tool $< --program $(BUILD)/rayscaler --limit $(LIMIT) $(SIZES)
# Lint of 1,000 files beside reading them alone: the examples again and again, in one process; and then
# the program on a directory of them.
LINT_FILES := $(filter-out %.snapshot.yaml,$(wildcard examples/*.yaml))
bench-lint: $(BUILD)/tools/codec_lint_bench $(BUILD)/rayscaler
	@$< 1000 $(LINT_FILES)
	@rm -rf $(BUILD)/bench-lint; mkdir $(BUILD)/bench-lint; i=0; while [ $$i -lt 1000 ]; do \
		for f in $(LINT_FILES); do [ $$i -lt 1000 ] || break; \
			cp $$f $(BUILD)/bench-lint/$$i.yaml; i=$$((i+1)); done; done
	@TIMEFORMAT='rayscaler lint -f DIRECTORY    %R s, %U s of CPU'; \
		time $(BUILD)/rayscaler lint -f $(BUILD)/bench-lint > $(BUILD)/bench-lint.txt
# GPUs that --packing=ray and fewest-gpus launch on random problems, beside a lower bound.
bench-gpus: $(BUILD)/tools/core_gpus_bench
	@$< 1000
# What the watch of Events costs, at rest and in a flood.
bench-events: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@BUILD='$(BUILD)' "$$(e2e/setup-python.sh)" e2e/bench_events.py $(BENCH)
# One controller on FLEET clusters of FLEET_PODS Pods with Ray heads of their own, without Ray (docs/
# performance.md). FLEET_FLAGS: --seconds 60, --autoscalers, --flags --kube-api-qps 1000, ...
FLEET ?= 100 1000 10000
FLEET_PODS ?= 10
FLEET_FLAGS ?=
fleet: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet
	@PYTHONDONTWRITEBYTECODE=1 BUILD='$(abspath $(BUILD))' "$$(e2e/setup-python.sh)" \
		e2e/bench_fleet.py $(FLEET) --pods $(FLEET_PODS) $(FLEET_FLAGS)
.PHONY: fleet
# The same fleet beside tenants that attack the controller (docs/internals/reliability.md). HOSTILE: arguments,
# for example --clusters 100 --only flood
HOSTILE ?=
hostile: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet
	@PYTHONDONTWRITEBYTECODE=1 BUILD='$(abspath $(BUILD))' "$$(e2e/setup-python.sh)" e2e/hostile.py $(HOSTILE)
.PHONY: hostile
# One scenario again and again, each time with one request that fails in one way (docs/internals/reliability.md). A
# sample of it is in make test. SEED; SHARD=2/5: the second of five parts; TORTURE: further arguments, for
# example --slots 2 --minutes 30 --only 'DrainNode'.
SHARD ?= 1/1
TORTURE ?=
torture: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@PYTHONDONTWRITEBYTECODE=1 BUILD='$(BUILD)' "$$(e2e/setup-python.sh)" \
		e2e/torture.py --seed $(SEED) --shard $(SHARD) $(TORTURE)
.PHONY: torture
# kill -9 of the program at any moment, KILLS times, in controller mode with and without an election and in
# sidecar mode (docs/internals/reliability.md). KILL_FLAGS: --seed 1, --modes sidecar
KILLS ?= 240
KILL_FLAGS ?=
torture-kill: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@PYTHONDONTWRITEBYTECODE=1 BUILD='$(abspath $(BUILD))' "$$(e2e/setup-python.sh)" \
		e2e/torture_kill.py --kills $(KILLS) $(KILL_FLAGS)
.PHONY: torture-kill
bench: bench-schedule bench-decide bench-gpus bench-lint bench-schedule-ray bench-reaction bench-events bench-list
.PHONY: bench bench-decide bench-events bench-gpus bench-lint bench-reaction bench-schedule bench-schedule-ray

# The first list of 10,000 and 100,000 Pods (docs/PERFORMANCE.md). LIST: numbers of RayClusters of 10 Pods
LIST ?=
bench-list: $(BUILD)/tools/kube_list_bench $(BUILD)/tools/gcs_fleet
	@PYTHONDONTWRITEBYTECODE=1 BUILD='$(abspath $(BUILD))' "$$(e2e/setup-python.sh)" e2e/bench_list.py $(LIST)
.PHONY: bench-list

# What bench-schedule-ray compares, at sizes that take a second: that both answer the same. And that
# bench-decide still runs.
TEST_STAGES += schedule-ray
test-schedule-ray: $(BUILD)/tools/codec_schedule $(BUILD)/tools/codec_decide_bench
	@mkdir -p $(RESULTS)
	@PYTHONDONTWRITEBYTECODE=1 "$$(e2e/setup-python.sh)" e2e/conformance/bench_ray.py --check \
		--tool $< --result $(RESULTS)/schedule-ray.count 20x100x8 40x200x20 60x900x12 5x2000x20
	@PYTHONDONTWRITEBYTECODE=1 "$$(e2e/setup-python.sh)" e2e/conformance/bench_decide.py \
		--tool $(BUILD)/tools/codec_decide_bench 20x100x8
.PHONY: test-schedule-ray

# ---- 12 fuzz ------------------------------------------------------------------------------
# src/test/fuzz/<group>_<name>_fuzz.c is one libFuzzer program, built by clang with ASan and UBSan
# and linked with the objects of its group and of what that uses.
#   make fuzz FUZZ_SECONDS=3600              every target that long
#   make fuzz-codec_yaml                     one of them
# What was found to be worth keeping stays in $(FUZZ_CORPUS); a finding in $(BUILD)/fuzz/findings.
# A target starts from the files below and from src/test/fuzz/corpus/NAME, where it is there.

FUZZ_SECONDS ?= 10
FUZZ_CORPUS ?= $(BUILD)/fuzz/corpus
FUZZ_CC ?= clang
FUZZ_TARGETS := $(sort $(patsubst src/test/fuzz/%_fuzz.c,%,$(wildcard src/test/fuzz/*_fuzz.c)))
FUZZ_CFLAGS := -O1 -g -fno-omit-frame-pointer -U_FORTIFY_SOURCE -fsanitize=fuzzer-no-link $(SANITIZE)
# The target of the snapshot starts from the snapshots of the golden cases.
FUZZ_SEEDS_codec_snapshot := $(BUILD)/golden
fuzz-codec_snapshot: $(BUILD)/golden
FUZZ_SEEDS_codec_lint := src/test/lint_cases examples
FUZZ_SEEDS_gcs_state := src/test/data/gcs
fuzz_seeds = $(FUZZ_SEEDS_$(1)) $(wildcard src/test/fuzz/corpus/$(1))

fuzz_layer = $(firstword $(subst _, ,$(1)))

define fuzz_archive_rules
$(BUILD)/fuzz/$(call archive,$(1)): $$(OBJECTS_$(1):$(BUILD)/obj/%=$(BUILD)/fuzz/obj/%) $$(wildcard src/$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	@$$(AR) rcsD $$@ $$(OBJECTS_$(1):$(BUILD)/obj/%=$(BUILD)/fuzz/obj/%)
endef
$(foreach l,$(LAYERS),$(eval $(call fuzz_archive_rules,$(l))))

$(BUILD)/fuzz/obj/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC fuzz,$<)
	$(Q)$(FUZZ_CC) $(LANGUAGE) -w $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/obj/%.o: src/%.c $(FLAGS_FILE) | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC fuzz,$<)
	$(Q)$(FUZZ_CC) $(LANGUAGE) $(WARNINGS) $(call vendor_flags,--cflags,$(PACKAGES)) \
		$(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

define fuzz_rules
$(BUILD)/fuzz/$(1): $(BUILD)/fuzz/obj/test/fuzz/$(1)_fuzz.o \
		$$(call archives,$(BUILD)/fuzz,$$(call fuzz_layer,$(1)))
	$$(call say,LINK  ,$$@)
	$$(Q)$$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $$@ $$^ \
		$$(call libraries,$$(call fuzz_layer,$(1)))
fuzz-$(1): $(BUILD)/fuzz/$(1)
	@mkdir -p $(FUZZ_CORPUS)/$(1) $(BUILD)/fuzz/findings
	@rm -f $(BUILD)/fuzz/$(1).passed
	@echo 'FUZZ    $(1), $(FUZZ_SECONDS) s'
	@$(BUILD)/fuzz/$(1) -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
		-max_len=65536 -dict=src/test/fuzz/words.dict -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/findings/$(1)- $(FUZZ_CORPUS)/$(1) \
		$(call fuzz_seeds,$(1)) > $(BUILD)/fuzz/$(1).log 2>&1 || \
		{ tail -40 $(BUILD)/fuzz/$(1).log; exit 1; }
	@grep number_of_executed_units $(BUILD)/fuzz/$(1).log | sed 's/^stat::/        /'
	@touch $(BUILD)/fuzz/$(1).passed
.PHONY: fuzz-$(1)
endef
$(foreach t,$(FUZZ_TARGETS),$(eval $(call fuzz_rules,$(t))))
.SECONDARY: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/obj/test/fuzz/%_fuzz.o)

fuzz: $(FUZZ_TARGETS:%=fuzz-%)
fuzz-programs: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)
.PHONY: fuzz fuzz-programs

# Every target, as a stage of make test: JOBS at once, so with the 20 of today and two cores the time of
# ten (docs/CONTRIBUTING.md).
TEST_STAGES += fuzz
FUZZ_STAGE := $(FUZZ_TARGETS)
FUZZ_STAGE_SECONDS ?= 30
test-fuzz:
	@rm -f $(FUZZ_STAGE:%=$(BUILD)/fuzz/%.passed) $(RESULTS)/fuzz.count; status=0; \
		$(MAKE) --no-print-directory -k -j$(JOBS) FUZZ_SECONDS=$(FUZZ_STAGE_SECONDS) \
			$(FUZZ_STAGE:%=fuzz-%) || status=1; \
		for t in $(FUZZ_STAGE); do \
			if [ -e $(BUILD)/fuzz/$$t.passed ]; then echo "fuzz:$$t 1 0 0"; \
			else echo "fuzz:$$t 0 1 0"; fi; done > $(RESULTS)/fuzz.count; exit $$status
.PHONY: test-fuzz

# ---- 13 clang, coverage, valgrind, confinement --------------------------------------------
# All unit tests once more, built by clang with counters: they run with clang's sanitizers, and with the
# laws of COVERAGE_LAWS random snapshots they say which branches of core were taken. What counts is said in
# src/test/coverage.py; less than COVERAGE_PERCENT fails.
CLANG_BUILD ?= $(BUILD)/clang
CLANG_RESULTS := $(CLANG_BUILD)/test-results
COVERAGE_PERCENT ?= 95
COVERAGE_LAWS ?= 10000
COUNTERS := -fprofile-instr-generate
CLANG_MAKE = $(MAKE) --no-print-directory BUILD='$(CLANG_BUILD)' CC=clang \
	EXTRA_CFLAGS='$(COUNTERS) -fcoverage-mapping' EXTRA_LDFLAGS='$(COUNTERS)'
COVERAGE_ENVIRONMENT = LLVM_PROFILE_FILE='$(abspath $(CLANG_BUILD))/profile/%m.profraw'

# Program and tools as well.
clang:
	@$(CLANG_MAKE) -k -j$(JOBS) all tools unit-programs $(CLANG_BUILD)/tools/laws
clang-programs:
	@$(CLANG_MAKE) -k -j$(JOBS) unit-programs $(CLANG_BUILD)/tools/laws
clang-unit: clang-programs
	@rm -rf $(CLANG_BUILD)/profile; mkdir -p $(CLANG_BUILD)/profile
	@MUTANTS=32 $(COVERAGE_ENVIRONMENT) src/test/run_unit.sh $(CLANG_RESULTS) $(TESTS:%=$(CLANG_BUILD)/test/%)
# Of which the coverage of core is told: what links core and runs here.
COVERAGE_OBJECTS = $(CLANG_BUILD)/tools/laws \
	$(patsubst %,$(CLANG_BUILD)/test/%,$(filter-out base_%,$(TESTS)))
# Behind clang-unit or by itself, on what that left.
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
.PHONY: clang clang-programs clang-unit clang-coverage coverage

# ThreadSanitizer, on the unit tests in which decisions run on other threads; without the one that reads a
# reply of 100 MiB, which takes too long under it.
TSAN_BUILD ?= $(BUILD)/tsan
TSAN_TESTS := $(filter-out ctl_pass_ray_test,$(filter net_work_test net_loop_test net_loop_thread_test ctl_pass_% ctl_cluster_% \
	ctl_leader_test kube_informer_% kube_lease_%,$(TESTS)))
TSAN_MAKE = $(MAKE) --no-print-directory BUILD='$(TSAN_BUILD)' SANITIZE=-fsanitize=thread
tsan-programs:
	@$(TSAN_MAKE) -k -j$(JOBS) $(TSAN_TESTS:%=$(TSAN_BUILD)/test/%)
tsan: tsan-programs
	@TSAN_OPTIONS=halt_on_error=1 src/test/run_unit.sh $(TSAN_BUILD)/test-results \
		$(TSAN_TESTS:%=$(TSAN_BUILD)/test/%)
TEST_STAGES += tsan
test-tsan:
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/tsan.count $(TSAN_BUILD)/test-results/unit.count; status=0; \
		$(MAKE) --no-print-directory tsan || status=1; \
		sed 's/^unit /tsan:unit /' $(TSAN_BUILD)/test-results/unit.count > $(RESULTS)/tsan.count || status=1; \
		exit $$status
.PHONY: tsan tsan-programs test-tsan

TEST_STAGES += clang
test-clang:
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/clang.count $(CLANG_RESULTS)/unit.count; status=0; \
		$(MAKE) --no-print-directory clang-unit || status=1; \
		sed 's/^unit /clang:unit /' $(CLANG_RESULTS)/unit.count > $(RESULTS)/clang.count || status=1; \
		if $(MAKE) --no-print-directory clang-coverage > $(CLANG_BUILD)/coverage.txt; \
		then line='1 0'; else line='0 1'; status=1; fi; \
		echo "clang:coverage-of-core $$line 0" >> $(RESULTS)/clang.count; \
		tail -n 1 $(CLANG_BUILD)/coverage.txt; exit $$status
.PHONY: test-clang

# Commands of the program and the controller (src/test/run_commands.sh, run_controller.sh) under valgrind,
# and confined to the system calls that it has a use for (src/test/tools/net_confine.c). With real Ray:
# e2e/tests/test_hardened.py and valgrind-e2e. Any other test of e2e runs so with
# RAYSCALER=src/test/under_valgrind.sh and what that script reads.
RUN_COMMANDS = src/test/run_commands.sh $(1) src/test/under_$(2).sh $(abspath $(BUILD)/rayscaler) \
	$(abspath $(BUILD)/$(2)) $(abspath $(RESULTS)/$(1).count)
RUN_CONTROLLER = BUILD='$(abspath $(BUILD))' src/test/run_controller.sh $(1) $(abspath src/test/under_$(2).sh) \
	$(abspath $(BUILD)/rayscaler) $(abspath $(BUILD)/$(2)) $(abspath $(RESULTS)/$(1).count)
valgrind: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet
	@mkdir -p $(RESULTS)
	@status=0; $(call RUN_COMMANDS,valgrind,valgrind) || status=1; \
		$(call RUN_CONTROLLER,valgrind,valgrind) || status=1; exit $$status
confined: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet $(BUILD)/tools/net_confine
	@mkdir -p $(RESULTS)
	@status=0; $(call RUN_COMMANDS,confined,confinement) || status=1; \
		$(call RUN_CONTROLLER,confined,confinement) || status=1; exit $$status
valgrind-e2e: $(BUILD)/rayscaler tools
	@BUILD='$(BUILD)' e2e/run-pytest.sh valgrind-e2e valgrind
TEST_STAGES += valgrind confined valgrind-e2e
test-valgrind: valgrind
test-confined: confined
test-valgrind-e2e: valgrind-e2e
.PHONY: valgrind confined valgrind-e2e test-valgrind test-confined test-valgrind-e2e

# ---- 14 image -----------------------------------------------------------------------------
# What is in the image is the list of charts/image/rootfs.sh alone: the Dockerfile runs it in its build
# stage, `make rootfs` on this machine without a container engine.
IMAGE ?= rayscaler:$(VERSION)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
image:
	@SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' charts/image/build.sh '$(IMAGE)' '$(VERSION)'
rootfs: $(BUILD)/rayscaler
	@SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' charts/image/rootfs.sh $< $(BUILD)/rootfs \
		$(BUILD)/rayscaler-rootfs.tar.gz
.PHONY: image rootfs

# ---- 15 help ------------------------------------------------------------------------------

help:
	@echo 'all            build $(BUILD)/rayscaler (the default)'
	@echo 'unit           build and run all unit tests with ASan and UBSan'
	@echo 'unit-NAME      one of them: $(firstword $(TESTS:_test=)), ...'
	@echo 'test           install what is missing, build, run every kind of test, count'
	@echo 'test-e2e       the tests in e2e/tests alone; PYTEST="-k name" chooses'
	@echo 'conformance    PROBLEMS random problems to rayscaler and to Ray'\''s own scheduler'
	@echo 'bench          all of bench-schedule (the packing at large sizes), bench-decide (whole'
	@echo '               decisions), bench-gpus (GPUs launched), bench-lint (1,000 files), bench-schedule-ray (beside Ray'\''s scheduler),'
	@echo '               bench-reaction, bench-events (what the watch of Events costs), bench-list (the'
	@echo '               first list of 100,000 Pods)'
	@echo 'fleet          one controller on FLEET (100 1000 10000) RayClusters of FLEET_PODS Pods: CPU, memory,'
	@echo '               requests, demand to patch'
	@echo 'hostile        the same beside hostile tenants: honest p99, memory, longest turn, Lease, ends'
	@echo 'torture        every request of a scenario fails once, in each way; SEED, SHARD=I/N'
	@echo 'torture-kill   kill -9 of the program KILLS (240) times while a cluster grows and shrinks'
	@echo 'dev-cluster    API server, operator, kubelet, controller, a RayCluster, until Ctrl-C'
	@echo '               (APISERVER=real or embedded, for test and dev-cluster)'
	@echo 'dashboard-picture  docs/pictures/dashboard.png, from a scenario with a real Prometheus'
	@echo 'lint           layers, banned functions, format, sizes, static analysis'
	@echo 'format         clang-format on all sources'
	@echo 'laws           the laws of the decision on LAWS_COUNT random snapshots from LAWS_SEED on'
	@echo 'golden         the golden decisions alone; UPDATE=1 rewrites the wanted members'
	@echo 'docs           write the documents that are made from tables of the source'
	@echo 'fuzz           every libFuzzer target for FUZZ_SECONDS (10); fuzz-NAME: one of them'
	@echo 'clang          program, tools and tests built by clang; clang-unit runs the tests'
	@echo 'coverage       clang-unit, the laws, and which branches of core they took'
	@echo 'tsan           unit tests with threads under ThreadSanitizer'
	@echo 'valgrind       commands and controller under valgrind; valgrind-e2e: with real Ray'
	@echo 'confined       commands and controller confined to their system calls, writing no file'
	@echo 'manifests      charts/manifests, made from the chart'
	@echo 'image          the container image IMAGE, with buildah, podman or docker'
	@echo 'rootfs         the same root file system in $(BUILD)/rootfs and as a tar, with none of them'
	@echo 'setup          install the Debian packages that are missing'
	@echo 'install        to $(DESTDIR)$(PREFIX)/bin'
	@echo 'clean          remove $(BUILD)'

.PHONY: all unit unit-programs setup setup-build install clean test test-unit help

-include $(shell find $(BUILD)/obj $(BUILD)/asan/obj $(BUILD)/fuzz/obj -name '*.d' 2>/dev/null)
