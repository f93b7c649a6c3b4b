#include "feature/pools/ctl/pools.h"

#include <string.h>

#include "base/int64.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/node_json.h"
#include "core/decide/gate.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/pools/core/pool_ledger.h"
#include "feature/pools/ctl/pool_derived.h"
#include "net/loop.h"

/* Allocations take at most 1/REST of a processor, counted over BURST_MS: some asks that arrive together are
 * each answered at once. */
#define REST 10
#define BURST_MS 500
/* Asks again for the list of Nodes, which is kept while it is asked for, with the Pods that no watch has. */
#define NODES_AGAIN_MS 10000
#define NOT_READY_MS 1000
/* Between the last allocation and one for a change of holdings: while nothing waits, figures alone change. */
#define HOLDING_MS 100
#define CALM_MS 1000

/* One RayCluster, or Pods whose label names a RayCluster. */
struct pools_cluster {
	struct cluster_entry cluster;
	struct pool_entry entry;     /* ledger NULL: it is new */
	struct pool_derived derived; /* of the RayCluster in the cache */
	bool decided;                /* a decision was made since the start */
	bool expected;               /* its first decision is waited for */
	bool gone;                   /* nothing of the RayCluster is left */
};

struct pools {
	const struct control *control;
	struct pools_source source;
	struct pool_of_flags of_flags;
	bool has_flags;
	struct pool_ledger ledger;
	const struct gpu_pool **list; /* of the source, then that of the flags */
	const char **stopped;         /* by pool, as in a pool_input */
	const char **empty_queues;    /* by pool: the first that selects no namespace; NULL */
	uint64_t version;             /* of the list */
	const char *problem;          /* of all pools of the source; NULL: none */
	struct cluster_map clusters;
	struct loop_timer *timer;
	int64_t allocated_ms; /* of the last allocation, monotonic; INT64_MIN / 2: none yet */
	int64_t rested_ms;    /* when REST times the CPU time of all so far has passed, monotonic */
	int64_t started_ms;   /* of the first allocation, monotonic; 0: none yet */
};

static void time_is_due(void *context);

/* ---- clusters ---- */

static struct pools_cluster *cluster_of(struct pool_entry *entry)
{
	return (void *)((char *)entry - offsetof(struct pools_cluster, entry));
}

static void cluster_done(void *one)
{
	struct pools_cluster *own = one;

	pool_derived_done(&own->derived,
			  &(struct pool_derived_source){ .replaced = pool_entry_drop_arena,
							 .context = &own->entry });
	pool_entry_remove(&own->entry);
}

static struct pools_cluster *cluster_make(struct pools *pools, const char *namespace_,
					  const char *name)
{
	struct pools_cluster *own = cluster_map_make(&pools->clusters, namespace_, name);

	if (!own->entry.ledger)
		pool_entry_add(&pools->ledger, &own->entry, own->cluster.namespace_,
			       own->cluster.key);
	return own;
}

static struct pools *pools_of(const struct pools_cluster *own)
{
	return (void *)((char *)own->entry.ledger - offsetof(struct pools, ledger));
}

static void wake(const struct pools_cluster *own)
{
	const struct pools_source *source = &pools_of(own)->source;

	source->wake(source->context, own->cluster.namespace_, own->cluster.name);
}

/* The next allocation, so long after the last one. */
static int64_t next_ms(const struct pools *pools, int64_t after_ms)
{
	return int64_max(pools->allocated_ms + int64_max(after_ms, pools->source.interval_ms),
			 pools->rested_ms - BURST_MS);
}

/* An allocation is made then at the latest, in a turn of its own. */
static void allocate_by(struct pools *pools, int64_t due_ms)
{
	int64_t after_ms = due_ms - loop_monotonic_ms(pools->control->loop);

	loop_timer_start_sooner(pools->timer, int64_max(after_ms, 0));
}

static void allocate_soon(struct pools *pools)
{
	allocate_by(pools, next_ms(pools, 0));
}

/* For a change of holdings: while nothing waits it changes no grant. */
static void allocate_for_holding(struct pools *pools)
{
	bool calm = pools->ledger.allocation && !pools->ledger.allocation->waits;

	allocate_by(pools, next_ms(pools, calm ? CALM_MS : HOLDING_MS));
}

static bool is_used(const struct pools *pools)
{
	return pools->ledger.pool_count > 0;
}

/* ---- watchers ---- */

void pools_ray_cluster_changed(struct pools *pools, const char *namespace_, const char *name)
{
	if (!is_used(pools))
		return;
	pool_entry_note_change(&cluster_make(pools, namespace_, name)->entry);
	allocate_for_holding(pools);
}

/* NULL: it did not exist, or was deleted. */
static bool counts_alike(const struct pod *old, const struct pod *new_object)
{
	static const char *const labels[] = { LABEL_CLUSTER, LABEL_GROUP, LABEL_NODE_TYPE };

	if (!old || !new_object || old->deleting != new_object->deleting ||
	    strcmp(old->phase, new_object->phase) != 0)
		return false;
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		const char *a = labels_value(&old->labels, labels[i]);
		const char *b = labels_value(&new_object->labels, labels[i]);

		if (!a != !b || (a && strcmp(a, b) != 0))
			return false;
	}
	return pod_is_protected(old) == pod_is_protected(new_object);
}

/* alike: it counts as before, but the member of its RayCluster points to an object that was replaced. */
static void note_pod(struct pools *pools, const struct pod *pod, bool alike)
{
	const char *name = pod ? labels_value(&pod->labels, LABEL_CLUSTER) : NULL;

	if (name && alike)
		pool_entry_note_change(&cluster_make(pools, pod->namespace_, name)->entry);
	else if (name)
		pools_ray_cluster_changed(pools, pod->namespace_, name);
}

void pools_pod_changed(struct pools *pools, const struct pod *old, const struct pod *new_object)
{
	bool alike = counts_alike(old, new_object);

	if (!is_used(pools))
		return;
	pool_room_count(&pools->ledger.free, old, -1);
	pool_room_count(&pools->ledger.free, new_object, 1);
	note_pod(pools, old, alike);
	note_pod(pools, new_object, alike);
}

/* ---- pools ---- */

static const char *problem_of(const struct pools *pools, const struct gpu_pool *pool, bool counted)
{
	if (pool != &pools->of_flags.pool && pools->problem)
		return pools->problem;
	if (pool->problems.count > 0)
		return pool->problems.at[0];
	return counted ? NULL :
			 "the number of its GPUs is not known: set spec.gpus, or grant list and "
			 "watch of nodes";
}

static bool is_settling(const struct pools *pools)
{
	int64_t age_ms = loop_monotonic_ms(pools->control->loop) - pools->started_ms;

	if (age_ms < pools->source.settle_ms)
		return true;
	if (age_ms < pools->source.settle_max_ms)
		for (size_t i = 0; i < pools->clusters.map.count; i++) {
			const struct pools_cluster *own = pools->clusters.map.entries[i].value;

			if (own->expected && !own->decided)
				return true;
		}
	return false;
}

/* settling: nothing is granted for the moment. */
static void measure_pools(struct pools *pools, bool settling)
{
	struct pool_ledger *ledger = &pools->ledger;

	for (size_t p = 0; p < ledger->pool_count; p++) {
		const struct gpu_pool *pool = pools->list[p];
		bool counted = ledger->free_version > 0;
		const char *problem = problem_of(pools, pool, pool->has_gpus || counted);

		pools->stopped[p] =
			problem  ? problem :
			settling ? "rayscaler has started, and first reads what others wait for" :
				   NULL;
		ledger->capacities[p] = pool->has_gpus ? pool->gpus :
					counted        ? ledger->free.gpus[p] :
							 0;
	}
}

static void free_lists(struct pools *pools)
{
	memory_free(pools->list);
	memory_free(pools->stopped);
	memory_free(pools->empty_queues);
}

/* In its first namespace a queue is not empty. */
static const char *find_empty_queue(const struct pools *pools, const struct gpu_pool *pool)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool *selects = arena_array(&scratch, pool->queue_count + 1, sizeof(*selects));
	size_t left = pool->queue_count, at = 0;
	const struct namespace *one;

	while (left > 0 && (one = pools->source.next_namespace(pools->source.context, &at))) {
		size_t q = pool_match_queue(pool, &one->labels);

		left -= q < pool->queue_count && !selects[q];
		selects[q] = true;
	}
	for (size_t q = 0; q < pool->queue_count; q++)
		if (!selects[q])
			return pool->queues[q].name;
	return NULL;
}

static void read_pools(struct pools *pools)
{
	size_t count, all;
	const struct gpu_pool *const *list =
		pools->source.pools(pools->source.context, &count, &pools->problem);

	free_lists(pools);
	all = count + pools->has_flags;
	pools->list = memory_array(all + 1, sizeof(*pools->list));
	pools->stopped = memory_array(all + 1, sizeof(*pools->stopped));
	pools->empty_queues = memory_array(all + 1, sizeof(*pools->empty_queues));
	for (size_t i = 0; i < count; i++) {
		pools->list[i] = list[i];
		if (pools->source.next_namespace && !pools->problem)
			pools->empty_queues[i] = find_empty_queue(pools, list[i]);
	}
	if (pools->has_flags)
		pools->list[count] = &pools->of_flags.pool;
	pools->version++;
	pool_ledger_set_pools(&pools->ledger, pools->list, all);
	measure_pools(pools, false);
}

static void note_all(struct pools *pools)
{
	const struct pod *pod;
	size_t at = 0;

	pools->source.each(pools->source.context, pools);
	if (pools->source.next_pod)
		while ((pod = pools->source.next_pod(pools->source.context, &at)))
			note_pod(pools, pod, false);
}

void pools_changed(struct pools *pools)
{
	bool was_used = is_used(pools);

	read_pools(pools);
	if (!is_used(pools)) {
		cluster_map_done(&pools->clusters);
		pool_room_done(&pools->ledger.free);
		return;
	}
	if (!was_used)
		note_all(pools);
	allocate_soon(pools);
}

bool pools_count_nodes(const struct pools *pools)
{
	return pools->ledger.pool_count > pools->has_flags;
}

void pools_nodes_listed(struct pools *pools)
{
	if (pools_count_nodes(pools))
		allocate_for_holding(pools);
}

static void share_changed(struct pool_entry *entry)
{
	if (entry->ledger->allocation->shares[entry->index].gives)
		wake(cluster_of(entry));
}

struct pools *pools_new(const struct control *control, const struct pools_source *source)
{
	const struct options *options = control->options;
	struct pools *pools = memory_alloc(sizeof(*pools));

	pools->control = control;
	pools->source = *source;
	pools->has_flags = options->max_gpus_total > 0 || options->max_gpus_per_namespace > 0;
	pool_of_flags_init(&pools->of_flags, options->max_gpus_total * RESOURCE_UNIT,
			   options->max_gpus_per_namespace * RESOURCE_UNIT);
	pools->clusters = CLUSTER_MAP_INIT(struct pools_cluster, cluster_done);
	pools->ledger.settings = &options->settings;
	pools->ledger.namespace_labels = source->namespace_labels;
	pools->ledger.changed = share_changed;
	pools->ledger.context = source->context;
	pools->allocated_ms = INT64_MIN / 2;
	pools->timer = loop_timer_new(control->loop, time_is_due, pools);
	read_pools(pools);
	return pools;
}

void pools_free(struct pools *pools)
{
	if (!pools)
		return;
	cluster_map_done(&pools->clusters);
	pool_ledger_done(&pools->ledger);
	loop_timer_free(pools->timer);
	free_lists(pools);
	memory_free(pools);
}

/* ---- counting ---- */

static void groups_are_made(void *context)
{
	struct pool_entry *entry = context;

	pool_entry_note_change(entry);
	allocate_for_holding(pools_of(cluster_of(entry)));
	wake(cluster_of(entry));
}

static struct pool_derived_source derived_source(const struct pools *pools,
						 struct pools_cluster *own)
{
	const struct pools_source *source = &pools->source;

	return (struct pool_derived_source){
		.control = pools->control,
		.pools = pools->list,
		.pool_count = pools->ledger.pool_count,
		.version = pools->version,
		.small = !source->large || !source->large(source->context, own->cluster.namespace_,
							  own->cluster.name),
		.made = groups_are_made,
		.replaced = pool_entry_drop_arena,
		.context = &own->entry,
	};
}

size_t pools_derived(const struct pools *pools)
{
	size_t made = 0;

	for (size_t i = 0; i < pools->clusters.map.count; i++)
		made += ((const struct pools_cluster *)pools->clusters.map.entries[i].value)
				->derived.made;
	return made;
}

static bool in_kueue(const struct pools *pools, const struct ray_cluster *cluster)
{
	const struct pools_source *source = &pools->source;

	return cluster && source->in_kueue && source->in_kueue(source->context, cluster->uid);
}

/* Those of a pass. */
static struct pool_entry_objects objects_of(const struct pools *pools, struct pools_cluster *own,
					    const struct gpu_share_objects *objects,
					    struct arena *arena)
{
	const struct pool_derived_source source = derived_source(pools, own);

	return (struct pool_entry_objects){
		.cluster = objects->cluster,
		.groups = own->entry.unreadable ? NULL :
						  pool_derived_find(&own->derived, &source,
								    objects->cluster, arena),
		.pods = objects->pods,
		.pod_count = objects->pod_count,
		.in_kueue = in_kueue(pools, objects->cluster),
	};
}

/* One that is not scaled asks for nothing: it would launch nothing. */
static bool is_scaled(const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct snapshot alone = { .cluster = *cluster };

	return !gate_check(&alone, &scratch).reason;
}

static void recount(struct pools *pools, struct pools_cluster *own)
{
	const struct pool_derived_source source = derived_source(pools, own);
	struct gpu_share_objects objects = { .cluster = NULL };
	const struct pool_groups *groups = NULL;
	bool held = own->entry.member.value != NULL, unreadable = false, scaled;

	pools->source.look(pools->source.context, own->cluster.namespace_, own->cluster.name,
			   &objects, &unreadable);
	if (objects.cluster)
		groups = pool_derived_update(&own->derived, &source, objects.cluster);
	if (!groups) { /* or they are not known yet */
		unreadable |= objects.cluster != NULL;
		objects.cluster = NULL;
	}
	pool_entry_count(&own->entry,
			 &(struct pool_entry_objects){ objects.cluster, groups, objects.pods,
						       objects.pod_count,
						       in_kueue(pools, objects.cluster) },
			 unreadable);
	if (unreadable && held)
		return;
	scaled = objects.cluster && is_scaled(objects.cluster);
	if (!scaled && !unreadable)
		pool_entry_note_unscaled(&own->entry);
	own->expected = scaled && own->entry.draws;
	own->gone = !objects.cluster && !unreadable && objects.pod_count == 0;
}

/* Recounts changed entries, and drops patches that no longer count. */
static void settle(struct pools *pools)
{
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);

	pools->ledger.devices = device_view_table(pools->control);
	LIST_EACH(struct pools_cluster, own, &pools->ledger.open, entry.open) {
		pool_entry_expire_patches(&own->entry, now_ms);
		if (own->entry.changed)
			recount(pools, own);
		if (!own->entry.patches && !own->gone)
			list_remove(&own->entry.open);
	}
}

/* The last allocation has the names of its entries. */
static void forget_gone(struct pools *pools)
{
	LIST_EACH(struct pools_cluster, own, &pools->ledger.open, entry.open)
		if (own->gone)
			cluster_map_remove(&pools->clusters, own->cluster.namespace_,
					   own->cluster.name);
}

/* ---- allocating ---- */

/* The cache has the Pod, so its changes are counted one by one. */
static bool is_cached(const struct pools *pools, const struct pod *pod)
{
	const char *watched = pools->control->options->namespace_;

	return labels_value(&pod->labels, LABEL_CLUSTER) &&
	       (*watched == '\0' || strcmp(watched, pod->namespace_) == 0);
}

static void count_pods(struct pools *pools, const struct inventory_list *list)
{
	const struct pod *pod;
	size_t at = 0;

	for (size_t i = 0; i < list->pod_count; i++)
		if (!is_cached(pools, &list->pods[i]))
			pool_room_count(&pools->ledger.free, &list->pods[i], 1);
	while ((pod = pools->source.next_pod(pools->source.context, &at)))
		pool_room_count(&pools->ledger.free, pod, 1);
}

/* Nodes decide on the pool of groups that no pool matches. */
static void recount_strays(struct pools *pools)
{
	LIST_EACH(struct pool_entry, entry, &pools->ledger.entries, item) {
		const struct pool_member *member = entry->member.value;

		if (member && member->strays)
			pool_entry_note_change(entry);
	}
}

static void read_nodes(struct pools *pools)
{
	struct pool_ledger *ledger = &pools->ledger;
	const struct inventory_list *list = pools_count_nodes(pools) && pools->source.nodes ?
						    pools->source.nodes(pools->source.context) :
						    NULL;

	if (!list)
		ledger->free_version = 0;
	if (!list || list->version == ledger->free_version)
		return;
	pool_room_make(&ledger->free,
		       &(struct pool_room_input){ .pools = ledger->pools,
						  .pool_count = ledger->pool_count,
						  .nodes = list->nodes,
						  .node_count = list->node_count,
						  .settings = ledger->settings,
						  .devices = device_view_table(pools->control),
						  .node_fields = node_fields });
	ledger->free_version = list->version;
	count_pods(pools, list);
	recount_strays(pools);
}

static void start_next(struct pools *pools, int64_t took_us)
{
	const struct pool_allocation *allocation = pools->ledger.allocation;
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);
	int64_t after_ms = allocation->next == INT64_MAX ?
				   INT64_MAX :
				   allocation->next - allocation->input->now;

	if (after_ms > NODES_AGAIN_MS && pools_count_nodes(pools))
		after_ms = NODES_AGAIN_MS;
	pools->allocated_ms = now_ms;
	pools->rested_ms = int64_max(pools->rested_ms, now_ms) + took_us * REST / 1000;
	if (is_settling(pools))
		after_ms = HOLDING_MS;
	loop_timer_stop(pools->timer);
	if (after_ms < INT64_MAX)
		allocate_by(pools, next_ms(pools, after_ms));
}

static bool kueue_refused(const struct pools *pools)
{
	const struct pools_source *source = &pools->source;

	return source->kueue_refused && source->kueue_refused(source->context);
}

static void allocate(struct pools *pools)
{
	int64_t begun_us = loop_cpu_us(), took_us;
	bool settling;

	if (pools->started_ms == 0)
		pools->started_ms = loop_monotonic_ms(pools->control->loop);
	read_nodes(pools);
	settle(pools);
	forget_gone(pools);
	settling = is_settling(pools);
	measure_pools(pools, settling);
	pool_ledger_allocate(&pools->ledger,
			     &(struct pool_input){ .stopped = pools->stopped,
						   .settling = settling,
						   .empty_queues = pools->empty_queues,
						   .kueue_refused = kueue_refused(pools),
						   .per_namespace = pools->of_flags.per_namespace,
						   .now = loop_wall(pools->control->loop) });
	took_us = loop_cpu_us() - begun_us;
	if (pools->source.allocated)
		pools->source.allocated(pools->source.context, pools->ledger.allocation, took_us);
	start_next(pools, took_us);
}

static bool may_allocate(const struct pools *pools)
{
	return loop_monotonic_ms(pools->control->loop) >= next_ms(pools, 0);
}

static void time_is_due(void *context)
{
	struct pools *pools = context;

	if (!is_used(pools))
		return;
	if (!pools->source.ready || pools->source.ready(pools->source.context))
		allocate(pools);
	else
		allocate_by(pools, loop_monotonic_ms(pools->control->loop) + NOT_READY_MS);
}

/* ---- a pass ---- */

/* A new one where the caches do not show the RayCluster: allocate() forgets those. */
static struct pools_cluster *cluster_in(struct pools *pools,
					const struct gpu_share_objects *objects)
{
	return cluster_make(pools, objects->cluster->namespace_, objects->cluster->name);
}

static const struct pool_terms *terms(void *self, const struct gpu_share_objects *objects,
				      struct arena *arena)
{
	struct pools *pools = self;
	struct pools_cluster *own;
	struct pool_entry_objects known;

	if (!is_used(pools))
		return NULL;
	settle(pools);
	own = cluster_in(pools, objects);
	known = objects_of(pools, own, objects, arena);
	return pool_entry_terms(&own->entry, &known, arena);
}

static void count_releases(const struct pools *pools, const struct pools_cluster *own,
			   const struct plan *plan)
{
	const struct labels *labels =
		pools->source.namespace_labels(pools->source.context, own->cluster.namespace_);

	if (pools->source.metrics && own->entry.member.value)
		pool_metrics_decided(pools->source.metrics, pools->list,
				     pools->ledger.pool_count - pools->has_flags,
				     own->entry.member.value,
				     labels ? labels : &(struct labels){ .count = 0 }, plan);
}

static bool decided(void *self, const struct gpu_share_objects *objects, const struct plan *plan,
		    bool knows_demand, time_ms now)
{
	struct pools *pools = self;
	struct pools_cluster *own;
	bool asks, changed;
	uint64_t digest;

	if (!is_used(pools))
		return false;
	own = cluster_in(pools, objects);
	digest = own->entry.digest;
	asks = !own->decided;
	own->decided = true;
	changed = pool_entry_note_plan(&own->entry, plan, objects->cluster, knows_demand, now);
	asks |= (changed || pool_entry_is_outdated(&own->entry)) && plan->asks.count > 0;
	if (asks && may_allocate(pools))
		allocate(pools);
	else if (asks)
		allocate_soon(pools);
	else if (changed)
		allocate_for_holding(pools);
	own = cluster_in(pools, objects);
	count_releases(pools, own, plan);
	return own->entry.index != SIZE_MAX && own->entry.digest != digest &&
	       pools->ledger.allocation->shares[own->entry.index].gives;
}

/* The replicas that the patch sets; those of the spec for groups that it does not change. */
static int64_t *patched_replicas(const struct ray_cluster *cluster, const struct plan *plan,
				 struct arena *arena)
{
	int64_t *replicas = arena_array(arena, cluster->group_count, sizeof(*replicas));

	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct plan_group *group = g < plan->groups.count ? &plan->groups.at[g] :
									  NULL;

		replicas[g] = group && group->patch_replicas != group->replicas ?
				      group->patch_replicas :
				      cluster->groups[g].replicas;
	}
	return replicas;
}

static bool fits(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	struct pools *pools = self;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct pools_cluster *own;
	struct pool_entry_objects known;

	if (!is_used(pools))
		return true;
	settle(pools);
	own = cluster_in(pools, objects);
	known = objects_of(pools, own, objects, &scratch);
	return pool_entry_fits(&own->entry, &known,
			       patched_replicas(objects->cluster, plan, &scratch));
}

static void sent(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	struct pools *pools = self;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct pools_cluster *own;

	if (!is_used(pools))
		return;
	own = cluster_in(pools, objects);
	pool_entry_sent(&own->entry, objects->cluster,
			patched_replicas(objects->cluster, plan, &scratch),
			loop_monotonic_ms(pools->control->loop) + pools->source.lost_patch_ms +
				pools->control->options->kube_api_timeout_seconds * MS_PER_SECOND);
	if (pools->source.metrics)
		pool_metrics_sent(pools->source.metrics, own->cluster.key, plan);
	allocate_for_holding(pools);
}

static bool is_refusal(const struct err *err)
{
	return err->kind == ERR_CONFLICT || err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND ||
	       err->kind == ERR_INPUT;
}

static void answered(void *self, const char *namespace_, const char *name, const struct err *err,
		     int64_t generation)
{
	struct pools *pools = self;
	struct pools_cluster *own;

	if (!is_used(pools))
		return;
	own = cluster_make(pools, namespace_, name);
	if (!err)
		pool_entry_accepted(&own->entry, generation);
	else if (is_refusal(err))
		pool_entry_refused(&own->entry);
	if (pools->source.metrics)
		pool_metrics_answered(pools->source.metrics, own->cluster.key, !err);
	/* The cache may have received the patched object before the answer. */
	pool_entry_note_change(&own->entry);
	if (err)
		allocate_soon(pools);
	else
		allocate_for_holding(pools);
}

/* ---- the quotas of the flags ---- */

/* The total, then each namespace in the order of its first RayCluster. */
static const struct gpu_share_figure *figures(void *self, struct arena *arena, size_t *ret_count)
{
	struct pools *pools = self;
	const struct options *options = pools->control->options;
	VEC(struct gpu_share_figure) list = { .at = NULL };
	struct map spaces = MAP_INIT; /* to the index in the list + 1 */
	size_t pool = pools->ledger.pool_count - 1;

	settle(pools);
	if (options->max_gpus_total > 0)
		VEC_PUSH(arena, &list,
			 ((struct gpu_share_figure){ "total", "",
						     options->max_gpus_total * RESOURCE_UNIT,
						     int64_saturated(pools->ledger.held[pool]) }));
	size_t listed = options->max_gpus_per_namespace > 0 ? pools->clusters.map.count : 0;

	for (size_t i = 0; i < listed; i++) {
		const struct pools_cluster *own = pools->clusters.map.entries[i].value;
		uintptr_t index = (uintptr_t)map_get(&spaces, own->cluster.namespace_);

		if (own->gone)
			continue;
		if (index == 0) {
			VEC_PUSH(arena, &list,
				 ((struct gpu_share_figure){
					 "namespace", arena_strdup(arena, own->cluster.namespace_),
					 options->max_gpus_per_namespace * RESOURCE_UNIT, 0 }));
			index = list.count;
			map_set(&spaces, own->cluster.namespace_, (void *)index);
		}
		list.at[index - 1].counted = resource_sum(list.at[index - 1].counted,
							  pool_entry_held(&own->entry, pool));
	}
	map_done(&spaces);
	*ret_count = list.count;
	return list.at;
}

const struct gpu_share_hooks pools_hooks = {
	.terms = terms,
	.decided = decided,
	.fits = fits,
	.sent = sent,
	.answered = answered,
	.figures = figures,
};
