/* The inside of a pass, shared by pass.c (its steps), pass_decide.c (the decision off the loop) and
 * pass_observe.c (what it knows, and how old that is). Internal to these files. */
#ifndef CTL_PASS_PASS_INTERN_H
#define CTL_PASS_PASS_INTERN_H

#include "base/arena.h"
#include "base/budget.h"
#include "ctl/pass/act.h"
#include "ctl/pass/fuse.h"
#include "ctl/pass/observe.h"
#include "ctl/pass/pass.h"

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
};

/* A decision in work: its input and its results. In the pass's arena, which nothing
 * uses while the job runs. */
struct pass_work {
	struct pass_work *previous; /* of this pass; NULL: none */
	struct arena arena;         /* of the plan and all that is made of it */
	struct pass_view view;      /* the objects stay until the job has ended (net/work.h) */
	struct snapshot snapshot;
	struct cpu_budget budget;
	const struct work_job *job;
	int64_t cpu_end_us; /* of the thread */
	bool slow;          /* not quick: it may take the whole budget */
	int64_t took_us, cpu_us;
	const struct plan *plan;
	const struct summary *summary;
	const char *memory_json;
	struct act_scaled_list scaled;
};

struct pass {
	struct pass_config config;
	struct pass_callbacks callbacks;
	struct budget *memory;         /* of this pass: the bytes of replies, and the arenas */
	struct arena arena, ray_arena; /* of the pass, and of ray_state */
	enum pass_step step;
	struct loop_timer *start;
	struct work_job *job;   /* NULL: nothing is being decided */
	struct pass_work *work; /* of the last decision */
	const char *key;        /* "namespace/name" */
	time_ms now; /* of every decision: an accepted drain must not become too old to act upon */
	int64_t basis_ms; /* loop_boot_ms of what it is decided on */
	int reads;        /* of the GCS's state */

	const struct ray_state *ray_state;
	uint64_t digest; /* of the reply; 0: not asked for */
	int64_t read_ms; /* loop_boot_ms of its arrival */
	time_ms ray_state_time;
	struct err ray_err;
	const struct ray_constraint *kv_requests;

	const struct ray_cluster *fresh_cluster; /* NULL: the cache's */
	const struct pod **fresh_pods;           /* NULL: the cache's */
	size_t fresh_pod_count;

	VEC(struct pass_request *) requests;
	size_t waiting; /* requests without an answer */
	VEC(struct drain_answer) drains;
	bool fresh_state;    /* Ray was asked once more for a Pod that may register */
	bool drained;        /* drains were asked for */
	bool drain_accepted; /* one of them at least */
	int conflicts;
	bool decided;   /* a decision was made, or tried */
	bool undecided; /* the last decision took too much CPU time */
	enum pass_cost cost;
	int overtaken; /* decisions that were made on a RayCluster that had changed meanwhile */
	int64_t retry_after_ms; /* of the API server's last answer */
	/* For metrics: */
	int64_t started_us, phase_us;
	struct pace_reading reading;
	size_t drain_errors;
	/* Of the decision that the patch carries out: */
	const char *memory_json;
	struct act_scaled_list scaled;
};

/* Decides on what is known now, on a thread of the pool, and calls pass_decided on the loop, or ends the
 * pass when the RayCluster is gone. pass_free stops that. */
void pass_decide(struct pass *pass);
void pass_decided(struct pass *pass);
/* The RayCluster of the last decision is not the one that is there now: decide again. After some tries
 * the `test` operations of the patch have to do. */
bool pass_decide_is_overtaken(struct pass *pass);
void pass_finish(struct pass *pass, const char *memory_json, const char *patched_body,
		 const struct err *err);
/* The end of its memory. */
void pass_release(struct pass *pass);
/* Gives the meter how long a phase took. */
void pass_measure(const struct pass *pass, const char *phase, int64_t us);

/* All has been read that will be read: from here on "now" stands still, and the age of what is known
 * counts. The age is measured by loop_boot_ms: a wall clock that jumps makes nothing young or old. */
void pass_observe_begin(struct pass *pass);
/* What is known is older than state-max-age-seconds: a decision on it must not be acted upon. Never
 * after an accepted drain: who was drained must be patched out, however late it is. */
bool pass_observe_is_old(const struct pass *pass);
/* When that will be, for kube_client_send_until; 0: never. */
int64_t pass_observe_until_ms(const struct pass *pass);

/* What ctl/pass/fuse counts of it: what was read in this pass is newer than the caches. */
struct fuse_objects pass_objects(const struct pass *pass, const struct pass_view *view);
/* The snapshot of what the pass and the caches know. In the view, what would not last until the decision
 * has been made is copied. */
void pass_observe(struct pass *pass, struct pass_view *view, struct snapshot *ret_snapshot);

#endif
