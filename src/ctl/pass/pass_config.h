/* The configuration of a pass (ctl/pass/pass.h), the values that its callbacks get, and its end, as plain data. */
#ifndef CTL_PASS_PASS_CONFIG_H
#define CTL_PASS_PASS_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"
#include "ctl/queue/poll_interval.h"
#include "ctl/shared/control.h"

struct observation;
struct pass;

/* CPU time of a small and of a quick decision: 10 workers take 0.1 ms, 1,000 workers and 20 shapes
 * 6 ms. */
#define PASS_SMALL_MS 1
#define PASS_QUICK_MS 20
/* The most CPU time to which the budget of a cluster grows, unless the configured one is more. */
#define PASS_GROWN_MS 8000
#define PASS_SPARED_MS 60000
/* CPU time of a cluster's decisions: PASS_QUICK is at most PASS_QUICK_MS. */
enum pass_cost { PASS_COST_UNKNOWN = 0, PASS_SMALL, PASS_QUICK, PASS_SLOW };

/* How a pass ended. Valid until the callback returns. */
struct pass_result {
	const struct memory_state *memory; /* for the next pass; NULL: keep the old one */
	bool patched;                      /* the change was accepted */
	/* The RayCluster as the API server answered; NULL: not known. The arena may be taken over. */
	struct ray_cluster *object;
	struct arena *object_arena;
	const struct err *err;  /* NULL, or why the RayCluster could not be read or patched */
	int64_t retry_after_ms; /* with err: Retry-After of the API server; 0: not given */
	const struct act_scaled_list *scaled; /* changes of the accepted patch; NULL: no patch */
	size_t drain_errors;                  /* DrainNode calls that failed */
	struct poll_reading reading;          /* the cost of Ray's state */
	bool decided;                         /* a decision was made, or tried */
	bool undecided;                       /* the decision exceeded its CPU time in vain */
	enum pass_cost cost;                  /* of its decisions */
	int64_t cpu_factor;                   /* of the budget of the next one */
	int64_t took_us;
};

/* A final decision: no request is needed before it is acted upon. Valid until the callback
 * returns. */
struct pass_decision {
	const struct plan *plan;
	const struct snapshot *snapshot;   /* its input */
	const struct summary *summary;     /* its figures */
	const struct ray_state *ray_state; /* its reply of Ray; NULL: Ray was not reached */
	const struct err *ray_err;         /* why not; NULL when it was reached or not read */
	time_ms now;
	int64_t monotonic_ms; /* the same, of the loop's clock */
	uint64_t digest;      /* of the reply (gcs/gcs_state.h); 0: of none, or not of it alone */
	int64_t undecided_ms; /* the interval after a decision that took too much; 0: it was made */
	/* The client of this Ray, set for the listeners (ctl/cluster.c); NULL: none. */
	struct gcs_client *gcs;
	struct pass *pass; /* that made it */
};

/* For a job (net/work.h) that is started before pass_callbacks.decided returns: the decision, and all
 * that it points to, may be read until the job has ended, also after pass_free. The one who holds it
 * drops it then, on the loop. NULL is fine. */
struct pass *pass_hold(struct pass *pass);
void pass_drop(struct pass *pass);

struct pass_callbacks {
	void *context;
	/* Sets the objects in the caches: cluster (NULL: deleted, or cannot be decoded), pods,
	 * view_problem, events, nodes, other_pods, autoscaler and the extra conditions. The list of Pods is valid
	 * until the loop turns; the objects, and all that they point to, until a decision on them
	 * has been made, which may be many turns later: a cache that replaces them passes the old
	 * ones to work_retire (net/work.h); other values are copied into the arena. */
	void (*view)(void *context, struct arena *arena, struct observation *ret_view);
	/* The present RayCluster of the view; NULL: deleted, or cannot be decoded. */
	const struct ray_cluster *(*current)(void *context);
	/* Whether a decision on the present caches and a reply with this digest is known to equal
	 * the last one: then the pass ends without deciding. NULL: never. */
	bool (*unchanged)(void *context, uint64_t digest);
	/* Called before the patch is sent (again after a conflict), or once when there is none. */
	void (*decided)(void *context, const struct pass_decision *decision);
	void (*done)(void *context, const struct pass_result *result); /* may free the pass */
};

/* Metrics of a pass (ctl/report/metrics); each member may be NULL. */
struct pass_meter {
	void *context;
	void (*phase)(void *context, const char *phase, double seconds); /* one has ended */
	void (*gcs_failed)(void *context, const struct err *err);        /* a call has failed */
};

struct pass_config {
	const struct control *control;
	const char *namespace_, *name;
	const char *api_version;           /* "ray.io/v1" or "ray.io/v1alpha1" */
	struct gcs_client *gcs;            /* NULL: Ray is not read */
	const char *gcs_problem;           /* then: why */
	const char *ray_note;              /* for the message (core/model/snapshot.h) */
	const struct memory_state *memory; /* of the last pass; NULL: none */
	struct pass_meter meter;
	enum pass_cost cost;   /* of the last pass */
	int64_t cpu_factor;    /* of the last pass; 0: as 1 */
	int64_t small_ms;      /* PASS_SMALL_MS; 0: no decision on the loop */
	int64_t quick_ms;      /* PASS_QUICK_MS */
	int64_t undecided_ms;  /* the interval that follows if the decision takes too much */
	bool read_work;        /* the users of the cluster are read with the first state */
	bool read_kv_requests; /* SDK requests of autoscaler v1 are in the key-value store */
};

#endif
