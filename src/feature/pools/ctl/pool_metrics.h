/* The metrics of the pools and their queues: the figures of the last allocation, and counters that
 * begin with the pool. Those of the quotas of flags are rayscaler_gpus_ceiling and
 * rayscaler_gpus_counted. A label is the name of a pool or of a queue, which administrators choose:
 * GPU_POOL_QUEUES_MAX for each pool. Lost with the process. */
#ifndef FEATURE_POOLS_CTL_POOL_METRICS_H
#define FEATURE_POOLS_CTL_POOL_METRICS_H

#include "ctl/report/feature.h"
#include "feature/pools/core/pool_allocation.h"

/* Pods that are remembered until they end for others. */
#define POOL_METRICS_RELEASED_MAX 10000

struct pool_metrics;

struct pool_metrics *pool_metrics_new(void);
void pool_metrics_free(struct pool_metrics *metrics); /* NULL is fine */

/* After an allocation that took so much CPU time. Names and statuses are borrowed until the next call;
 * count 0: there is no pool any longer. */
struct pool_metrics_allocation {
	const char *const *names; /* of the pools; that of the flags is left out */
	const struct gpu_pool_status *statuses;
	size_t count;
	int64_t cpu_us, monotonic_ms;
};
void pool_metrics_allocated(struct pool_metrics *metrics,
			    const struct pool_metrics_allocation *allocation);

/* The workers that a RayCluster ends for others: those that a decision names count once the patch that
 * deletes them is accepted. pools: to which the member's indices refer; labels: of its namespace. */
void pool_metrics_decided(struct pool_metrics *metrics, const struct gpu_pool *const *pools,
			  size_t pool_count, const struct pool_member *member,
			  const struct labels *labels, const struct plan *plan);
void pool_metrics_sent(struct pool_metrics *metrics, const char *key, const struct plan *plan);
void pool_metrics_answered(struct pool_metrics *metrics, const char *key, bool accepted);
void pool_metrics_forget(struct pool_metrics *metrics, const char *key);

/* X(kind, identifier, name, labels, help), as of ctl/report/metrics_table.h. */
#define POOL_METRICS_TABLE(X)                                                                      \
	X(GAUGE, POOL_GPUS, "rayscaler_pool_gpus", "pool", "GPUs of a GPUPool.")                   \
	X(GAUGE, POOL_READY, "rayscaler_pool_ready", "pool", "1: its condition Ready is True.")    \
	X(GAUGE, GUARANTEED, "rayscaler_queue_gpus_guaranteed", "pool,queue",                      \
	  "Guarantee of a queue; queue \"\": namespaces without one.")                             \
	X(GAUGE, HELD, "rayscaler_queue_gpus_held", "pool,queue",                                  \
	  "GPUs that it holds, with patches in flight.")                                           \
	X(GAUGE, IDLE, "rayscaler_queue_gpus_idle", "pool,queue", "Idle ones of these.")           \
	X(GAUGE, BORROWED, "rayscaler_queue_gpus_borrowed", "pool,queue",                          \
	  "Those beyond its guarantee.")                                                           \
	X(GAUGE, WAITING, "rayscaler_queue_gpus_waiting", "pool,queue", "GPUs that it waits for.") \
	X(GAUGE, WAITING_UNITS, "rayscaler_queue_waiting_units", "pool,queue",                     \
	  "Replicas, slices and placement groups that wait.")                                      \
	X(GAUGE, WAITING_SECONDS, "rayscaler_queue_waiting_seconds", "pool,queue",                 \
	  "How long the oldest waits.")                                                            \
	X(COUNTER, BELOW, "rayscaler_queue_below_guarantee_seconds_total", "pool,queue",           \
	  "Time in which it waited with less.")                                                    \
	X(COUNTER, RECLAIMED, "rayscaler_queue_reclaimed_gpus_total", "pool,queue,kind",           \
	  "GPUs given back to others: idle, or busy until a deadline.")                            \
	X(COUNTER, ALLOCATIONS, "rayscaler_pool_allocations_total", "",                            \
	  "Allocations of all pools.")                                                             \
	X(COUNTER, ALLOCATION_SECONDS, "rayscaler_pool_allocation_seconds_total", "",              \
	  "Their CPU time.")

enum pool_metric {
#define X(kind, identifier, ...) POOL_METRIC_##identifier,
	POOL_METRICS_TABLE(X)
#undef X
		POOL_METRIC_COUNT
};

/* The samples of one family, as of this moment. */
void pool_metrics_write(const struct pool_metrics *metrics, enum pool_metric id,
			int64_t monotonic_ms, time_ms now, struct metrics_family *family);

#endif
