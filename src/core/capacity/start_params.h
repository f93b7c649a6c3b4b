/* The values of rayStartParams as `ray start` reads them: whole numbers, and the flat object of
 * custom resources in its quotes and backslashes (ray 2.60, kuberay/autoscaling_config.py; trap
 * T28). Must not be used for JSON documents: those belong to codec. */
#ifndef CORE_CAPACITY_START_PARAMS_H
#define CORE_CAPACITY_START_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/resources.h"

#define START_PARAMS_RESOURCES_MAX 1000

/* A whole number as Python's int() takes it (spaces around, one sign), to 1/10000 units.
 * False: not one, negative, or above RESOURCE_AMOUNT_MAX. */
bool start_params_number(const char *text, int64_t *ret_amount);

/* '"{\"A\": 1, \"B\": 0.5}"' to amounts: the first and the last character and all backslashes are
 * removed; the rest is one object of numbers. False: another form, a negative or too large amount,
 * more than START_PARAMS_RESOURCES_MAX entries. */
bool start_params_resources(const char *text, struct arena *arena, struct resources *ret_resources);

/* The reading by `ray start` of a resource in that object (ray 2.60, _private/resource_and_label_spec.py,
 * to_resource_dict and _resolve_resources). */
struct start_params_entry {
	const char *option; /* NULL, or the parameter that replaces it: "num-gpus" of GPU */
	const char
		*problem; /* NULL, or why `ray start` ends: "is 0.5, which is not a whole number" */
};

struct start_params_entry start_params_entry(const struct resource *resource, struct arena *arena);

/* Whether KubeRay can parse it. KubeRay strips surrounding quotes and spaces and expects JSON, so
 * the form with backslashes in Ray's documentation fails (kuberay 1.7, common/pod.go,
 * getResourcesMap). Then it passes no accelerator in the limits to `ray start`, GPUs included.
 * `text` as above. */
bool start_params_kuberay_reads(const char *text);

#endif
