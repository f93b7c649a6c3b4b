/* Nodes under repair: a Node with a sign that it is sick is emptied of the workers of the RayCluster
 * before they are ended: its workers serve no new demand, a replacement starts first, Ray is notified with
 * repair.deadlineSeconds when the replacement has registered, and idle workers end at once (planned_end of
 * core/decide/facts.h). A busy worker is ended only with repair.deletes, after that deadline.
 *
 * - A sign that ends before Ray was notified undoes everything. One that does not last --repair-after-seconds does
 *   nothing. For REPAIR_ENDED_MS after a sign ended while its Node was emptied, one there must last REPAIR_RETURNED_MS.
 * - At most repair.maxUnavailable Nodes of the RayCluster, and of each GPUPool, are emptied at once: first those that
 *   have begun, by memory or by work that Ray drains there, so also after a restart and without a new grant, then the
 *   longest. The next one begins when no worker of the group starts, so a sign on all Nodes empties one. A controller
 *   limits the Nodes of all its RayClusters as well (repair_grants.c).
 * - A Node that still takes the Pods is not emptied: their replacement could be scheduled there, and be replaced in
 *   turn. Cordon or taint it.
 * - Some signs are of a part of the Node's Pods: a tainted device, for the workers that have it by a claim which does
 *   not tolerate the taint, and a DrainRequest with podsToDrain.
 * - Of several signs the first counts of: a due one of all Pods, due ones of Pods, one that does not last yet, one that
 *   does not act; then in the order of trust (enum repair_source).
 * - The head is not moved.
 * - The annotation rayscaler.dev/do-not-disrupt keeps a worker, and with it its replica. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_H
#define FEATURE_REPAIR_CORE_REPAIR_H

#include "base/map.h"
#include "base/nearest.h"
#include "core/decide/device_sign.h"
#include "core/decide/feature.h"
#include "feature/repair/model/repair.h"

#define REPAIR_ENDED_MS (3600 * MS_PER_SECOND)
#define REPAIR_RETURNED_MS (600 * MS_PER_SECOND)

extern const struct decision_feature repair_decisions;

/* ---- signs (repair_signal.c) ---- */

/* A DrainRequest: nvsentinel.nvidia.com/v1alpha1, NVSentinel plugins/slinky-drainer/api/v1alpha1/types.go
 * (4cd1945f). The program that drains the Node completes it by the condition DrainComplete
 * (drainrequest_controller.go). With podsToDrain it drains these alone (NVSentinel, "Writing a Drain Plugin", v1.22.0). */
struct drain_pods {
	const char *namespace_;
	struct strings names;
};

struct drain_request {
	const char *namespace_, *name, *uid, *resource_version;
	const char *node, *check, *reason;
	bool has_pods; /* else it asks for all Pods of the Node */
	const struct drain_pods *pods;
	size_t pods_count;
	time_ms created; /* TIME_NONE: unknown */
	const struct condition *conditions;
	size_t condition_count;
};

#define DRAIN_COMPLETE "DrainComplete"

struct repair_signal {
	enum repair_source source;
	/* The key of the taint, the type of the condition, namespace/name of the request, the device. */
	const char *name;
	const char *detail;         /* the words of its author, short; "" */
	time_ms since;              /* TIME_NONE: unknown */
	bool acts;                  /* by the settings; else it is reported */
	int64_t after_ms;           /* it acts when it has lasted so long */
	const struct strings *pods; /* NULL: all there */
};

/* Of taints, conditions and cordon the first that acts, else the first that is reported; false: the Node has none. */
bool repair_signal_of(const struct settings *settings, const struct node *node, struct arena *arena,
		      struct repair_signal *ret_signal);
/* Of Pods of this namespace; false: it is complete, has no Node, or names no Pod of the namespace. */
bool repair_signal_of_request(const struct drain_request *request, const char *namespace_,
			      struct arena *arena, struct repair_signal *ret_signal);
/* Of a device; it acts where the taint does, unless its effect is None. */
struct repair_signal repair_signal_of_device(const struct settings *settings,
					     const struct device_sign *sign, struct arena *arena);
/* "taint nvidia.com/gpu-xid-error", "condition SysLogsXIDError: Xid 79", "cordoned". */
const char *repair_signal_text(const struct repair_signal *signal, struct arena *arena);

/* Whether it is a sign. */
bool repair_reads_condition(const struct settings *settings, const struct condition *condition);
/* Of an entry of --repair-conditions, which may be misspelt: "; did you mean SysLogsXIDError?", or "". */
const char *repair_condition_hint(const char *entry, char text[static NEAREST_HINT_SIZE]);
bool drain_request_is_complete(const struct drain_request *request);
/* Whether it asks for this Pod, if that is on its Node. */
bool drain_request_names(const struct drain_request *request, const struct pod *pod);

/* ---- of a plan ---- */

/* X(name, word, behind the message of a worker there) */
#define REPAIR_STATE_TABLE(X)                                                                      \
	/* The sign does not act, by the settings or because the Node takes the Pods. */           \
	X(REPORTED, "Reported", "")                                                                \
	X(DRY_RUN, "DryRun", "; repairDryRun: nothing is done")                                    \
	X(LASTS, "Lasts", "; it acts if it lasts")                                                 \
	X(WAITS, "Waits", "; repair.maxUnavailable: other Nodes are first")                        \
	X(BEGUN, "Begun", ("; " ANNOTATION_DO_NOT_DISRUPT " keeps the worker"))

enum repair_state {
#define X(name, word, note) REPAIR_STATE_##name,
	REPAIR_STATE_TABLE(X)
#undef X
		REPAIR_STATE_COUNT,
};

const char *repair_state_name(enum repair_state state);

/* Of a GPUPool from which workers of a Node draw. */
struct repair_limit {
	const char *pool;
	int64_t nodes;
};

enum repair_use { REPAIR_BUSY = 0, REPAIR_IDLE, REPAIR_USE_COUNT };

/* A Node of the snapshot with a sign and workers of the RayCluster. */
struct repair_node {
	const char *node;
	enum repair_state state;
	const char *why; /* "condition SysLogsXIDError: Xid 79" */
	time_ms since;
	int64_t workers;
	/* Not printed. */
	const struct name_set *pods; /* those of the sign; NULL: all there */
	int64_t used[REPAIR_USE_COUNT],
		gpus[REPAIR_USE_COUNT]; /* workers, and their GPUs in 1/10000 */
	int64_t drain_ms;               /* the time that Ray gets */
	VEC(struct repair_limit) limits;
	bool begun;         /* the work moves already, by memory or by Ray */
	bool granted;       /* the limits of the RayCluster allow it; of an ask: those of all */
	int64_t granted_ms; /* of an ask: when, monotonic */
	bool asks;          /* the RayCluster may begin, and waits for the limit of the fleet */
};

struct plan_repair {
	VEC(struct repair_node) nodes; /* by name */
};

/* ---- limits (repair_grants.c) ---- */

/* Which Nodes under repair may be emptied at once: first those that have begun, then those with the oldest sign, while
 * each limit of a Node allows it. A decision chooses so for its RayCluster (repair.h), and the controller among the Nodes
 * that all decisions ask for: a false sign on every Node empties --repair-fleet-max-unavailable of them, and of a GPUPool
 * those of its repair.maxUnavailable. A granted Node counts as long as a RayCluster asks for it, but not longer
 * than REPAIR_GRANT_EXTRA_MS beyond the deadline of that RayCluster, so that one that is never empty does not hold up
 * others.
 *
 * Pure but for the heap; all of it may be lost. O(asks log asks) for each change. */
#define REPAIR_GRANT_EXTRA_MS (10 * 60 * MS_PER_SECOND)

/* The limit of the pool from which the worker of the Node draws, once. pools NULL: there are none. */
void repair_limits_add(struct repair_node *node, const struct pool_terms *pools,
		       const struct pod *pod, struct arena *arena);
/* Sets `granted` of those that may begin beside the counted ones, a map in an arena that is empty at first; sorts them.
 * limit: of all Nodes. */
void repair_choose(struct repair_node **nodes, size_t count, int64_t limit, struct map *counts);

/* Copies of the Nodes that one RayCluster empties, or may by its own limit, by name. Zero: none. */
struct repair_asks {
	struct arena arena;
	VEC(struct repair_node) nodes;
};

/* A granted Node remains so while it is asked for. repair NULL: none is. */
void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair);
void repair_asks_done(struct repair_asks *asks);

/* all: one entry for each RayCluster. */
void repair_grants_renew(struct repair_asks *const *all, size_t count, int64_t limit,
			 int64_t now_ms);
/* The Nodes that are granted, in the arena. */
struct strings repair_grants_of(const struct repair_asks *asks, struct arena *arena);
/* The decision can go on with a Node for which it waits. */
bool repair_grants_may_begin(const struct repair_asks *asks);

/* ---- failing Nodes (node_failures.c) ---- */

/* A Node on which the workers of a group keep failing: at least NODE_FAILURES_NAMED workers, and more than half of those
 * that failed in NODE_FAILURES_MS while the present head runs. It is named with its sign; without one
 * only while a worker of the group is registered on another Node: else the work, and not the Node, may be the cause. From
 * NODE_FAILURES_BACK_OFF on each further failure there makes the group back off (NodeFails): a launch would land there
 * again, and nothing is written to Nodes. Reads at most
 * WORKER_FAILURES_MAX of them. O(groups * failures + Nodes). */
#define NODE_FAILURES_MS (24 * 3600 * MS_PER_SECOND)
#define NODE_FAILURES_NAMED 2
#define NODE_FAILURES_BACK_OFF 3

/* Sets the cause of the groups. By group: where its workers fail, in words, or NULL; NULL: of none. */
const char **node_failures_assess(struct health *health);

#endif
