/* The result of one decision: the target of every group, the reasons, and the one patch for it.
 * Made only by decide(); owned by the arena passed to it. codec/objects/plan_json writes it,
 * ctl/pass/act turns it into requests. Strings are never NULL. */
#ifndef CORE_MODEL_PLAN_H
#define CORE_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/memory_state.h"
#include "core/model/pool.h"
#include "core/model/ray_state.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"

#define PLAN_NEVER_CHANGES INT64_MAX /* of next_change */

enum terminate_action {
	TERMINATE_NONE = 0,
	TERMINATE_DRAIN,  /* through Ray, which may refuse; never in the patch of the same plan */
	TERMINATE_DELETE, /* in the patch */
	/* in the patch although busy; with enforce-max: now, and after the deadline of a release */
	TERMINATE_STOP,
};

struct plan_termination {
	const char *pod;
	const char *ray_node_id; /* "" where there is none */
	enum terminate_action action;
	enum reason reason;
	const char *message; /* for Ray's drain message and the log */
	/* A drain that Ray accepts while work runs there, which has until `deadline`; TIME_NONE: that is
	 * unknown. Otherwise Ray refuses it unless the worker is idle. Not printed. */
	bool busy;
	time_ms deadline; /* TIME_NONE unless `busy` */
	/* Its raylet may register at any moment: Ray's state is read again, and decided upon again,
	 * right before the patch that has it. Not printed. */
	bool needs_fresh_state;
};

struct plan_group {
	const char *name;
	int64_t replicas, target_replicas;
	int64_t to_launch; /* Pods */
	VEC(struct plan_termination) terminate;
	const struct memory_backoff *backoff; /* NULL: none */
	enum reason reason;                   /* NONE: no change */
	const char *message;
	int64_t patch_replicas; /* that the patch sets; `replicas` if it sets none. Not printed */
	/* For core/report/summary; not printed. */
	int64_t worker_gpus;  /* 1/10000 GPU that Ray counts on one worker, by the template */
	int64_t missing;      /* Pods that replicas requests and that do not exist yet */
	int64_t min_replicas; /* minReplicas, or more while a schedule requests it */
};

/* A schedule of the RayClusterAutoscaler. */
struct plan_schedule {
	const char *name;
	bool active;
	time_ms next_change; /* when `active` changes; TIME_NONE: not in sight */
	const char *problem; /* NULL, or why it is not known whether it is active */
	bool never_starts;   /* its start is on no date */
};

enum worker_state {
	WORKER_NONE = 0,
	WORKER_PENDING,  /* Pod not yet scheduled or its Ray container has not started */
	WORKER_STARTING, /* Ray container runs, raylet not registered */
	WORKER_RUNNING,
	WORKER_IDLE,
	WORKER_DRAINING,
	WORKER_GONE, /* raylet dead, Pod finished or being deleted */
};

struct plan_worker {
	const char *pod, *group;
	enum worker_state state;
	enum reason reason; /* why it stays or is terminated */
	const char *message;
	const struct ray_node *node; /* its living node; NULL: unknown to Ray. Not printed */
	const struct pod *object;    /* Not printed */
	bool requested; /* idle, and request_resources of Ray's SDK alone keeps it. Not printed */
	/* Of one in use: its work ends then at the latest, by a deadline of a pool or a repair; TIME_NONE: there
	 * is none. Not printed. */
	time_ms ends;
};

enum demand_kind { DEMAND_REQUEST = 0, DEMAND_GANG, DEMAND_CONSTRAINT };
enum demand_source { SOURCE_RAY = 0, SOURCE_ANNOTATION, SOURCE_SCHEDULE };

/* An entry of `infeasible` or `unserved`. Exactly one of the three messages is set. */
struct plan_demand {
	enum demand_kind kind;
	enum demand_source source;
	const struct plan_schedule *schedule; /* of SOURCE_SCHEDULE, of the plan; else NULL */
	const struct ray_request *request; /* DEMAND_REQUEST; DEMAND_CONSTRAINT bundle by bundle */
	const struct ray_gang *gang;       /* DEMAND_GANG */
	int64_t count;
	enum reason reason;
	const char *message;
	const char *group; /* that would serve it; "" where none is to be named. Not printed */
};

enum resize_action {
	RESIZE_REQUEST = 0, /* of the Pod; what shrinks is taken from the raylet first */
	RESIZE_SYNC,        /* the Pod has its new size: the raylet is informed, and it has ended */
};

struct plan_size {
	int64_t cpu, memory; /* 1/10000 */
};

/* A worker or the head that is resized in place. */
struct plan_resize {
	const char *pod, *group;
	enum resize_action action;
	struct plan_size now, wanted;
	enum reason reason;
	const char *message;
	/* Not printed. */
	const struct pod *object;
	const char *ray_node_id;
	struct plan_size asked;               /* by the Pod's spec */
	struct plan_size raylet;              /* by Ray's reply; -1: not given */
	bool has_cpu_limit, has_memory_limit; /* else the request alone is set */
	struct plan_size gap;                 /* limit - request, which stays as it is */
	struct resize_status status;          /* to be written with it */
};

enum patch_value_kind {
	PATCH_VALUE_INTEGER,
	PATCH_VALUE_BOOLEAN, /* in `integer` */
	PATCH_VALUE_NONE,
	PATCH_VALUE_STRING,
	PATCH_VALUE_STRINGS,
	PATCH_VALUE_EMPTY_OBJECT
};

struct patch_op {
	const char *op; /* "test", "add", "replace" or "remove" */
	const char *path;
	enum patch_value_kind kind;
	int64_t integer;
	const char *string;
	struct strings strings;
};

enum cluster_action {
	CLUSTER_KEEP = 0,
	/* Read the lists of its users (struct cluster_work), and decide again in this pass. */
	CLUSTER_READ_WORK,
	CLUSTER_SUSPEND, /* in the patch */
	CLUSTER_DELETE,
	CLUSTER_RESUME, /* in the patch */
};

/* The action of a feature on the whole RayCluster. */
struct plan_cluster {
	enum cluster_action action;
	enum decision_event_reason event; /* of an action that the API server carries out */
	const char *message;              /* NULL: nothing decides about it */
};

struct plan_condition {
	const char *type, *status;
	enum reason reason;
	const char *message;
	bool aside;  /* of a running controller, no part of the decision: not printed */
	bool notice; /* of a cluster that works, for the log: not printed */
	enum decision_event_reason
		event; /* of a feature, when it begins; NONE: by its reason. Not printed */
};

/* `count` times the bundle of one entry of a received list. */
struct plan_placed {
	enum demand_kind kind;
	enum demand_source source;
	const struct plan_schedule *schedule; /* of SOURCE_SCHEDULE, of the plan; else NULL */
	size_t index;                         /* into the received list */
	const struct ray_request *bundle;
	int64_t count;
};

struct plan_placement {
	const char *worker; /* Pod name or "new-<group>-<n>" */
	const char *group;
	bool constraint_phase; /* else the demand phase */
	VEC(struct plan_placed) placed;
};

struct plan {
	const char *cluster_namespace, *cluster_name;
	VEC(struct plan_group) groups; /* every group, in the order of the RayCluster */
	VEC(struct plan_worker) workers;
	VEC(struct plan_demand) infeasible;
	VEC(struct plan_demand) unserved;
	VEC(struct patch_op) patch; /* empty: nothing to send */
	VEC(struct plan_condition) conditions;
	const struct plan_schedule *schedules; /* in the order of the RayClusterAutoscaler */
	size_t schedule_count;
	const struct plan_idle *idle;             /* NULL: none; of feature/idle_termination */
	const struct plan_protection *protection; /* NULL: none; of feature/protect_busy_pods */
	const struct plan_repair *repair;         /* NULL: none; of feature/repair */
	const struct plan_requests *requests;     /* NULL: none; of feature/requests. Not printed */
	/* "request_resources asks for 32 GPU, 3 are used"; NULL: for none. Not printed. */
	const char *requests_note;
	struct plan_cluster cluster; /* not printed */
	VEC(struct plan_resize) resizes;
	/* Only with pools in the snapshot: its launches without their limits, in the order of need. */
	struct pool_ask_list asks;
	int64_t requeue_after_seconds;
	struct memory_state memory;
	/* With the same facts, Ray's idle durations growing, and this memory, decisions before this
	 * moment make the same plan but for spans of time in messages; they may differ from then on.
	 * `now` of the snapshot: the plan acts, or its memory is another one. Not printed. */
	time_ms next_change;
	/* The same without the windows of schedules, which open and close for ever. Not printed. */
	time_ms next_age_change;
	VEC(struct plan_placement) placements; /* always made; printed with --debug */
	/* For core/report/summary; not printed. */
	const struct ray_node *head_node; /* NULL: Ray is unreachable */
	int64_t head_gpus;                /* 1/10000 GPU of the head, by its template */
};

struct plan_condition *plan_add_condition(struct arena *arena, struct plan *plan, const char *type,
					  bool status, enum reason reason, const char *message);
const char *terminate_action_name(enum terminate_action action); /* "drain", ... */
const char *resize_action_name(enum resize_action action);       /* "resize", "sync" */
const char *worker_state_name(enum worker_state state);          /* "Pending", ... */
const char *cluster_action_name(enum cluster_action action);     /* "", "Read", "Suspend", ... */
const char *demand_kind_name(enum demand_kind kind);             /* "request", ... */
const char *demand_source_name(enum demand_source source);       /* "ray", "annotation", ... */

/* " until 2026-11-20T17:00:00Z", or "". */
const char *plan_schedule_until(const struct plan_schedule *schedule, struct arena *arena);
/* "schedule office (bundles until 2026-11-20T17:00:00Z)". */
const char *plan_schedule_bundles(const struct plan_schedule *schedule, struct arena *arena);
/* "active until 2026-11-20T17:00:00Z", "inactive", "unknown: time zone ...". */
const char *plan_schedule_state(const struct plan_schedule *schedule, struct arena *arena);

#endif
