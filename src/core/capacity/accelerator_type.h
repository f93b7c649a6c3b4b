/* The GPU model to which a Pod template restricts its workers, under Ray's name: from Node labels
 * in nodeSelector and required node affinity, and the resource and label that Ray derives from the
 * model (`accelerator_type:T4`, label ray.io/accelerator-type). Pure; results live in the arena.
 * Must not decide whether a raylet reports it: core/decide/template_seen reads the registered
 * ones. */
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
	const char *key, *value; /* the label that names it */
};

/* The model of every Node on which a Pod of this spec may run. False: the spec names none, or two,
 * or one whose name in Ray is unknown. `ray_version` ("2.60.0", "" unknown): older versions name
 * some models differently; those are omitted. */
bool accelerator_type_of_pod(const struct pod_spec *spec, const char *ray_version,
			     struct arena *arena, struct accelerator_type *ret_type);

/* The same for a worker of this group, if its raylet will report it: the group has GPUs in Ray, and
 * Ray detects the model of the vendor of its Ray container's devices with NVML (whole, shared, and
 * MIG, which reports the model of the whole device) or amdsmi. Intel's detection needs a Python
 * package that images do not have, so it does not count. */
bool accelerator_type_of_group(const struct worker_group *group, const struct capacity *capacity,
			       const char *ray_version, struct arena *arena,
			       struct accelerator_type *ret_type);

/* Whether such a raylet will report a model that nothing in the group tells: it may be any of the vendor. */
bool accelerator_type_is_open(const struct worker_group *group, const struct capacity *capacity,
			      const char *ray_version, struct arena *arena);

/* Whether a Node label with this key names a model. */
bool accelerator_type_is_label(const char *key);

/* The type that Ray's pynvml rule derives from a device's name (ray 2.60, nvidia_gpu.py
 * _gpu_name_to_accelerator_type): T4 for "Tesla T4" and for the form in labels, "Tesla-T4"; NULL:
 * none. */
const char *accelerator_type_of_name(const char *name, struct arena *arena);

#endif
