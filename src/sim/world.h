/* The state of a simulation: RayClusters, their Pods with the Ray nodes in them, the work that waits
 * and runs. Plain structs; the modules of this folder change them, each its part. Everything lives
 * in the arena of the world until simulate() returns; workers and runs that have ended are used
 * again. Must not be seen outside of src/sim. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "core/model/snapshot.h"
#include "core/nodes/node_capacity.h"
#include "sim/event_queue.h"
#include "sim/input.h"

#define SIM_NEVER_MS INT64_MAX
/* Ray tracks the single devices of a node for fractions; above this many only their sum counts. */
#define SIM_DEVICES_MAX 64
#define SIM_POD_NAME_SIZE 96

struct sim_ray;
struct sim_resize;
struct sharing;
struct sim_sharing;
struct sim_resizing;

/* ---- resources of workers, needs of work ---- */

/* The head (type 0) or a worker group (type 1 + its index). */
struct sim_type {
	struct resources total; /* sorted by name; a node's `available` has the same order */
	struct labels labels;
	size_t devices; /* of the resource at device_index; 0: fractions are not tracked */
	size_t device_index;
	int64_t gpus;          /* 1/10000 */
	struct resources most; /* `total`, or what it may become in place */
	struct sim_resize *free_resizes;
};

struct sim_need {
	size_t index; /* into the total of the type */
	int64_t amount;
};

/* One bundle on one type. */
struct sim_fit {
	bool possible;     /* on an empty worker of its largest size, by amounts and labels */
	unsigned selector; /* the first label selector that matches; 0 without selectors */
	const struct sim_need *needs;
	size_t need_count;
	int64_t device_amount; /* of the needs, that of the type's devices; 0: none */
};

struct sim_bundle {
	const struct ray_request *request;
	int64_t gpus;
	const struct sim_fit *fits; /* by type */
};

struct sim_waiting {
	size_t item; /* index into the workload */
	int64_t count;
	bool restarted; /* its first start has been recorded */
	int64_t since_ms;
	int64_t done_ms; /* of its duration, up to its checkpoint */
};

/* Work of one shape: placed alike, in the order of submission. */
struct sim_class {
	struct sim_ray *ray;
	size_t index; /* into its classes */
	enum work_kind kind;
	enum placement_strategy strategy;
	const struct sim_bundle *bundles;
	size_t bundle_count;
	const struct sim_bundle *whole; /* of STRICT_PACK: the sum of the bundles */
	struct sim_run *free_runs;
	uint64_t attempt;   /* see place_on */
	int64_t gpus;       /* of one instance */
	size_t first_group; /* the first group that all bundles fit; else SIZE_MAX */
	struct {
		struct sim_waiting *at; /* on the heap of the process; from first to count */
		size_t first, count, capacity;
	} queue;
	int64_t waiting;              /* instances in the queue */
	size_t active;                /* its index in ray->active while instances wait */
	bool report_due;              /* a SIM_EVENT_REPORT is planned */
	bool seen;                    /* instances were reported in the last pass */
	const char *reason, *message; /* why, as of the last pass that asked; in result_arena */
};

/* ---- workers ---- */

enum sim_worker_state {
	SIM_WORKER_NONE = 0,
	SIM_WORKER_UNSCHEDULED, /* the Pod has no Node */
	SIM_WORKER_STARTING,    /* on a Node, not registered */
	SIM_WORKER_REGISTERED,
	SIM_WORKER_DELETING,
};

/* A Pod and the Ray node in it. */
struct sim_worker {
	uint64_t id; /* another one when the memory is used again */
	struct sim_ray *ray;
	size_t type;
	enum sim_worker_state state;
	struct sim_worker *next_free;
	size_t index;    /* in ray->workers */
	int64_t replica; /* number of its replica, shared by the hosts of one */
	struct pod pod;
	struct condition
		conditions[3]; /* PodScheduled; of a head that is registered: Ready; resize */
	struct container_status status;
	struct pod_owner owner;
	struct label labels[4];
	char name[SIM_POD_NAME_SIZE], node_name[SIM_POD_NAME_SIZE];
	char ray_id[57];
	char replica_name[32];
	size_t pool; /* of its Node; SIZE_MAX: none */
	size_t pool_node;
	const struct pod_spec *allocated; /* what its Node gives it */
	struct sim_resize *resize;        /* of the feature; NULL: it was never resized */
	/* The Ray node: */
	const struct resource *total; /* in the order of its type's */
	struct resource *available;
	int64_t device_free[SIM_DEVICES_MAX];
	bool waits_for_head;                  /* its init container */
	int64_t register_ms;                  /* from its running container */
	int64_t registered_ms, idle_since_ms; /* idle_since_ms: while holds is NULL */
	bool draining;
	int counted;            /* enum record_state */
	uint64_t order;         /* of its id in Ray, which is random */
	uint64_t mark;          /* the last run that was placed on it */
	struct sim_hold *holds; /* work on it */
	int64_t idle_processes; /* of tasks that ended */
};

/* A bundle of a run on a worker. */
struct sim_hold {
	struct sim_run *run;
	struct sim_worker *worker;
	const struct sim_bundle *bundle;
	uint64_t devices; /* bits of device_free */
	struct sim_hold *next, **link;
};

struct sim_run {
	uint64_t id;
	struct sim_class *class_;
	size_t item;
	int64_t begun_ms, work_ms; /* work_ms: its process runs, its checkpoint is restored */
	int64_t restart_ms;        /* before work_ms: for the checkpoint */
	int64_t done_ms;           /* of its duration, by runs that were interrupted */
	bool saved;                /* a checkpoint, since a drain with a deadline */
	int64_t saved_ms;          /* of its duration, in this run up to the checkpoint */
	struct sim_run *next_free;
	struct sim_hold holds[];
};

struct sim_candidate {
	struct sim_worker *worker;
	double score;
};

/* ---- a group's figures over time: sim/record.h ---- */

struct sim_account {
	struct sim_group result;
	VEC(struct sim_point) points;
	VEC(struct sim_mark) marks;
	int64_t at_ms, spacing_ms;
	int64_t workers[4]; /* by enum record_state */
	int64_t used, waiting_gpus;
};

/* ---- the stock of Nodes: sim/stock.h ---- */

enum stock_state {
	STOCK_ABSENT = 0,
	STOCK_COMING,
	STOCK_READY,
	STOCK_LOST, /* interrupted, while its last Pods end */
};

struct stock_node {
	enum stock_state state;
	struct node_capacity capacity; /* count 0: of a pool without allocatable */
	int64_t pods;                  /* on it, or waiting for it */
	int64_t empty_since_ms;
	int64_t ends_ms; /* of a spot Node with Pods: its interruption */
};

struct stock_pool {
	const struct node_pool *input;
	struct node_capacity empty; /* of a Node to be added */
	struct stock_node *nodes;   /* input->max_nodes */
	size_t end;                 /* no Node from here on has ever existed */
};

/* The id of a Node in events. */
static inline uint64_t stock_node_id(size_t pool, size_t node)
{
	return (uint64_t)pool << 32 | node;
}

static inline size_t stock_pool_of(uint64_t id)
{
	return id >> 32;
}

static inline size_t stock_node_of(uint64_t id)
{
	return id & UINT32_MAX;
}

/* ---- a RayCluster ---- */

struct sim_ray {
	const struct sim_cluster *input;
	struct sim_world *world;
	size_t number;
	struct ray_cluster cluster; /* as the API server has it: groups are its own */
	struct settings settings;   /* of the policy */
	struct worker_group *groups;
	struct arena *to_delete;          /* by group: memory of workers_to_delete */
	struct sim_type *types;           /* 1 + group_count */
	struct sim_account *accounts;     /* by type */
	size_t *starts_used;              /* by group: of its recorded start times */
	VEC(struct sim_worker *) workers; /* with the head, which is the first */
	size_t registered;                /* of workers */
	struct sim_worker *free_workers;
	VEC(struct sim_class *) classes;
	struct sim_class **active; /* classes in which work waits; room for all */
	size_t active_count;
	VEC(size_t) requests; /* items of request_resources that have not ended */
	uint64_t next_worker, next_replica;
	bool operator_due;
	struct labels running_notes, suspended_notes; /* annotations, sim/kuberay.h */
	/* Of its controller, sim/controller.h: */
	struct arena memory_arenas[2]; /* the one of the last plan's memory is the first */
	const struct memory_state *memory;
	int64_t cpu_factor;   /* of the budget of its next decision */
	int64_t phase_ms;     /* a pass, decided or skipped, from which intervals count */
	int64_t next_pass_ms; /* SIM_NEVER_MS: none is planned */
	uint64_t pass_id;     /* of the planned one */
	bool changed;         /* since the last pass, in a way that a decision may depend on */
	/* When the last plan may differ without a change; SIM_NEVER_MS. `age_due_ms`: without the
	 * windows of schedules, which open and close for ever. */
	int64_t due_ms, age_due_ms;
	/* The last plan served no waiting work, launched and terminated nothing, and no worker was
	 * starting: more or less work of the same shapes changes nothing. */
	bool nothing_served;
	bool watches_work;         /* memory depends on where work runs */
	int64_t *idle_timeouts_ms; /* by group */
};

struct sim_world {
	const struct sim_input *input;
	struct arena *arena;        /* of the world */
	struct arena *result_arena; /* of the caller */
	struct err *err;
	bool failed; /* *err is set */
	int64_t now_ms, last_work_ms;
	int64_t windows_end_ms; /* of the last refusal or repair of Nodes; 0: none */
	struct event_queue events;
	struct arena pass_arena;
	struct sim_ray *rays;
	size_t ray_count;
	struct sim_class **class_of; /* by item */
	size_t next_item;
	uint64_t next_id;
	uint64_t random;
	int64_t pods, running;
	struct stock_pool *pools;            /* as in the input */
	int64_t unplaced;                    /* Pods for which the stock has no Node */
	int64_t resizes_waiting;             /* for room on their Nodes */
	int64_t interruptions;               /* of workers */
	const struct sim_sharing *shares;    /* of sim/sharing.h */
	const struct sim_resizing *resizing; /* of sim/resize.h; NULL: nothing is resized */
	const struct sim_repairing
		*repairing;          /* of sim/repair.h; NULL: no limit over all RayClusters */
	struct sim_repairs *repairs; /* NULL: none yet */
	struct sharing *sharing;     /* NULL: no GPUPools */
	struct sim_result *result;
	VEC(struct sim_wait) waits;
	int64_t provisioned_gpus;
	VEC(struct sim_candidate) candidates; /* of place_policy */
};

void world_done(struct sim_world *world);
/* xorshift64*, of the seed. */
uint64_t world_random(struct sim_world *world);
/* Of two arenas: the one for a new value, which is the first then; the last value stays until the next
 * call. */
struct arena *world_next_arena(struct arena arenas[2]);
/* Ends the simulation with an error. */
void world_fail(struct sim_world *world, const char *text);

#endif
