/* The meaning of accelerator resource names: kind of device, how one is shared, and the unit of a
 * share of memory. The built-in table contains the names of the common device plugins; a user's
 * file adds rows or replaces them by name (codec/objects/device_table_json, docs/DEVICES.md). Must
 * not define how Ray counts a name: that is KubeRay's rule, device_ray_resource(), which no table
 * can change. Plain data; rows are in static memory or in the arena of the table's creator. */
#ifndef CORE_MODEL_DEVICE_H
#define CORE_MODEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/claimed.h"
#include "core/model/kubernetes.h"

enum device_kind {
	DEVICE_NONE = 0,
	DEVICE_GPU,
	DEVICE_NEURON,
	DEVICE_TPU,
	DEVICE_HPU, /* Gaudi */
	DEVICE_NPU, /* Ascend, MLU and the like */
};

/* The meaning of an amount of 1. */
enum device_share {
	DEVICE_WHOLE = 0, /* a device that the container has alone */
	DEVICE_SLICE,     /* a fixed partition: a MIG profile, a Neuron core */
	DEVICE_TURN,      /* a time slice of a shared device: time-slicing, MPS, vGPU */
	DEVICE_MEMORY,    /* a unit of memory of one device; a container's amount fits one device */
	DEVICE_QUALIFIER, /* not a device: qualifies another resource or counts devices */
};

struct device_row {
	const char *resource; /* a name, or its beginning and "*" */
	enum device_kind kind;
	enum device_share share;
	int64_t memory_unit_bytes;  /* MEMORY, and QUALIFIER of memory: bytes of 1; else 0 */
	const char *count_resource; /* MEMORY: how many devices a Node has; "" if none */
	const char *instead;        /* the current name for a deprecated one; else "" */
	const char *
		ray_resource; /* Ray's resource for it, "GPU", "HPU", for a group that declares it; ""
				   * for a QUALIFIER */
	const char *vendor;   /* "NVIDIA", for messages and `rayscaler devices` */
	/* Dynamic Resource Allocation: the driver that allocates the same devices, their attribute
	 * `type` ("": any), and the name of the driver's DeviceClass. "": none. */
	const char *driver, *device_type, *device_class;
	int64_t parts; /* TURN: an amount of a whole device, 100 for one in percent; 0: unknown */
};

/* A full name takes precedence over a prefix, a longer prefix over a shorter one, and a later row
 * over an earlier one with the same name. The rows of a user's file are after the built-in ones. */
struct device_table {
	const struct device_row *rows;
	size_t count;
	const struct claimed_index *claims; /* NULL: Dynamic Resource Allocation is not used */
};

/* Never NULL. */
const struct device_table *device_table_builtin(void);
/* The rows that are not built in. */
struct device_table device_table_own(const struct device_table *table);
/* The names of Ray's resources that count as accelerators: Ray's own (ray 2.60,
 * _private/accelerators), those of the table, and `more`. Ascending, without duplicates. */
struct strings device_ray_names(const struct device_table *table, const struct strings *more,
				struct arena *arena);
/* The row of a resource name; NULL: an unknown name, or one of kind DEVICE_NONE. A name that ends
 * in "gpu" and has no row is of kind GPU, because KubeRay counts it as one. */
const struct device_row *device_find(const struct device_table *table, const char *resource);
/* The row of the devices of a DeviceClass, or of a driver with their attribute `type` ("": unknown).
 * NULL: not an accelerator. */
const struct device_row *device_of_class(const struct device_table *table, const char *name);
const struct device_row *device_of_driver(const struct device_table *table, const char *driver,
					  const char *type);
/* The Ray resource of which a raylet counts one for each such device in its container when `ray
 * start` names none (ray 2.60, _private/accelerators): NVML and amdsmi, TPUs. NULL: none. Intel's
 * detection needs a package that images do not have, and Neuron's counts the cores of a device. */
const char *device_detected_resource(const struct device_row *row);
/* The Ray resource that KubeRay passes to `ray start` for a name in a container's limits (kuberay
 * 1.7, utils/resources.go IsGPUResourceKey and its table of custom accelerators): "GPU" for names
 * that end in "gpu" and for nvidia.com/mig-<n>g.<n>gb, "neuron_cores", "TPU"; NULL: KubeRay passes
 * nothing. */
const char *device_ray_resource(const char *resource);
/* The same for a worker whose limits KubeRay does not pass to `ray start`
 * (start_params_kuberay_reads): the resources that Ray's own configuration counts, because the
 * raylet detects them: "GPU" for names that end in "gpu", "TPU" (ray 2.60,
 * kuberay/autoscaling_config.py _get_num_gpus, _get_num_tpus). */
const char *device_found_resource(const char *resource);

/* The devices of an amount, rounded up; one for any amount of memory. */
int64_t device_count(const struct device_row *row, int64_t amount);
const char *device_kind_name(enum device_kind kind); /* "GPU", "Neuron", "TPU", "HPU", "NPU", "" */
const char *
device_share_name(enum device_share share); /* "whole", "slice", "turn", "memory", ... */

#endif
