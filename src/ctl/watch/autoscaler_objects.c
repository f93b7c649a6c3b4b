#include "ctl/watch/autoscaler_objects.h"

#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "ctl/report/autoscaler_writer.h"
#include "ctl/report/trouble.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "ctl/watch/optional_watch.h"
#include "net/loop.h"

#define ORPHANS_INTERVAL_MS 10000
#define ORPHANS_MAX 16 /* judged at once: each is compared with the names of its namespace */

struct autoscaler_objects {
	struct optional_watch watch; /* first: it is their context */
	const struct control *control;
	struct autoscaler_writer *writer;
	struct trouble_lines lines; /* of all objects; each has its condition */
	struct loop_timer *orphans_timer;
	size_t orphans_at; /* where the next search begins */
};

bool autoscaler_objects_known(const struct autoscaler_objects *objects)
{
	return optional_watch_known(&objects->watch);
}

const struct autoscaler_object *autoscaler_objects_get(const struct autoscaler_objects *objects,
						       const char *namespace_, const char *name,
						       struct arena *arena)
{
	const struct autoscaler_object *object;
	struct autoscaler_object *bad;
	const char **problem;

	if (!objects || objects->watch.refused == ERR_NOT_FOUND)
		return NULL;
	object = kube_informer_get(objects->watch.informer, namespace_, name);
	if (object)
		return object;
	problem = ARENA_NEW(arena, const char *);
	*problem = kube_informer_bad(objects->watch.informer, namespace_, name);
	if (!*problem)
		return NULL;
	bad = ARENA_NEW(arena, struct autoscaler_object);
	*bad = (struct autoscaler_object){
		.namespace_ = "",
		.name = "",
		.uid = "",
		.resource_version = "",
		.upscaling_mode = "",
		.has_max_gpus = true,
		.problems = { problem, 1 },
		.status_text = "",
	};
	return bad;
}

bool autoscaler_objects_unread(const struct autoscaler_objects *objects, const char *namespace_,
			       const char *name)
{
	return objects && kube_informer_unread(objects->watch.informer, namespace_, name);
}

size_t autoscaler_objects_bytes(const struct autoscaler_objects *objects, const char *namespace_,
				const char *name)
{
	return objects ? kube_informer_bytes(objects->watch.informer, namespace_, name) : 0;
}

/* ---- objects without a RayCluster ---- */

/* "no RayCluster dmeo in team-a; did you mean demo?" */
static const char *orphan_text(const struct autoscaler_objects *objects,
			       const struct autoscaler_object *object, struct arena *arena)
{
	struct nearest nearest = nearest_start(object->name);
	char hint[NEAREST_HINT_SIZE];
	const struct ray_cluster *cluster;
	size_t at = 0;

	while ((cluster = kube_informer_next(objects->control->ray_clusters, &at)))
		if (strcmp(cluster->namespace_, object->namespace_) == 0)
			nearest_offer(&nearest, cluster->name);
	return arena_printf(arena, "no RayCluster %s in %s%s", object->name, object->namespace_,
			    nearest_hint(&nearest, hint));
}

static bool is_orphan(const struct autoscaler_objects *objects,
		      const struct autoscaler_object *object)
{
	const struct kube_informer *clusters = objects->control->ray_clusters;

	return !kube_informer_get(clusters, object->namespace_, object->name) &&
	       !kube_informer_bad(clusters, object->namespace_, object->name);
}

/* Searches all objects again and again, so that it does not matter which of the two was created or
 * deleted first. */
static void find_orphans(void *context)
{
	struct autoscaler_objects *objects = context;
	const struct control *control = objects->control;
	const struct autoscaler_object *object;

	loop_timer_start(objects->orphans_timer, ORPHANS_INTERVAL_MS);
	if (!leader_is_leading(control->leader) || objects->watch.refused != ERR_NONE ||
	    !kube_informer_synced(objects->watch.informer) ||
	    !kube_informer_synced(control->ray_clusters))
		return;
	for (int left = ORPHANS_MAX; left > 0;) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;

		object = kube_informer_next(objects->watch.informer, &objects->orphans_at);
		if (!object) {
			objects->orphans_at = 0;
			return;
		}
		if (!is_orphan(objects, object))
			continue;
		autoscaler_writer_orphan(objects->writer, object,
					 orphan_text(objects, object, &scratch));
		left--;
	}
}

static void object_changed(void *context, enum kube_change change, const char *key, const void *old,
			   const void *new_object)
{
	struct autoscaler_objects *objects = context;
	const struct autoscaler_object *before = old, *now = new_object;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *slash = strchr(key, '/');
	const char *namespace_;

	if (!slash)
		return;
	namespace_ = arena_strndup(&scratch, key, (size_t)(slash - key));
	if (change == KUBE_BAD)
		(void)trouble_unreadable(
			&objects->lines,
			"RayClusterAutoscaler cannot be read, nothing with GPUs is started",
			"cluster", key,
			kube_informer_bad(objects->watch.informer, namespace_, slash + 1),
			loop_monotonic_ms(objects->control->loop));
	if (!now && before && is_orphan(objects, before))
		autoscaler_writer_forget(objects->writer, namespace_, slash + 1);
	if (!before || !now || before->generation != now->generation) /* a setting changed */
		(void)control_wake(objects->control, namespace_, slash + 1);
}

static void now_known(void *context)
{
	control_ready(((const struct autoscaler_objects *)context)->control);
}

/* A status can only be written to an object that can be read. */
void autoscaler_objects_decided(void *listener, const struct pass_decision *decision)
{
	const struct autoscaler_objects *objects = listener;

	if (objects && objects->watch.refused == ERR_NONE &&
	    kube_informer_synced(objects->watch.informer))
		autoscaler_writer_decided(objects->writer, decision);
}

bool autoscaler_objects_second(const struct autoscaler_objects *objects, const char *namespace_,
			       const char *name)
{
	return objects && autoscaler_writer_second(objects->writer, namespace_, name);
}

void autoscaler_objects_patched(void *listener, const char *namespace_, const char *name)
{
	const struct autoscaler_objects *objects = listener;

	if (objects)
		autoscaler_writer_patched(objects->writer, namespace_, name);
}

void autoscaler_objects_forget(void *listener, const char *namespace_, const char *name)
{
	const struct autoscaler_objects *objects = listener;

	if (objects)
		autoscaler_writer_forget(objects->writer, namespace_, name);
}

struct autoscaler_objects *autoscaler_objects_new(const struct control *control)
{
	struct autoscaler_objects *objects = memory_alloc(sizeof(*objects));

	objects->control = control;
	trouble_lines_init(&objects->lines, loop_monotonic_ms(control->loop));
	objects->watch.level = LOG_WARNING;
	objects->watch.without =
		"RayClusterAutoscalers are not used: flags and RayClusters decide alone";
	objects->watch.again = "RayClusterAutoscalers are used now";
	objects->watch.on_refused = now_known;
	optional_watch_start(
		&objects->watch, control->kube,
		(struct kube_informer_options){
			.type = &kube_type_autoscaler,
			.namespace_ = control->options->namespace_,
			.large_later = true,
			.callbacks = { .on_change = object_changed, .on_synced = now_known },
		});
	objects->writer = autoscaler_writer_new(control, objects->watch.informer);
	objects->orphans_timer = loop_timer_new(control->loop, find_orphans, objects);
	loop_timer_start(objects->orphans_timer, ORPHANS_INTERVAL_MS);
	return objects;
}

void autoscaler_objects_free(struct autoscaler_objects *objects)
{
	if (!objects)
		return;
	loop_timer_free(objects->orphans_timer);
	autoscaler_writer_free(objects->writer);
	optional_watch_done(&objects->watch);
	memory_free(objects);
}
