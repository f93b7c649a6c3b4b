/* The GPU model that a Pod template ties its workers to, as Ray names it: labels of Nodes in
 * nodeSelector and required node affinity, and what Ray makes of that model by itself
 * (`accelerator_type:T4`, label ray.io/accelerator-type).
 * Pure; results live in the arena. Must not say whether a raylet reports it: core/decide/template_seen asks
 * the living ones. */
#ifndef CORE_CAPACITY_ACCELERATOR_TYPE_H
#define CORE_CAPACITY_ACCELERATOR_TYPE_H

#include "base/arena.h"
#include "core/capacity/capacity.h"
#include "core/model/kubernetes.h"

/* Ray's names (ray 2.60, _private/resource_and_label_spec.py and label constants). */
#define ACCELERATOR_TYPE_PREFIX "accelerator_type:"
#define LABEL_ACCELERATOR_TYPE "ray.io/accelerator-type"

struct accelerator_type {
	const char *type;        /* "T4", "A100", "AMD-Instinct-MI300X-OAM" */
	const char *vendor;      /* "NVIDIA", "AMD" */
	const char *resource;    /* "accelerator_type:T4", amount 1 */
	const char *key, *value; /* the label that says so */
};

/* The model that every Node has on which a Pod of this spec may run. False: the spec does not say, says
 * two, or names a model of which Ray's name is not known. `ray_version` ("2.60.0", "" unknown): older
 * ones name some models otherwise, which are left out then. */
bool accelerator_type_of_pod(const struct pod_spec *spec, const char *ray_version,
			     struct arena *arena, struct accelerator_type *ret_type);

/* The same of a worker of this group, if its raylet will report it: the group brings GPUs to Ray and
 * the devices of its Ray container are of a vendor whose model Ray finds by itself, by NVML (whole, MIG:
 * there it is the whole device's model, and shared ones) or amdsmi. Intel's needs a Python package that
 * images do not have, so it is none. */
bool accelerator_type_of_group(const struct worker_group *group, const struct capacity *capacity,
			       const char *ray_version, struct arena *arena,
			       struct accelerator_type *ret_type);

/* What Ray's pynvml rule makes of a device's name (ray 2.60, nvidia_gpu.py
 * _gpu_name_to_accelerator_type): "Tesla T4" and "Tesla-T4", the form that labels have, are T4; NULL:
 * nothing. */
const char *accelerator_type_of_name(const char *name, struct arena *arena);

#endif
