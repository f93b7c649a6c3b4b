# rayscaler. `make help` lists the targets and their variables; a target has its line there as a comment
# "## target: text" above its rule. The rules are in mk/:
#   rules  compiler, archives, programs    test   unit tests, laws, e2e, conformance, the stages of make test
#   lint   static checks                   fuzz   libFuzzer
#   bench  measurements, fleets, faults    image  container image, manifests, documents from tables
#   dist   what people download
# Everything that is built is below $(BUILD). Sources are found by wildcard, so a new file in a folder
# of src/ needs no edit here.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

# ---- variables ----------------------------------------------------------------------------

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

# Added after the flags of mk/rules.mk, for variants: make BUILD=build-cov EXTRA_CFLAGS=--coverage
EXTRA_CFLAGS ?=
EXTRA_LDFLAGS ?=
# A compiler newer than ours may know new warnings: make WERROR=
WERROR ?= -Werror

# ---- layers -------------------------------------------------------------------------------
# From the lowest to the highest; each is one folder of src/ and one archive. Folders with the same first
# name are a group: tests, libraries and flags go by group. USES_<layer>: the layers whose headers it
# may include, itself left out. VENDOR_<group>: pkg-config names that it may use. `make lint` holds both.
#
# A feature is a folder src/feature/<name>, with a part for each height at which it acts: model, core, sim,
# codec, ctl and cli, each below the layer that lists the features, and objects and gcs, which read objects and replies
# of Ray and which only its own ctl and cli use. Parts are found by wildcard. A part may include its own lower parts, and nothing
# of another feature. FEATURES: those that are built, by default all.

MODEL := base core/model
CORE := $(MODEL) core/capacity core/nodes core/schedule core/share core/decide core/report core
CODEC := codec/text codec/schema codec/objects
CLIENTS := $(MODEL) $(CODEC) net

FEATURES_ALL := $(notdir $(patsubst %/,%,$(sort $(wildcard src/feature/*/))))
FEATURES ?= $(FEATURES_ALL)
ifneq ($(filter-out $(FEATURES_ALL),$(FEATURES)),)
$(error FEATURES: unknown $(filter-out $(FEATURES_ALL),$(FEATURES)); there are $(FEATURES_ALL))
endif
feature = $(sort $(patsubst src/%/,%,$(wildcard $(FEATURES:%=src/feature/%/$(1)/))))
# Of one height, the one that lists what others have is the highest.
feature_objects := $(filter-out feature/lint/%,$(call feature,objects)) $(filter feature/lint/%,$(call feature,objects))
LAYERS := $(call feature,model) $(filter-out core,$(CORE)) $(call feature,core) core sim $(call feature,sim) sim/run \
	codec/text codec/schema $(call feature,codec) codec/objects $(feature_objects) \
	net kube $(call feature,kube) gcs $(call feature,gcs) ctl/shared ctl/queue ctl/pass ctl/report ctl/watch $(call feature,ctl) ctl \
	cli/shared cli/controller $(call feature,cli) cli image
GROUPS := base core sim codec net kube gcs ctl cli image feature

USES_base          :=
USES_core/model    := base $(call feature,model)
USES_core/capacity := $(MODEL)
USES_core/nodes    := $(MODEL)
USES_core/schedule := $(MODEL)
USES_core/share    := $(MODEL)
USES_core/decide   := $(MODEL) core/capacity core/nodes core/schedule
USES_core/report   := $(MODEL) core/capacity core/schedule core/decide
USES_core          := $(MODEL) core/decide core/report $(call feature,core)
USES_sim           := $(MODEL) core/capacity core/nodes core/decide core/report core
USES_sim/run       := $(MODEL) core core/report sim $(call feature,sim)
USES_codec/text    := $(MODEL)
USES_codec/schema  := $(MODEL) codec/text
USES_codec/objects := $(CORE) codec/text codec/schema $(call feature,core) $(call feature,codec)
USES_net           := base codec/text
USES_kube          := $(CLIENTS)
USES_gcs           := $(CLIENTS)
USES_ctl/shared    := $(CLIENTS) kube
USES_ctl/queue     := $(MODEL) net
USES_ctl/pass      := $(CLIENTS) kube gcs core core/capacity core/report ctl/shared ctl/queue
USES_ctl/report    := $(CLIENTS) kube gcs core/capacity core/decide core/report ctl/shared ctl/pass
USES_ctl/watch     := $(CLIENTS) kube core/capacity core/nodes core/decide ctl/shared ctl/pass ctl/report
USES_ctl           := $(CLIENTS) kube gcs core/decide ctl/shared ctl/queue ctl/pass ctl/report ctl/watch \
	$(call feature,core) $(call feature,ctl)
USES_cli/shared    := $(CORE) $(CODEC) net kube $(call feature,kube) gcs ctl/shared ctl/pass ctl/report
USES_cli/controller := $(MODEL) $(CODEC) net ctl ctl/shared cli/shared
USES_cli           := $(CORE) sim sim/run $(CODEC) net kube gcs ctl ctl/shared ctl/pass ctl/report ctl/watch cli/shared cli/controller \
	$(call feature,core) $(call feature,cli)
# What a Pod of the controller starts: no sim, no command that shows decisions.
USES_image         := $(MODEL) codec/text cli/shared cli/controller
USES_PART_core     := $(filter-out core,$(CORE))
USES_PART_sim      := $(CORE) sim
USES_PART_codec    := $(MODEL) core/nodes codec/text codec/schema
USES_PART_objects  := $(MODEL) $(CODEC)
USES_PART_kube     := $(CLIENTS) kube
USES_PART_gcs      := $(CLIENTS) gcs
USES_PART_ctl      := $(CORE) $(CODEC) net kube gcs ctl/shared ctl/queue ctl/pass ctl/report ctl/watch
USES_PART_cli      := $(CORE) sim $(CODEC) net kube gcs ctl/shared ctl/pass ctl/report ctl/watch ctl cli/shared
$(foreach p,model core sim codec objects kube gcs ctl cli,$(foreach l,$(call feature,$(p)),$(eval \
	USES_$(l) := $(USES_PART_$(p)) $(filter $(addprefix $(dir $(l)),$(LOWER_PARTS)),$(LAYERS)))) \
	$(eval LOWER_PARTS += $(p)))
# Parts that programs of a group link although no layer of the group uses them.
ABOVE_codec := $(call feature,objects)
ABOVE_kube := $(call feature,kube)
ABOVE_gcs := $(call feature,objects) $(call feature,gcs)

VENDOR_codec := libcjson yaml-0.1 openssl
VENDOR_net   := libcurl libuv libnghttp2 libmicrohttpd gnutls openssl
VENDOR_kube  := openssl
VENDOR_gcs   := libprotobuf-c

# ---- targets ------------------------------------------------------------------------------

## all: build $(BUILD)/rayscaler and the image's program, $(BUILD)/rayscaler-controller (the default);
##   V=1 shows the commands
##   BUILD (build), FEATURES="..." (all folders of src/feature), CC (gcc), EXTRA_CFLAGS, EXTRA_LDFLAGS, WERROR=,
##   VERSION; JOBS: commands at once
PROGRAMS := $(BUILD)/rayscaler $(BUILD)/rayscaler-controller
all: $(PROGRAMS)

# Goals that compile need the libraries; these must work without them.
NEEDS_NOTHING := clean help image setup setup-build setup-arm64 format demo test dev-cluster node judge

PARTS := mk/rules.mk mk/test.mk mk/lint.mk mk/fuzz.mk mk/bench.mk mk/image.mk mk/dist.mk
include $(PARTS)

$(BUILD)/rayscaler: $(OBJECTS_cli) $(filter-out %/libcli.a,$(call archives,release,cli)) $(FLAGS_FILE)
	$(call link,release,cli)
$(BUILD)/rayscaler-controller: $(OBJECTS_image) $(filter-out %/libimage.a,$(call archives,release,image)) $(FLAGS_FILE)
	$(call link,release,image)

## setup: install the Debian packages that are missing; setup-build: those of the build alone;
##   setup-arm64: what make dist needs for arm64, into the cache
setup:
	@e2e/setup-packages.sh build test
setup-build:
	@e2e/setup-packages.sh build
setup-arm64:
	@e2e/setup-arm64.sh

# kubectl finds its plugins by name: the link makes `kubectl rayscaler` work.
## install: to $(DESTDIR)$(PREFIX)/bin
install: $(BUILD)/rayscaler
	install -D -m 0755 $(BUILD)/rayscaler $(DESTDIR)$(PREFIX)/bin/rayscaler
	ln -sf rayscaler $(DESTDIR)$(PREFIX)/bin/kubectl-rayscaler

## clean: remove $(BUILD)
clean:
	rm -rf $(BUILD)

## help: this list
help:
	@sed -n 's/^## //p' Makefile $(PARTS) | sed -E 's/^([^ ]+): /\1:\t/; s/^  +/\t/' | expand -t 20

.PHONY: all setup setup-build setup-arm64 install clean help
