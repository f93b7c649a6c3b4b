#include "feature/device_claims/ctl/device_watch.h"

#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "core/model/claimed.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "ctl/watch/optional_watch.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/device_claims/ctl/device_copy.h"
#include "feature/device_claims/kube/device_types.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/work.h"

/* Changes of one Pod's start come together. A view whose objects take long to copy is made more
 * rarely, so that a thread copies for a twentieth of the time at most. */
#define VIEW_DELAY_MS 200
#define VIEW_DELAY_COPIES 20
/* The current one, and one that is made or that a pass still holds. */
#define VIEWS ((size_t)2)
/* A kind that is not read after so many timeouts of the API server is not waited for. */
#define FIRST_LISTS_TIMEOUTS 3

/* In the order of device_objects_fields. */
enum kind { SLICES = 0, CLASSES, TEMPLATES, CLAIMS, RULES, KIND_COUNT };

#define DENIED(kind, plural, effect)                                                               \
	kind " cannot be read: grant list and watch of " plural                                    \
	     " of resource.k8s.io (chart value deviceClaims; for a sidecar to the ServiceAccount " \
	     "of the head Pod); " effect
#define ABSENT(kind, effect) kind " are not served by the API server; " effect
#define MESSAGES(kind, plural, effect)                                                             \
	DENIED(kind, plural, effect), ABSENT(kind, effect), kind " can be read now", kind, effect

static const struct {
	const struct kube_type *type;
	bool in_namespace;
	const char *without, *absent, *again, *name, *effect;
} kinds[KIND_COUNT] = {
	[SLICES] = { &kube_type_resource_slice, false,
		     MESSAGES("ResourceSlices", "resourceslices",
			      "the product of claimed devices is unknown, and allocationMode All "
			      "counts 0") },
	[CLASSES] = { &kube_type_device_class, false,
		      MESSAGES("DeviceClasses", "deviceclasses",
			       "only the names in the device table are known") },
	[TEMPLATES] = { &kube_type_claim_template, true,
			MESSAGES("ResourceClaimTemplates", "resourceclaimtemplates",
				 "the devices that worker groups claim are not counted") },
	[CLAIMS] = { &kube_type_resource_claim, true,
		     MESSAGES("ResourceClaims", "resourceclaims",
			      "what a Pod was given is unknown") },
	[RULES] = { &kube_type_taint_rule, false,
		    MESSAGES("DeviceTaintRules", "devicetaintrules",
			     "only the taints in ResourceSlices are known") },
};

/* They end when no job reads their objects any longer. */
struct watches {
	struct device_watch *owner;              /* NULL: they have ended */
	struct optional_watch kinds[KIND_COUNT]; /* their owner: this struct */
};

struct device_watch {
	struct feature_state of;             /* clusters: those that claim devices */
	bool nodes_lack;                     /* accelerators that may be in ResourceSlices */
	struct watches *watches;             /* NULL: none */
	struct loop_timer *timer, *deadline; /* NULL: no watch ever began */
	bool due;                            /* the timer is set */
	struct work_job *job;                /* counts a view; NULL: none */
	bool changed;                        /* since the last view was begun */
	int64_t copy_us;                     /* of the last view */
	bool late;                           /* the deadline of the first view has passed */
	struct device_copied copied;         /* of the last view, with its texts */
	size_t bad_slices;                   /* that cannot be decoded, as logged */
	char *bad_slice;                     /* the last one; NULL: none */
	struct device_view *view;            /* NULL: nothing is watched, or not all is read */
	uint64_t views;                      /* were made */
};

/* ---- the view ---- */

/* Without what their members point to. */
static void *list_objects(const struct kube_informer *informer, const struct field *row,
			  struct arena *arena, size_t *ret_count)
{
	size_t count = kube_informer_count(informer) + kube_informer_bad_count(informer), at = 0;
	char *list = arena_array(arena, count, row->size);
	const void *object;

	for (*ret_count = 0; *ret_count < count && (object = kube_informer_next(informer, &at));)
		memcpy(list + (*ret_count)++ * row->size, object, row->size);
	return list;
}

static bool all_known(const struct device_watch *watch)
{
	for (size_t k = 0; k < KIND_COUNT; k++)
		if (!optional_watch_known(&watch->watches->kinds[k]))
			return false;
	return true;
}

/* A view under way: the objects are listed on the loop, and copied and counted on another thread. The
 * informers retire those that they replace meanwhile (net/work.h). */
struct making {
	struct device_watch *watch;
	const struct device_table *table;
	struct device_view *view;
	struct device_objects *objects;
	struct device_copied copied;
	int64_t copy_us;
};

static void set_list(struct device_objects *objects, const struct field *row, void *list,
		     size_t count, bool known)
{
	memcpy(field_value(row, objects), &list, sizeof(list));
	memcpy((char *)objects + row->count, &count, sizeof(count));
	memcpy((char *)objects + row->has, &known, sizeof(known));
}

static struct name_set unread_namespaces(const struct device_objects *objects, struct arena *arena)
{
	VEC(const char *) names = { .at = NULL };

	ARRAY_EACH(const struct claim_template, one, objects->templates, objects->template_count)
		if (one->unreadable && strcmp(one->unreadable, KUBE_UNREAD_TEXT) == 0)
			VEC_PUSH(arena, &names, one->namespace_);
	ARRAY_EACH(const struct resource_claim, one, objects->claims, objects->claim_count)
		if (one->unreadable && strcmp(one->unreadable, KUBE_UNREAD_TEXT) == 0)
			VEC_PUSH(arena, &names, one->namespace_);
	return name_set_of_strings(arena, &(struct strings){ names.at, names.count });
}

static void count_view(void *context, const struct work_job *job UNUSED)
{
	struct making *making = context;
	struct device_view *view = making->view;

	making->copy_us = -loop_precise_us();
	device_copy(making->objects, view->budget ? view->budget->limit_bytes / VIEWS : 0,
		    &view->arena, &making->copied);
	view->unread = unread_namespaces(view->objects, &view->arena);
	view->table = device_claims_attach(view->objects, making->table, &view->arena);
	making->copy_us += loop_precise_us();
}

static void note_kind(enum kind kind, bool was, bool is)
{
	if (is && !was)
		log_warning("too many or too large objects", "kind", kinds[kind].name, "effect",
			    kinds[kind].effect, NULL);
}

/* Once for each namespace that is the first one, and each number of them. */
static void note_too_large(struct device_watch *watch, const struct device_copied *copied)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct device_copied *last = &watch->copied;
	const char *first = last->refused > 0 ? last->first_refused : "";

	note_kind(SLICES, last->slices_too_large, copied->slices_too_large);
	note_kind(CLASSES, last->classes_too_large, copied->classes_too_large);
	note_kind(RULES, last->rules_too_large, copied->rules_too_large);
	if (copied->refused > 0 &&
	    (copied->refused != last->refused || strcmp(copied->first_refused, first) != 0))
		log_warning("claims are not read", "namespace", copied->first_refused, "namespaces",
			    arena_printf(&scratch, "%zu", copied->refused), "reason", copied->why,
			    NULL);
}

/* A slice that cannot be decoded has no devices. */
static void note_bad_slices(struct device_watch *watch)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t bad = kube_informer_bad_count(watch->watches->kinds[SLICES].informer);

	if (bad != watch->bad_slices && bad > 0)
		log_warning("ResourceSlices cannot be read", "count",
			    arena_printf(&scratch, "%zu", bad), "last", watch->bad_slice, "effect",
			    "their devices do not count", "reason",
			    kube_informer_bad(watch->watches->kinds[SLICES].informer, "",
					      watch->bad_slice),
			    NULL);
	watch->bad_slices = bad;
}

static void wake_users(const struct device_watch *watch)
{
	for (size_t i = 0; i < watch->of.clusters.map.count; i++) {
		const struct cluster_entry *user = watch->of.clusters.map.entries[i].value;

		(void)control_wake(watch->of.control, user->namespace_, user->name);
	}
}

static void renew(struct device_watch *watch);

static void view_counted(void *context)
{
	struct making *making = context;
	struct device_watch *watch = making->watch;
	bool first = !watch->view;

	note_too_large(watch, &making->copied);
	note_bad_slices(watch);
	device_view_drop(watch->view);
	watch->view = making->view;
	watch->copied = making->copied;
	watch->copy_us = making->copy_us;
	watch->job = NULL;
	memory_free(making);
	if (first)
		control_ready(watch->of.control);
	wake_users(watch);
	if (watch->changed)
		renew(watch);
}

static void view_dropped(void *context)
{
	struct making *making = context;

	device_view_drop(making->view);
	memory_free(making);
}

static void list_kinds(const struct watches *watches, struct device_objects *objects,
		       struct arena *arena)
{
	for (size_t k = 0; k < KIND_COUNT; k++) {
		const struct optional_watch *watch = &watches->kinds[k];
		const struct field *row = &device_objects_fields[k];
		bool known = watch->refused == ERR_NONE && kube_informer_synced(watch->informer);
		size_t count = 0;
		void *list = known ? list_objects(watch->informer, row, arena, &count) : NULL;

		set_list(objects, row, list, count, known);
	}
}

/* NULL: without a limit. */
static struct budget *budget_of(const struct device_watch *watch)
{
	const struct memory_budgets *memory = watch->of.control->memory;

	return memory ? memory->views : NULL;
}

static void make_view(struct device_watch *watch)
{
	static const struct work_functions functions = { count_view, view_counted, view_dropped };
	struct making *making = memory_alloc(sizeof(*making));
	struct device_view *view = device_view_new(budget_of(watch));
	struct device_objects *objects = ARENA_NEW(&view->arena, struct device_objects);

	list_kinds(watch->watches, objects, &view->arena);
	view->number = ++watch->views;
	view->objects = objects;
	*making = (struct making){ .watch = watch,
				   .table = watch->of.control->options->device_table,
				   .view = view,
				   .objects = objects };
	watch->changed = false;
	watch->job = work_start_slow(watch->of.control->loop, &functions, making, loop_boot_ms());
}

/* No pass holds an older view than the present one: the budget has the reference of its owner, and one for
 * each view. */
static bool has_room(const struct device_watch *watch)
{
	const struct budget *budget = budget_of(watch);

	return !budget || budget->references <= VIEWS;
}

static void timer_due(void *context)
{
	struct device_watch *watch = context;
	bool first = !watch->view;

	watch->due = false;
	if (!watch->watches || (first && !watch->late && !all_known(watch)))
		return;
	if (first || has_room(watch))
		make_view(watch);
	else /* passes hold earlier ones */
		renew(watch);
}

static void deadline_due(void *context)
{
	struct device_watch *watch = context;

	watch->late = true;
	if (watch->watches && !watch->view)
		renew(watch);
}

/* ---- watches ---- */

static int64_t view_delay_ms(const struct device_watch *watch)
{
	int64_t copies_ms = VIEW_DELAY_COPIES * watch->copy_us / 1000;

	if (!watch->view)
		return 0;
	return copies_ms > VIEW_DELAY_MS ? copies_ms : VIEW_DELAY_MS;
}

static void renew(struct device_watch *watch)
{
	watch->changed = true;
	if (watch->due || watch->job)
		return;
	watch->due = true;
	loop_timer_start(watch->timer, view_delay_ms(watch));
}

/* NULL: the watches have ended. */
static struct device_watch *owner_of(const struct optional_watch *kind)
{
	const struct watches *watches = kind->owner;

	return watches->owner;
}

static void object_changed(void *context, enum kube_change change, const char *key,
			   const void *old UNUSED, const void *new_object)
{
	struct device_watch *watch = owner_of(context);

	if (watch && context == &watch->watches->kinds[SLICES] && !new_object &&
	    change != KUBE_DELETED)
		memory_set_string(&watch->bad_slice, key);
	if (watch && (watch->view || watch->job))
		renew(watch);
}

static void kind_read(void *context)
{
	struct device_watch *watch = owner_of(context);

	if (watch)
		renew(watch);
}

static void begin_watches(struct device_watch *watch)
{
	const struct options *options = watch->of.control->options;
	const char *own = options->cluster_name[0] ? options->cluster_namespace :
						     options->namespace_; /* of a sidecar */

	if (watch->watches)
		return;
	watch->watches = memory_alloc(sizeof(*watch->watches));
	watch->watches->owner = watch;
	if (!watch->timer) {
		watch->timer = loop_timer_new(watch->of.control->loop, timer_due, watch);
		watch->deadline = loop_timer_new(watch->of.control->loop, deadline_due, watch);
	}
	watch->late = false;
	loop_timer_start(watch->deadline,
			 options->kube_api_timeout_seconds * MS_PER_SECOND * FIRST_LISTS_TIMEOUTS);
	for (size_t k = 0; k < KIND_COUNT; k++) {
		struct optional_watch *kind = &watch->watches->kinds[k];

		*kind = (struct optional_watch){ .owner = watch->watches,
						 .level = k == RULES ? LOG_INFO : LOG_WARNING,
						 .without = kinds[k].without,
						 .absent = kinds[k].absent,
						 .again = kinds[k].again,
						 .on_refused = kind_read };
		optional_watch_start(kind, watch->of.control->kube,
				     (struct kube_informer_options){
					     .type = kinds[k].type,
					     .namespace_ = kinds[k].in_namespace ? own : "",
					     .large_later = kinds[k].in_namespace,
					     .callbacks = { .on_change = object_changed,
							    .on_synced = kind_read },
				     });
	}
}

static void free_watches(void *memory)
{
	struct watches *watches = memory;

	for (size_t k = 0; k < KIND_COUNT; k++)
		optional_watch_done(&watches->kinds[k]);
	memory_free(watches);
}

static void end_watches(struct device_watch *watch)
{
	if (watch->job)
		work_cancel(watch->job);
	watch->job = NULL;
	if (watch->watches) {
		watch->watches->owner = NULL;
		work_retire(watch->of.control->loop, free_watches, watch->watches);
	}
	watch->watches = NULL;
	device_view_drop(watch->view);
	watch->view = NULL;
	watch->copied = (struct device_copied){ .refused = 0 };
}

static void renew_watches(struct device_watch *watch)
{
	if (watch->of.clusters.map.count > 0 || watch->nodes_lack)
		begin_watches(watch);
	else if (watch->watches)
		end_watches(watch);
}

/* ---- the feature ---- */

static void end(void *self)
{
	struct device_watch *watch = self;

	end_watches(watch);
	memory_free(watch->bad_slice);
	loop_timer_free(watch->timer);
	loop_timer_free(watch->deadline);
}

static bool known(const void *self)
{
	const struct device_watch *watch = self;

	return !watch->watches || watch->view != NULL;
}

static void ray_cluster_changed(void *self, const char *namespace_, const char *name, bool deleted)
{
	struct device_watch *watch = self;
	const struct ray_cluster *cluster =
		deleted ? NULL :
			  kube_informer_get(watch->of.control->ray_clusters, namespace_, name);

	if (cluster && claimed_by_cluster(cluster))
		(void)cluster_map_make(&watch->of.clusters, namespace_, name);
	else
		cluster_map_remove(&watch->of.clusters, namespace_, name);
	renew_watches(watch);
}

static bool complete(void *self, struct inventory_list *list, struct arena *arena)
{
	const struct device_table *table;
	struct device_watch *watch = self;
	const struct claimed_index *claims;

	table = watch->of.control->options->device_table;
	watch->nodes_lack = false;
	for (size_t i = 0; i < list->node_count; i++)
		watch->nodes_lack = watch->nodes_lack || device_nodes_lacks(&list->nodes[i], table);
	renew_watches(watch);
	if (!watch->view)
		return !watch->watches;
	claims = watch->view->table->claims;
	if (!claims || !claims->devices)
		return true;
	list->nodes = device_nodes_fill(claims->devices, list->nodes, list->node_count, arena);
	list->pods = device_nodes_fill_pods(claims->devices, list->pods, list->pod_count, arena);
	return true;
}

/* Of a cluster that claims; with the view that its decisions would read. */
static bool unread(const void *self, const char *namespace_, const char *name)
{
	const struct device_watch *watch = self;

	return watch->view && cluster_map_get(&watch->of.clusters, namespace_, name) &&
	       name_set_contains(&watch->view->unread, namespace_);
}

static struct device_view *const *devices(const void *self)
{
	const struct device_watch *watch = self;

	return &watch->view;
}

const struct feature device_claims_feature = {
	.state_size = sizeof(struct device_watch),
	.cluster_size = sizeof(struct cluster_entry),
	.end = end,
	.known = known,
	.ray_cluster_changed = ray_cluster_changed,
	.devices = devices,
	.complete = complete,
	.unread = unread,
};
