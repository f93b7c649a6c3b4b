/* The work that uses the GPUs of a RayCluster: rows of the lists that a GCS sends, and what
 * core/report/gpu_holders makes of them, worker by worker. Owned by an arena. Strings are never NULL
 * and come from tenants. No decision depends on it. */
#ifndef CORE_MODEL_GPU_HOLDER_H
#define CORE_MODEL_GPU_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/model/kubernetes.h"
#include "core/model/ray_list.h"

enum gpu_holder_kind {
	GPU_HOLDER_NONE = 0,
	GPU_HOLDER_ACTOR,
	GPU_HOLDER_TASK,
	GPU_HOLDER_GROUP, /* GPUs that a placement group reserves and no actor or task of it uses */
	GPU_HOLDER_KINDS
};

struct gpu_use_row {
	enum gpu_holder_kind kind;
	const char *name;  /* class, function, or name of the placement group */
	const char *job;   /* ids are lower-case hex */
	const char *node;  /* never "" */
	const char *group; /* "": not in a placement group */
	int64_t gpus;      /* 1/10000, above 0 */
	time_ms since;     /* TIME_NONE: it is starting */
};

struct gpu_use_job {
	const char *id, *entrypoint;
	const char *submission; /* "": not submitted as a Ray job */
};

/* Replicas of one deployment of Ray Serve that have no node yet. */
struct gpu_use_deployment {
	const char *name; /* "app:deployment" */
	int64_t replicas;
};

/* Others are left out. */
#define GPU_USE_DEPLOYMENTS_MAX 20

/* One list. */
struct gpu_use {
	const struct gpu_use_row *rows;
	size_t row_count;
	const struct gpu_use_job *jobs;
	size_t job_count;
	int64_t missing; /* rows that the GCS has and did not send */
	int64_t dropped; /* tasks that the GCS forgot */
	const struct gpu_use_deployment *deployments;
	size_t deployment_count;
	bool libraries; /* Ray Data or Ray Train asks for resources: their AutoscalingCoordinator runs */
};

struct gpu_holder {
	enum gpu_holder_kind kind;
	const char *name, *job, *entrypoint, *submission;
	int64_t count;
	int64_t gpus;  /* 1/10000, of all of them */
	time_ms since; /* of the oldest; TIME_NONE: all are starting */
};

struct gpu_worker {
	const char *pod, *group;
	const char *node;                 /* Ray's id; "" in an answer that was read */
	int64_t gpus, in_use;             /* 1/10000, as Ray reports them */
	int64_t unnamed;                  /* of in_use: by work that is in no list */
	const struct gpu_holder *holders; /* the one with most GPUs first */
	size_t holder_count;
};

struct gpu_holders {
	time_ms at;
	const char *problem; /* "", or why the GCS was not asked */
	const char *asked;   /* by request_resources, a note; NULL: nothing. Not printed */
	struct strings notes;
	const struct gpu_worker *workers; /* that have GPUs, by name */
	size_t worker_count;
};

const char *gpu_holder_kind_name(enum gpu_holder_kind kind); /* "actor", "task", ... */

#endif
