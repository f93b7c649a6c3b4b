#include "ctl/watch/event_store.h"

#include <string.h>

#include "base/budget_children.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/event_json.h"
#include "core/model/event_meaning.h"
#include "net/work.h"

/* Kind, namespace and name; far above the limits of the API server. */
#define KEY_MAX ((size_t)4096)
/* Of one Event, about. */
#define EVENT_BYTES ((size_t)1 << 10)

struct kept {
	struct arena arena; /* one block of the right size */
	const struct event *event;
};

struct object {
	const char *key;
	struct list_item stranger; /* in the list while it is not known to be ours */
	struct list_item member;   /* of a cluster: in its list */
	struct cluster *cluster;   /* NULL: not known to be ours */
	struct budget *budget;     /* a reference; NULL: no limit */
	int64_t since_ms;
	struct kept kept[EVENT_PER_OBJECT_MAX];
	size_t count;
};

struct cluster {
	const char *key; /* "namespace/name" */
	struct list objects;
};

struct event_store {
	struct map objects;    /* "Kind/namespace/name" to struct object */
	struct map clusters;   /* with objects */
	struct list strangers; /* by age */
	struct budget_children *budgets;
	struct loop *loop;
};

struct event_store *event_store_new(struct budget_children *budgets, struct loop *loop)
{
	struct event_store *store = memory_alloc(sizeof(*store));

	store->objects = store->clusters = MAP_INIT;
	store->budgets = budgets;
	store->loop = loop;
	return store;
}

static void release(void *memory)
{
	struct kept *kept = memory;

	arena_done(&kept->arena);
	memory_free(kept);
}

/* A decision in progress may still read it. */
static void retire(const struct event_store *store, struct kept *kept)
{
	struct kept *old = memory_alloc(sizeof(*old));

	*old = *kept;
	*kept = (struct kept){ .event = NULL };
	if (store->loop)
		work_retire(store->loop, release, old);
	else
		release(old);
}

static void object_done(void *value)
{
	struct object *object = value;

	list_remove(&object->stranger);
	list_remove(&object->member);
	for (size_t i = 0; i < object->count; i++)
		arena_done(&object->kept[i].arena);
	budget_free(object->budget);
}

void event_store_free(struct event_store *store)
{
	if (!store)
		return;
	map_drop_all(&store->objects, object_done);
	map_drop_all(&store->clusters, NULL);
	memory_free(store);
}

static void drop(struct event_store *store, struct object *object)
{
	struct cluster *cluster = object->cluster;

	for (size_t i = 0; i < object->count; i++)
		retire(store, &object->kept[i]);
	object->count = 0;
	map_drop(&store->objects, object->key, object_done);
	if (cluster && cluster->objects.count == 0)
		map_drop(&store->clusters, cluster->key, NULL);
}

/* From now on it is known to be of this cluster. False: that has too many, and it is dropped. */
static bool join(struct event_store *store, struct object *object, const char *namespace_,
		 const char *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct cluster *of;

	if (object->cluster)
		return true;
	of = map_make(&store->clusters, arena_printf(&scratch, "%s/%s", namespace_, cluster),
		      sizeof(*of));
	if (of->objects.count >= EVENT_CLUSTER_MAX) {
		drop(store, object);
		return false;
	}
	list_remove(&object->stranger);
	object->cluster = of;
	list_add(&of->objects, &object->member);
	return true;
}

static void drop_strangers(struct event_store *store, int64_t monotonic_ms)
{
	LIST_EACH(struct object, oldest, &store->strangers, stranger) {
		if (store->strangers.count <= EVENT_STRANGERS_MAX &&
		    monotonic_ms - oldest->since_ms <= EVENT_STRANGER_MS)
			return;
		drop(store, oldest);
	}
}

/* --- objects --- */

/* NULL for an object without a valid name. */
static const char *key_of(struct buf *buf, const char *kind, const char *namespace_,
			  const char *name)
{
	buf_init(buf, KEY_MAX);
	if (!*name || buf_printf(buf, "%s/%s/%s", kind, namespace_, name) < 0)
		return NULL;
	return buf_string(buf);
}

static struct object *find(const struct event_store *store, const char *kind,
			   const char *namespace_, const char *name)
{
	AUTO(buf_done) struct buf buf;
	const char *key = key_of(&buf, kind, namespace_, name);

	return key ? map_get(&store->objects, key) : NULL;
}

static struct object *find_or_add(struct event_store *store, const struct event *event,
				  int64_t monotonic_ms)
{
	AUTO(buf_done) struct buf buf;
	const char *key =
		key_of(&buf, event->involved_kind, event->namespace_, event->involved_name);
	struct object *object = key ? map_get(&store->objects, key) : NULL;

	if (object || !key || store->objects.count >= EVENT_OBJECTS_MAX)
		return object;
	object = map_make(&store->objects, key, sizeof(*object));
	object->budget = budget_children_get(store->budgets, event->namespace_);
	object->since_ms = monotonic_ms;
	list_add(&store->strangers, &object->stranger);
	return object;
}

/* --- the events of one object --- */

static void keep(const struct event *event, struct budget *budget, struct kept *kept)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct event shorter = *event;

	kept->arena.budget = budget;
	shorter.message = arena_cut(&scratch, event->message, EVENT_MESSAGE_MAX);
	kept->event = field_keep(event_fields, &shorter, sizeof(shorter), SIZE_MAX, &kept->arena);
}

/* The index at which the new event is stored: that of an older version of itself, for a Pod that of
 * one with the same meaning, else that of the oldest when there is no room. A RayCluster keeps
 * several of one meaning, because they concern several groups. */
static size_t place_of(const struct object *object, const struct event *event)
{
	size_t place = object->count;

	for (size_t i = 0; i < object->count; i++) {
		const struct event *old = object->kept[i].event;

		if (!strcmp(old->name, event->name))
			return i;
		if (!strcmp(event->involved_kind, "Pod") &&
		    event_meaning(old) == event_meaning(event))
			place = i;
	}
	if (place < EVENT_PER_OBJECT_MAX)
		return place;
	place = 0;
	for (size_t i = 1; i < object->count; i++)
		if (event_time(object->kept[i].event) < event_time(object->kept[place].event))
			place = i;
	return place;
}

static const struct event *newest_of(const struct object *object)
{
	const struct event *newest = NULL;

	for (size_t i = 0; i < object->count; i++) {
		CHECK(object->kept[i].event);
		if (!newest || event_time(object->kept[i].event) > event_time(newest))
			newest = object->kept[i].event;
	}
	return newest;
}

/* Stores the event at place_of() unless a newer version is there: a list and a watch may deliver
 * versions in any order. The result is true for the first event of the object, and for a newer one
 * with another meaning than the newest before it, so that a repeated event triggers no pass. */
bool event_store_put(struct event_store *store, const struct event *event, const char *cluster,
		     int64_t monotonic_ms)
{
	enum event_meaning meaning = event_meaning(event);
	const struct event *before;
	struct object *object;
	bool news;
	size_t at;

	drop_strangers(store, monotonic_ms);
	if (meaning == EVENT_MEANS_NOTHING)
		return false;
	object = find_or_add(store, event, monotonic_ms);
	if (!object || (cluster && !join(store, object, event->namespace_, cluster)))
		return false;
	if (!budget_fits(object->budget, EVENT_BYTES)) {
		if (object->count == 0)
			drop(store, object);
		return false;
	}
	before = newest_of(object);
	news = !before ||
	       (event_meaning(before) != meaning && event_time(event) >= event_time(before));
	at = place_of(object, event);
	if (at < object->count && event_time(event) < event_time(object->kept[at].event))
		return false; /* a list delivers older ones in any order */
	if (at == object->count)
		object->count++;
	else
		retire(store, &object->kept[at]);
	keep(event, object->budget, &object->kept[at]);
	return news;
}

void event_store_remove(struct event_store *store, const struct event *event)
{
	struct object *object =
		find(store, event->involved_kind, event->namespace_, event->involved_name);

	if (!object)
		return;
	for (size_t i = 0; i < object->count; i++) {
		if (strcmp(object->kept[i].event->name, event->name) != 0)
			continue;
		retire(store, &object->kept[i]);
		object->kept[i] = object->kept[--object->count];
		object->kept[object->count] = (struct kept){ .event = NULL };
		break;
	}
	if (object->count == 0)
		drop(store, object);
}

void event_store_forget(struct event_store *store, const char *kind, const char *namespace_,
			const char *name)
{
	struct object *object = find(store, kind, namespace_, name);

	if (object)
		drop(store, object);
}

void event_store_claim(struct event_store *store, const struct pod *pod, const char *cluster)
{
	struct object *object =
		store->strangers.count > 0 ? find(store, "Pod", pod->namespace_, pod->name) : NULL;

	if (object)
		(void)join(store, object, pod->namespace_, cluster);
}

void event_store_of_cluster(struct event_store *store, const char *namespace_, const char *cluster,
			    struct arena *arena, struct event_list *list)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct cluster *of;
	struct object *own =
		store->strangers.count > 0 ? find(store, "RayCluster", namespace_, cluster) : NULL;

	if (own)
		(void)join(store, own, namespace_, cluster);
	of = map_get(&store->clusters, arena_printf(&scratch, "%s/%s", namespace_, cluster));
	if (!of)
		return;
	LIST_EACH(struct object, object, &of->objects, member)
		for (size_t i = 0; i < object->count; i++)
			VEC_PUSH(arena, &list->events, *object->kept[i].event);
}

size_t event_store_objects(const struct event_store *store)
{
	return store->objects.count;
}
