/* The result of a simulation as numbers. Made only by simulate(); owned by the arena passed to it.
 * GPU times are 1/10000 GPU times milliseconds; provisioned is the sum of the four others. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include <stddef.h>
#include <stdint.h>

/* Limits of the lists of one group; above them, times are rounded and marks are dropped. */
#define SIM_POINTS_MAX 2048
#define SIM_MARKS_MAX 1024

/* In 1/10000 GPU, from at_ms until the next point. */
struct sim_point {
	int64_t at_ms;
	int64_t demand; /* used, and pending work that this group would be the first to serve */
	int64_t provisioned; /* of workers that have a Node */
	int64_t used;
};

/* A change of `replicas`. */
struct sim_mark {
	int64_t at_ms;
	int64_t from, to;
	const char *reason; /* of core/model/reason.h; "" of a baseline */
};

struct sim_group {
	const char *cluster; /* name of the RayCluster */
	const char *name;
	int64_t worker_gpus; /* 1/10000 GPU of one worker in Ray */
	__int128 provisioned, used, idle, starting, terminating;
	__int128 worker_ms; /* workers that have a Node, times ms: the base of a price per worker */
	int64_t peak_workers;
	int64_t scale_ups, scale_downs;         /* patches that raised or lowered replicas */
	int64_t workers_added, workers_removed; /* by them, in replicas */
	int64_t interruptions;                  /* of spot workers */
	const struct sim_point *points;
	size_t point_count;
	const struct sim_mark *marks;
	size_t mark_count, marks_dropped;
};

/* `count` instances of one item that started after the same time. */
struct sim_wait {
	const struct work_item *item;
	int64_t wait_ms;
	int64_t count;
	int64_t gpus; /* 1/10000, of one instance: of a placement group all its bundles */
	size_t queue; /* of the result; SIZE_MAX: it draws from no GPUPool */
};

/* Instances that had not started at the end. */
struct sim_unstarted {
	const struct work_item *item;
	int64_t count;
	int64_t gpus;        /* as of a wait */
	const char *reason;  /* of core/model/reason.h */
	const char *message; /* of the last plan; never NULL */
	size_t queue;        /* likewise */
};

/* A GPUPool. */
struct sim_pool {
	const char *name;
	int64_t gpus, peak;   /* 1/10000: its size; held at one time */
	int64_t contended_ms; /* at least two queues waited */
	double jain;          /* meanwhile, of the queues that waited: feature/pools/sim */
};

/* A queue of a pool; the last one of each has the namespaces in no queue. */
struct sim_queue {
	size_t pool;
	const char *name;
	int64_t guaranteed, weight;
	size_t clusters; /* worker groups in it */
	__int128 held, used;
	__int128 lost; /* of used: by work that was interrupted, since its checkpoint */
	__int128 idle_while_others_waited; /* GPUs on which no work ran while another queue waited */
	/* A unit waited that fits beside what it held, within its guarantee. */
	int64_t below_guarantee_ms;
};

struct sim_result {
	const struct sim_group *groups; /* by RayCluster, in its order; last its head, if
					* that has GPUs, named HEAD_GROUP_NAME */
	size_t group_count;
	const struct sim_wait
		*waits; /* tasks, actors and placement groups, in order of their start */
	size_t wait_count;
	const struct sim_unstarted *unstarted;
	size_t unstarted_count;
	int64_t started, finished,
		restarted;   /* instances; restarted: their worker was interrupted */
	int64_t makespan_ms; /* the end of the last instance that finished */
	int64_t end_ms;      /* up to which GPU times are counted */
	int64_t peak_gpus;   /* 1/10000, provisioned, of all groups at one time */
	int64_t decisions;   /* calls of decide() */
	int64_t head_ms;     /* of all heads, while they had a Node */
	int64_t suspensions; /* by idle termination */
	int64_t resizes;     /* of containers in place */
	const struct sim_queue *queues;
	size_t queue_count; /* 0: no GPUPools */
	const struct sim_pool *pools;
	size_t pool_count;
	/* A hash of all changes of replicas, Pods and work with their times: equal courses are equal
	 * runs. */
	uint64_t course;
};

#endif
