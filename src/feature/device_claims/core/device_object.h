/* The objects of resource.k8s.io/v1 (Dynamic Resource Allocation) as plain data, with the fields that
 * this program uses: staging/src/k8s.io/api/resource/v1/types.go of Kubernetes 1.34; DeviceTaintRule of 1.37. Made only by
 * the part codec of this feature; owned by the arena of the decoder's caller. Strings are
 * never NULL; what is absent is "". Objects of any user arrive here: a name, a selector or a number
 * may have any content. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_OBJECT_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/kubernetes.h"

/* ---- ResourceSlice: the devices of one pool of a driver, or a part of them ---- */

enum attribute_kind {
	ATTRIBUTE_STRING = 0,
	ATTRIBUTE_BOOL,
	ATTRIBUTE_INT,
	ATTRIBUTE_VERSION,
	/* A list (Kubernetes 1.36), an integer of 2^53 or more, or one of a later version: it is there, and is not
	 * judged. */
	ATTRIBUTE_OTHER
};

struct device_attribute {
	/* In full, "gpu.nvidia.com/type": a name without a domain has that of the driver. */
	const char *name;
	enum attribute_kind kind;
	const char *text; /* STRING and VERSION */
	int64_t number;   /* INT; BOOL: 0 or 1 */
};

/* Amounts of a CounterSet of the slice. */
struct device_counters {
	const char *set; /* its CounterSet */
	struct quantities counters;
};

struct device {
	const char *name;
	const struct device_attribute *attributes;
	size_t attribute_count;
	struct quantities capacity; /* names in full, as attributes have */
	/* Of a shared device what a claim takes that names no amount (requestPolicy.default); without
	 * one, all of it. Names in full. */
	struct quantities defaults;
	const struct taint *taints;
	size_t taint_count;
	const struct device_counters *consumes; /* DRAPartitionableDevices */
	size_t consumes_count;
	bool allow_multiple; /* DRAConsumableCapacity: several claims share it */
	/* perDeviceNodeSelection; else those of the slice. */
	const char *node_name;
	bool all_nodes;
	const struct node_term *node_terms;
	size_t node_term_count;
};

struct resource_slice {
	const char *name, *resource_version;
	const char *driver, *pool;
	int64_t generation, slice_count; /* of the pool: only a generation with all slices counts */
	const char *node_name;           /* "": by all_nodes or node_terms */
	bool all_nodes;
	const struct node_term *node_terms; /* ORed, as of node affinity */
	size_t node_term_count;
	const struct device_counters *shared; /* the CounterSets and their whole amounts */
	size_t shared_count;
	const struct device *devices;
	size_t device_count;
	struct strings problems;
};

/* ---- DeviceClass ---- */

struct device_class {
	const char *name, *resource_version;
	struct strings selectors;      /* CEL, all of which must hold */
	const char *extended_resource; /* extendedResourceName, "": none */
};

/* ---- ResourceClaimTemplate and ResourceClaim ---- */

/* One alternative of a request: `exactly`, or an entry of `firstAvailable`. */
struct device_ask {
	const char *name;         /* of the entry; "" of `exactly` */
	const char *device_class; /* deviceClassName */
	struct strings selectors; /* CEL */
	bool all;                 /* allocationMode All; else ExactCount */
	int64_t count;            /* of ExactCount, at least 1 */
	bool admin_access;        /* counts nothing */
	const struct toleration *tolerations;
	size_t toleration_count;
	/* capacity.requests; a name without a domain has that of the device's driver. */
	struct quantities capacity;
};

struct device_request {
	const char *name;
	const struct device_ask *asks; /* the first that fits wins; one of `exactly` */
	size_t ask_count;
};

struct claim_spec {
	const struct device_request *requests;
	size_t request_count;
};

struct claim_template {
	const char *namespace_, *name, *resource_version;
	struct claim_spec spec;
	/* NULL, or why it cannot be read: then it has no requests. */
	const char *unreadable;
};

/* A device, or a part of one, that a claim was given. */
struct claim_result {
	const char *request; /* "gpus", or "gpus/small" of an alternative */
	const char *driver, *pool, *device;
	bool admin_access;
	struct quantities
		consumed; /* consumedCapacity, names as in device_ask; none: the whole device */
};

struct resource_claim {
	const char *namespace_, *name, *uid, *resource_version;
	struct claim_spec spec;
	bool allocated;
	const struct claim_result *results;
	size_t result_count;
	struct strings pods; /* names of the Pods of status.reservedFor */
	const char *unreadable;
};

/* ---- DeviceTaintRule: one taint for all devices that it selects ---- */

struct device_taint_rule {
	const char *name, *resource_version;
	bool selects; /* deviceSelector is given; without one it selects no device */
	const char *driver, *pool, *device; /* "": any */
	/* Until 1.34 a rule could select by these; 1.35 removed them, and such a rule selects no device here. */
	const char *device_class;
	struct strings selectors;
	struct taint taint;
};

/* All of them that are known. known_: false where the kind is not read (not served, no right, or no
 * RayCluster uses claims). */
struct device_objects {
	const struct resource_slice *slices;
	size_t slice_count;
	const struct device_class *classes;
	size_t class_count;
	const struct claim_template *templates;
	size_t template_count;
	const struct resource_claim *claims;
	size_t claim_count;
	const struct device_taint_rule *taint_rules;
	size_t taint_rule_count;
	bool taint_rules_known;
	bool slices_known, classes_known, templates_known, claims_known;
};

#endif
