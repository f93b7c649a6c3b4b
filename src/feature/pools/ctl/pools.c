#include "feature/pools/ctl/pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/decide/gate.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/pools/ctl/pool_derived.h"
#include "net/loop.h"

/* Allocations take at most 1/REST of a processor, counted over BURST_MS: some asks that arrive together are
 * each answered at once. */
#define REST 10
#define BURST_MS 500
/* Nodes may have changed: nothing says so. */
#define NODES_AGAIN_MS 10000
#define NOT_READY_MS 1000
/* Between the last allocation and one for a change of holdings: while nothing waits, figures alone change. */
#define HOLDING_MS 100
#define CALM_MS 1000

/* A patch in flight, without an answer, or accepted and not yet in the caches. */
struct pool_patch {
	struct pool_patch *older;
	int64_t until_ms, generation; /* generation 0: it was not accepted */
	size_t group_count;
	struct {
		int64_t replicas, launched;
	} groups[];
};

/* A value in a block of its size. */
struct kept {
	struct arena_block *block;
	void *value; /* NULL: none */
};

/* One RayCluster, or Pods whose label names a RayCluster. */
struct pool_entry {
	struct cluster_entry cluster;
	struct pools *pools; /* NULL: it is new */
	/* struct pool_member, pool_asks, pool_drains, and pool_report of its last decision. */
	struct kept member, asks, drains, report;
	struct pool_derived derived; /* of the RayCluster in the cache */
	struct pool_patch *patches;  /* the newest first */
	char *sent_uid;              /* uid for the generation; NULL: no patch yet */
	size_t index;                /* in the last allocation; SIZE_MAX: it is not there */
	uint64_t digest;             /* of its share of the last allocation */
	bool draws;                  /* it holds GPUs of a pool or may ask for some */
	bool leads;                  /* of those that draw, the first of its namespace */
	bool spent;                  /* its grants of the last allocation are used by a patch */
	bool decided;                /* a decision was made since the start */
	bool unreadable; /* or its groups are not known yet: its last member is used, without groups */
	bool expected; /* its first decision is waited for */
	bool changed;
	bool gone;        /* nothing of the RayCluster is left */
	uint64_t located; /* free_version for which the Nodes of its Pods were found; 0: none */
	struct list_item open; /* to be looked at before the next allocation */
};

struct pools {
	const struct control *control;
	struct pools_source source;
	struct pool_of_flags of_flags;
	bool has_flags;
	const struct gpu_pool **list; /* of the source, then that of the flags */
	int64_t *capacities;          /* by pool */
	const char **problems;        /* by pool: why it is held; NULL */
	const char **empty_queues;    /* by pool: the first that selects no namespace; NULL */
	struct pool_past *pasts;      /* by pool */
	size_t count;
	uint64_t version;    /* of the list */
	const char *problem; /* of all pools of the source; NULL: none */
	struct cluster_map entries;
	struct pool_entry *
		*drawing; /* the entries that draw, sorted by key; NULL: to be listed again */
	size_t drawing_count;
	__int128 *held; /* by pool: the sum of all entries */
	struct list open;
	struct pool_free free;
	uint64_t free_version;                    /* of the Nodes in it; 0: none */
	struct arena arena;                       /* of the last allocation */
	const struct pool_allocation *allocation; /* NULL: none yet */
	/* Values of its entries that were replaced since. */
	struct arena replaced_arena;
	VEC(struct arena) replaced;
	struct loop_timer *timer;
	int64_t due_ms;       /* of the timer, monotonic; INT64_MAX: it is not set */
	int64_t allocated_ms; /* monotonic, as the next three */
	int64_t rested_ms;    /* REST times the CPU time of all so far has passed */
	int64_t next_ms;      /* the next one at the earliest */
	int64_t started_ms;   /* monotonic; 0: nothing was asked yet */
};

static void time_is_due(void *context);

/* ---- kept values ---- */

/* The memory of a value that the last allocation uses stays until the next one. */
static void drop_arena(void *context, struct arena arena)
{
	const struct pool_entry *entry = context;
	struct pools *pools = entry->pools;

	if (entry->index != SIZE_MAX)
		VEC_PUSH(&pools->replaced_arena, &pools->replaced, arena);
	else
		arena_done(&arena);
}

static void drop(struct pool_entry *entry, struct kept *kept)
{
	drop_arena(entry, (struct arena){ .head = kept->block });
	*kept = (struct kept){ .value = NULL };
}

#define KEEP(entry, kept, fields, new_value)                                                       \
	keep((entry), &(entry)->kept, (fields), (new_value), sizeof(*(new_value)))
static void keep(struct pool_entry *entry, struct kept *kept, const struct field *fields,
		 const void *value, size_t size)
{
	struct arena arena = ARENA_INIT;
	void *copy = field_keep(fields, value, size, SIZE_MAX, &arena);

	drop(entry, kept);
	*kept = (struct kept){ .block = arena.head, .value = copy };
}

/* A cluster that asks for nothing, and has no workers that others wait for, needs no memory for it. */
static void keep_asks(struct pool_entry *entry, const struct pool_asks *asks)
{
	static struct pool_asks none;

	if (asks->list.count > 0 || asks->rests_until > 0 || asks->held_since != 0 ||
	    asks->wasted_until > 0) {
		KEEP(entry, asks, pool_asks_fields, asks);
		return;
	}
	drop(entry, &entry->asks);
	entry->asks.value = &none;
}

static void free_replaced(struct pools *pools)
{
	VEC_EACH(struct arena, arena, &pools->replaced)
		arena_done(arena);
	pools->replaced.at = NULL;
	pools->replaced.count = pools->replaced.capacity = 0;
	arena_done(&pools->replaced_arena);
}

/* ---- entries ---- */

/* Drops the patches for which `over` is true; true: there were some. */
static bool drop_patches(struct pool_entry *entry,
			 bool (*over)(const struct pool_patch *patch, int64_t limit), int64_t limit)
{
	bool dropped = false;

	for (struct pool_patch **at = &entry->patches; *at;) {
		struct pool_patch *patch = *at;

		if (over && !over(patch, limit)) {
			at = &patch->older;
			continue;
		}
		*at = patch->older;
		memory_free(patch);
		dropped = true;
	}
	return dropped;
}

/* The GPUs that it holds in a pool; limited: of those the ones that the pool limits. */
static int64_t held_in(const struct pool_member *member, size_t pool, bool limited)
{
	int64_t sum = 0;

	if (member)
		VEC_EACH(const struct pool_worker, worker, &member->workers)
			if (worker->pool == pool && !(limited && worker->outside))
				sum = resource_sum(sum, worker->gpus);
	return sum;
}

/* Replaces what the entry holds; NULL: nothing. */
static void set_member(struct pool_entry *entry, const struct pool_member *member)
{
	struct pools *pools = entry->pools;
	bool draws = member && pool_member_draws(member);

	for (size_t p = 0; p < pools->count; p++)
		pools->held[p] += held_in(member, p, false) -
				  (__int128)held_in(entry->member.value, p, false);
	if (draws != entry->draws)
		memory_free(steal(&pools->drawing));
	entry->draws = draws;
	if (member)
		KEEP(entry, member, pool_member_fields, member);
	else
		drop(entry, &entry->member);
}

static void entry_done(void *one)
{
	struct pool_entry *entry = one;

	list_remove(&entry->open);
	set_member(entry, NULL);
	drop(entry, &entry->asks);
	drop(entry, &entry->drains);
	drop(entry, &entry->report);
	pool_derived_done(&entry->derived, &(struct pool_derived_source){ .replaced = drop_arena,
									  .context = entry });
	(void)drop_patches(entry, NULL, 0);
	memory_free(entry->sent_uid);
}

static void note_change(struct pool_entry *entry)
{
	entry->changed = true;
	if (!entry->open.list)
		list_add(&entry->pools->open, &entry->open);
}

static struct pool_entry *entry_make(struct pools *pools, const char *namespace_, const char *name)
{
	struct pool_entry *entry = cluster_map_make(&pools->entries, namespace_, name);

	if (!entry->pools) {
		entry->pools = pools;
		entry->index = SIZE_MAX;
		note_change(entry);
	}
	return entry;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* An allocation is made then at the latest, in a turn of its own. */
static void allocate_by(struct pools *pools, int64_t due_ms)
{
	if (due_ms >= pools->due_ms)
		return;
	pools->due_ms = due_ms;
	loop_timer_start(pools->timer, larger(due_ms - loop_monotonic_ms(pools->control->loop), 0));
}

static void allocate_soon(struct pools *pools)
{
	allocate_by(pools, pools->next_ms);
}

/* For a change of holdings: while nothing waits it changes no grant. */
static void allocate_for_holding(struct pools *pools)
{
	bool calm = pools->allocation && !pools->allocation->waits;

	allocate_by(pools,
		    larger(pools->next_ms, pools->allocated_ms + (calm ? CALM_MS : HOLDING_MS)));
}

static bool is_used(const struct pools *pools)
{
	return pools->count > 0;
}

/* ---- watchers ---- */

void pools_ray_cluster_changed(struct pools *pools, const char *namespace_, const char *name)
{
	if (!is_used(pools))
		return;
	note_change(entry_make(pools, namespace_, name));
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
		note_change(entry_make(pools, pod->namespace_, name));
	else if (name)
		pools_ray_cluster_changed(pools, pod->namespace_, name);
}

void pools_pod_changed(struct pools *pools, const struct pod *old, const struct pod *new_object)
{
	bool alike = counts_alike(old, new_object);

	if (!is_used(pools))
		return;
	pool_free_count(&pools->free, old, -1);
	pool_free_count(&pools->free, new_object, 1);
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

static void measure_pools(struct pools *pools, const struct pool_free *free)
{
	for (size_t p = 0; p < pools->count; p++) {
		const struct gpu_pool *pool = pools->list[p];

		pools->problems[p] = problem_of(pools, pool, pool->has_gpus || free);
		pools->capacities[p] = pool->has_gpus ? pool->gpus : free ? free->gpus[p] : 0;
	}
}

static void free_lists(struct pools *pools)
{
	memory_free(pools->list);
	memory_free(pools->capacities);
	memory_free(pools->problems);
	memory_free(pools->empty_queues);
	memory_free(pools->pasts);
	memory_free(pools->held);
}

/* Those of pools that were there before stay. */
static void make_pasts(struct pools *pools, struct pool_past *old, size_t old_count)
{
	pools->pasts = memory_array(pools->count + 1, sizeof(*pools->pasts));
	for (size_t p = 0; p < pools->count; p++) {
		pools->pasts[p].pool = hash_text(pools->list[p]->name);
		for (size_t i = 0; i < old_count; i++)
			if (old[i].pool == pools->pasts[p].pool)
				pools->pasts[p] = old[i];
	}
	memory_free(old);
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

/* Every entry is counted again. */
static void read_pools(struct pools *pools)
{
	struct pool_past *pasts = steal(&pools->pasts);
	size_t count, old_count = pools->count;
	const struct gpu_pool *const *list =
		pools->source.pools(pools->source.context, &count, &pools->problem);
	size_t all = count + pools->has_flags;

	for (size_t i = 0; i < pools->entries.map.count; i++) {
		struct pool_entry *entry = pools->entries.map.entries[i].value;

		set_member(entry, NULL);
		entry->index = SIZE_MAX;
		note_change(entry);
	}
	free_lists(pools);
	pools->list = memory_array(all + 1, sizeof(*pools->list));
	pools->capacities = memory_array(all + 1, sizeof(*pools->capacities));
	pools->problems = memory_array(all + 1, sizeof(*pools->problems));
	pools->empty_queues = memory_array(all + 1, sizeof(*pools->empty_queues));
	pools->held = memory_array(all + 1, sizeof(*pools->held));
	for (size_t i = 0; i < count; i++) {
		pools->list[i] = list[i];
		if (pools->source.next_namespace && !pools->problem)
			pools->empty_queues[i] = find_empty_queue(pools, list[i]);
	}
	if (pools->has_flags)
		pools->list[count] = &pools->of_flags.pool;
	pools->count = all;
	pools->version++;
	make_pasts(pools, pasts, old_count);
	pools->free_version = 0;
	measure_pools(pools, NULL);
	pools->allocation = NULL;
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
		cluster_map_done(&pools->entries);
		pool_free_done(&pools->free);
		return;
	}
	if (!was_used)
		note_all(pools);
	allocate_soon(pools);
}

bool pools_count_nodes(const struct pools *pools)
{
	return pools->count > pools->has_flags;
}

void pools_nodes_listed(struct pools *pools)
{
	if (pools_count_nodes(pools))
		allocate_for_holding(pools);
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
	pools->entries = CLUSTER_MAP_INIT(struct pool_entry, entry_done);
	pools->due_ms = INT64_MAX;
	pools->timer = loop_timer_new(control->loop, time_is_due, pools);
	read_pools(pools);
	return pools;
}

void pools_free(struct pools *pools)
{
	if (!pools)
		return;
	cluster_map_done(&pools->entries);
	pool_free_done(&pools->free);
	free_replaced(pools);
	loop_timer_free(pools->timer);
	arena_done(&pools->arena);
	memory_free(pools->drawing);
	free_lists(pools);
	memory_free(pools);
}

/* ---- counting ---- */

static int64_t patched(const struct pool_entry *entry, size_t group, int64_t replicas)
{
	for (const struct pool_patch *patch = entry->patches; patch; patch = patch->older)
		if (group < patch->group_count)
			replicas = larger(replicas, patch->groups[group].replicas);
	return replicas;
}

static void groups_are_made(void *context)
{
	struct pool_entry *entry = context;
	struct pools *pools = entry->pools;

	note_change(entry);
	allocate_for_holding(pools);
	pools->source.wake(pools->source.context, entry->cluster.namespace_, entry->cluster.name);
}

static struct pool_derived_source derived_source(const struct pools *pools,
						 struct pool_entry *entry)
{
	const struct pools_source *source = &pools->source;

	return (struct pool_derived_source){
		.control = pools->control,
		.pools = pools->list,
		.pool_count = pools->count,
		.version = pools->version,
		.small = !source->large ||
			 !source->large(source->context, entry->cluster.namespace_,
					entry->cluster.name),
		.made = groups_are_made,
		.replaced = drop_arena,
		.context = entry,
	};
}

size_t pools_derived(const struct pools *pools)
{
	size_t made = 0;

	for (size_t i = 0; i < pools->entries.map.count; i++)
		made += ((const struct pool_entry *)pools->entries.map.entries[i].value)
				->derived.made;
	return made;
}

/* Of the RayCluster of a pass; NULL: not known yet. */
static const struct pool_groups *groups_of(const struct pools *pools, struct pool_entry *entry,
					   const struct gpu_share_objects *objects,
					   struct arena *arena)
{
	const struct pool_derived_source source = derived_source(pools, entry);

	return entry->unreadable ?
		       NULL :
		       pool_derived_find(&entry->derived, &source, objects->cluster, arena);
}

/* replicas: by group, instead of those of the RayCluster; NULL: those. */
static const struct pool_member *make_member(const struct pools *pools,
					     const struct pool_entry *entry,
					     const struct gpu_share_objects *objects,
					     const struct pool_groups *groups,
					     const int64_t *replicas, struct arena *arena)
{
	return pool_member_make(
		&(struct pool_member_input){ .namespace_ = entry->cluster.namespace_,
					     .key = entry->cluster.key,
					     .cluster = objects->cluster,
					     .groups = groups,
					     .pods = objects->pods,
					     .pod_count = objects->pod_count,
					     .replicas = replicas,
					     .report = entry->report.value,
					     .drains = entry->drains.value,
					     .pools = pools->list,
					     .pool_count = pools->count,
					     .settings = &pools->control->options->settings,
					     .devices = device_view_table(pools->control),
					     .free = pools->free_version > 0 ? &pools->free :
									       NULL },
		arena);
}

static const struct pool_member *count_member(const struct pools *pools,
					      const struct pool_entry *entry,
					      const struct gpu_share_objects *objects,
					      const struct pool_groups *groups, struct arena *arena)
{
	size_t count = objects->cluster ? objects->cluster->group_count : 0;
	int64_t *replicas = arena_array(arena, count, sizeof(*replicas));

	for (size_t g = 0; g < count; g++)
		replicas[g] = patched(entry, g, objects->cluster->groups[g].replicas);
	return make_member(pools, entry, objects, groups, replicas, arena);
}

/* One that is not scaled asks for nothing: it would launch nothing. */
static bool is_scaled(const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct snapshot alone = { .cluster = *cluster };

	return !gate_check(&alone, &scratch).reason;
}

/* The caches show the accepted patch. */
static bool is_shown(const struct pool_patch *patch, int64_t generation)
{
	return patch->generation > 0 && generation >= patch->generation;
}

/* An accepted patch is counted until the caches show it, however long a watch hangs; a patch
 * without an answer, or without a generation in it, is counted for a limited time. */
static bool is_over(const struct pool_patch *patch, int64_t now_ms)
{
	bool accepted = patch->generation > 0 && patch->generation < INT64_MAX;

	return !accepted && now_ms >= patch->until_ms;
}

static void forget_pods(struct pool_member *member)
{
	VEC_EACH(struct pool_worker, worker, &member->workers)
		VEC_EACH(struct pool_pod, pod, &worker->pods)
			pod->pod = NULL;
}

static void recount(struct pools *pools, struct pool_entry *entry)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_derived_source source = derived_source(pools, entry);
	struct gpu_share_objects objects = { .cluster = NULL };
	struct pool_member *last = entry->member.value;
	const struct pool_groups *groups = NULL;
	const struct pool_member *member;
	bool unreadable = false, scaled;

	entry->changed = false;
	entry->located = 0;
	pools->source.look(pools->source.context, entry->cluster.namespace_, entry->cluster.name,
			   &objects, &unreadable);
	if (objects.cluster)
		groups = pool_derived_update(&entry->derived, &source, objects.cluster);
	entry->unreadable = unreadable || (objects.cluster && !groups);
	if (entry->unreadable && last) {
		last->group_count = 0; /* their specs are those of an object that is freed */
		forget_pods(last);
		return; /* at least its last amount */
	}
	if (!objects.cluster && !unreadable)
		(void)drop_patches(entry, NULL, 0);
	else if (objects.cluster && entry->sent_uid) /* or another RayCluster of this name */
		(void)drop_patches(entry, is_shown,
				   strcmp(objects.cluster->uid, entry->sent_uid) == 0 ?
					   objects.cluster->generation :
					   INT64_MAX);
	if (entry->unreadable)
		objects.cluster = NULL;
	member = count_member(pools, entry, &objects, groups, &scratch);
	set_member(entry, member);
	scaled = objects.cluster && is_scaled(objects.cluster);
	if (!scaled && !entry->unreadable && entry->asks.value)
		keep_asks(entry, &pool_asks_unknown);
	entry->expected = scaled && pool_member_draws(member);
	entry->gone = !objects.cluster && !entry->unreadable && objects.pod_count == 0;
}

/* Recounts changed entries, and drops patches that no longer count. */
static void settle(struct pools *pools)
{
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);

	LIST_EACH(struct pool_entry, entry, &pools->open, open) {
		entry->changed |= drop_patches(entry, is_over, now_ms);
		if (entry->changed)
			recount(pools, entry);
		if (!entry->patches && !entry->gone)
			list_remove(&entry->open);
	}
}

/* The last allocation has the names of its entries. */
static void forget_gone(struct pools *pools)
{
	LIST_EACH(struct pool_entry, entry, &pools->open, open)
		if (entry->gone)
			cluster_map_remove(&pools->entries, entry->cluster.namespace_,
					   entry->cluster.name);
}

/* ---- allocating ---- */

static int by_key(const void *left, const void *right)
{
	return strcmp((*(struct pool_entry *const *)left)->cluster.key,
		      (*(struct pool_entry *const *)right)->cluster.key);
}

static bool is_settling(const struct pools *pools)
{
	int64_t age_ms = loop_monotonic_ms(pools->control->loop) - pools->started_ms;

	if (age_ms < pools->source.settle_ms)
		return true;
	if (age_ms < pools->source.settle_max_ms)
		for (size_t i = 0; i < pools->entries.map.count; i++) {
			const struct pool_entry *entry = pools->entries.map.entries[i].value;

			if (entry->expected && !entry->decided)
				return true;
		}
	return false;
}

/* An entry that does not draw is in no allocation. */
static void list_drawing(struct pools *pools)
{
	size_t all = pools->entries.map.count;

	if (pools->drawing)
		return;
	pools->drawing = memory_array(all + 1, sizeof(*pools->drawing));
	pools->drawing_count = 0;
	for (size_t i = 0; i < all; i++) {
		struct pool_entry *entry = pools->entries.map.entries[i].value;

		entry->index = SIZE_MAX;
		if (entry->draws)
			pools->drawing[pools->drawing_count++] = entry;
	}
	qsort(pools->drawing, pools->drawing_count, sizeof(*pools->drawing), by_key);
	for (size_t i = 0; i < pools->drawing_count; i++)
		pools->drawing[i]->leads = i == 0 ||
					   strcmp(pools->drawing[i - 1]->cluster.namespace_,
						  pools->drawing[i]->cluster.namespace_) != 0;
}

static void count_pods(struct pools *pools, const struct inventory_list *list)
{
	const struct pod *pod;
	size_t at = 0;

	for (size_t i = 0; i < list->pod_count; i++)
		pool_free_count(&pools->free, &list->pods[i], 1);
	while ((pod = pools->source.next_pod(pools->source.context, &at)))
		pool_free_count(&pools->free, pod, 1);
}

/* Nodes decide on the pool of groups that no pool matches. */
static void recount_strays(struct pools *pools)
{
	for (size_t i = 0; i < pools->entries.map.count; i++) {
		struct pool_entry *entry = pools->entries.map.entries[i].value;
		const struct pool_member *member = entry->member.value;

		if (member && member->strays)
			note_change(entry);
	}
}

/* NULL: not known. */
static const struct pool_free *read_nodes(struct pools *pools)
{
	const struct inventory_list *list = pools_count_nodes(pools) && pools->source.nodes ?
						    pools->source.nodes(pools->source.context) :
						    NULL;
	const struct options *options = pools->control->options;

	if (list && list->version != pools->free_version) {
		pool_free_make(
			&pools->free,
			&(struct pool_free_input){ .pools = pools->list,
						   .pool_count = pools->count,
						   .nodes = list->nodes,
						   .node_count = list->node_count,
						   .settings = &options->settings,
						   .devices = device_view_table(pools->control) });
		pools->free_version = list->version;
		count_pods(pools, list);
		recount_strays(pools);
	}
	measure_pools(pools, list ? &pools->free : NULL);
	return list ? &pools->free : NULL;
}

static void fill_input(struct pools *pools, const struct pool_free *free,
		       struct pool_input *ret_input)
{
	static const struct labels no_labels;
	struct arena *arena = &pools->arena;
	bool settling = is_settling(pools);
	size_t count = pools->drawing_count;
	const struct pool_member **members = arena_array(arena, count, sizeof(*members));
	const struct pool_asks **asks = arena_array(arena, count, sizeof(*asks));
	struct labels *labels = arena_array(arena, count, sizeof(*labels));
	const char **held = arena_array(arena, pools->count, sizeof(*held));
	const struct labels *own = NULL; /* of the namespace, whose members follow each other */

	for (size_t i = 0; i < count; i++) {
		struct pool_entry *entry = pools->drawing[i];

		if (entry->leads)
			own = pools->source.namespace_labels(pools->source.context,
							     entry->cluster.namespace_);
		entry->index = i;
		entry->spent = false;
		if (free && entry->located != pools->free_version)
			pool_member_locate(entry->member.value, free);
		entry->located = pools->free_version;
		members[i] = entry->member.value;
		asks[i] = entry->asks.value && !entry->unreadable ? entry->asks.value :
								    &pool_asks_unknown;
		labels[i] = own ? *own : no_labels;
	}
	for (size_t p = 0; p < pools->count; p++)
		held[p] = pools->problems[p] ? pools->problems[p] :
			  settling ? "rayscaler has started, and first reads what others wait for" :
				     NULL;
	*ret_input = (struct pool_input){
		.pools = pools->list,
		.capacities = pools->capacities,
		.held = held,
		.settling = settling,
		.empty_queues = pools->empty_queues,
		.pool_count = pools->count,
		.per_namespace = pools->of_flags.per_namespace,
		.members = members,
		.asks = asks,
		.member_count = count,
		.namespace_labels = labels,
		.free = free,
		.devices = device_view_table(pools->control),
		.pasts = pools->pasts,
		.now = loop_wall(pools->control->loop),
	};
}

/* Keeps what the allocation changed of the entry, and wakes it if its terms have changed. */
static void take_over(struct pools *pools, struct pool_entry *entry)
{
	const struct pool_share *own = &pools->allocation->shares[entry->index];
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool changed = own->digest != entry->digest;
	const struct pool_asks *asks;

	asks = pool_asks_granted(pools->allocation, entry->index, &scratch);
	if (asks != pools->allocation->input->asks[entry->index])
		keep_asks(entry, asks);
	if (own->drains) {
		KEEP(entry, drains, pool_drains_fields,
		     pool_drains_make(pools->allocation, entry->index, &scratch));
		note_change(entry);
	}
	entry->digest = own->digest;
	if (changed && own->gives)
		pools->source.wake(pools->source.context, entry->cluster.namespace_,
				   entry->cluster.name);
}

static void start_next(struct pools *pools, int64_t took_us)
{
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);
	time_ms now = pools->allocation->input->now, next = pools->allocation->next;
	int64_t after_ms = next == INT64_MAX ? INT64_MAX : next - now;

	if (after_ms > NODES_AGAIN_MS && pools_count_nodes(pools))
		after_ms = NODES_AGAIN_MS;
	pools->allocated_ms = now_ms;
	pools->rested_ms = larger(pools->rested_ms, now_ms) + took_us * REST / 1000;
	pools->next_ms = larger(now_ms + pools->source.interval_ms, pools->rested_ms - BURST_MS);
	after_ms = is_settling(pools) ? HOLDING_MS : larger(after_ms, 0);
	pools->due_ms = INT64_MAX;
	loop_timer_stop(pools->timer);
	if (after_ms < INT64_MAX)
		allocate_by(pools, larger(now_ms + after_ms, pools->next_ms));
}

static void allocate(struct pools *pools)
{
	int64_t begun_us = loop_cpu_us(), took_us;
	const struct pool_free *free = read_nodes(pools);
	struct pool_input input;

	if (pools->started_ms == 0)
		pools->started_ms = loop_monotonic_ms(pools->control->loop);
	settle(pools);
	arena_reset(&pools->arena);
	forget_gone(pools);
	free_replaced(pools);
	list_drawing(pools);
	fill_input(pools, free, &input);
	pools->allocation = pool_allocate(&input, &pools->arena);
	memcpy(pools->pasts, pools->allocation->pasts, pools->count * sizeof(*pools->pasts));
	for (size_t i = 0; i < input.member_count; i++)
		take_over(pools, pools->drawing[i]);
	took_us = loop_cpu_us() - begun_us;
	if (pools->source.allocated)
		pools->source.allocated(pools->source.context, pools->allocation, took_us);
	start_next(pools, took_us);
}

static bool may_allocate(const struct pools *pools)
{
	return loop_monotonic_ms(pools->control->loop) >= pools->next_ms;
}

static void time_is_due(void *context)
{
	struct pools *pools = context;

	pools->due_ms = INT64_MAX;
	if (!is_used(pools))
		return;
	if (!pools->source.ready || pools->source.ready(pools->source.context))
		allocate(pools);
	else
		allocate_by(pools, loop_monotonic_ms(pools->control->loop) + NOT_READY_MS);
}

/* ---- a pass ---- */

/* A new one where the caches do not show the RayCluster: allocate() forgets those. */
static struct pool_entry *entry_of(struct pools *pools, const struct gpu_share_objects *objects)
{
	return entry_make(pools, objects->cluster->namespace_, objects->cluster->name);
}

/* The last allocation knows the entry, with the groups that it has now. */
static bool is_allocated(const struct pools *pools, const struct pool_entry *entry)
{
	return pools->allocation && entry->index != SIZE_MAX &&
	       field_equal(pool_member_group_fields,
			   pools->allocation->input->members[entry->index], entry->member.value);
}

static const struct pool_terms *terms(void *self, const struct gpu_share_objects *objects,
				      struct arena *arena)
{
	struct pools *pools = self;
	const struct pool_groups *groups;
	const struct pool_asks *asks;
	struct pool_entry *entry;

	if (!is_used(pools))
		return NULL;
	settle(pools);
	entry = entry_of(pools, objects);
	groups = groups_of(pools, entry, objects, arena);
	if (!groups)
		return pool_terms_unknown(objects->cluster, arena);
	asks = entry->asks.value;
	if ((!is_allocated(pools, entry) || (entry->spent && asks && asks->list.count > 0)) &&
	    may_allocate(pools)) {
		allocate(pools);
		entry = entry_of(pools, objects);
	}
	if (is_allocated(pools, entry))
		return pool_terms_make(pools->allocation, entry->index, entry->spent, arena);
	return pool_terms_none(make_member(pools, entry, objects, groups, NULL, arena), arena);
}

static bool note_report(struct pool_entry *entry, const struct plan *plan, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_report *old = entry->report.value;
	const struct pool_report *report = pool_report_make(plan, old, now, &scratch);

	if (old && field_equal(pool_report_fields, old, report))
		return false;
	KEEP(entry, report, pool_report_fields, report);
	note_change(entry);
	return true;
}

/* Those of this cluster in the statuses of the pools. */
static const struct pool_asks *stored_asks(const struct pools *pools, const char *key,
					   struct arena *arena)
{
	struct pool_asks *found = ARENA_NEW(arena, struct pool_asks);

	for (size_t p = 0; p < pools->count; p++) {
		const struct gpu_pool_status *status = pools->list[p]->status;

		if (!status)
			continue;
		for (size_t i = 0; i < status->waiting_unit_count; i++) {
			const struct gpu_pool_waiting *one = &status->waiting_units[i];

			if (strcmp(one->cluster, key) == 0)
				VEC_PUSH(arena, &found->list,
					 ((struct pool_waiting){ .groups = one->groups,
								 .count = one->count,
								 .since = one->since,
								 .granted_since = TIME_NONE }));
		}
	}
	return found;
}

/* While Ray does not answer, what it asked for keeps its place. */
static bool note_unconfirmed(struct pool_entry *entry, time_ms now)
{
	const struct pool_asks *old = entry->asks.value;
	struct pool_asks asks;

	if (!old || old->list.count == 0 || old->unconfirmed_since > 0)
		return false;
	asks = pool_asks_unconfirmed(old, now);
	keep_asks(entry, &asks);
	return true;
}

static bool note_asks(struct pools *pools, struct pool_entry *entry,
		      const struct ray_cluster *cluster, const struct plan *plan, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_asks *old = entry->asks.value, *asks;

	asks = pool_asks_update(old ? old : stored_asks(pools, entry->cluster.key, &scratch),
				plan->asks.at, plan->asks.count, cluster, now, &scratch);
	if (field_equal(pool_asks_fields, old ? old : &pool_asks_unknown, asks))
		return false;
	keep_asks(entry, asks);
	return true;
}

static void count_releases(const struct pools *pools, const struct pool_entry *entry,
			   const struct plan *plan)
{
	const struct labels *labels =
		pools->source.namespace_labels(pools->source.context, entry->cluster.namespace_);

	if (pools->source.metrics && entry->member.value)
		pool_metrics_decided(pools->source.metrics, pools->list,
				     pools->count - pools->has_flags, entry->member.value,
				     labels ? labels : &(struct labels){ .count = 0 }, plan);
}

static bool decided(void *self, const struct gpu_share_objects *objects, const struct plan *plan,
		    bool knows_demand, time_ms now)
{
	struct pools *pools = self;
	struct pool_entry *entry;
	bool asks, changed = false;
	uint64_t digest;

	if (!is_used(pools))
		return false;
	entry = entry_of(pools, objects);
	digest = entry->digest;
	asks = !entry->decided;
	entry->decided = true;
	changed |= note_report(entry, plan, now);
	if (knows_demand || plan->asks.count > 0)
		changed |= note_asks(pools, entry, objects->cluster, plan, now);
	else
		changed |= note_unconfirmed(entry, now);
	asks |= changed && plan->asks.count > 0;
	if (asks && may_allocate(pools))
		allocate(pools);
	else if (asks)
		allocate_soon(pools);
	else if (changed)
		allocate_for_holding(pools);
	entry = entry_of(pools, objects);
	count_releases(pools, entry, plan);
	return entry->index != SIZE_MAX && entry->digest != digest &&
	       pools->allocation->shares[entry->index].gives;
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

static bool adds(const struct ray_cluster *cluster, const int64_t *replicas)
{
	for (size_t g = 0; g < cluster->group_count; g++)
		if (replicas[g] > cluster->groups[g].replicas)
			return true;
	return false;
}

/* The grants of the last allocation to the entry in this pool, in 1/10000 GPU. */
static __int128 granted_in(const struct pools *pools, const struct pool_entry *entry, size_t pool)
{
	const struct pool_member *member;
	__int128 sum = 0;

	if (entry->index == SIZE_MAX || !pools->allocation || entry->spent)
		return 0;
	member = pools->allocation->input->members[entry->index];
	for (size_t g = 0; g < member->group_count; g++)
		if (member->groups[g].pool == pool)
			sum += (__int128)pools->allocation->shares[entry->index].grants[g] *
			       member->groups[g].replica_gpus;
	return sum;
}

/* The patch adds more than is granted, or with it a pool would be exceeded, counting all others with
 * their patches in flight. */
static bool exceeds(const struct pools *pools, struct pool_entry *entry,
		    const struct gpu_share_objects *objects, const struct plan *plan)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct pool_groups *groups = groups_of(pools, entry, objects, &arena);
	const int64_t *replicas = patched_replicas(objects->cluster, plan, &arena);
	const struct pool_member *before, *after;

	if (!groups)
		return adds(objects->cluster, replicas);
	before = make_member(pools, entry, objects, groups, NULL, &arena);
	after = make_member(pools, entry, objects, groups, replicas, &arena);
	for (size_t p = 0; p < pools->count; p++) {
		int64_t more = held_in(after, p, true) - held_in(before, p, true);

		if (more > 0 && (more > granted_in(pools, entry, p) ||
				 pools->held[p] - held_in(entry->member.value, p, false) +
						 held_in(after, p, true) >
					 pools->capacities[p]))
			return true;
	}
	return false;
}

static bool fits(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	struct pools *pools = self;
	struct pool_entry *entry;

	if (!is_used(pools))
		return true;
	settle(pools);
	entry = entry_of(pools, objects);
	return !exceeds(pools, entry, objects, plan);
}

static void sent(void *self, const struct gpu_share_objects *objects, const struct plan *plan)
{
	struct pools *pools = self;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const int64_t *replicas = patched_replicas(objects->cluster, plan, &scratch);
	size_t count = objects->cluster->group_count;
	struct pool_patch *patch;
	struct pool_entry *entry;

	if (!is_used(pools))
		return;
	entry = entry_of(pools, objects);
	patch = memory_alloc(sizeof(*patch) + count * sizeof(*patch->groups));
	patch->older = entry->patches;
	patch->until_ms = loop_monotonic_ms(pools->control->loop) + pools->source.lost_patch_ms +
			  pools->control->options->kube_api_timeout_seconds * MS_PER_SECOND;
	patch->group_count = count;
	for (size_t g = 0; g < count; g++) {
		patch->groups[g].replicas = replicas[g];
		patch->groups[g].launched = replicas[g] - objects->cluster->groups[g].replicas;
	}
	entry->patches = patch;
	if (pools->source.metrics)
		pool_metrics_sent(pools->source.metrics, entry->cluster.key, plan);
	memory_set_string(&entry->sent_uid, objects->cluster->uid);
	entry->spent = true;
	note_change(entry);
	allocate_for_holding(pools);
}

static bool is_refusal(const struct err *err)
{
	return err->kind == ERR_CONFLICT || err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND ||
	       err->kind == ERR_INPUT;
}

/* The asks that the patch has launched wait no longer. */
static void note_launched(struct pool_entry *entry)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_patch *patch = entry->patches;
	int64_t *launched = arena_array(&scratch, patch->group_count, sizeof(*launched));

	for (size_t g = 0; g < patch->group_count; g++)
		launched[g] = patch->groups[g].launched;
	if (entry->asks.value)
		keep_asks(entry, pool_asks_launched(entry->asks.value, launched, patch->group_count,
						    &scratch));
}

static void answered(void *self, const char *namespace_, const char *name, const struct err *err,
		     int64_t generation)
{
	struct pools *pools = self;
	struct pool_entry *entry;

	if (!is_used(pools))
		return;
	entry = entry_make(pools, namespace_, name);
	if (entry->patches && !err) {
		note_launched(entry);
		entry->patches->generation = generation;
	} else if (entry->patches && is_refusal(err)) {
		entry->patches->until_ms = INT64_MIN;
	}
	if (pools->source.metrics)
		pool_metrics_answered(pools->source.metrics, entry->cluster.key, !err);
	/* The cache may have received the patched object before the answer. */
	note_change(entry);
	if (err)
		allocate_soon(pools);
	else
		allocate_for_holding(pools);
}

/* ---- the quotas of the flags ---- */

static int64_t saturated(__int128 sum)
{
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

/* The total, then each namespace in the order of its first RayCluster. */
static const struct gpu_share_figure *figures(void *self, struct arena *arena, size_t *ret_count)
{
	struct pools *pools = self;
	const struct options *options = pools->control->options;
	VEC(struct gpu_share_figure) list = { .at = NULL };
	struct map spaces = MAP_INIT; /* to the index in the list + 1 */
	size_t pool = pools->count - 1;

	settle(pools);
	if (options->max_gpus_total > 0)
		VEC_PUSH(arena, &list,
			 ((struct gpu_share_figure){ "total", "",
						     options->max_gpus_total * RESOURCE_UNIT,
						     saturated(pools->held[pool]) }));
	size_t listed = options->max_gpus_per_namespace > 0 ? pools->entries.map.count : 0;

	for (size_t i = 0; i < listed; i++) {
		const struct pool_entry *entry = pools->entries.map.entries[i].value;
		uintptr_t index = (uintptr_t)map_get(&spaces, entry->cluster.namespace_);

		if (entry->gone)
			continue;
		if (index == 0) {
			VEC_PUSH(arena, &list,
				 ((struct gpu_share_figure){
					 "namespace",
					 arena_strdup(arena, entry->cluster.namespace_),
					 options->max_gpus_per_namespace * RESOURCE_UNIT, 0 }));
			index = list.count;
			map_set(&spaces, entry->cluster.namespace_, (void *)index);
		}
		list.at[index - 1].counted = resource_sum(
			list.at[index - 1].counted, held_in(entry->member.value, pool, false));
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
