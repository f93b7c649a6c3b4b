#include "feature/pools/ctl/pool_metrics.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/model/reason.h"

enum kind { OF_IDLE, OF_BUSY, KIND_COUNT };

/* The counters of one queue. */
struct counters {
	const char *key;
	int64_t below_ms, at_ms; /* below_ms until at_ms, both monotonic */
	bool below;              /* since at_ms */
	int64_t reclaimed[KIND_COUNT];
	bool listed; /* in the last allocation */
};

/* A Pod that ends for others, from the decision that says so to the accepted patch. */
struct released {
	const char *key;
	char *counters; /* key of its queue */
	int64_t gpus;
	enum kind kind;
	bool sent; /* a patch in flight deletes it */
};

struct pool_metrics {
	struct pool_metrics_allocation last;
	struct map queues;   /* "pool\nqueue" to struct counters */
	struct map released; /* "namespace/name\npod" to struct released */
	int64_t allocations, cpu_us;
};

struct pool_metrics *pool_metrics_new(void)
{
	return memory_alloc(sizeof(struct pool_metrics));
}

static void released_done(void *value)
{
	memory_free(((struct released *)value)->counters);
}

void pool_metrics_free(struct pool_metrics *metrics)
{
	if (!metrics)
		return;
	map_drop_all(&metrics->queues, NULL);
	map_drop_all(&metrics->released, released_done);
	memory_free(metrics);
}

/* ---- after an allocation ---- */

static const char *key_of(const char *pool, const char *queue, struct arena *arena)
{
	return arena_printf(arena, "%s\n%s", pool, queue);
}

static int64_t below_ms(const struct counters *counters, int64_t monotonic_ms)
{
	return counters->below_ms + (counters->below ? monotonic_ms - counters->at_ms : 0);
}

static void note_queue(struct pool_metrics *metrics, const char *pool,
		       const struct gpu_pool_queue_status *queue)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct counters *counters =
		map_make(&metrics->queues, key_of(pool, queue->name, &scratch), sizeof(*counters));
	int64_t now_ms = metrics->last.monotonic_ms;

	counters->below_ms = below_ms(counters, now_ms);
	counters->at_ms = now_ms;
	counters->below = queue->below_guarantee_since != TIME_NONE;
	counters->listed = true;
}

/* Those of pools and queues that no longer exist. */
static void drop_unlisted(struct pool_metrics *metrics)
{
	for (size_t i = metrics->queues.count; i-- > 0;) {
		const struct counters *counters = metrics->queues.entries[i].value;

		if (!counters->listed)
			map_drop(&metrics->queues, counters->key, NULL);
	}
}

void pool_metrics_allocated(struct pool_metrics *metrics,
			    const struct pool_metrics_allocation *allocation)
{
	metrics->last = *allocation;
	metrics->allocations += allocation->count > 0;
	metrics->cpu_us += allocation->cpu_us;
	for (size_t i = 0; i < metrics->queues.count; i++)
		((struct counters *)metrics->queues.entries[i].value)->listed = false;
	for (size_t p = 0; p < allocation->count; p++)
		if (!gpu_pool_is_of_flags(allocation->names[p]))
			for (size_t q = 0; q < allocation->statuses[p].queue_count; q++)
				note_queue(metrics, allocation->names[p],
					   &allocation->statuses[p].queues[q]);
	drop_unlisted(metrics);
}

/* ---- workers that end for others ---- */

static const struct pool_worker *find_worker(const struct pool_member *member, const char *pod)
{
	VEC_EACH(const struct pool_worker, worker, &member->workers)
		VEC_EACH(const struct pool_pod, own, &worker->pods)
			if (strcmp(own->name, pod) == 0)
				return worker;
	return NULL;
}

/* The name of the Pod, if it is of this RayCluster; NULL: it is of another one. */
static const char *pod_of(const struct released *released, const char *key)
{
	size_t size = strlen(key);

	return strncmp(released->key, key, size) == 0 && released->key[size] == '\n' ?
		       released->key + size + 1 :
		       NULL;
}

static void release(struct pool_metrics *metrics, const char *key, const struct gpu_pool *pool,
		    const struct pool_worker *worker, const struct labels *labels,
		    const struct plan_termination *one)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *own = key_of(key, one->pod, &scratch);
	size_t queue = pool_match_queue(pool, labels);
	struct released *released;

	if (map_get(&metrics->released, own) ||
	    metrics->released.count >= POOL_METRICS_RELEASED_MAX)
		return;
	released = map_make(&metrics->released, own, sizeof(*released));
	released->counters = memory_strdup(key_of(
		pool->name, queue < pool->queue_count ? pool->queues[queue].name : "", &scratch));
	/* The hosts of a replica are one worker. */
	released->gpus = worker->gpus / (int64_t)worker->pods.count;
	released->kind = one->deadline != TIME_NONE || one->action == TERMINATE_STOP ? OF_BUSY :
										       OF_IDLE;
}

/* Those that are no longer in the plan have ended. */
static void drop_ended(struct pool_metrics *metrics, const char *key, const struct plan *plan)
{
	for (size_t i = metrics->released.count; i-- > 0;) {
		const struct released *released = metrics->released.entries[i].value;
		const char *pod = pod_of(released, key);

		if (pod && !VEC_FIND(&plan->workers, pod, pod))
			map_drop(&metrics->released, released->key, released_done);
	}
}

void pool_metrics_decided(struct pool_metrics *metrics, const struct gpu_pool *const *pools,
			  size_t pool_count, const struct pool_member *member,
			  const struct labels *labels, const struct plan *plan)
{
	drop_ended(metrics, member->key, plan);
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		VEC_EACH(const struct plan_termination, one, &group->terminate) {
			const struct pool_worker *worker = find_worker(member, one->pod);

			if (worker && worker->pool < pool_count &&
			    one->reason == REASON_RELEASED_FOR_OTHERS)
				release(metrics, member->key, pools[worker->pool], worker, labels,
					one);
		}
	}
}

void pool_metrics_sent(struct pool_metrics *metrics, const char *key, const struct plan *plan)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	VEC_EACH(const struct plan_group, group, &plan->groups) {
		VEC_EACH(const struct plan_termination, one, &group->terminate) {
			struct released *released =
				map_get(&metrics->released, key_of(key, one->pod, &scratch));

			if (released && one->action != TERMINATE_DRAIN)
				released->sent = true;
		}
	}
}

void pool_metrics_answered(struct pool_metrics *metrics, const char *key, bool accepted)
{
	for (size_t i = metrics->released.count; i-- > 0;) {
		struct released *released = metrics->released.entries[i].value;
		struct counters *counters = map_get(&metrics->queues, released->counters);

		if (!pod_of(released, key) || !released->sent)
			continue;
		released->sent = false;
		if (accepted && counters)
			counters->reclaimed[released->kind] += released->gpus;
		if (accepted)
			map_drop(&metrics->released, released->key, released_done);
	}
}

void pool_metrics_forget(struct pool_metrics *metrics, const char *key)
{
	static const struct plan without_workers;

	drop_ended(metrics, key, &without_workers);
}

/* ---- exposition ---- */

static void write_counters(const struct counters *counters, enum pool_metric id,
			   const char *const *labels, int64_t monotonic_ms,
			   struct metrics_family *family)
{
	if (id == POOL_METRIC_BELOW) {
		metrics_text_double(family, labels,
				    (double)below_ms(counters, monotonic_ms) / MS_PER_SECOND);
		return;
	}
	metrics_text_amount(family, (const char *const[]){ labels[0], labels[1], "idle" },
			    counters->reclaimed[OF_IDLE]);
	metrics_text_amount(family, (const char *const[]){ labels[0], labels[1], "busy" },
			    counters->reclaimed[OF_BUSY]);
}

/* The amounts of a queue. */
static const size_t amounts[POOL_METRIC_COUNT] = {
	[POOL_METRIC_GUARANTEED] = offsetof(struct gpu_pool_queue_status, guaranteed),
	[POOL_METRIC_HELD] = offsetof(struct gpu_pool_queue_status, held),
	[POOL_METRIC_IDLE] = offsetof(struct gpu_pool_queue_status, idle),
	[POOL_METRIC_BORROWED] = offsetof(struct gpu_pool_queue_status, borrowed),
	[POOL_METRIC_WAITING] = offsetof(struct gpu_pool_queue_status, waiting),
};

static void write_queue(const struct pool_metrics *metrics, enum pool_metric id, const char *pool,
			const struct gpu_pool_queue_status *queue, int64_t monotonic_ms,
			time_ms now, struct metrics_family *family)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *const labels[] = { pool, queue->name };
	const struct counters *counters;
	int64_t age_ms;

	switch ((int)id) {
	case POOL_METRIC_BELOW:
	case POOL_METRIC_RECLAIMED:
		counters = map_get(&metrics->queues, key_of(pool, queue->name, &scratch));
		if (counters)
			write_counters(counters, id, labels, monotonic_ms, family);
		return;
	case POOL_METRIC_WAITING_UNITS:
		metrics_text_integer(family, labels, queue->waiting_units);
		return;
	case POOL_METRIC_WAITING_SECONDS:
		age_ms = queue->waiting_since == TIME_NONE ? 0 : now - queue->waiting_since;
		metrics_text_double(family, labels,
				    (double)(age_ms > 0 ? age_ms : 0) / MS_PER_SECOND);
		return;
	default:
		metrics_text_amount(family, labels,
				    *(const int64_t *)((const char *)queue + amounts[id]));
	}
}

static void write_pool(const struct pool_metrics *metrics, enum pool_metric id, size_t index,
		       int64_t monotonic_ms, time_ms now, struct metrics_family *family)
{
	const struct gpu_pool_status *status = &metrics->last.statuses[index];
	const char *pool = metrics->last.names[index];
	const struct condition *ready =
		condition_find(status->conditions.at, status->conditions.count, "Ready");

	if (id == POOL_METRIC_POOL_GPUS) {
		metrics_text_amount(family, &pool, status->gpus);
		return;
	}
	if (id == POOL_METRIC_POOL_READY) {
		metrics_text_integer(family, &pool, ready && strcmp(ready->status, "True") == 0);
		return;
	}
	/* Two samples with the same labels would make the whole text unreadable: a pool with two
	 * queues of one name is invalid. */
	for (size_t q = 0; q < status->queue_count; q++)
		if (!ARRAY_FIND(status->queues, q, name, status->queues[q].name))
			write_queue(metrics, id, pool, &status->queues[q], monotonic_ms, now,
				    family);
}

void pool_metrics_write(const struct pool_metrics *metrics, enum pool_metric id,
			int64_t monotonic_ms, time_ms now, struct metrics_family *family)
{
	if (id == POOL_METRIC_ALLOCATIONS) {
		metrics_text_integer(family, NULL, metrics->allocations);
		return;
	}
	if (id == POOL_METRIC_ALLOCATION_SECONDS) {
		metrics_text_double(family, NULL, (double)metrics->cpu_us / 1e6);
		return;
	}
	for (size_t p = 0; p < metrics->last.count; p++)
		if (!gpu_pool_is_of_flags(metrics->last.names[p]))
			write_pool(metrics, id, p, monotonic_ms, now, family);
}
