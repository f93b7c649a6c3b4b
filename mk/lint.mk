# Static checks. Each is a target of its own: lint-layers, lint-format, ...

LINTS := layers features headers symbols banned format scripts names hostile cppcheck tidy analyzer
LINT_C := $(sort $(foreach g,$(GROUPS) test,$(wildcard src/$(g)/*.[ch] src/$(g)/*/*.[ch] src/$(g)/*/*/*.[ch])))

# How the name of a library's header starts (or, from a dot on, ends): the layers it belongs to.
VENDOR_HEADERS := curl/:net uv.h:net nghttp2/:net microhttpd.h:net gnutls/:net cjson/:codec yaml.h:codec \
	openssl/:codec,net,kube protobuf-c/:gcs .pb-c.h:gcs commit.h:cli simulate_page.h:cli feature_model.h:core \
	feature_core.h:core feature_sim.h:sim feature_codec.h:codec feature_objects.h:codec feature_kube.h:kube feature_ctl.h:ctl feature_cli.h:cli cmocka.h:test

# Base, core and sim do no I/O and read no clock: their headers of the C library, and the functions that
# their archives may call. Only pure functions may be added.
PURE_LAYERS := $(filter base core core/% %/core %/model sim,$(LAYERS))
PURE_HEADERS := ctype.h float.h inttypes.h limits.h math.h setjmp.h stdalign.h stdarg.h stdbool.h stddef.h \
	malloc.h stdint.h stdio.h stdlib.h string.h sanitizer/asan_interface.h
PURE_SYMBOLS := abort calloc free malloc malloc_usable_size realloc qsort qsort_r bsearch llabs \
	__isoc99_sscanf memchr memcmp memcpy memmove memset strchr strchrnul strcmp strcspn strlen strncmp strnlen strrchr \
	strspn strstr snprintf vsnprintf _setjmp longjmp __longjmp_chk \
	__divti3 __divmodti4 __memcpy_chk __memmove_chk __memset_chk __snprintf_chk __vsnprintf_chk __stack_chk_fail \
	ceil floor fabs fmin fmax isnan llround nearbyint pow round rint trunc _GLOBAL_OFFSET_TABLE_

# Functions that only tests call from another file: state that they check, and single parsers and rules.
FOR_TESTS := buf_consume endpoints_probe_port event_store_objects gcs_requests_parse gpu_pool_status_initial identity_is_foreign \
	kube_informer_counters kube_lease_held leader_identity lint_limits linted_runs \
	metrics_duration metrics_write options_print_markdown options_print_values pass_step_name pools_derived registration_address controller_client_url \
	snapshot_decode snapshot_fields snapshot_limits work_queue_waiting words_count \
	work_at_once work_count work_slow_at_once

BANNED := strcpy strncpy stpcpy strcat strncat sprintf vsprintf strtok atoi atol atoll atof gets \
	alloca sleep usleep nanosleep

## lint: every check lint-NAME: layers features headers symbols banned format scripts names hostile cppcheck tidy
##   analyzer
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

# Names of a feature are in its folder.
lint-features:
	@python3 src/test/lint/features.py
	@echo 'ok      $@'

# A short module with one user in its own folder has no header.
lint-headers:
	@python3 src/test/lint/headers.py
	@echo 'ok      $@'

PROGRAM_OBJECTS := $(patsubst %,$(BUILD)/obj/%.o,$(foreach l,$(LAYERS),$(NAMES_$(l))))
PURE_ARCHIVES := $(foreach l,$(PURE_LAYERS),$(call archive,release,$(l)))
IMAGE_PROGRAM := $(if $(wildcard src/image/main.c),$(BUILD)/rayscaler-controller)
lint-symbols: $(PURE_ARCHIVES) $(IMAGE_PROGRAM) | $(PROGRAM_OBJECTS)
	@src/test/lint/symbols.sh '$(PURE_SYMBOLS)' $(PURE_ARCHIVES)
	@$(if $(IMAGE_PROGRAM),src/test/lint/image.sh $(IMAGE_PROGRAM))
	@python3 src/test/lint/circles.py $(PROGRAM_OBJECTS)
	@$(if $(wildcard src/cli/main.c),src/test/lint/exports.sh '$(FOR_TESTS)' $(PROGRAM_OBJECTS))
	@echo 'ok      $@'

lint-banned:
	@MACHINE_CLOCK_TESTS='$(MACHINE_CLOCK_TESTS)' src/test/lint/banned.sh '$(BANNED)' $(LINT_C)
	@echo 'ok      $@'

lint-format:
	@printf '%s\n' $(LINT_C) | xargs -n 50 -P $(JOBS) clang-format --dry-run --Werror || { echo 'run make format'; exit 1; }
	@echo 'ok      $@'

## format: clang-format on all sources
format:
	clang-format -i $(LINT_C)

lint-scripts:
	@for f in $(wildcard src/test/*.sh src/test/*/*.sh e2e/*.sh charts/*.sh .ci/run); do bash -n $$f || exit 1; done
	@find e2e mk src/test -name '*.py' -print0 | xargs -0 python3 -c \
		'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]'
	@PYTHONDONTWRITEBYTECODE=1 python3 src/test/lint/waits.py
	@echo 'ok      $@'

# Documents and comments name what there is: files, functions, targets, commands, flags, metrics, steps.
lint-names:
	@PYTHONDONTWRITEBYTECODE=1 python3 src/test/lint/names.py
	@echo 'ok      $@'

# A watched kind, an annotation or label that is read and a page have an attack of make hostile.
lint-hostile:
	@python3 src/test/lint/hostile.py
	@echo 'ok      $@'

# varFuncNullUB: NULL is a pointer here. The others do not follow a pointer that is cleared again, one that
# moves within an array, and take the member of a designator for a variable of that name.
lint-cppcheck: $(BUILD)/lint/cppcheck.ok
	@echo 'ok      $@'
$(BUILD)/lint/cppcheck.ok: $(filter-out src/test/%,$(LINT_C))
	@mkdir -p $(@D)
	@cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -Isrc -I$(BUILD)/gen \
		--enable=warning,performance,portability --suppress=varFuncNullUB \
		--suppress=autoVariables --suppress=objectIndex \
		--suppress=unknownEvaluationOrder \
		$^
	@touch $@

# Slow, so only for changed files: the object has the dependencies. Of 3 s a file, clang's analyzer takes all but
# 0.1 s, and gcc's 0.4 s: with TIDY_PARTS more than 1 both take the files of TIDY_COMMITS commits, and a part of the
# others by the day of the year, as the check of tests does; all other checks take every file.
TIDY_PARTS ?= 1
TIDY_COMMITS ?= 10
TIDY_PART ?= $(shell expr $$(date +%j) % $(TIDY_PARTS) + 1)
LINT_NAMES := $(foreach l,$(LAYERS),$(NAMES_$(l)))
ifeq ($(TIDY_PARTS),1)
tidy_part = $(1)
else
TIDY_CHANGED := $(patsubst src/%,%,$(basename $(shell { git log -n $(TIDY_COMMITS) --format= --name-only; \
	git diff --name-only HEAD; } 2>/dev/null | grep '^src/.*\.[ch]$$')))
tidy_part = $(sort $(filter $(1),$(TIDY_CHANGED)) \
	$(shell printf '%s\n' $(1) | awk 'NR % $(TIDY_PARTS) + 1 == $(TIDY_PART)'))
endif
TIDY_WHOLE := $(call tidy_part,$(LINT_NAMES))
lint-tidy: $(TIDY_WHOLE:%=$(BUILD)/lint/tidy/%.ok) \
		$(patsubst %,$(BUILD)/lint/tidy/%.quick,$(filter-out $(TIDY_WHOLE),$(LINT_NAMES))) \
		$(patsubst %,$(BUILD)/lint/tidy/%.ok,$(call tidy_part,$(TEST_PATHS:%=test/%)) $(SUPPORT))
	@echo 'ok      $@'
lint-analyzer: $(TIDY_WHOLE:%=$(BUILD)/lint/analyzer/%.ok)
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
$(BUILD)/lint/tidy/%.quick: src/%.c .clang-tidy $(BUILD)/obj/%.o
	@mkdir -p $(@D)
	$(call say,TIDY  ,$<)
	$(Q)$(call TIDY,--checks='-clang-analyzer-*')
	@touch $@
$(BUILD)/lint/analyzer/%.ok: src/%.c $(BUILD)/obj/%.o
	@mkdir -p $(@D)
	$(call say,ANALYZ,$<)
	$(Q)gcc $(LANGUAGE) $(ANALYZER_CFLAGS) -O1 -fanalyzer -Werror -c -o /dev/null $<
	@touch $@

## measure: statements, circles, double facts, cost of a change; then sizes
measure: $(PROGRAM_OBJECTS)
	@python3 e2e/rayscaler_e2e/measure.py
.PHONY: measure

## lint-selftest: plants a fault for each check and sees it fail
lint-selftest:
	@src/test/lint/selftest.sh
# Part of make test-all: each check still finds its fault.
test-lint-selftest:
	@mkdir -p $(RESULTS)
	@src/test/lint/selftest.sh $(RESULTS)/lint-selftest.count
.PHONY: lint-selftest test-lint-selftest

.PHONY: lint lint-selftest format $(LINTS:%=lint-%)

