# From sources to archives and programs, each rule once for all variants: a variant is a directory, a
# compiler and its flags. Further ones are another BUILD (`clang`, `tsan` in mk/test.mk).

# ---- layers and libraries -----------------------------------------------------------------

# $(call group_of,layers)
group_of = $(sort $(foreach l,$(1),$(firstword $(subst /, ,$(l)))))
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
# CLOSURE_<layer>: it and the layers that it uses, directly or not. LINKS_<group>: the archives of a program
# of the group, highest first (an archive needs those after it).
$(foreach l,$(LAYERS),$(eval CLOSURE_$(l) := $(sort $(l) $(foreach u,$(USES_$(l)),$(CLOSURE_$(u))))))
$(foreach g,$(GROUPS),$(eval LINKS_$(g) := $(filter \
	$(foreach l,$(filter $(g) $(g)/% $(ABOVE_$(g)),$(LAYERS)),$(CLOSURE_$(l))),$(call reverse,$(LAYERS)))))

PACKAGES := $(sort $(foreach g,$(GROUPS),$(VENDOR_$(g))))
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

# ---- variants -----------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wpointer-arith -Wundef -Wvla -Wformat=2 $(WERROR)
ifneq ($(findstring clang,$(CC)),)
WARNINGS += -Wno-string-conversion # CHECK(!"what cannot happen")
endif
LANGUAGE := -std=gnu17 -D_GNU_SOURCE -Isrc -I$(BUILD)/gen
# $(call accepts,compiler,flags): the flags, where a file with a header of libc compiles with them.
accepts = $(shell $(1) -O2 -Werror $(2) -include stdio.h -x c -S -o /dev/null /dev/null 2>/dev/null && echo '$(2)')
# Each machine has one of the first two. Sanitizers work with all of them.
protection = $(strip $(foreach f,-fcf-protection -mbranch-protection=standard -fstack-clash-protection,\
	$(call accepts,$(1),$(f))))
PROTECTION := $(call protection,$(CC))
# Below their versions with level 3, compiler and libc warn.
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if \
	$(call accepts,$(CC),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),3,2)
HARDENING := $(FORTIFY) -fstack-protector-strong -fPIE $(PROTECTION)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
FOR_SANITIZERS := -O1 -g -fno-omit-frame-pointer -U_FORTIFY_SOURCE
# gcc reports uninitialized variables in the code that the sanitizers add, falsely.
NO_MAYBE := $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized)
FUZZ_CC ?= clang

CFLAGS_ctl := -DRAYSCALER_VERSION='"$(VERSION)"'
CFLAGS_cli := $(CFLAGS_ctl)
CFLAGS_image := $(CFLAGS_ctl)
CFLAGS_feature := $(CFLAGS_ctl)

# What a decision calls: every turn of its loops is counted.
COUNTED_LAYERS := $(filter core core/% %/core,$(LAYERS))
COUNTED := -include src/base/counted.h

# release: the program, tools and benches. asan: unit tests. fuzz: libFuzzer. work: bench-growth.
VARIANTS := release asan fuzz work

DIR_release     := $(BUILD)
CC_release      := $(CC)
COMPILE_release := -O2 -g $(HARDENING) $(EXTRA_CFLAGS)
LINK_release    := -O2 -g $(HARDENING) -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(EXTRA_CFLAGS)

DIR_asan     := $(BUILD)/asan
CC_asan      := $(CC)
COMPILE_asan := $(FOR_SANITIZERS) $(PROTECTION) $(NO_MAYBE) $(SANITIZE) $(EXTRA_CFLAGS)
LINK_asan    := $(SANITIZE) -Wl,--as-needed $(EXTRA_CFLAGS)

DIR_fuzz     := $(BUILD)/fuzz
CC_fuzz      := $(FUZZ_CC)
COMPILE_fuzz := $(FOR_SANITIZERS) $(call protection,$(FUZZ_CC)) -Wno-string-conversion \
	-fsanitize=fuzzer-no-link $(SANITIZE)
LINK_fuzz    := -fsanitize=fuzzer,address,undefined

# Each basic block is counted (src/test/support/work_count.h).
DIR_work     := $(BUILD)/work
CC_work      := $(CC)
COMPILE_work := -O1 $(NO_MAYBE) -fsanitize-coverage=trace-pc
LINK_work    := -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset -Wl,--as-needed

# Objects are built again when a compiler or its flags change.
FLAGS_NOW := $(WARNINGS) $(LANGUAGE) $(COUNTED) $(EXTRA_LDFLAGS) $(VERSION) \
	$(foreach v,$(VARIANTS),$(CC_$(v)) $(COMPILE_$(v)) $(LINK_$(v)))
FLAGS_FILE := $(BUILD)/flags
$(shell mkdir -p $(BUILD); printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | \
	cmp -s - $(FLAGS_FILE) || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $(FLAGS_FILE))

# ---- rules --------------------------------------------------------------------------------

ifneq ($(V),1)
Q := @
say = @echo '$(1)  $(2)'
endif

PROTOS := $(wildcard src/gcs/*.proto)
GEN_C := $(PROTOS:src/gcs/%.proto=$(BUILD)/gen/%.pb-c.c)
# commit.h: the commit that `version` prints, written when it changes.
# simulate_page.h: src/cli/simulate_page.html as a string.
GEN_H := $(GEN_C:.c=.h) $(BUILD)/gen/commit.h $(patsubst src/cli/%.html,$(BUILD)/gen/%.h,$(wildcard src/cli/*.html))
.SECONDARY: $(GEN_C) $(GEN_H)
COMMIT ?= $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
COMMIT_LINE := \#define RAYSCALER_COMMIT "$(COMMIT)"
$(shell mkdir -p $(BUILD)/gen; echo '$(COMMIT_LINE)' | cmp -s - $(BUILD)/gen/commit.h || \
	echo '$(COMMIT_LINE)' > $(BUILD)/gen/commit.h)

# The lists of the selected features (mk/features.awk), written when they change.
$(shell mkdir -p $(BUILD)/gen; awk -v dir=$(BUILD)/gen -v names_built="$(strip $(FEATURES))" -f mk/features.awk \
	$(wildcard $(FEATURES:%=src/feature/%/*/*.[ch])) < /dev/null)

# Its initializers cast const away.
$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h &: src/gcs/%.proto mk/rules.mk
	@mkdir -p $(@D)
	$(call say,PROTOC,$<)
	$(Q)$(PROTOC_C) --c_out=$(BUILD)/gen -Isrc/gcs $<
	$(Q)sed -i '1i #pragma GCC system_header' $(BUILD)/gen/$*.pb-c.h

$(BUILD)/gen/simulate_page.h: src/cli/simulate_page.html
	@mkdir -p $(@D)
	$(Q){ echo 'static const char simulate_page[] ='; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } > $@

# NAMES_<layer>: its objects below a variant's obj/, without ".o".
$(foreach l,$(LAYERS),$(eval NAMES_$(l) := $(patsubst src/%.c,%,$(sort $(wildcard src/$(l)/*.c)))))
GEN_NAMES_gcs := $(GEN_C:$(BUILD)/gen/%.c=gen/%)

# $(call objects,variant,layer)
objects = $(patsubst %,$(DIR_$(1))/obj/%.o,$(NAMES_$(2)) $(GEN_NAMES_$(2)))
OBJECTS_cli := $(call objects,release,cli)
OBJECTS_image := $(call objects,release,image)
# $(call archive,variant,layer); $(call archives,variant,group): the archives of a program of the group, in order
archive = $(DIR_$(1))/lib$(subst /,_,$(2)).a
archives = $(foreach l,$(LINKS_$(2)),$(call archive,$(1),$(l)))
libraries = $(call vendor_flags,--libs,$(call vendor_of,$(LINKS_$(1)))) -lm

# The last lines of the rule of a program: $(call link,variant,group,further libraries)
define link
@mkdir -p $(@D)
$(call say,LINK  ,$@)
$(Q)$(CC_$(1)) $(LINK_$(1)) -o $@ $(filter %.o %.a,$^) $(call libraries,$(2)) $(3) $(EXTRA_LDFLAGS)
endef

# $(call compile,variant,flags)
define compile
@mkdir -p $(@D)
$(call say,CC $(1),$<)
$(Q)$(CC_$(1)) $(LANGUAGE) $(2) $(COMPILE_$(1)) -MMD -MP -c -o $@ $<
endef

# Generated code is not ours to keep free of warnings.
define variant_rules
$(DIR_$(1))/obj/gen/%.o: $(BUILD)/gen/%.c $(FLAGS_FILE)
	$$(call compile,$(1),-w)
$(DIR_$(1))/obj/%.o: src/%.c $(FLAGS_FILE) | $(GEN_H)
	$$(call compile,$(1),$$(WARNINGS) $$(PRIVATE_CFLAGS))
endef
$(foreach v,$(VARIANTS),$(eval $(call variant_rules,$(v))))

# An archive is made from scratch, so that an object of a deleted source does not stay in it; without
# sources it is an empty archive.
define pack
@mkdir -p $(@D)
@rm -f $@
@$(AR) rcsD $@ $(filter %.o,$^)
endef

define layer_rules
$(call objects,$(1),$(2)): PRIVATE_CFLAGS = $(if $(findstring clang,$(CC_$(1))),,-Wcast-qual) $$(CFLAGS_$(call group_of,$(2))) \
	$(if $(filter $(2),$(COUNTED_LAYERS)),$(COUNTED)) \
	$$(call vendor_flags,--cflags,$$(call vendor_of,$$(CLOSURE_$(2))))
$(call archive,$(1),$(2)): $(call objects,$(1),$(2)) $(wildcard src/$(2))
	$$(pack)
endef
$(foreach v,$(VARIANTS),$(foreach l,$(LAYERS),$(eval $(call layer_rules,$(v),$(l)))))

-include $(shell find $(foreach v,$(VARIANTS),$(DIR_$(v))/obj) -name '*.d' 2>/dev/null)
