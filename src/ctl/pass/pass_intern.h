/* Internals of a pass, shared by pass.c (its steps), pass_decide.c (the decision off the loop),
 * pass_read.c (the list of its Pods) and pass_observe.c (its data and their age). Internal to these
 * files. */
#ifndef CTL_PASS_PASS_INTERN_H
#define CTL_PASS_PASS_INTERN_H

#include "base/arena.h"
#include "base/budget.h"
#include "ctl/pass/act.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/pass/observe.h"
#include "ctl/pass/pass_config.h"
#include "kube/kube_client.h"

enum pass_step {
	PASS_STARTING = 0,
	PASS_READING,
	PASS_DECIDING,
	PASS_DRAINING,
	PASS_VERIFYING,
	PASS_PATCHING,
	PASS_REFRESHING,
	PASS_DONE,
};

/* One request in flight; a step may have several. */
struct pass_request {
	struct pass *pass;
	struct kube_call *kube;
	struct gcs_call *gcs;
	const char *node_id; /* of a drain */
	const char *pod;     /* of a drain */
	bool busy;           /* of a drain: also while work runs */
	const char *why;     /* of a drain */
	const char *list;    /* of a list of work */
};

/* A decision in progress: its input and its results. In the pass's arena, which nothing uses while
 * the job runs. */
struct pass_work {
	struct pass_work *previous;     /* of this pass; NULL: none */
	struct arena arena;             /* of the plan and its derived data */
	struct observation view;        /* the objects live until the job has ended (net/work.h) */
	struct observation observation; /* the same, and what the pass has read */
	struct snapshot snapshot;       /* made of it by the job */
	struct cpu_budget budget;
	const struct work_job *job; /* NULL: on the loop */
	/* CPU time of the thread: when it began to place, and to launch (0: not yet), and its end. */
	int64_t placing_us, launching_us, cpu_end_us;
	enum pass_cost cost;
	int64_t begun_ms; /* loop_boot_ms */
	int64_t took_us, cpu_us;
	const struct plan *plan;
	const struct summary *summary;
	/* Copies of what the plan takes from the view: these live as long as the pass. */
	const struct memory_state *memory;
	struct act_scaled_list scaled;
};

#define PASS_WORK_LISTS 4

/* The list of the cluster's Pods, as the API server has it now. In the pass's arena. */
struct pass_pods {
	struct arena arena;     /* of what is kept; of the pass's budget */
	struct kube_call *call; /* NULL: none in flight */
	struct buf page;
	int page_pods; /* at most, in one page */
	const char *continue_token;
	struct err err; /* of the page that was decoded */
	/* The names and versions in the cache, sorted, from the view of the first page. */
	struct observation view;
	bool indexed;
	struct pod_version *cached;
	size_t cached_count;
	VEC(struct fresh_pod) list;
};

/* A RayCluster as the API server has answered. */
struct pass_answer {
	struct arena arena;         /* of a patch: may be taken over */
	struct arena *into;         /* this one, or that of the pass */
	struct ray_cluster *object; /* NULL: err says why */
	struct err err;
	char *text; /* while it is decoded */
	size_t size;
	void (*next)(struct pass *pass);
};

struct pass {
	unsigned holders; /* the owner, until pass_free; pass_hold */
	struct pass_config config;
	struct pass_callbacks callbacks;
	struct budget *memory; /* of this pass: the bytes of replies, and the arenas */
	struct arena arena, ray_arena, kv_arena; /* of the pass, of ray_state, and of kv_requests */
	enum pass_step step;
	struct loop_timer *start;
	struct work_job *job;   /* NULL: none in progress, of a decision or an answer */
	struct pass_work *work; /* of the last decision */
	bool deleted;           /* the RayCluster, when the last decision was to be made */
	void (*on_decided)(struct pass *pass);
	void (*on_verified)(struct pass *pass, const struct err *err);
	const char *key; /* "namespace/name" */
	time_ms now; /* of every decision: an accepted drain must not become too old to act upon */
	int64_t basis_ms;  /* loop_boot_ms of the oldest data it is decided on */
	int64_t spared_ms; /* of the last decision, which its data may be older than usual */
	int reads;         /* of the GCS's state */

	struct device_view *devices; /* held; NULL: none */
	const struct ray_state *ray_state;
	uint64_t digest; /* of the reply; 0: not computed */
	int64_t read_ms; /* loop_boot_ms of its arrival */
	time_ms ray_state_time;
	struct err ray_err;
	const struct ray_constraint *kv_requests;
	bool work_read; /* cluster_work was read, or is being read */
	struct cluster_work cluster_work;
	struct arena work_arenas[PASS_WORK_LISTS];
	struct err lost; /* of the patch that suspends, while the RayCluster is looked at */

	const struct ray_cluster *fresh_cluster; /* NULL: the cache's */
	struct pass_answer answer;               /* the last one */
	struct pass_pods *pods;                  /* NULL: the cache's */

	VEC(struct pass_request *) requests;
	size_t waiting; /* requests without an answer */
	VEC(struct drain_answer) drains;
	const struct ray_drain *ray_drains; /* Ray's own list */
	size_t ray_drain_count;
	bool drains_read;    /* ray_drains were read, or could not be */
	bool fresh_state;    /* Ray was read once more for a Pod that may register */
	bool drained;        /* drains were sent */
	bool drain_accepted; /* at least one of them */
	int conflicts;
	bool decided;   /* a decision was made, or tried */
	bool shared;    /* the part that shares GPUs knows the decision */
	bool granted;   /* and has granted more for it */
	bool undecided; /* the last decision exceeded its CPU time and changes nothing */
	bool rests;     /* that, or it changes nothing after a multiple of its CPU time */
	enum pass_cost cost;
	int64_t cpu_factor;     /* of the next pass */
	int overtaken;          /* decisions on a RayCluster that changed in the meantime */
	int64_t retry_after_ms; /* of the API server's last answer */
	/* For metrics: */
	int64_t started_us, phase_us;
	struct poll_reading reading;
	size_t drain_errors;
	/* Of the decision that the patch carries out: */
	const struct memory_state *new_memory;
	struct act_scaled_list scaled;
};

/* Decides on the present data, on a thread of the pool unless it is small, and calls on_decided on the
 * loop. pass_free cancels it. */
void pass_decide(struct pass *pass);
/* The RayCluster of the last decision is not the present one: decide again. After some tries the
 * `test` operations of the patch are the only guard. */
bool pass_decide_is_overtaken(struct pass *pass);
/* Lists the Pods of the cluster, page by page, each decoded on a thread of the pool unless it is small,
 * and calls `done` with NULL or an error. pass_free cancels it, pass_drop frees the memory. */
void pass_verify(struct pass *pass, void (*done)(struct pass *pass, const struct err *err));
/* Decodes an answer into pass->answer, on a thread of the pool unless it is small, and calls next on the
 * loop, for a small one before it returns. pass_free cancels it. */
void pass_read_answer(struct pass *pass, const struct kube_answer *answer, struct arena *into,
		      void (*next)(struct pass *pass));
/* Ends its request; NULL is fine. */
void pass_pods_cancel(struct pass_pods *pods);
/* Reports the duration of a phase to the meter. */
void pass_measure(const struct pass *pass, const char *phase, int64_t us);

/* Called after the last read: from here on "now" is fixed, and the age of the data counts. The age
 * is measured by loop_boot_ms, so a wall clock that jumps does not change it. */
void pass_observe_begin(struct pass *pass);
/* The data is older than state-max-age-seconds: a decision on it must not be acted upon. Never true
 * after an accepted drain: the drained worker must be patched out at any age. */
bool pass_observe_is_old(const struct pass *pass);
/* The time at which it will be, for kube_client_send_until; 0: never. */
int64_t pass_observe_until_ms(const struct pass *pass);

/* Objects for ctl/pass/gpu_share: a RayCluster that this pass read is newer than that of the cache. */
struct gpu_share_objects pass_objects(const struct pass *pass, const struct observation *view);
/* Gathers the data of the pass and the caches, of which it copies what might not live until the
 * decision has been made. On the loop: moves pointers alone, whatever is behind them. */
void pass_observe(struct pass *pass, struct pass_work *work);
/* The memory of all that a decision on it reads: of its objects in caches and of the arenas, so that no
 * list of the snapshot can be left out. */
size_t pass_observe_bytes(const struct pass *pass, const struct pass_work *work);

#endif
