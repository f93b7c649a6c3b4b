#include "ctl/pass/gpu_quota.h"

#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/capacity/gpu_count.h"
#include "ctl/shared/options.h"
#include "net/loop.h"

struct space {
	int64_t clusters;
	__int128 counted;
	char *name;
};

/* One RayCluster, or Pods whose label names a RayCluster. */
struct gpu_quota_entry {
	char *namespace_, *name;
	struct space *space;
	int64_t counted;
	/* The patch that is in flight, or accepted and not yet in the caches; amount 0: none. */
	int64_t sent, sent_until_ms, sent_generation; /* generation 0: no answer yet */
	char *sent_uid;              /* uid for the generation; NULL: no patch yet */
	int64_t lost, lost_until_ms; /* patches before it, without an answer */
	int64_t effective;           /* the largest of these, in the sums */
	bool changed;
	struct list_item open; /* to be looked at before the next budget */
};

struct quota {
	const struct control *control;
	struct gpu_quota_config config;
	struct map entries; /* "namespace/name" */
	struct map spaces;  /* namespace to struct space */
	__int128 counted;
	struct list open;
	int64_t total, per_namespace; /* the quotas in 1/10000 GPU; 0: none */
	int64_t settled_ms;           /* 0: no budget was requested yet */
};

struct quota *gpu_quota_new(const struct control *control, const struct gpu_quota_config *config)
{
	const struct options *options = control->options;
	struct quota *quota;

	if (options->max_gpus_total == 0 && options->max_gpus_per_namespace == 0)
		return NULL;
	quota = memory_alloc(sizeof(*quota));
	quota->control = control;
	quota->config = *config;
	quota->total = options->max_gpus_total * RESOURCE_UNIT;
	quota->per_namespace = options->max_gpus_per_namespace * RESOURCE_UNIT;
	return quota;
}

static void entry_free(struct gpu_quota_entry *entry)
{
	memory_free(entry->namespace_);
	memory_free(entry->name);
	memory_free(entry->sent_uid);
	memory_free(entry);
}

static void space_free(struct space *space)
{
	memory_free(space->name);
	memory_free(space);
}

void gpu_quota_free(struct quota *quota)
{
	if (!quota)
		return;
	for (size_t i = 0; i < quota->entries.count; i++)
		entry_free(quota->entries.entries[i].value);
	for (size_t i = 0; i < quota->spaces.count; i++)
		space_free(quota->spaces.entries[i].value);
	map_done(&quota->entries);
	map_done(&quota->spaces);
	memory_free(quota);
}

static const char *key_of(struct arena *arena, const char *namespace_, const char *name)
{
	return arena_printf(arena, "%s/%s", namespace_, name);
}

static void entry_open(struct quota *quota, struct gpu_quota_entry *entry)
{
	if (!entry->open.list)
		list_add(&quota->open, &entry->open);
}

static struct gpu_quota_entry *entry_make(struct quota *quota, const char *namespace_,
					  const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *key = key_of(&scratch, namespace_, name);
	struct gpu_quota_entry *entry = map_get(&quota->entries, key);
	struct space *space = map_get(&quota->spaces, namespace_);

	if (entry)
		return entry;
	if (!space) {
		space = memory_alloc(sizeof(*space));
		space->name = memory_strdup(namespace_);
		map_set(&quota->spaces, namespace_, space);
	}
	space->clusters++;
	entry = memory_alloc(sizeof(*entry));
	entry->namespace_ = memory_strdup(namespace_);
	entry->name = memory_strdup(name);
	entry->space = space;
	map_set(&quota->entries, key, entry);
	entry->changed = true;
	entry_open(quota, entry);
	return entry;
}

static void entry_forget(struct quota *quota, struct gpu_quota_entry *entry)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	(void)map_remove(&quota->entries, key_of(&scratch, entry->namespace_, entry->name));
	if (--entry->space->clusters == 0)
		space_free(map_remove(&quota->spaces, entry->namespace_));
	entry_free(entry);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void entry_sum(struct quota *quota, struct gpu_quota_entry *entry)
{
	int64_t effective = larger(entry->counted, larger(entry->sent, entry->lost));

	quota->counted += effective - entry->effective;
	entry->space->counted += effective - entry->effective;
	entry->effective = effective;
}

static void note_change(struct quota *quota, const char *namespace_, const char *name)
{
	struct gpu_quota_entry *entry = entry_make(quota, namespace_, name);

	entry->changed = true;
	entry_open(quota, entry);
}

void gpu_quota_ray_cluster_changed(void *quota, const char *namespace_, const char *name,
				   bool deleted)
{
	(void)deleted;
	if (quota)
		note_change(quota, namespace_, name);
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
	return true;
}

static void note_pod_change(struct quota *quota, const struct pod *pod)
{
	const char *name = pod ? labels_value(&pod->labels, LABEL_CLUSTER) : NULL;

	if (name)
		note_change(quota, pod->namespace_, name);
}

void gpu_quota_pod_changed(void *quota, const struct pod *old, const struct pod *new_object)
{
	if (!quota || counts_alike(old, new_object))
		return;
	note_pod_change(quota, old);
	note_pod_change(quota, new_object);
}

/* ---- counting ---- */

static int64_t count(const struct quota *quota, const struct gpu_quota_objects *objects,
		     const int64_t *replicas)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct options *options = quota->control->options;
	struct gpu_holdings holdings;

	gpu_count(objects->cluster, objects->pods, objects->pod_count, replicas, &options->settings,
		  options->device_table, &scratch, &holdings);
	return holdings.sum;
}

/* The caches show the accepted patch, or another RayCluster of this name. */
static bool shows_sent(const struct gpu_quota_entry *entry, const struct ray_cluster *cluster)
{
	return entry->sent_generation > 0 && (cluster->generation >= entry->sent_generation ||
					      strcmp(cluster->uid, entry->sent_uid) != 0);
}

/* True: nothing of the cluster is left, and the entry can be dropped. */
static bool recount(struct quota *quota, struct gpu_quota_entry *entry)
{
	struct gpu_quota_objects objects = { .cluster = NULL };
	int64_t counted;

	entry->changed = false;
	quota->config.look(quota->config.context, entry->namespace_, entry->name, &objects);
	counted = count(quota, &objects, NULL);
	entry->counted = objects.unreadable ? larger(entry->counted, counted) : counted;
	if (!objects.cluster && !objects.unreadable)
		entry->sent = entry->lost = 0;
	else if (objects.cluster && shows_sent(entry, objects.cluster))
		entry->sent = entry->sent_generation = 0;
	return !objects.cluster && !objects.unreadable && objects.pod_count == 0;
}

/* An accepted patch is counted until the caches show it, however long a watch hangs; a patch
 * without an answer, or without a generation in it, is counted for a limited time. */
static bool is_over(const struct gpu_quota_entry *entry, int64_t now_ms)
{
	bool accepted = entry->sent_generation > 0 && entry->sent_generation < INT64_MAX;

	return !accepted && now_ms >= entry->sent_until_ms;
}

/* Recounts changed entries, and drops patches that no longer count. */
static void settle(struct quota *quota)
{
	int64_t now_ms = loop_monotonic_ms(quota->control->loop);

	LIST_EACH(struct gpu_quota_entry, entry, &quota->open, open) {
		bool removed = entry->changed && recount(quota, entry);

		if (is_over(entry, now_ms))
			entry->sent = entry->sent_generation = 0;
		if (now_ms >= entry->lost_until_ms)
			entry->lost = 0;
		entry_sum(quota, entry);
		if (entry->sent == 0 && entry->lost == 0)
			list_remove(&entry->open);
		if (removed)
			entry_forget(quota, entry);
	}
}

/* ---- budgets ---- */

static void take_smaller(struct gpu_quota_budget *budget, __int128 left, const char *flag,
			 int64_t ceiling, struct arena *arena)
{
	int64_t amount = left < 0 ? 0 : left > INT64_MAX ? INT64_MAX : (int64_t)left;

	if (ceiling == 0 || (budget->has_ceiling && budget->amount <= amount))
		return;
	*budget = (struct gpu_quota_budget){ true, amount,
					     arena_printf(arena, "%s %lld", flag,
							  (long long)(ceiling / RESOURCE_UNIT)) };
}

/* True when the entry's count was made from the same objects, as for nearly every decision. */
static bool is_counted(const struct quota *quota, const struct gpu_quota_entry *entry,
		       const struct gpu_quota_objects *objects)
{
	struct gpu_quota_objects cached = { .cluster = NULL };

	if (entry->changed)
		return false;
	quota->config.look(quota->config.context, entry->namespace_, entry->name, &cached);
	return cached.cluster == objects->cluster && cached.pods == objects->pods &&
	       cached.pod_count == objects->pod_count;
}

void gpu_quota_budget(struct quota *quota, const struct gpu_quota_objects *objects,
		      struct arena *arena, struct gpu_quota_budget *ret_budget)
{
	struct gpu_quota_entry *entry;
	int64_t now_ms, own;

	*ret_budget = (struct gpu_quota_budget){ .ceiling = "" };
	if (!quota)
		return;
	now_ms = loop_monotonic_ms(quota->control->loop);
	if (quota->settled_ms == 0)
		quota->settled_ms = now_ms + quota->config.settle_ms;
	settle(quota);
	entry = entry_make(quota, objects->cluster->namespace_, objects->cluster->name);
	/* The cluster's own patches in flight do not count: a new patch replaces them. */
	own = is_counted(quota, entry, objects) ? entry->counted : count(quota, objects, NULL);
	take_smaller(ret_budget,
		     quota->per_namespace - (entry->space->counted - entry->effective) - own,
		     "max-gpus-per-namespace", quota->per_namespace, arena);
	take_smaller(ret_budget, quota->total - (quota->counted - entry->effective) - own,
		     "max-gpus-total", quota->total, arena);
	if (now_ms < quota->settled_ms)
		ret_budget->amount = 0;
}

/* ---- patches in flight ---- */

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

static void keep_lost(struct gpu_quota_entry *entry)
{
	entry->lost = larger(entry->lost, entry->sent);
	entry->lost_until_ms = larger(entry->lost_until_ms, entry->sent_until_ms);
	entry->sent = entry->sent_generation = 0;
}

void gpu_quota_patch_sent(struct quota *quota, const struct gpu_quota_objects *objects,
			  const struct plan *plan)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gpu_quota_entry *entry;

	if (!quota)
		return;
	entry = entry_make(quota, objects->cluster->namespace_, objects->cluster->name);
	if (entry->sent > 0)
		keep_lost(entry);
	entry->sent = count(quota, objects, patched_replicas(objects->cluster, plan, &scratch));
	entry->sent_generation = 0;
	memory_set_string(&entry->sent_uid, objects->cluster->uid);
	entry->sent_until_ms = loop_monotonic_ms(quota->control->loop) +
			       quota->config.lost_patch_ms +
			       quota->control->options->kube_api_timeout_seconds * MS_PER_SECOND;
	entry_open(quota, entry);
	entry_sum(quota, entry);
}

bool gpu_quota_patch_fits(struct quota *quota, const struct gpu_quota_objects *objects,
			  const struct plan *plan)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gpu_quota_budget budget;
	int64_t added;

	gpu_quota_budget(quota, objects, &scratch, &budget);
	if (!budget.has_ceiling)
		return true;
	added = count(quota, objects, patched_replicas(objects->cluster, plan, &scratch)) -
		count(quota, objects, NULL);
	return added <= 0 || added <= budget.amount;
}

static bool is_refusal(const struct err *err)
{
	return err->kind == ERR_CONFLICT || err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND ||
	       err->kind == ERR_INPUT;
}

void gpu_quota_patch_answered(struct quota *quota, const char *namespace_, const char *name,
			      const struct err *err, int64_t generation)
{
	struct gpu_quota_entry *entry;

	if (!quota)
		return;
	entry = entry_make(quota, namespace_, name);
	entry_open(quota, entry);
	if (!err)
		entry->sent_generation = generation;
	else if (is_refusal(err))
		entry->sent = 0;
	else
		keep_lost(entry);
	/* The cache may have received the patched object before the answer. */
	entry->changed = true;
	entry_sum(quota, entry);
}

/* ---- figures ---- */

bool gpu_quota_next(struct quota *quota, size_t *at, struct gpu_quota_figure *ret_figure)
{
	size_t index = *at;
	const struct space *space;
	__int128 counted;

	if (!quota)
		return false;
	if (index == 0)
		settle(quota);
	(*at)++;
	if (quota->total > 0 && index == 0) {
		counted = quota->counted;
		*ret_figure = (struct gpu_quota_figure){ "total", "", quota->total, 0 };
	} else {
		index -= quota->total > 0;
		if (quota->per_namespace == 0 || index >= quota->spaces.count)
			return false;
		space = quota->spaces.entries[index].value;
		counted = space->counted;
		*ret_figure = (struct gpu_quota_figure){ "namespace", space->name,
							 quota->per_namespace, 0 };
	}
	ret_figure->counted = counted > INT64_MAX ? INT64_MAX : (int64_t)counted;
	return true;
}
