#include "feature/pools/ctl/pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "net/loop.h"

/* Between two allocations is at least so many times the CPU time of the last one. */
#define REST 20
/* Nodes may have changed: nothing says so. */
#define NODES_AGAIN_MS 10000
#define NOT_READY_MS 1000

/* A patch in flight, without an answer, or accepted and not yet in the caches. */
struct pool_patch {
	struct pool_patch *older;
	int64_t *replicas, *before; /* by group */
	size_t group_count;
	int64_t until_ms, generation; /* generation 0: it was not accepted */
};

/* A value that the last allocation may still use while it is replaced. */
struct slot {
	struct arena arena;
	const void *value;
};

struct slots {
	struct slot at[2];
	int current, allocated; /* allocated: that of the last allocation; -1: none */
};

/* One RayCluster, or Pods whose label names a RayCluster. */
struct pool_entry {
	char *namespace_, *name, *key;
	struct slots members, asks; /* struct pool_member, struct pool_asks */
	struct arena report_arena, drains_arena;
	const struct pool_report *report; /* of its last decision; NULL: none */
	const struct pool_drains *drains; /* NULL: none */
	struct pool_patch *patches;       /* the newest first */
	char *sent_uid;                   /* uid for the generation; NULL: no patch yet */
	size_t index;                     /* in the last allocation; SIZE_MAX: it is not there */
	uint64_t digest;                  /* of its share of the last allocation */
	bool spent;      /* its grants of the last allocation are used by a patch */
	bool decided;    /* a decision was made since the start */
	bool unreadable; /* the RayCluster: its last member is used, without its groups */
	bool expected;   /* its first decision is waited for */
	bool changed;
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
	size_t count;
	const char *problem; /* of all pools of the source; NULL: none */
	struct map entries;  /* "namespace/name" */
	struct list open;
	struct arena arenas[2]; /* of the last allocation and of the one before */
	int arena;
	const struct pool_allocation *allocation; /* NULL: none yet */
	struct pool_entry **allocated;            /* by member */
	struct loop_timer *timer;
	int64_t allocated_ms;       /* monotonic */
	int64_t interval_ms;        /* until the next one at the earliest */
	int64_t started_ms;         /* monotonic; 0: nothing was asked yet */
	bool stale;                 /* an ask, a holding or a pool has changed */
	struct arena figures_arena; /* of the last figures */
	struct gpu_share_figure *figures;
	size_t figure_count;
};

static void allocate(struct pools *pools);
static void time_is_due(void *context);

/* ---- slots ---- */

static const void *slots_value(const struct slots *slots)
{
	return slots->at[slots->current].value;
}

/* Of a value that is kept for each RayCluster; it grows from here. */
#define KEPT_BYTES 512

/* The arena of the next value; the value of the last allocation stays. */
static struct arena *slots_next(struct slots *slots)
{
	struct arena *arena;

	if (slots->allocated == slots->current)
		slots->current = !slots->current;
	arena = &slots->at[slots->current].arena;
	arena_done(arena);
	arena_reserve(arena, KEPT_BYTES);
	return arena;
}

static void slots_set(struct slots *slots, const void *value)
{
	slots->at[slots->current].value = value;
}

static void slots_done(struct slots *slots)
{
	arena_done(&slots->at[0].arena);
	arena_done(&slots->at[1].arena);
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
		memory_free(patch->replicas);
		memory_free(patch->before);
		memory_free(patch);
		dropped = true;
	}
	return dropped;
}

static void entry_free(struct pool_entry *entry)
{
	list_remove(&entry->open);
	slots_done(&entry->members);
	slots_done(&entry->asks);
	arena_done(&entry->report_arena);
	arena_done(&entry->drains_arena);
	(void)drop_patches(entry, NULL, 0);
	memory_free(entry->sent_uid);
	memory_free(entry->namespace_);
	memory_free(entry->name);
	memory_free(entry->key);
	memory_free(entry);
}

static void entry_open(struct pools *pools, struct pool_entry *entry)
{
	if (!entry->open.list)
		list_add(&pools->open, &entry->open);
}

static struct pool_entry *entry_make(struct pools *pools, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *key = arena_printf(&scratch, "%s/%s", namespace_, name);
	struct pool_entry *entry = map_get(&pools->entries, key);

	if (entry)
		return entry;
	entry = memory_alloc(sizeof(*entry));
	entry->namespace_ = memory_strdup(namespace_);
	entry->name = memory_strdup(name);
	entry->key = memory_strdup(key);
	entry->members.allocated = entry->asks.allocated = -1;
	entry->index = SIZE_MAX;
	entry->changed = true;
	map_set(&pools->entries, key, entry);
	entry_open(pools, entry);
	return entry;
}

static void note_change(struct pools *pools, struct pool_entry *entry)
{
	entry->changed = true;
	entry_open(pools, entry);
}

/* An allocation is made soon, in a turn of its own. */
static void allocate_soon(struct pools *pools)
{
	int64_t due_ms = pools->allocated_ms + pools->interval_ms;
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);

	pools->stale = true;
	loop_timer_start(pools->timer, due_ms > now_ms ? due_ms - now_ms : 0);
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
	note_change(pools, entry_make(pools, namespace_, name));
	allocate_soon(pools);
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
	return !labels_value(&old->annotations, ANNOTATION_DO_NOT_DISRUPT) ==
	       !labels_value(&new_object->annotations, ANNOTATION_DO_NOT_DISRUPT);
}

static void note_pod(struct pools *pools, const struct pod *pod)
{
	const char *name = pod ? labels_value(&pod->labels, LABEL_CLUSTER) : NULL;

	if (name)
		pools_ray_cluster_changed(pools, pod->namespace_, name);
}

void pools_pod_changed(struct pools *pools, const struct pod *old, const struct pod *new_object)
{
	if (counts_alike(old, new_object))
		return;
	note_pod(pools, old);
	note_pod(pools, new_object);
}

/* ---- pools ---- */

static const char *problem_of(const struct pools *pools, size_t index)
{
	const struct gpu_pool *pool = pools->list[index];

	if (pool != &pools->of_flags.pool && pools->problem)
		return pools->problem;
	if (pool->problems.count > 0)
		return pool->problems.at[0];
	if (pools->capacities[index] < 0)
		return "the number of its GPUs is not known: set spec.gpus, or grant list and watch "
		       "of nodes";
	return NULL;
}

static void measure_pools(struct pools *pools, const struct pool_nodes *nodes)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	for (size_t p = 0; p < pools->count; p++) {
		const struct gpu_pool *pool = pools->list[p];

		pools->capacities[p] = -1;
		if (pool->has_gpus)
			pools->capacities[p] = pool->gpus;
		else if (nodes)
			pools->capacities[p] = pool_nodes_gpus(nodes, pool, &scratch);
		pools->problems[p] = problem_of(pools, p);
		if (pools->capacities[p] < 0)
			pools->capacities[p] = 0;
	}
}

/* Every entry is counted again. */
static void read_pools(struct pools *pools)
{
	size_t count;
	const struct gpu_pool *const *list =
		pools->source.pools(pools->source.context, &count, &pools->problem);
	size_t all = count + pools->has_flags;

	memory_free(pools->list);
	memory_free(pools->capacities);
	memory_free(pools->problems);
	pools->list = memory_array(all + 1, sizeof(*pools->list));
	pools->capacities = memory_array(all + 1, sizeof(*pools->capacities));
	pools->problems = memory_array(all + 1, sizeof(*pools->problems));
	for (size_t i = 0; i < count; i++)
		pools->list[i] = list[i];
	if (pools->has_flags)
		pools->list[count] = &pools->of_flags.pool;
	pools->count = all;
	measure_pools(pools, NULL);
	for (size_t i = 0; i < pools->entries.count; i++) {
		struct pool_entry *entry = pools->entries.entries[i].value;

		slots_set(&entry->members, NULL);
		entry->index = SIZE_MAX;
		note_change(pools, entry);
	}
	pools->allocation = NULL;
}

static void forget_all(struct pools *pools)
{
	for (size_t i = 0; i < pools->entries.count; i++)
		entry_free(pools->entries.entries[i].value);
	map_done(&pools->entries);
	memory_free(steal(&pools->allocated));
}

void pools_changed(struct pools *pools)
{
	bool was_used = is_used(pools);

	read_pools(pools);
	if (!is_used(pools)) {
		forget_all(pools);
		return;
	}
	if (!was_used)
		pools->source.each(pools->source.context, pools);
	allocate_soon(pools);
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
	pools->allocated_ms = INT64_MIN / 2;
	pools->timer = loop_timer_new(control->loop, time_is_due, pools);
	read_pools(pools);
	return pools;
}

void pools_free(struct pools *pools)
{
	if (!pools)
		return;
	forget_all(pools);
	loop_timer_free(pools->timer);
	arena_done(&pools->arenas[0]);
	arena_done(&pools->arenas[1]);
	memory_free(pools->list);
	memory_free(pools->capacities);
	memory_free(pools->problems);
	arena_done(&pools->figures_arena);
	memory_free(pools);
}

/* ---- counting ---- */

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t patched(const struct pool_entry *entry, size_t group, int64_t replicas)
{
	for (const struct pool_patch *patch = entry->patches; patch; patch = patch->older)
		if (group < patch->group_count)
			replicas = larger(replicas, patch->replicas[group]);
	return replicas;
}

static const struct pool_member *make_member(const struct pools *pools,
					     const struct pool_entry *entry,
					     const struct gpu_share_objects *objects,
					     bool with_patches, struct arena *arena)
{
	const struct options *options = pools->control->options;
	size_t groups = objects->cluster ? objects->cluster->group_count : 0;
	int64_t *replicas = arena_array(arena, groups, sizeof(*replicas));

	for (size_t g = 0; g < groups; g++) {
		replicas[g] = objects->cluster->groups[g].replicas;
		if (with_patches)
			replicas[g] = patched(entry, g, replicas[g]);
	}
	return pool_member_make(
		&(struct pool_member_input){ .namespace_ = entry->namespace_,
					     .name = entry->name,
					     .cluster = objects->cluster,
					     .pods = objects->pods,
					     .pod_count = objects->pod_count,
					     .replicas = replicas,
					     .report = entry->report,
					     .drains = entry->drains,
					     .pools = pools->list,
					     .pool_count = pools->count,
					     .settings = &options->settings,
					     .devices = device_view_table(pools->control) },
		arena);
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

/* Of all entries. */
static __int128 all_held_in(const struct pools *pools, size_t pool)
{
	__int128 sum = 0;

	for (size_t i = 0; i < pools->entries.count; i++) {
		const struct pool_entry *entry = pools->entries.entries[i].value;

		sum += held_in(slots_value(&entry->members), pool, false);
	}
	return sum;
}

static bool is_expected(const struct ray_cluster *cluster, const struct pool_member *member)
{
	return cluster && cluster->enable_in_tree_autoscaling && !cluster->suspend &&
	       !cluster->deleting && !cluster->unreadable && pool_member_draws(member);
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

/* Nothing of the cluster is left: its entry is dropped. */
static bool recount(struct pools *pools, struct pool_entry *entry)
{
	struct gpu_share_objects objects = { .cluster = NULL };
	const struct pool_member *member;
	bool unreadable = false;

	entry->changed = false;
	pools->source.look(pools->source.context, entry->namespace_, entry->name, &objects,
			   &unreadable);
	entry->unreadable = unreadable;
	if (unreadable && slots_value(&entry->members))
		return false; /* at least its last amount */
	if (!objects.cluster && !unreadable)
		(void)drop_patches(entry, NULL, 0);
	else if (objects.cluster && entry->sent_uid) /* or another RayCluster of this name */
		(void)drop_patches(entry, is_shown,
				   strcmp(objects.cluster->uid, entry->sent_uid) == 0 ?
					   objects.cluster->generation :
					   INT64_MAX);
	member = make_member(pools, entry, &objects, true, slots_next(&entry->members));
	slots_set(&entry->members, member);
	entry->expected = is_expected(objects.cluster, member);
	return !objects.cluster && !unreadable && objects.pod_count == 0;
}

static void forget(struct pools *pools, struct pool_entry *entry)
{
	if (entry->index != SIZE_MAX && pools->allocated)
		pools->allocated[entry->index] = NULL;
	(void)map_remove(&pools->entries, entry->key);
	entry_free(entry);
}

/* Recounts changed entries, and drops patches that no longer count. */
static void settle(struct pools *pools)
{
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);

	LIST_EACH(struct pool_entry, entry, &pools->open, open) {
		entry->changed |= drop_patches(entry, is_over, now_ms);
		if (entry->changed && recount(pools, entry)) {
			forget(pools, entry);
			continue;
		}
		if (!entry->patches)
			list_remove(&entry->open);
	}
}

/* ---- allocating ---- */

static int by_key(const void *left, const void *right)
{
	return strcmp((*(struct pool_entry *const *)left)->key,
		      (*(struct pool_entry *const *)right)->key);
}

static bool is_settling(const struct pools *pools)
{
	int64_t age_ms = loop_monotonic_ms(pools->control->loop) - pools->started_ms;

	if (age_ms < pools->source.settle_ms)
		return true;
	for (size_t i = 0; age_ms < pools->source.settle_max_ms && i < pools->entries.count; i++) {
		const struct pool_entry *entry = pools->entries.entries[i].value;

		if (entry->expected && !entry->decided)
			return true;
	}
	return false;
}

/* The entries that hold GPUs of a pool or may ask for some, sorted. */
static size_t collect(struct pools *pools)
{
	size_t count = 0;

	memory_free(pools->allocated);
	pools->allocated = memory_array(pools->entries.count + 1, sizeof(struct pool_entry *));
	for (size_t i = 0; i < pools->entries.count; i++) {
		struct pool_entry *entry = pools->entries.entries[i].value;

		entry->index = SIZE_MAX;
		entry->members.allocated = entry->asks.allocated = -1;
		if (pool_member_draws(slots_value(&entry->members)))
			pools->allocated[count++] = entry;
	}
	qsort(pools->allocated, count, sizeof(struct pool_entry *), by_key);
	return count;
}

/* The specs of its groups are those of an object that is freed. */
static const struct pool_member *without_groups(const struct pool_member *member,
						struct arena *arena)
{
	struct pool_member *copy = ARENA_NEW(arena, struct pool_member);

	*copy = *member;
	copy->group_count = 0;
	return copy;
}

/* NULL: not known. */
static const struct pool_nodes *read_nodes(struct pools *pools, struct arena *arena)
{
	struct pool_nodes *nodes = ARENA_NEW(arena, struct pool_nodes);

	if (pools->count == pools->has_flags || !pools->source.nodes ||
	    !pools->source.nodes(pools->source.context, arena, nodes))
		nodes = NULL;
	measure_pools(pools, nodes);
	return nodes;
}

static void fill_input(struct pools *pools, struct arena *arena, struct pool_input *ret_input)
{
	static const struct labels no_labels;
	const struct pool_nodes *nodes = read_nodes(pools, arena);
	bool settling = is_settling(pools);
	size_t count = collect(pools);
	const struct pool_member **members = arena_array(arena, count, sizeof(*members));
	const struct pool_asks **asks = arena_array(arena, count, sizeof(*asks));
	struct labels *labels = arena_array(arena, count, sizeof(*labels));
	const char **held = arena_array(arena, pools->count, sizeof(*held));

	for (size_t i = 0; i < count; i++) {
		struct pool_entry *entry = pools->allocated[i];
		const struct labels *own =
			pools->source.namespace_labels(pools->source.context, entry->namespace_);

		entry->index = i;
		entry->spent = false;
		entry->members.allocated = entry->members.current;
		entry->asks.allocated = entry->asks.current;
		members[i] = slots_value(&entry->members);
		asks[i] = slots_value(&entry->asks) ? slots_value(&entry->asks) :
						      &pool_asks_unknown;
		if (entry->unreadable) {
			members[i] = without_groups(members[i], arena);
			asks[i] = &pool_asks_unknown;
		}
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
		.pool_count = pools->count,
		.per_namespace = pools->of_flags.per_namespace,
		.members = members,
		.asks = asks,
		.member_count = count,
		.namespace_labels = labels,
		.nodes = nodes,
		.now = loop_wall(pools->control->loop),
	};
}

static bool grants_something(const struct pools *pools, size_t index)
{
	const struct pool_share *own = &pools->allocation->shares[index];

	if (own->releases)
		return true;
	for (size_t g = 0; g < pools->allocation->input->members[index]->group_count; g++)
		if (own->grants[g] > 0)
			return true;
	return false;
}

/* Keeps what the allocation changed of the entry. True: its terms have changed. */
static bool take_over(struct pools *pools, struct pool_entry *entry)
{
	const struct pool_share *own = &pools->allocation->shares[entry->index];
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool changed = own->digest != entry->digest;
	const struct pool_asks *asks;

	asks = pool_asks_granted(pools->allocation, entry->index, &scratch);
	if (asks != pools->allocation->input->asks[entry->index]) {
		slots_set(&entry->asks, pool_asks_copy(asks, slots_next(&entry->asks)));
		pools->stale = true;
	}
	if (own->drains) {
		struct arena arena = ARENA_INIT;

		entry->drains = pool_drains_make(pools->allocation, entry->index, &arena);
		arena_done(&entry->drains_arena);
		entry->drains_arena = arena;
		note_change(pools, entry);
	}
	entry->digest = own->digest;
	return changed && grants_something(pools, entry->index);
}

static void start_next(struct pools *pools)
{
	int64_t now_ms = loop_monotonic_ms(pools->control->loop);
	time_ms now = pools->allocation->input->now, next = pools->allocation->next;
	int64_t after_ms = next == INT64_MAX ? INT64_MAX : next - now;

	if (after_ms > NODES_AGAIN_MS && pools->count > pools->has_flags)
		after_ms = NODES_AGAIN_MS;
	if (after_ms < pools->interval_ms || is_settling(pools))
		after_ms = pools->interval_ms;
	pools->allocated_ms = now_ms;
	if (pools->stale)
		loop_timer_start(pools->timer, pools->interval_ms);
	else if (after_ms < INT64_MAX)
		loop_timer_start(pools->timer, after_ms);
	else
		loop_timer_stop(pools->timer);
}

static void allocate(struct pools *pools)
{
	struct arena *arena = &pools->arenas[!pools->arena];
	int64_t begun_us = loop_cpu_us(), took_us;
	struct pool_input input;

	if (pools->started_ms == 0)
		pools->started_ms = loop_monotonic_ms(pools->control->loop);
	settle(pools);
	pools->arena = !pools->arena;
	arena_reset(arena);
	fill_input(pools, arena, &input);
	pools->allocation = pool_allocate(&input, arena);
	pools->stale = false;
	for (size_t i = 0; i < input.member_count; i++) {
		struct pool_entry *entry = pools->allocated[i];

		if (take_over(pools, entry))
			pools->source.wake(pools->source.context, entry->namespace_, entry->name);
	}
	took_us = loop_cpu_us() - begun_us;
	if (pools->source.allocated)
		pools->source.allocated(pools->source.context, pools->allocation, took_us);
	pools->interval_ms = larger(pools->source.interval_ms, took_us / 1000 * REST);
	start_next(pools);
}

static bool may_allocate(const struct pools *pools)
{
	return loop_monotonic_ms(pools->control->loop) >= pools->allocated_ms + pools->interval_ms;
}

static void time_is_due(void *context)
{
	struct pools *pools = context;

	if (!is_used(pools))
		return;
	if (!pools->source.ready || pools->source.ready(pools->source.context))
		allocate(pools);
	else
		loop_timer_start(pools->timer, NOT_READY_MS);
}

/* ---- a pass ---- */

static const struct pool_terms *terms(void *self, const struct gpu_share_objects *objects,
				      struct arena *arena)
{
	struct pools *pools = self;
	struct pool_entry *entry;

	if (!is_used(pools))
		return NULL;
	entry = entry_make(pools, objects->cluster->namespace_, objects->cluster->name);
	if ((entry->changed || !pools->allocation) && may_allocate(pools))
		allocate(pools);
	if (entry->index != SIZE_MAX && pools->allocation)
		return pool_terms_make(pools->allocation, entry->index, entry->spent, arena);
	return pool_terms_none(make_member(pools, entry, objects, false, arena), arena);
}

static bool same_report(const struct pool_report *a, const struct pool_report *b)
{
	if (!a || a->worker_count != b->worker_count || a->group_count != b->group_count ||
	    memcmp(a->min_replicas, b->min_replicas, b->group_count * sizeof(int64_t)) != 0)
		return false;
	for (size_t i = 0; i < b->worker_count; i++)
		if (strcmp(a->workers[i].pod, b->workers[i].pod) != 0 ||
		    a->workers[i].state != b->workers[i].state ||
		    a->workers[i].needed != b->workers[i].needed ||
		    llabs(a->workers[i].since - b->workers[i].since) >= MS_PER_SECOND)
			return false;
	return true;
}

static bool note_report(struct pools *pools, struct pool_entry *entry, const struct plan *plan,
			time_ms now)
{
	struct arena arena = ARENA_INIT;
	const struct pool_report *report;

	arena_reserve(&arena, KEPT_BYTES);
	report = pool_report_make(plan, now, &arena);
	if (same_report(entry->report, report)) {
		arena_done(&arena);
		return false;
	}
	arena_done(&entry->report_arena);
	entry->report_arena = arena;
	entry->report = report;
	note_change(pools, entry);
	return true;
}

static bool same_asks(const struct pool_asks *a, const struct pool_asks *b)
{
	if (!a || a->list.count != b->list.count)
		return !a && b->list.count == 0;
	for (size_t i = 0; i < b->list.count; i++)
		if (a->list.at[i].count != b->list.at[i].count ||
		    a->list.at[i].since != b->list.at[i].since ||
		    strcmp(a->list.at[i].groups, b->list.at[i].groups) != 0)
			return false;
	return true;
}

/* The entries of this cluster in the statuses of the pools. */
static const struct gpu_pool_waiting *stored_asks(const struct pools *pools, const char *key,
						  struct arena *arena, size_t *ret_count)
{
	VEC(struct gpu_pool_waiting) found = { .at = NULL };

	for (size_t p = 0; p < pools->count; p++) {
		const struct gpu_pool_status *status = pools->list[p]->status;

		for (size_t i = 0; status && i < status->waiting_unit_count; i++)
			if (strcmp(status->waiting_units[i].cluster, key) == 0)
				VEC_PUSH(arena, &found, status->waiting_units[i]);
	}
	*ret_count = found.count;
	return found.at;
}

static bool note_asks(struct pools *pools, struct pool_entry *entry,
		      const struct ray_cluster *cluster, const struct plan *plan, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_asks *old = slots_value(&entry->asks), *asks;
	const struct gpu_pool_waiting *stored = NULL;
	size_t stored_count = 0;

	if (!old)
		stored = stored_asks(pools, entry->key, &scratch, &stored_count);
	asks = pool_asks_update(old, stored, stored_count, plan->asks.at, plan->asks.count, cluster,
				now, &scratch);
	if (same_asks(old, asks))
		return false;
	slots_set(&entry->asks, pool_asks_copy(asks, slots_next(&entry->asks)));
	return true;
}

static void count_releases(const struct pools *pools, const struct pool_entry *entry,
			   const struct plan *plan)
{
	const struct labels *labels =
		pools->source.namespace_labels(pools->source.context, entry->namespace_);

	if (pools->source.metrics && slots_value(&entry->members))
		pool_metrics_decided(pools->source.metrics, pools->list,
				     pools->count - pools->has_flags, slots_value(&entry->members),
				     labels ? labels : &(struct labels){ .count = 0 }, plan);
}

static bool decided(void *self, const struct gpu_share_objects *objects, const struct plan *plan,
		    bool knows_demand, time_ms now)
{
	struct pools *pools = self;
	struct pool_entry *entry;
	bool changed = false;
	uint64_t digest;

	if (!is_used(pools))
		return false;
	entry = entry_make(pools, objects->cluster->namespace_, objects->cluster->name);
	digest = entry->digest;
	changed |= note_report(pools, entry, plan, now);
	/* While Ray does not answer, what it asked for keeps its place. */
	if (knows_demand || plan->asks.count > 0)
		changed |= note_asks(pools, entry, objects->cluster, plan, now);
	changed |= !entry->decided;
	entry->decided = true;
	if (changed && may_allocate(pools))
		allocate(pools);
	else if (changed)
		allocate_soon(pools);
	count_releases(pools, entry, plan);
	return entry->index != SIZE_MAX && entry->digest != digest &&
	       grants_something(pools, entry->index);
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

/* The grants of the last allocation to the entry in this pool, in 1/10000 GPU. */
static int64_t granted_in(const struct pools *pools, const struct pool_entry *entry, size_t pool)
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
	return sum > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)sum;
}

/* The patch adds more than is granted, or with it a pool would be exceeded, counting all others with
 * their patches in flight. */
static bool exceeds(const struct pools *pools, const struct pool_entry *entry,
		    const struct gpu_share_objects *objects, const struct plan *plan)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_cluster patched_cluster = *objects->cluster;
	struct worker_group *groups =
		arena_array(&arena, patched_cluster.group_count, sizeof(*groups));
	const int64_t *replicas = patched_replicas(objects->cluster, plan, &arena);
	struct gpu_share_objects with = *objects;
	const struct pool_member *before, *after;

	for (size_t g = 0; g < patched_cluster.group_count; g++) {
		groups[g] = objects->cluster->groups[g];
		groups[g].replicas = replicas[g];
	}
	patched_cluster.groups = groups;
	with.cluster = &patched_cluster;
	before = make_member(pools, entry, objects, false, &arena);
	after = make_member(pools, entry, &with, false, &arena);
	for (size_t p = 0; p < pools->count; p++) {
		int64_t more = held_in(after, p, true) - held_in(before, p, true);

		if (more > 0 &&
		    (more > granted_in(pools, entry, p) ||
		     all_held_in(pools, p) - held_in(slots_value(&entry->members), p, false) +
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
	entry = entry_make(pools, objects->cluster->namespace_, objects->cluster->name);
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
	entry = entry_make(pools, objects->cluster->namespace_, objects->cluster->name);
	patch = memory_alloc(sizeof(*patch));
	*patch = (struct pool_patch){
		.older = entry->patches,
		.replicas = memory_array(count + 1, sizeof(*replicas)),
		.before = memory_array(count + 1, sizeof(*replicas)),
		.group_count = count,
		.until_ms = loop_monotonic_ms(pools->control->loop) + pools->source.lost_patch_ms +
			    pools->control->options->kube_api_timeout_seconds * MS_PER_SECOND,
	};
	for (size_t g = 0; g < count; g++) {
		patch->replicas[g] = replicas[g];
		patch->before[g] = objects->cluster->groups[g].replicas;
	}
	entry->patches = patch;
	if (pools->source.metrics)
		pool_metrics_sent(pools->source.metrics, entry->key, plan);
	memory_set_string(&entry->sent_uid, objects->cluster->uid);
	entry->spent = true;
	note_change(pools, entry);
	allocate_soon(pools);
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
	const struct pool_asks *asks = slots_value(&entry->asks);
	const struct pool_patch *patch = entry->patches;
	int64_t *launched = arena_array(&scratch, patch->group_count, sizeof(*launched));

	if (!asks || asks->list.count == 0)
		return;
	for (size_t g = 0; g < patch->group_count; g++)
		launched[g] = patch->replicas[g] - patch->before[g];
	/* A copy first, because the next slot may be that of the old asks. */
	asks = pool_asks_launched(pool_asks_copy(asks, &scratch), launched, patch->group_count,
				  &scratch);
	slots_set(&entry->asks, pool_asks_copy(asks, slots_next(&entry->asks)));
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
		pool_metrics_answered(pools->source.metrics, entry->key, !err);
	/* The cache may have received the patched object before the answer. */
	note_change(pools, entry);
	allocate_soon(pools);
}

/* ---- the quotas of the flags ---- */

/* The total, then each namespace in the order of its first RayCluster. */
static void make_figures(struct pools *pools)
{
	const struct options *options = pools->control->options;
	VEC(struct gpu_share_figure) list = { .at = NULL };
	struct map spaces = MAP_INIT; /* to the index in the list + 1 */
	size_t pool = pools->count - 1;

	arena_reset(&pools->figures_arena);
	settle(pools);
	if (options->max_gpus_total > 0) {
		__int128 held = all_held_in(pools, pool);

		VEC_PUSH(&pools->figures_arena, &list,
			 ((struct gpu_share_figure){
				 "total", "", options->max_gpus_total * RESOURCE_UNIT,
				 held > INT64_MAX ? INT64_MAX : (int64_t)held }));
	}
	for (size_t i = 0; options->max_gpus_per_namespace > 0 && i < pools->entries.count; i++) {
		const struct pool_entry *entry = pools->entries.entries[i].value;
		uintptr_t index = (uintptr_t)map_get(&spaces, entry->namespace_);

		if (index == 0) {
			VEC_PUSH(&pools->figures_arena, &list,
				 ((struct gpu_share_figure){
					 "namespace",
					 arena_strdup(&pools->figures_arena, entry->namespace_),
					 options->max_gpus_per_namespace * RESOURCE_UNIT, 0 }));
			index = list.count;
			map_set(&spaces, entry->namespace_, (void *)index);
		}
		list.at[index - 1].counted =
			resource_sum(list.at[index - 1].counted,
				     held_in(slots_value(&entry->members), pool, false));
	}
	map_done(&spaces);
	pools->figures = list.at;
	pools->figure_count = list.count;
}

static bool figure(void *self, size_t *at, struct gpu_share_figure *ret_figure)
{
	struct pools *pools = self;

	if (!pools->has_flags)
		return false;
	if (*at == 0)
		make_figures(pools);
	if (*at >= pools->figure_count)
		return false;
	*ret_figure = pools->figures[(*at)++];
	return true;
}

const struct gpu_share_hooks pools_hooks = {
	.terms = terms,
	.decided = decided,
	.fits = fits,
	.sent = sent,
	.answered = answered,
	.figure = figure,
};
