/* Builds one snapshot from API objects and a GCS reply. No other file does this conversion. Copies
 * shallowly: the snapshot is valid as long as its sources and the arena, so it must not be kept
 * across a turn of the loop. No I/O. */
#ifndef CTL_PASS_OBSERVE_H
#define CTL_PASS_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/snapshot.h"
#include "ctl/pass/gpu_quota.h"

/* Ray's answer to the request to drain a node in this pass. */
struct drain_answer {
	const char *node_id; /* hex */
	bool accepted;
};

struct observation {
	time_ms now; /* the same in every decision of one pass */
	const struct ray_cluster *cluster;
	const struct pod *const *pods; /* of this cluster, any order */
	size_t pod_count;
	const struct ray_state *ray_state;        /* NULL: no complete reply in this pass */
	const struct ray_constraint *kv_requests; /* of the SDK under autoscaler v1; NULL: none */
	const char *ray_problem;                  /* then: why */
	/* Why the caches are not live, then only scale-up; NULL or "": they are. */
	const char *view_problem;
	const char *ray_note; /* as of struct snapshot */
	time_ms ray_state_time;
	const struct drain_answer *drains;
	size_t drain_count;
	bool events_known;
	const struct event *events;
	size_t event_count;
	bool nodes_known;
	/* Disrupted ones (ctl/watch/nodes.h), and the closest (ctl/watch/capacity_watch.h). */
	const struct node *nodes;
	size_t node_count;
	bool other_pods_known;
	const struct pod *other_pods; /* Pods that use capacity of the closest Nodes */
	size_t other_pod_count;
	const struct settings *settings;
	const struct device_table *device_table;    /* NULL: the built-in one */
	const struct price_table *price_table;      /* NULL: none */
	const struct autoscaler_object *autoscaler; /* NULL: none */
	const struct time_zone *time_zones;         /* of its schedules: ctl/shared/time_zones.h */
	size_t time_zone_count;
	const struct lint_digest *lint; /* NULL: lint did not run */
	bool second_controller;
	const struct gpu_quota_budget *gpu_budget; /* NULL: no GPU quota */
	const struct memory_state *memory;         /* of the previous plan; NULL: none */
};

/* An accepted drain is shown as Ray will show it in its next reply (DRAINING, nothing in use), so
 * that the patch follows in the same pass; a rejected one is shown as busy. */
void observe(const struct observation *observation, struct arena *arena,
	     struct snapshot *ret_snapshot);

#endif
