/* Converts a plan to requests, and the API server's answers back to objects. No other file does
 * this conversion. No I/O: ctl/pass/pass sends. */
#ifndef CTL_PASS_ACT_H
#define CTL_PASS_ACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/model/plan.h"

#define ACT_PATCH_MAX ((size_t)8 << 20)
#define ACT_CLUSTER_MAX ((size_t)8 << 20) /* a RayCluster; etcd's own limit is below */

/* The drains of a plan: node ids and messages, borrowed from it. */
struct act_drain {
	const char *node_id, *pod, *message;
	time_ms deadline; /* as of gcs_client_drain_node() */
};

struct act_drains {
	VEC(struct act_drain) list;
};

/* At most `limit`, in the order of the plan. */
void act_drains(const struct plan *plan, size_t limit, struct arena *arena,
		struct act_drains *ret_drains);

/* True when nothing is terminated, no launch is cancelled, and the RayCluster is kept. */
bool act_launches_only(const struct plan *plan);
/* True when the patch names a Pod that never registered: its cached state may be outdated. */
bool act_needs_fresh_pods(const struct plan *plan);

/* True when the patch names a Pod whose raylet may register at any moment: Ray is read once
 * more. */
bool act_needs_fresh_state(const struct plan *plan);

/* The body of the JSON Patch: a `test` of metadata.uid, so that it never changes another RayCluster
 * of this name, and the plan's patch. uid "": not known, no test. ERR_LIMIT above ACT_PATCH_MAX. */
int act_write_patch(const struct plan *plan, const char *uid, struct arena *arena, struct buf *buf,
		    struct err *err);

/* The plan deletes the RayCluster instead of patching it. */
bool act_deletes(const struct plan *plan);
/* The body of that request: uid and resourceVersion as preconditions, so that it deletes only the
 * object that the decision has read. */
int act_write_delete(const struct ray_cluster *cluster, struct buf *buf, struct err *err);

int act_decode_cluster(const char *body, size_t size, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err);

/* Changes of an accepted patch, for the log: copied, so that they outlive the caches' objects. */
struct act_scaled {
	const char *group, *reason, *message;
	int64_t replicas, target_replicas;
	size_t workers_to_delete;
};

struct act_scaled_list {
	VEC(struct act_scaled) groups;
	enum cluster_action action; /* of the whole cluster; CLUSTER_KEEP: it stays as it is */
	const char *action_message;
	struct strings lines; /* of core/report/ray_lines */
};

void act_scaled(const struct plan *plan, struct arena *arena, struct act_scaled_list *ret_list);
/* One info line for each group: from, to, reason, message; and one for the whole cluster. Then the
 * lines of Ray, as its own autoscaler logs them. */
void act_log_scaled(const struct act_scaled_list *list, const char *cluster);

#endif
