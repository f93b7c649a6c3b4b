/* The devices that a Pod gets by Dynamic Resource Allocation, as amounts of the resources of device
 * plugins: by its claims, and by names of DeviceClasses in its limits. An extended resource that has
 * a row in the device table is counted by its limits alone. Pure; results live in the arena. */
#ifndef CORE_CAPACITY_POD_CLAIMS_H
#define CORE_CAPACITY_POD_CLAIMS_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* A claim that Pods share by its name. */
struct pod_claim_shared {
	const char *claim;
	struct quantities charge;
};

struct pod_claims {
	/* The least that the Ray container gets: of the requests that it names. */
	struct quantities ray;
	/* The most that the Pod has alone, whichever of its containers uses it, and the least. */
	struct quantities charge, least;
	const struct pod_claim_shared *shared;
	size_t shared_count;
	/* The product of all GPUs in `ray`, "": unknown. */
	const char *product;
	bool channel; /* of an NVIDIA ComputeDomain, whichever of its containers uses it */
	/* A template or claim that does not exist: no Pod can start. NULL: none. */
	const char *missing;
	/* Why some of them count 0. NULL: none. */
	const char *problem;
};

/* Of a Pod, or of a template with no statuses. `path` is of the spec, for messages. NULL: it has
 * neither claims nor names of classes. */
const struct pod_claims *pod_claims_make(const char *namespace_, const struct pod_spec *spec,
					 const struct pod_claim_status *statuses,
					 size_t status_count, const char *path,
					 const struct device_table *devices, struct arena *arena);
/* `limits` with the resources of `more` that they lack. */
struct quantities pod_claims_with(const struct quantities *limits, const struct quantities *more,
				  struct arena *arena);

#endif
