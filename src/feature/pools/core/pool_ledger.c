#include "feature/pools/core/pool_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/int64.h"
#include "base/memory.h"

struct pool_patch {
	struct pool_patch *older;
	int64_t until_ms, generation; /* generation 0: it was not accepted */
	size_t group_count;
	int64_t *launched;  /* by group */
	int64_t replicas[]; /* by group; then `launched` */
};

/* ---- kept values ---- */

/* The memory of a value that the last allocation uses stays until the next one. */
void pool_entry_drop_arena(void *context, struct arena arena)
{
	const struct pool_entry *entry = context;
	struct pool_ledger *ledger = entry->ledger;

	if (entry->index != SIZE_MAX)
		VEC_PUSH(&ledger->replaced_arena, &ledger->replaced, arena);
	else
		arena_done(&arena);
}

static void drop(struct pool_entry *entry, struct pool_kept *kept)
{
	pool_entry_drop_arena(entry, (struct arena){ .head = kept->block });
	*kept = (struct pool_kept){ .value = NULL };
}

#define KEEP(entry, kept, fields, new_value)                                                       \
	keep((entry), &(entry)->kept, (fields), (new_value), sizeof(*(new_value)))
static void keep(struct pool_entry *entry, struct pool_kept *kept, const struct field *fields,
		 const void *value, size_t size)
{
	struct arena arena = ARENA_INIT;
	void *copy = field_keep(fields, value, size, SIZE_MAX, &arena);

	drop(entry, kept);
	*kept = (struct pool_kept){ .block = arena.head, .value = copy };
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

static void free_replaced(struct pool_ledger *ledger)
{
	VEC_EACH(struct arena, arena, &ledger->replaced)
		arena_done(arena);
	ledger->replaced.at = NULL;
	ledger->replaced.count = ledger->replaced.capacity = 0;
	arena_done(&ledger->replaced_arena);
}

/* ---- what an entry holds ---- */

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

int64_t pool_entry_held(const struct pool_entry *entry, size_t pool)
{
	return held_in(entry->member.value, pool, false);
}

/* Replaces what the entry holds; NULL: nothing. */
static void set_member(struct pool_entry *entry, const struct pool_member *member)
{
	struct pool_ledger *ledger = entry->ledger;
	bool draws = member && pool_member_draws(member);

	for (size_t p = 0; p < ledger->pool_count; p++)
		ledger->held[p] += held_in(member, p, false) - (__int128)pool_entry_held(entry, p);
	if (draws != entry->draws)
		memory_free(steal(&ledger->drawing));
	entry->draws = draws;
	if (member)
		KEEP(entry, member, pool_member_fields, member);
	else
		drop(entry, &entry->member);
}

void pool_entry_note_change(struct pool_entry *entry)
{
	entry->changed = true;
	if (!entry->open.list)
		list_add(&entry->ledger->open, &entry->open);
}

/* replicas: by group, instead of those of the RayCluster; NULL: those. */
static const struct pool_member *make_member(const struct pool_entry *entry,
					     const struct pool_entry_objects *objects,
					     const int64_t *replicas, struct arena *arena)
{
	const struct pool_ledger *ledger = entry->ledger;

	return pool_member_make(&(struct pool_member_input){ .namespace_ = entry->namespace_,
							     .key = entry->key,
							     .cluster = objects->cluster,
							     .groups = objects->groups,
							     .pods = objects->pods,
							     .pod_count = objects->pod_count,
							     .in_kueue = objects->in_kueue,
							     .replicas = replicas,
							     .report = entry->report.value,
							     .drains = entry->drains.value,
							     .pools = ledger->pools,
							     .pool_count = ledger->pool_count,
							     .settings = ledger->settings,
							     .devices = ledger->devices,
							     .free = ledger->free_version > 0 ?
									     &ledger->free :
									     NULL },
				arena);
}

static int64_t patched(const struct pool_entry *entry, size_t group, int64_t replicas)
{
	for (const struct pool_patch *patch = entry->patches; patch; patch = patch->older)
		if (group < patch->group_count)
			replicas = int64_max(replicas, patch->replicas[group]);
	return replicas;
}

/* ---- patches in flight ---- */

/* Drops the patches for which `over` is true; NULL: all. */
static void drop_patches(struct pool_entry *entry,
			 bool (*over)(const struct pool_patch *patch, int64_t limit), int64_t limit)
{
	struct pool_patch **at = &entry->patches;

	while (*at) {
		struct pool_patch *patch = *at;

		if (over && !over(patch, limit)) {
			at = &patch->older;
			continue;
		}
		*at = patch->older;
		memory_free(patch);
		pool_entry_note_change(entry);
	}
}

/* The objects show the accepted patch. */
static bool is_shown(const struct pool_patch *patch, int64_t generation)
{
	return patch->generation > 0 && generation >= patch->generation;
}

/* An accepted patch is counted until the objects show it, however long a watch hangs; a patch
 * without an answer, or without a generation in it, is counted for a limited time. */
static bool is_over(const struct pool_patch *patch, int64_t now_ms)
{
	bool accepted = patch->generation > 0 && patch->generation < INT64_MAX;

	return !accepted && now_ms >= patch->until_ms;
}

void pool_entry_expire_patches(struct pool_entry *entry, int64_t now_ms)
{
	drop_patches(entry, is_over, now_ms);
}

/* Then any grant is another one. */
void pool_entry_spend(struct pool_entry *entry)
{
	entry->spent = true;
	entry->digest = 0;
}

void pool_entry_sent(struct pool_entry *entry, const struct ray_cluster *cluster,
		     const int64_t *replicas, int64_t until_ms)
{
	size_t count = cluster->group_count;
	struct pool_patch *patch =
		memory_alloc(sizeof(*patch) + 2 * count * sizeof(*patch->replicas));

	patch->older = entry->patches;
	patch->until_ms = until_ms;
	patch->group_count = count;
	patch->launched = patch->replicas + count;
	for (size_t g = 0; g < count; g++) {
		patch->replicas[g] = replicas[g];
		patch->launched[g] = replicas[g] - cluster->groups[g].replicas;
	}
	entry->patches = patch;
	memory_set_string(&entry->sent_uid, cluster->uid);
	pool_entry_spend(entry);
	pool_entry_note_change(entry);
}

/* The asks that a patch has launched wait no longer. */
void pool_entry_launched(struct pool_entry *entry, const int64_t *launched, size_t group_count)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (entry->asks.value)
		keep_asks(entry,
			  pool_asks_launched(entry->asks.value, launched, group_count, &scratch));
}

void pool_entry_accepted(struct pool_entry *entry, int64_t generation)
{
	struct pool_patch *patch = entry->patches;

	if (!patch)
		return;
	pool_entry_launched(entry, patch->launched, patch->group_count);
	patch->generation = generation;
}

void pool_entry_refused(struct pool_entry *entry)
{
	if (entry->patches)
		entry->patches->until_ms = INT64_MIN;
}

/* ---- entries ---- */

void pool_entry_add(struct pool_ledger *ledger, struct pool_entry *entry, const char *namespace_,
		    const char *key)
{
	*entry = (struct pool_entry){
		.ledger = ledger, .namespace_ = namespace_, .key = key, .index = SIZE_MAX
	};
	list_add(&ledger->entries, &entry->item);
	pool_entry_note_change(entry);
}

void pool_entry_remove(struct pool_entry *entry)
{
	set_member(entry, NULL);
	drop(entry, &entry->asks);
	drop(entry, &entry->drains);
	drop(entry, &entry->report);
	drop_patches(entry, NULL, 0);
	memory_free(entry->sent_uid);
	list_remove(&entry->open);
	list_remove(&entry->item);
}

/* At least its last amount; the specs of its groups and its Pods are those of objects that are freed. */
static void forget_objects(struct pool_member *member)
{
	member->group_count = 0;
	VEC_EACH(struct pool_worker, worker, &member->workers)
		VEC_EACH(struct pool_pod, pod, &worker->pods)
			pod->pod = NULL;
}

void pool_entry_count(struct pool_entry *entry, const struct pool_entry_objects *objects,
		      bool unreadable)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct ray_cluster *cluster = objects->cluster;
	size_t count = cluster ? cluster->group_count : 0;
	int64_t *replicas = arena_array(&scratch, count, sizeof(*replicas));

	entry->unreadable = unreadable;
	entry->located = 0;
	if (unreadable && entry->member.value) {
		forget_objects(entry->member.value);
		entry->changed = false;
		return;
	}
	if (!cluster && !unreadable)
		drop_patches(entry, NULL, 0);
	else if (cluster && entry->sent_uid) /* or another RayCluster of this name */
		drop_patches(entry, is_shown,
			     strcmp(cluster->uid, entry->sent_uid) == 0 ? cluster->generation :
									  INT64_MAX);
	for (size_t g = 0; g < count; g++)
		replicas[g] = patched(entry, g, cluster->groups[g].replicas);
	set_member(entry, make_member(entry, objects, replicas, &scratch));
	entry->changed = false;
}

/* ---- decisions ---- */

static bool note_report(struct pool_entry *entry, const struct plan *plan, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_report *old = entry->report.value;
	const struct pool_report *report = pool_report_make(plan, old, now, &scratch);

	if (old && field_equal(pool_report_fields, old, report))
		return false;
	KEEP(entry, report, pool_report_fields, report);
	pool_entry_note_change(entry);
	return true;
}

/* Those of this cluster in the statuses of the pools. */
static const struct pool_asks *stored_asks(const struct pool_entry *entry, struct arena *arena)
{
	struct pool_asks *found = ARENA_NEW(arena, struct pool_asks);

	for (size_t p = 0; p < entry->ledger->pool_count; p++) {
		const struct gpu_pool_status *status = entry->ledger->pools[p]->status;

		if (!status)
			continue;
		for (size_t i = 0; i < status->waiting_unit_count; i++) {
			const struct gpu_pool_waiting *one = &status->waiting_units[i];

			if (strcmp(one->cluster, entry->key) == 0)
				VEC_PUSH(arena, &found->list,
					 ((struct pool_waiting){ .groups = one->groups,
								 .count = one->count,
								 .since = one->since,
								 .granted_since = TIME_NONE }));
		}
	}
	return found;
}

static bool note_asks(struct pool_entry *entry, const struct plan *plan,
		      const struct ray_cluster *cluster, time_ms now)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct pool_asks *old = entry->asks.value, *asks;
	bool changed;

	asks = pool_asks_update(old ? old : stored_asks(entry, &scratch), plan->asks.at,
				plan->asks.count, cluster, now, &scratch);
	changed = !field_equal(pool_asks_fields, old ? old : &pool_asks_unknown, asks);
	/* That it asks for nothing is known as well: its place of before ends. */
	if (changed || !old)
		keep_asks(entry, asks);
	return changed;
}

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

bool pool_entry_note_plan(struct pool_entry *entry, const struct plan *plan,
			  const struct ray_cluster *cluster, bool knows_demand, time_ms now)
{
	bool changed = note_report(entry, plan, now);

	if (knows_demand || plan->asks.count > 0)
		return note_asks(entry, plan, cluster, now) || changed;
	return note_unconfirmed(entry, now) || changed;
}

void pool_entry_note_unscaled(struct pool_entry *entry)
{
	keep_asks(entry, &pool_asks_unknown);
}

/* The last allocation knows the entry, with the groups that it has now. */
static bool is_allocated(const struct pool_entry *entry)
{
	const struct pool_allocation *allocation = entry->ledger->allocation;

	return allocation && entry->index != SIZE_MAX &&
	       field_equal(pool_member_group_fields, allocation->input->members[entry->index],
			   entry->member.value);
}

bool pool_entry_is_outdated(const struct pool_entry *entry)
{
	const struct pool_asks *asks = entry->asks.value;

	return !is_allocated(entry) || (entry->spent && asks && asks->list.count > 0);
}

const struct pool_terms *pool_entry_terms(const struct pool_entry *entry,
					  const struct pool_entry_objects *objects,
					  struct arena *arena)
{
	if (!objects->groups)
		return pool_terms_unknown(objects->cluster, arena);
	if (is_allocated(entry))
		return pool_terms_make(entry->ledger->allocation, entry->index, entry->spent,
				       arena);
	return pool_terms_none(make_member(entry, objects, NULL, arena), arena);
}

/* The grants of the last allocation to the entry in this pool, in 1/10000 GPU. */
static __int128 granted_in(const struct pool_entry *entry, size_t pool)
{
	const struct pool_allocation *allocation = entry->ledger->allocation;
	const struct pool_member *member;
	__int128 sum = 0;

	if (entry->index == SIZE_MAX || !allocation || entry->spent)
		return 0;
	member = allocation->input->members[entry->index];
	for (size_t g = 0; g < member->group_count; g++)
		if (member->groups[g].pool == pool)
			sum += (__int128)allocation->shares[entry->index].grants[g] *
			       member->groups[g].replica_gpus;
	return sum;
}

static bool adds(const struct ray_cluster *cluster, const int64_t *replicas)
{
	for (size_t g = 0; g < cluster->group_count; g++)
		if (replicas[g] > cluster->groups[g].replicas)
			return true;
	return false;
}

bool pool_entry_fits(const struct pool_entry *entry, const struct pool_entry_objects *objects,
		     const int64_t *replicas)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct pool_ledger *ledger = entry->ledger;
	const struct pool_member *before, *after;

	if (!objects->groups)
		return !adds(objects->cluster, replicas);
	before = make_member(entry, objects, NULL, &arena);
	after = make_member(entry, objects, replicas, &arena);
	for (size_t p = 0; p < ledger->pool_count; p++) {
		int64_t most = held_in(after, p, true), more = most - held_in(before, p, true);

		if (more > 0 &&
		    (more > granted_in(entry, p) ||
		     ledger->held[p] - pool_entry_held(entry, p) + most > ledger->capacities[p]))
			return false;
	}
	return true;
}

/* ---- allocations ---- */

/* Debts are of queues by their number, and not of another pool of this name. */
static uint64_t past_key(const struct gpu_pool *pool)
{
	uint64_t key = hash_add(hash_text(pool->name), pool->uid);

	for (size_t q = 0; q < pool->queue_count; q++)
		key = hash_add(key, pool->queues[q].name);
	return key;
}

static time_ms time_or_zero(time_ms time)
{
	return time == TIME_NONE ? 0 : time;
}

static void read_queue(const struct gpu_pool_queue_status *status, size_t queue,
		       struct pool_past *past)
{
	past->queues[queue].owed =
		resource_product(status->unused_seconds, RESOURCE_UNIT * MS_PER_SECOND);
	past->queues[queue].granted_since = time_or_zero(status->granted_since);
	if (status->saved_since == TIME_NONE)
		return;
	past->reserved_since = status->saved_since;
	past->saved_for = queue;
}

/* That of a leader before. Its workers may end for the unit. */
static void read_past(const struct gpu_pool *pool, struct pool_past *past)
{
	const struct gpu_pool_status *status = pool->status;

	if (!status)
		return;
	past->reserve_again = time_or_zero(status->reserve_again);
	past->failures = int64_min(status->failures, POOL_FAILURES_MAX);
	past->coming = true;
	past->most = RESOURCE_AMOUNT_MAX;
	for (size_t q = 0; q <= pool->queue_count; q++) {
		const char *name = q < pool->queue_count ? pool->queues[q].name : "";
		const struct gpu_pool_queue_status *found =
			ARRAY_FIND(status->queues, status->queue_count, name, name);

		if (found)
			read_queue(found, q, past);
	}
}

/* Those of pools that were shared before, with these queues, stay. Another leader may have written the status since it
 * was read. */
static void make_pasts(struct pool_ledger *ledger, struct pool_past *old, size_t old_count)
{
	ledger->pasts = memory_array(ledger->pool_count + 1, sizeof(*ledger->pasts));
	for (size_t p = 0; p < ledger->pool_count; p++) {
		read_past(ledger->pools[p], &ledger->pasts[p]);
		ledger->pasts[p].pool = past_key(ledger->pools[p]);
		for (size_t i = 0; i < old_count; i++)
			if (old[i].at > 0 && old[i].pool == ledger->pasts[p].pool)
				ledger->pasts[p] = old[i];
	}
	memory_free(old);
}

void pool_ledger_set_pools(struct pool_ledger *ledger, const struct gpu_pool *const *pools,
			   size_t count)
{
	size_t old_count = ledger->pool_count;

	LIST_EACH(struct pool_entry, entry, &ledger->entries, item) {
		set_member(entry, NULL);
		entry->index = SIZE_MAX;
		pool_entry_note_change(entry);
	}
	memory_free(ledger->held);
	memory_free(ledger->capacities);
	ledger->held = memory_array(count + 1, sizeof(*ledger->held));
	ledger->capacities = memory_array(count + 1, sizeof(*ledger->capacities));
	ledger->pools = pools;
	ledger->pool_count = count;
	ledger->free_version = 0;
	ledger->allocation = NULL;
	make_pasts(ledger, ledger->pasts, old_count);
}

void pool_ledger_done(struct pool_ledger *ledger)
{
	free_replaced(ledger);
	arena_done(&ledger->arena);
	pool_room_done(&ledger->free);
	memory_free(ledger->drawing);
	memory_free(ledger->held);
	memory_free(ledger->capacities);
	memory_free(ledger->pasts);
}

static int by_key(const void *left, const void *right)
{
	return strcmp((*(struct pool_entry *const *)left)->key,
		      (*(struct pool_entry *const *)right)->key);
}

/* An entry that does not draw is in no allocation. */
static void list_drawing(struct pool_ledger *ledger)
{
	if (ledger->drawing)
		return;
	ledger->drawing = memory_array(ledger->entries.count + 1, sizeof(*ledger->drawing));
	ledger->drawing_count = 0;
	LIST_EACH(struct pool_entry, entry, &ledger->entries, item) {
		entry->index = SIZE_MAX;
		if (entry->draws)
			ledger->drawing[ledger->drawing_count++] = entry;
	}
	qsort(ledger->drawing, ledger->drawing_count, sizeof(*ledger->drawing), by_key);
}

/* The entries of one namespace follow each other. */
static void list_labels(const struct pool_ledger *ledger, struct labels *labels)
{
	const char *last = NULL;

	for (size_t i = 0; i < ledger->drawing_count; i++) {
		const char *own = ledger->drawing[i]->namespace_;
		const struct labels *found;

		if (last && strcmp(own, last) == 0) {
			labels[i] = labels[i - 1];
			continue;
		}
		last = own;
		found = ledger->namespace_labels(ledger->context, own);
		if (found)
			labels[i] = *found;
	}
}

static const struct pool_allocation *allocate(struct pool_ledger *ledger, struct pool_input *input)
{
	size_t count = ledger->drawing_count;
	const struct pool_member **members = arena_array(&ledger->arena, count, sizeof(*members));
	const struct pool_asks **asks = arena_array(&ledger->arena, count, sizeof(*asks));
	struct labels *labels = arena_array(&ledger->arena, count, sizeof(*labels));

	for (size_t i = 0; i < count; i++) {
		struct pool_entry *entry = ledger->drawing[i];

		entry->index = i;
		entry->spent = false;
		if (ledger->free_version > 0 && entry->located != ledger->free_version)
			pool_member_locate(entry->member.value, &ledger->free);
		entry->located = ledger->free_version;
		members[i] = entry->member.value;
		asks[i] = entry->asks.value && !entry->unreadable ? entry->asks.value :
								    &pool_asks_unknown;
	}
	list_labels(ledger, labels);
	input->pools = ledger->pools;
	input->capacities = ledger->capacities;
	input->pool_count = ledger->pool_count;
	input->members = members;
	input->asks = asks;
	input->member_count = count;
	input->namespace_labels = labels;
	input->free = ledger->free_version > 0 ? &ledger->free : NULL;
	input->devices = ledger->devices;
	input->pasts = ledger->pasts;
	return pool_allocate(input, &ledger->arena);
}

/* Keeps what the allocation changed of the entry. */
static void take_over(struct pool_ledger *ledger, struct pool_entry *entry)
{
	const struct pool_share *own = &ledger->allocation->shares[entry->index];
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool changed = own->digest != entry->digest;
	const struct pool_asks *asks;

	asks = pool_asks_granted(ledger->allocation, entry->index, &scratch);
	if (asks != ledger->allocation->input->asks[entry->index])
		keep_asks(entry, asks);
	if (own->drains) {
		KEEP(entry, drains, pool_drains_fields,
		     pool_drains_make(ledger->allocation, entry->index, &scratch));
		pool_entry_note_change(entry);
	}
	entry->digest = own->digest;
	if (changed)
		ledger->changed(entry);
}

void pool_ledger_allocate(struct pool_ledger *ledger, const struct pool_input *input)
{
	struct pool_input own = *input;

	arena_reset(&ledger->arena);
	free_replaced(ledger);
	list_drawing(ledger);
	ledger->allocation = allocate(ledger, &own);
	memcpy(ledger->pasts, ledger->allocation->pasts,
	       ledger->pool_count * sizeof(*ledger->pasts));
	for (size_t i = 0; i < ledger->drawing_count; i++)
		take_over(ledger, ledger->drawing[i]);
}
