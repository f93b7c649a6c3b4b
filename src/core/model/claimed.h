/* The devices that ResourceClaims and ResourceClaimTemplates ask for, counted: a part of the device
 * table, so that it reaches every count. A device is named as the device plugin of its driver names
 * it ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb"), so that all rules for these names hold. Made by
 * feature/device_claims/core/resolve whenever the objects change. Plain data. */
#ifndef CORE_MODEL_CLAIMED_H
#define CORE_MODEL_CLAIMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the feature. */
struct device_ask;
struct device_free;
struct device_matches;
struct device_wants;
struct ray_cluster;

/* The scheduler allocates such a name in limits by the DeviceClass; no Node has it as an amount. */
#define DEVICE_CLASS_RESOURCE_PREFIX "deviceclass.resource.kubernetes.io/"

/* An amount of devices of one kind. */
struct claimed_amount {
	const char *resource; /* a row of the device table has it; "": not an accelerator */
	int64_t amount;       /* 1/10000 devices */
};

/* One request of a claim or template. */
struct claimed_request {
	const char *namespace_, *claim;
	bool is_template;
	const char *request; /* "": the claim has none */
	/* The least that the claim can get: the alternative with the fewest, of `All` the Node with
	 * the fewest. For what a worker can serve. */
	struct claimed_amount promise;
	/* The most that it can get; once it is allocated what it has. For quotas and pools. */
	struct claimed_amount charge;
	/* The product of all devices in ResourceSlices that it can get ("NVIDIA A100-SXM4-80GB");
	 * "": unknown, or several. */
	const char *product;
	/* A channel of an NVIDIA ComputeDomain: the Pods with it are on Nodes of one NVLink domain. */
	bool channel;
	const char *problem; /* NULL, or why it is counted as 0, with the cure */
	/* Of the whole claim. */
	const struct device_wants *wants;
	bool allocated;
};

/* A name of an extended resource that a DeviceClass has. */
struct claimed_class {
	const char *name;     /* "deviceclass.resource.kubernetes.io/gpu.example.com" */
	const char *resource; /* as above; "": not an accelerator */
	/* One device of it. */
	const struct device_ask *ask;
	const struct device_matches *matches; /* NULL: any device may be one */
};

struct claimed_index {
	const struct claimed_request *at; /* by namespace, is_template, claim, request */
	size_t count;
	const struct claimed_class *classes; /* by name */
	size_t class_count;
	bool templates_known, claims_known; /* else one that is not here may exist */
	const struct device_free *devices;  /* NULL: ResourceSlices are not known */
};

/* The requests of a claim or template, which are adjacent. NULL: it is not known. */
const struct claimed_request *claimed_find(const struct claimed_index *index,
					   const char *namespace_, const char *claim,
					   bool is_template, size_t *ret_count);
/* NULL: none. */
const struct claimed_class *claimed_class_find(const struct claimed_index *index, const char *name);
/* The order of the requests and of the classes. */
int claimed_compare(const void *left, const void *right);
int claimed_class_compare(const void *left, const void *right);

/* Whether a template of the RayCluster uses a claim or the name of a DeviceClass. */
bool claimed_by_cluster(const struct ray_cluster *cluster);

#endif
