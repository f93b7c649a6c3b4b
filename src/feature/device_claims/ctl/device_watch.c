#include "feature/device_claims/ctl/device_watch.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "ctl/watch/optional_watch.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"
#include "net/loop.h"

/* Changes of one Pod's start come together. */
#define VIEW_DELAY_MS 200

enum kind { SLICES = 0, CLASSES, TEMPLATES, CLAIMS, KIND_COUNT };

static const struct {
	const struct kube_type *type;
	bool in_namespace;
	const char *without, *again;
} kinds[KIND_COUNT] = {
	[SLICES] = { &kube_type_resource_slice, false,
		     "ResourceSlices cannot be read: grant list and watch of resourceslices (chart "
		     "value deviceClaims); the product of claimed devices is unknown, and "
		     "allocationMode All counts 0",
		     "ResourceSlices can be read now" },
	[CLASSES] = { &kube_type_device_class, false,
		      "DeviceClasses cannot be read: grant list and watch of deviceclasses (chart "
		      "value deviceClaims); only the names in the device table are known",
		      "DeviceClasses can be read now" },
	[TEMPLATES] = { &kube_type_claim_template, true,
			"ResourceClaimTemplates cannot be read: grant list and watch of "
			"resourceclaimtemplates (chart value deviceClaims); the devices that "
			"worker groups claim are not counted",
			"ResourceClaimTemplates can be read now" },
	[CLAIMS] = { &kube_type_resource_claim, true,
		     "ResourceClaims cannot be read: grant list and watch of resourceclaims (chart "
		     "value deviceClaims); what a Pod was given is unknown",
		     "ResourceClaims can be read now" },
};

/* A watch finds its owner by its first member. */
struct kind_watch {
	struct optional_watch watch;
	struct device_watch *owner;
};

struct device_watch {
	const struct control *control;
	struct map users; /* keys of the RayClusters that claim devices */
	bool nodes_lack;  /* accelerators that may be in ResourceSlices */
	bool watches;
	struct kind_watch kinds[KIND_COUNT];
	struct loop_timer *timer; /* NULL: no watch ever began */
	bool due;                 /* the timer is set */
	struct device_view *view; /* NULL: nothing is watched, or not all is read */
};

/* ---- the view ---- */

static void *copy_objects(const struct kube_informer *informer, const struct field *row,
			  struct arena *arena, size_t *ret_count)
{
	size_t count = kube_informer_count(informer), at = 0;
	char *list = arena_array(arena, count, row->size);
	const void *object;

	for (*ret_count = 0; *ret_count < count && (object = kube_informer_next(informer, &at));
	     (*ret_count)++) {
		char *copy = list + *ret_count * row->size;

		memcpy(copy, object, row->size);
		if (row->problems > 0)
			memset(copy + row->problems, 0, sizeof(struct strings));
		field_own(row->members, copy, arena);
	}
	return list;
}

static bool kind_known(const struct kind_watch *kind)
{
	return kind->watch.refused != ERR_NONE || kube_informer_synced(kind->watch.informer);
}

static bool all_known(const struct device_watch *watch)
{
	for (size_t k = 0; k < KIND_COUNT; k++)
		if (!kind_known(&watch->kinds[k]))
			return false;
	return true;
}

static void make_view(struct device_watch *watch)
{
	struct device_view *view = device_view_new();
	struct device_objects *objects = ARENA_NEW(&view->arena, struct device_objects);

	for (size_t k = 0; k < KIND_COUNT; k++) {
		const struct field *row = &device_objects_fields[k];
		const struct kube_informer *informer = watch->kinds[k].watch.informer;
		bool known = watch->kinds[k].watch.refused == ERR_NONE &&
			     kube_informer_synced(informer);
		size_t count = 0;
		void *list = known ? copy_objects(informer, row, &view->arena, &count) : NULL;

		memcpy(field_value(row, objects), &list, sizeof(list));
		memcpy((char *)objects + row->count, &count, sizeof(count));
		memcpy((char *)objects + row->has, &known, sizeof(known));
	}
	view->objects = objects;
	view->table =
		device_claims_attach(objects, watch->control->options->device_table, &view->arena);
	device_view_drop(watch->view);
	watch->view = view;
}

static void wake_users(const struct device_watch *watch)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	for (size_t i = 0; watch->control->wake && i < watch->users.count; i++) {
		char *key = arena_strdup(&scratch, watch->users.entries[i].key);
		char *slash = strchr(key, '/');

		if (!slash)
			continue;
		*slash = '\0';
		(void)watch->control->wake(watch->control->wake_context, key, slash + 1);
	}
}

static void timer_due(void *context)
{
	struct device_watch *watch = context;
	bool first = !watch->view;

	watch->due = false;
	if (!watch->watches || !all_known(watch))
		return;
	make_view(watch);
	if (first && watch->control->ready)
		watch->control->ready(watch->control->wake_context);
	wake_users(watch);
}

/* ---- watches ---- */

static void renew(struct device_watch *watch)
{
	if (watch->due)
		return;
	watch->due = true;
	loop_timer_start(watch->timer, watch->view ? VIEW_DELAY_MS : 0);
}

static void object_changed(void *context, enum kube_change change UNUSED, const char *key UNUSED,
			   const void *old UNUSED, const void *new_object UNUSED)
{
	const struct kind_watch *kind = context;

	if (kind->owner->view)
		renew(kind->owner);
}

static void kind_read(void *context)
{
	const struct kind_watch *kind = context;

	renew(kind->owner);
}

static void begin_watches(struct device_watch *watch)
{
	const struct options *options = watch->control->options;

	if (watch->watches)
		return;
	watch->watches = true;
	if (!watch->timer)
		watch->timer = loop_timer_new(watch->control->loop, timer_due, watch);
	for (size_t k = 0; k < KIND_COUNT; k++) {
		struct kind_watch *kind = &watch->kinds[k];

		*kind = (struct kind_watch){ .owner = watch,
					     .watch = { .level = LOG_WARNING,
							.without = kinds[k].without,
							.again = kinds[k].again,
							.on_refused = kind_read } };
		optional_watch_start(
			&kind->watch, watch->control->kube,
			(struct kube_informer_options){
				.type = kinds[k].type,
				.namespace_ = kinds[k].in_namespace ? options->namespace_ : "",
				.callbacks = { .on_change = object_changed,
					       .on_synced = kind_read },
			});
	}
}

static void end_watches(struct device_watch *watch)
{
	for (size_t k = 0; watch->watches && k < KIND_COUNT; k++)
		optional_watch_done(&watch->kinds[k].watch);
	watch->watches = false;
	device_view_drop(watch->view);
	watch->view = NULL;
}

static void renew_watches(struct device_watch *watch)
{
	if (watch->users.count > 0 || watch->nodes_lack)
		begin_watches(watch);
	else if (watch->watches)
		end_watches(watch);
}

/* ---- the feature ---- */

static void *begin(const struct control *control)
{
	struct device_watch *watch = memory_alloc(sizeof(*watch));

	watch->control = control;
	watch->users = MAP_INIT;
	return watch;
}

static void end(void *self)
{
	struct device_watch *watch = self;

	end_watches(watch);
	loop_timer_free(watch->timer);
	map_done(&watch->users);
	memory_free(watch);
}

static bool known(const void *self)
{
	const struct device_watch *watch = self;

	return !watch->watches || watch->view != NULL;
}

static void ray_cluster_changed(void *self, const char *namespace_, const char *name, bool deleted)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct device_watch *watch = self;
	const struct ray_cluster *cluster =
		deleted ? NULL : kube_informer_get(watch->control->ray_clusters, namespace_, name);
	const char *key = arena_printf(&scratch, "%s/%s", namespace_, name);

	if (cluster && device_claims_are_used(cluster))
		map_set(&watch->users, key, watch);
	else
		(void)map_remove(&watch->users, key);
	renew_watches(watch);
}

static bool complete(void *self, struct inventory_list *list, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct device_table *table;
	struct device_watch *watch = self;
	struct device_free *devices;

	table = watch->control->options->device_table;
	watch->nodes_lack = false;
	for (size_t i = 0; i < list->node_count && !watch->nodes_lack; i++)
		watch->nodes_lack = device_nodes_lacks(&list->nodes[i], table);
	renew_watches(watch);
	if (!watch->view)
		return !watch->watches;
	devices = device_free_make(watch->view->objects, &scratch);
	list->nodes = device_nodes_fill(devices, list->nodes, list->node_count, arena);
	list->pods = device_nodes_fill_pods(devices, list->pods, list->pod_count, arena);
	return true;
}

static struct device_view *const *devices(const void *self)
{
	const struct device_watch *watch = self;

	return &watch->view;
}

const struct feature device_claims_feature = {
	.begin = begin,
	.end = end,
	.known = known,
	.ray_cluster_changed = ray_cluster_changed,
	.devices = devices,
	.complete = complete,
};
