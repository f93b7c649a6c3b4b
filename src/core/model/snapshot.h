/* Everything that one decision depends on (docs/internals/snapshot.md is its file form). Made by
 * codec/objects/snapshot_json (file) and ctl/pass/observe (live); owned by the arena of the pass. A
 * snapshot is never changed by decide(). */
#ifndef CORE_MODEL_SNAPSHOT_H
#define CORE_MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/cpu_budget.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/memory_state.h"
#include "core/model/pool.h"
#include "core/model/price.h"
#include "core/model/ray_state.h"
#include "core/model/reason.h"
#include "core/model/settings.h"

struct device_objects;

/* Whether anything uses a RayCluster, by the complete lists of its GCS: actors, placement groups,
 * drivers and submitted jobs. Read only when a plan asks for it (CLUSTER_READ_WORK). Made by
 * ctl/pass/pass.c and codec/objects/snapshot_json; owned by the arena of the pass. */
struct cluster_work {
	time_ms begun;       /* when the reading began */
	const char *problem; /* "", or why a list is unknown or incomplete */
	const char *in_use;  /* "", or the first user of the cluster: "actor Counter is alive" */
	time_ms ended;       /* when the last of it ended; TIME_NONE: unknown */
};

/* A condition that a feature states beside the decision. `type` and `cure` are constants. */
struct extra_condition {
	const char *type;
	enum reason reason;
	const char *message;
	bool is_true; /* something has to be done */
	/* The beginning of `message` of which an Event is written once, with the cure; "": none. */
	const char *reported, *cure;
	enum decision_event_reason event;
};

struct snapshot {
	time_ms now;
	struct ray_cluster cluster;
	const struct pod *const *pods; /* with label ray.io/cluster=<name>, any order */
	size_t pod_count;
	const struct pod *const
		*foreign_pods; /* with that label, of others: see core/model/identity.h */
	size_t foreign_pod_count;
	const struct ray_state *ray_state; /* NULL: Ray is unreachable */
	const char *ray_problem; /* why it is unreachable, "" when unknown; never part of the file */
	/* It was reached, and its reply is above a limit of ours: the problem names it. Not in the file. */
	bool ray_refused;
	/* Why the watch cache of the API server is not current: launches continue on the last
	 * state, and nothing is terminated. NULL or "": it is current. */
	const char *view_problem;
	/* How Ray is polled, where a message should say so ("it is read every 8 s, because ...");
	 * "" and NULL: nothing. Never part of the file, and used only in a message. */
	const char *ray_note;
	time_ms ray_state_time; /* when the reply was received */
	bool events_known;      /* false: the mode has no events, timeouts decide */
	const struct event *events;
	size_t event_count;
	struct settings settings;
	const struct device_table
		*device_table; /* never NULL: the built-in one, or with rows added */
	/* The source of device_table->claims (feature/device_claims/core); NULL: none. */
	const struct device_objects *device_objects;
	const struct price_table *price_table;      /* for --packing=cheapest; NULL: none */
	const struct autoscaler_object *autoscaler; /* NULL: none */
	/* Those of its schedules, each once, without UTC. */
	const struct time_zone *time_zones;
	size_t time_zone_count;
	bool nodes_known;
	const struct node *nodes;
	size_t node_count;
	bool other_pods_known;
	const struct pod *other_pods;
	size_t other_pod_count;
	bool has_gpu_budget;
	int64_t gpu_budget;                 /* 1/10000 GPU that this cluster may still add */
	const char *gpu_budget_of;          /* the limit whose rest it is; NULL or "": unknown */
	const struct kueue_workload *kueue; /* NULL: not read */
	const struct drain_request *drain_requests; /* of its Nodes, in any order */
	size_t drain_request_count;
	/* Nodes under repair that this RayCluster may begin to empty, by the limit of the fleet. */
	bool repair_grants_known; /* else no such limit */
	struct strings repair_grants;
	const struct worker_failure *worker_failures; /* of 24 h, in any order */
	size_t worker_failure_count;
	const struct pool_terms *pools;          /* NULL: no group draws from a pool */
	const struct memory_state *memory;       /* NULL: a fresh start */
	const struct cluster_work *cluster_work; /* NULL: not read in this pass */
	/* Of a running controller: never part of the file, and used only in a condition. */
	const struct extra_condition *extra_conditions;
	size_t extra_condition_count;
	bool second_controller; /* likewise: another one decides about the cluster too */
	/* NULL: none. Never part of the file; a decision that exceeds it makes another plan. */
	struct cpu_budget *cpu_budget;
};

#endif
