/* GPUPools as a feature of the controller: ctl/features.c. */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/model/field.h"
#include "core/nodes/node_match.h"
#include "ctl/report/feature.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "ctl/watch/capacity_watch.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/ctl/pool_metrics.h"
#include "feature/pools/ctl/pool_objects.h"
#include "feature/pools/ctl/pool_writer.h"
#include "feature/pools/ctl/pools.h"
#include "kube/kube_informer.h"
#include "net/loop.h"

/* The templates of a RayCluster of this memory are read in 2 ms at most. */
#define INLINE_BYTES ((size_t)64 << 10)

/* The pools, with their statuses for the writer and for metrics. */
struct pool_feature {
	struct feature_state of;
	struct pool_objects *objects;
	struct pools *pools;
	struct pool_writer *writer;
	struct pool_metrics *metrics;
	struct map
		sizes; /* of Nodes that were read since there is a pool: a hash of the members that pools read */
	struct arena arenas[2]; /* of the statuses, and of those before */
	int arena;
	struct gpu_pool_status *statuses; /* of the last allocation, by pool */
	const char **names, **uids;       /* likewise */
	size_t count;
};

/* ---- the source of the pools ---- */

static const struct gpu_pool *const *list_pools(void *context, size_t *ret_count,
						const char **ret_problem)
{
	const struct pool_feature *self = context;

	*ret_problem = pool_objects_problem(self->objects);
	return pool_objects_list(self->objects, ret_count);
}

static const struct labels *namespace_labels(void *context, const char *namespace_)
{
	const struct pool_feature *self = context;

	return pool_objects_namespace(self->objects, namespace_);
}

static const struct namespace *next_namespace(void *context, size_t *at)
{
	const struct pool_feature *self = context;

	return pool_objects_next_namespace(self->objects, at);
}

static void each(void *context, struct pools *pools)
{
	const struct pool_feature *self = context;
	const struct ray_cluster *cluster;
	size_t at = 0;

	if (self->of.control->ray_clusters)
		while ((cluster = kube_informer_next(self->of.control->ray_clusters, &at)))
			pools_ray_cluster_changed(pools, cluster->namespace_, cluster->name);
}

static const struct pod *next_pod(void *context, size_t *at)
{
	const struct pool_feature *self = context;

	return self->of.control->pods ? kube_informer_next(self->of.control->pods, at) : NULL;
}

static void look(void *context, const char *namespace_, const char *name,
		 struct gpu_share_objects *ret_objects, bool *ret_unreadable)
{
	const struct pool_feature *self = context;
	const struct control *control = self->of.control;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (!control->ray_clusters || !control->pods)
		return;
	*ret_unreadable = kube_informer_bad(control->ray_clusters, namespace_, name) != NULL;
	if (!*ret_unreadable)
		ret_objects->cluster = kube_informer_get(control->ray_clusters, namespace_, name);
	ret_objects->pods = (const struct pod *const *)kube_informer_indexed(
		control->pods, arena_printf(&scratch, "%s/%s", namespace_, name),
		&ret_objects->pod_count);
}

static bool in_kueue(void *context, const char *uid)
{
	const struct pool_feature *self = context;

	return pool_objects_in_kueue(self->objects, uid);
}

static bool kueue_refused(void *context)
{
	const struct pool_feature *self = context;

	return pool_objects_kueue_refused(self->objects);
}

static bool large(void *context, const char *namespace_, const char *name)
{
	const struct pool_feature *self = context;

	return kube_informer_bytes(self->of.control->ray_clusters, namespace_, name) > INLINE_BYTES;
}

static const struct inventory_list *list_nodes(void *context)
{
	const struct pool_feature *self = context;

	return self->of.control->pods ? capacity_watch_inventory(self->of.control->capacity_watch) :
					NULL;
}

static bool ready(void *context)
{
	const struct pool_feature *self = context;

	return leader_is_leading(self->of.control->leader) && control_synced(self->of.control) &&
	       pool_objects_known(self->objects);
}

static void wake(void *context, const char *namespace_, const char *name)
{
	const struct pool_feature *self = context;

	(void)control_wake(self->of.control, namespace_, name);
}

static const struct gpu_pool_status *status_before(const struct pool_feature *self,
						   const struct gpu_pool *pool)
{
	for (size_t i = 0; i < self->count; i++)
		if (strcmp(self->names[i], pool->name) == 0 &&
		    strcmp(self->uids[i], pool->uid) == 0)
			return &self->statuses[i];
	return pool->status;
}

static void allocated(void *context, const struct pool_allocation *allocation, int64_t cpu_us)
{
	struct pool_feature *self = context;
	struct arena *arena = &self->arenas[!self->arena];
	size_t count = allocation->input->pool_count;
	struct gpu_pool_status *statuses;
	const char **names, **uids;

	arena_reset(arena);
	uids = arena_array(arena, count, sizeof(*uids));
	statuses = arena_array(arena, count, sizeof(*statuses));
	names = arena_array(arena, count, sizeof(*names));
	for (size_t p = 0; p < count; p++) {
		const struct gpu_pool *pool = allocation->input->pools[p];

		names[p] = arena_strdup(arena, pool->name);
		uids[p] = arena_strdup(arena, pool->uid);
		pool_status_make(allocation, p, status_before(self, pool), arena, &statuses[p]);
		field_own(gpu_pool_status_fields, &statuses[p], arena);
	}
	self->arena = !self->arena;
	self->statuses = statuses;
	self->names = names;
	self->uids = uids;
	self->count = count;
	pool_writer_allocated(self->writer, statuses, allocation);
	pool_metrics_allocated(self->metrics,
			       &(struct pool_metrics_allocation){
				       .names = names,
				       .statuses = statuses,
				       .count = count,
				       .cpu_us = cpu_us,
				       .monotonic_ms = loop_monotonic_ms(self->of.control->loop) });
}

/* ---- the feature ---- */

static void objects_changed(void *context)
{
	struct pool_feature *self = context;
	size_t count;

	control_ready(self->of.control);
	pools_changed(self->pools);
	(void)pool_objects_list(self->objects, &count);
	if (count == 0) /* perhaps none is allocated any longer */
		pool_metrics_allocated(self->metrics,
				       &(struct pool_metrics_allocation){ .count = 0 });
}

static void kueue_changed(void *context, const char *namespace_, const char *name)
{
	const struct pool_feature *self = context;

	pools_ray_cluster_changed(self->pools, namespace_, name);
	(void)control_wake(self->of.control, namespace_, name);
}

/* ---- Nodes ---- */

static uint64_t add_number(uint64_t hash, int64_t number)
{
	return hash_bytes(hash, &number, sizeof(number));
}

/* Of all that decides which Pods it holds. */
static uint64_t size_of(const struct node *node)
{
	uint64_t hash = add_number(HASH_START, node->unschedulable * 2 + node_match_is_ready(node));

	for (size_t i = 0; i < node->labels.count; i++)
		hash = hash_add(hash_add(hash, node->labels.at[i].key), node->labels.at[i].value);
	for (size_t i = 0; i < node->taint_count; i++)
		hash = hash_add(hash_add(hash_add(hash, node->taints[i].key),
					 node->taints[i].value),
				node->taints[i].effect);
	for (size_t i = 0; i < node->allocatable.count; i++)
		hash = add_number(hash_add(hash, node->allocatable.at[i].name),
				  node->allocatable.at[i].amount);
	return hash | 1; /* no value of the map is NULL */
}

/* The first version since there is a pool says nothing, unless it is a new Node. */
static void node_changed(void *context, const char *name, const struct node *node, bool added)
{
	struct pool_feature *self = context;
	uint64_t before, now = node ? size_of(node) : 0;

	if (!self->pools || !pools_count_nodes(self->pools)) {
		map_done(&self->sizes);
		self->sizes = MAP_INIT;
		return;
	}
	before = (uintptr_t)map_get(&self->sizes, name);
	if (node)
		map_set(&self->sizes, name, (void *)(uintptr_t)now);
	else
		(void)map_remove(&self->sizes, name);
	if (before != now && (before > 0 || added))
		capacity_watch_outdated(self->of.control->capacity_watch);
}

static void nodes_listed(void *context)
{
	const struct pool_feature *self = context;

	pools_nodes_listed(self->pools);
}

static bool known(const void *context)
{
	return pool_objects_known(((const struct pool_feature *)context)->objects);
}

/* In sidecar mode nothing is shared. */
static void begin(void *context)
{
	struct pool_feature *self = context;
	const struct control *control = self->of.control;

	if (options_sidecar(control->options))
		return;
	self->metrics = pool_metrics_new();
	self->pools = pools_new(control, &(struct pools_source){
						 .pools = list_pools,
						 .namespace_labels = namespace_labels,
						 .next_namespace = next_namespace,
						 .each = each,
						 .look = look,
						 .in_kueue = in_kueue,
						 .kueue_refused = kueue_refused,
						 .large = large,
						 .nodes = list_nodes,
						 .next_pod = next_pod,
						 .ready = ready,
						 .wake = wake,
						 .allocated = allocated,
						 .context = self,
						 .metrics = self->metrics,
						 .interval_ms = POOLS_INTERVAL_MS,
						 .settle_ms = POOLS_SETTLE_MS,
						 .settle_max_ms = POOLS_SETTLE_MAX_MS,
						 .lost_patch_ms = POOLS_LOST_PATCH_MS,
					 });
}

static void start(void *context)
{
	struct pool_feature *self = context;

	if (!self->pools)
		return;
	self->objects = pool_objects_new(self->of.control, &(struct pool_objects_callbacks){
								   .changed = objects_changed,
								   .kueue_changed = kueue_changed,
								   .context = self,
							   });
	self->writer = pool_writer_new(self->of.control, self->objects);
	capacity_watch_listen(self->of.control->capacity_watch, nodes_listed, self);
}

static void end(void *context)
{
	struct pool_feature *self = context;

	pools_free(self->pools);
	pool_writer_free(self->writer);
	pool_metrics_free(self->metrics);
	pool_objects_free(self->objects);
	map_done(&self->sizes);
	arena_done(&self->arenas[0]);
	arena_done(&self->arenas[1]);
}

static bool gpu_share(void *context, struct gpu_share *ret_share)
{
	struct pool_feature *self = context;

	*ret_share = (struct gpu_share){ &pools_hooks, self->pools };
	return self->pools;
}

static void pod_changed(void *context, const struct pod *old, const struct pod *new_object)
{
	const struct pool_feature *self = context;

	if (self->pools)
		pools_pod_changed(self->pools, old, new_object);
}

static void ray_cluster_changed(void *context, const char *namespace_, const char *name,
				bool deleted UNUSED)
{
	const struct pool_feature *self = context;

	if (self->pools)
		pools_ray_cluster_changed(self->pools, namespace_, name);
}

static void forget(void *context, const char *namespace_, const char *name)
{
	const struct pool_feature *self = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (self->metrics)
		pool_metrics_forget(self->metrics,
				    arena_printf(&scratch, "%s/%s", namespace_, name));
}

/* ---- metrics: a follower has none ---- */

static void write_metric(const struct pool_feature *self, enum pool_metric id,
			 struct metrics_family *family)
{
	if (self->metrics && leader_is_leading(self->of.control->leader))
		pool_metrics_write(self->metrics, id, loop_monotonic_ms(self->of.control->loop),
				   loop_wall(self->of.control->loop), family);
}

#define X(kind, identifier, ...)                                                                   \
	static void write_##identifier(const void *self, struct metrics_family *family)            \
	{                                                                                          \
		write_metric(self, POOL_METRIC_##identifier, family);                              \
	}
POOL_METRICS_TABLE(X)
#undef X

static const struct feature_metric metrics[] = {
#define X(kind, identifier, name, labels, help)                                                    \
	{ .row = { METRICS_##kind, name, labels, help }, .write_own = write_##identifier },
	POOL_METRICS_TABLE(X)
#undef X
};

const struct feature pools_feature = {
	.state_size = sizeof(struct pool_feature),
	.begin = begin,
	.end = end,
	.start = start,
	.known = known,
	.gpu_share = gpu_share,
	.forget = forget,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
	.pod_changed = pod_changed,
	.ray_cluster_changed = ray_cluster_changed,
	.node_changed = node_changed,
};
