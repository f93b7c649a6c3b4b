#include "feature/pools/ctl/pool_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "ctl/watch/optional_watch.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/codec/kueue_owner_json.h"
#include "feature/pools/kube/pool_type.h"

struct pool_objects {
	const struct control *control;
	struct optional_watch pools, namespaces, workloads;
	bool reads_namespaces, reads_workloads; /* the watch runs */
	struct arena arena;                     /* of the copies */
	const struct gpu_pool **list;           /* by name */
	size_t count;
	struct pool_objects_callbacks callbacks;
};

/* ---- copies ---- */

static const struct field problem_fields[] = {
	FIELD_TEXTS(struct gpu_pool, problems, "problems"),
	FIELD_END,
};

static const struct gpu_pool *copy_pool(const struct gpu_pool *pool, struct arena *arena)
{
	struct gpu_pool *copy = field_copy(gpu_pool_fields, pool, sizeof(*pool), arena);

	field_own(problem_fields, copy, arena);
	return copy;
}

static int by_name(const void *left, const void *right)
{
	return strcmp((*(const struct gpu_pool *const *)left)->name,
		      (*(const struct gpu_pool *const *)right)->name);
}

static const struct gpu_pool *pool_named(const struct pool_objects *objects, const char *name)
{
	for (size_t i = 0; i < objects->count; i++)
		if (strcmp(objects->list[i]->name, name) == 0)
			return objects->list[i];
	return NULL;
}

/* Copies the list again, with `now` for the pool `name`; NULL: without it. */
static void make_list(struct pool_objects *objects, const char *name, const struct gpu_pool *now)
{
	struct arena arena = ARENA_INIT;
	const struct gpu_pool **list = arena_array(&arena, objects->count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < objects->count; i++)
		if (strcmp(objects->list[i]->name, name) != 0)
			list[count++] = copy_pool(objects->list[i], &arena);
	if (now)
		list[count++] = copy_pool(now, &arena);
	qsort(list, count, sizeof(*list), by_name);
	objects->arena = arena;
	objects->list = list;
	objects->count = count;
}

/* ---- watches ---- */

static const struct field label_fields[] = {
	FIELD_LABELS(struct namespace, labels, "labels"),
	FIELD_END,
};

static void synced(void *context)
{
	const struct pool_objects *objects = ((const struct optional_watch *)context)->owner;

	objects->callbacks.changed(objects->callbacks.context);
}

static void namespace_changed(void *context, enum kube_change change UNUSED, const char *key UNUSED,
			      const void *old, const void *new_object)
{
	if (!old || !new_object || !field_equal(label_fields, old, new_object))
		synced(context);
}

static void read_namespaces(struct pool_objects *objects)
{
	struct optional_watch *watch = &objects->namespaces;

	if (objects->reads_namespaces)
		return;
	objects->reads_namespaces = true;
	watch->owner = objects;
	watch->level = LOG_WARNING;
	watch->without = "Namespaces cannot be read: the queues of GPUPools are unknown, and no "
			 "GPU of them is granted";
	watch->again = "Namespaces can be read now";
	watch->on_refused = synced;
	optional_watch_start(
		watch, objects->control->kube,
		(struct kube_informer_options){
			.type = &kube_type_namespace,
			.callbacks = { .on_change = namespace_changed, .on_synced = synced },
		});
}

static void workload_changed(void *context, enum kube_change change UNUSED, const char *key UNUSED,
			     const void *old, const void *new_object)
{
	const struct pool_objects *objects = ((const struct optional_watch *)context)->owner;
	const struct kueue_owner *before = old, *now = new_object;
	const struct kueue_owner *owner = now ? now : before;

	if (owner && *owner->uid && (before && before->has_quota) != (now && now->has_quota))
		objects->callbacks.kueue_changed(objects->callbacks.context, owner->namespace_,
						 owner->cluster);
}

static void read_workloads(struct pool_objects *objects)
{
	struct optional_watch *watch = &objects->workloads;

	if (objects->reads_workloads)
		return;
	objects->reads_workloads = true;
	watch->owner = objects;
	watch->level = LOG_WARNING;
	watch->without = "Workloads of Kueue cannot be read: kueueOutside of GPUPools has no "
			 "effect";
	watch->again = "Workloads of Kueue can be read now";
	watch->on_refused = synced;
	optional_watch_start(
		watch, objects->control->kube,
		(struct kube_informer_options){
			.type = &kube_type_kueue_owner,
			.callbacks = { .on_change = workload_changed, .on_synced = synced },
		});
}

static void pool_changed(void *context, enum kube_change change UNUSED, const char *key,
			 const void *old UNUSED, const void *new_object)
{
	struct pool_objects *objects = ((const struct optional_watch *)context)->owner;
	const struct gpu_pool *now = new_object;
	const struct gpu_pool *found = pool_named(objects, key);
	struct arena before = objects->arena;

	/* A change of the status alone: written by us, or by the leader whose place we may take. */
	if (found && now && found->generation == now->generation &&
	    strcmp(found->uid, now->uid) == 0 && leader_is_leading(objects->control->leader))
		return;
	make_list(objects, key, now);
	if (now)
		read_namespaces(objects);
	if (now && now->kueue_outside)
		read_workloads(objects);
	synced(context);
	arena_done(&before);
}

struct pool_objects *pool_objects_new(const struct control *control,
				      const struct pool_objects_callbacks *callbacks)
{
	struct pool_objects *objects;
	struct optional_watch *watch;

	if (control->options->namespace_[0] != '\0')
		return NULL;
	objects = memory_alloc(sizeof(*objects));
	watch = &objects->pools;
	objects->control = control;
	objects->callbacks = *callbacks;
	watch->owner = objects;
	watch->level = LOG_INFO;
	watch->without = "GPUPools cannot be read: GPUs are shared by no pool";
	watch->again = "GPUPools can be read now";
	watch->on_refused = synced;
	optional_watch_start(
		watch, control->kube,
		(struct kube_informer_options){
			.type = &kube_type_gpu_pool,
			.callbacks = { .on_change = pool_changed, .on_synced = synced },
		});
	return objects;
}

void pool_objects_free(struct pool_objects *objects)
{
	if (!objects)
		return;
	optional_watch_done(&objects->pools);
	if (objects->reads_namespaces)
		optional_watch_done(&objects->namespaces);
	if (objects->reads_workloads)
		optional_watch_done(&objects->workloads);
	arena_done(&objects->arena);
	memory_free(objects);
}

const struct gpu_pool *const *pool_objects_list(const struct pool_objects *objects,
						size_t *ret_count)
{
	static const struct gpu_pool *const none[1];

	*ret_count = objects ? objects->count : 0;
	return objects ? objects->list : none;
}

bool pool_objects_known(const struct pool_objects *objects)
{
	return !objects ||
	       (optional_watch_known(&objects->pools) &&
		(!objects->reads_namespaces || optional_watch_known(&objects->namespaces)) &&
		(!objects->reads_workloads || optional_watch_known(&objects->workloads)));
}

const char *pool_objects_problem(const struct pool_objects *objects)
{
	if (!objects)
		return NULL;
	if (objects->pools.refused == ERR_NONE && !kube_informer_synced(objects->pools.informer))
		return "the GPUPools are not all read yet";
	if (!objects->reads_namespaces)
		return NULL;
	if (objects->namespaces.refused != ERR_NONE)
		return "the labels of namespaces cannot be read: grant list and watch of "
		       "namespaces (chart value gpuPools)";
	if (!kube_informer_synced(objects->namespaces.informer))
		return "the namespaces are not all read yet";
	return NULL;
}

const struct labels *pool_objects_namespace(const struct pool_objects *objects, const char *name)
{
	const struct namespace *found =
		objects && objects->reads_namespaces ?
			kube_informer_get(objects->namespaces.informer, "", name) :
			NULL;

	return found ? &found->labels : NULL;
}

const struct namespace *pool_objects_next_namespace(const struct pool_objects *objects, size_t *at)
{
	return objects && objects->reads_namespaces ?
		       kube_informer_next(objects->namespaces.informer, at) :
		       NULL;
}

bool pool_objects_in_kueue(const struct pool_objects *objects, const char *uid)
{
	size_t count = 0;
	const struct kueue_owner *const *owners =
		objects && objects->reads_workloads ?
			(const void *)kube_informer_indexed(objects->workloads.informer, uid,
							    &count) :
			NULL;

	for (size_t i = 0; i < count; i++)
		if (owners[i]->has_quota)
			return true;
	return false;
}

bool pool_objects_kueue_refused(const struct pool_objects *objects)
{
	return objects && objects->reads_workloads && objects->workloads.refused != ERR_NONE;
}

const char *pool_objects_version(const struct pool_objects *objects, const char *name)
{
	const struct gpu_pool *found =
		objects ? kube_informer_get(objects->pools.informer, "", name) : NULL;

	return found ? found->resource_version : NULL;
}
