/* The input of a simulation as plain data: RayClusters with their settings, work, prices, pools, and the parameters of
 * the models. Times are milliseconds since the start of the workload, amounts 1/10000 units, as in Ray. */
#ifndef SIM_INPUT_H
#define SIM_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/node_pool.h"
#include "core/model/pod_starts.h"
#include "core/model/settings.h"
#include "core/model/workload.h"
#include "sim/result.h"

/* Any moment: times in a snapshot are since 1970. 2026-01-01T00:00:00Z. */
#define SIM_EPOCH_MS INT64_C(1767225600000)
#define SIM_WORK_MAX INT64_C(10000000)                     /* instances: the sum of `count` */
#define SIM_PODS_MAX 100000                                /* at one time */
#define SIM_TIME_MAX_MS (INT64_C(10) * 366 * 86400 * 1000) /* of submissions and of the end */

struct gpu_pool;

enum sim_policy {
	SIM_POLICY_RAYSCALER = 0,
	SIM_POLICY_RAY_AUTOSCALER, /* sim/baseline.h */
	SIM_POLICY_ALWAYS_ON,      /* maxReplicas of every group from the start to the end */
	SIM_POLICY_FIRST_COME,     /* these two: feature/pools/sim/pool_sharing.h */
	SIM_POLICY_STATIC,
};

/* "rayscaler", "ray", "always-on", "first-come", "static" */
const char *sim_policy_name(enum sim_policy policy);

struct sim_cluster {
	const char *
		name; /* for work and results: of the RayCluster, or "namespace/name" where another has that */
	/* As decoded from YAML; `replicas` (within its bounds) exist and are idle at the start. */
	const struct ray_cluster *cluster;
	const struct autoscaler_object *autoscaler; /* its RayClusterAutoscaler; NULL: none */
	/* Of its schedules, around SIM_EPOCH_MS; docs/internals/simulation.md. */
	const struct time_zone *time_zones;
	size_t time_zone_count;
	const struct settings *settings;
	struct labels namespace_labels; /* of its namespace, for GPUPools */
};

/* The parameters of the models; sim_models_init sets the defaults that are named here. */
struct sim_models {
	int64_t scan_interval_ms; /* 1,000: --scan-interval-seconds */
	int64_t operator_ms;      /* 200: from a patch to the operator's Pods */
	/* From a Pod's Node to its running Ray container: pod_start_ms (20,000), or one of the
	 * recorded times, drawn with the seed. */
	int64_t pod_start_ms;
	const int64_t *recorded_start_ms;
	size_t recorded_start_count;
	/* Times of Pods of single groups from their creation until Ray is ready, for these groups
	 * instead of pod_start_ms and register_ms: the n-th Pod takes the n-th one, and the first
	 * again after the last, so that the same settings repeat what was observed. */
	struct pod_starts_list group_starts;
	int64_t register_ms;  /* 5,000: from the running container to the registered raylet */
	int64_t terminate_ms; /* 2,000: from the deletion of a Pod to its end */
	int64_t resize_ms;    /* 2,000: from the request of an in-place resize to its container */
	/* 1,000: of the Python process of a task or an actor, from its placement to its work, where
	 * no process of an earlier task is left on the worker. */
	int64_t process_start_ms;
	/* 50: of a pass of Ray's autoscaler, which sleeps 5 s after it. Measured with an API server
	 * on a machine at rest; docs/internals/simulation.md. */
	int64_t ray_pass_ms;
	struct node_pools pools; /* none: every Pod has a Node at once */
};

struct sim_input {
	const struct sim_cluster *clusters; /* at least one; names are unique */
	size_t cluster_count;
	const struct workload *workload;
	const struct device_table *devices;
	const struct price_table *prices;        /* for packing cheapest; NULL: none */
	const struct gpu_pool *const *gpu_pools; /* by name */
	size_t gpu_pool_count;
	struct sim_models models;
	uint64_t seed;
	enum sim_policy policy;
	/* 0: the simulation ends when nothing happens any more, at the latest one hour after the last
	 * work was submitted, started or ended. Variants that are compared should have one end. */
	int64_t end_ms;
	/* A pass at each interval, also where it cannot change anything: slow, for tests. */
	bool every_pass;
	struct cpu_budget *cpu_budget; /* of each decision, for tests; NULL: none */
};

#endif
