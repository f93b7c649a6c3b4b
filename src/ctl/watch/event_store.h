/* The Events that a decision may need, of Pods and RayClusters: of each object the newest of each
 * meaning (core/model/event_meaning.h), with short messages, within limits; all others are dropped
 * at once. The owner is ctl/watch/events; texts are copied. No I/O, no clock. They are charged to the objects of
 * their namespace; without room there, or above EVENT_CLUSTER_MAX objects of one cluster, new ones are
 * dropped.
 *
 * An Event may arrive before its Pod is known: the Events of an object that is not known to be
 * ours are kept for a minute, for at most EVENT_STRANGERS_MAX such objects; the oldest is
 * dropped first. */
#ifndef CTL_WATCH_EVENT_STORE_H
#define CTL_WATCH_EVENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

#define EVENT_MESSAGE_MAX 512
#define EVENT_PER_OBJECT_MAX 4
#define EVENT_STRANGERS_MAX 1000
#define EVENT_STRANGER_MS 60000
#define EVENT_OBJECTS_MAX 20000
#define EVENT_CLUSTER_MAX 4000

struct event_store;

struct budget_children;
struct loop;

/* budgets: by namespace, borrowed; NULL: no limit. loop: whose jobs may read what event_store_of_cluster returned;
 * NULL: no job does. */
struct event_store *event_store_new(struct budget_children *budgets, struct loop *loop);
void event_store_free(struct event_store *store); /* NULL is fine */

/* Stores an Event. True when it changes what is known of its object: it had none before, or its
 * newest one had another meaning. `cluster`: the name of the RayCluster that is scaled here and has the object;
 * NULL: it is not known yet. */
bool event_store_put(struct event_store *store, const struct event *event, const char *cluster,
		     int64_t monotonic_ms);
/* The Pod has become known as one of this RayCluster. */
void event_store_claim(struct event_store *store, const struct pod *pod, const char *cluster);
/* The API server has deleted it. */
void event_store_remove(struct event_store *store, const struct event *event);
/* The object was deleted, or its Events do not matter any more. */
void event_store_forget(struct event_store *store, const char *kind, const char *namespace_,
			const char *name);

struct event_list {
	VEC(struct event) events;
};

/* Appends the Events of the RayCluster, and of its Pods that event_store_forget has not named; the texts
 * live until the jobs have ended that are started in this turn of the loop. */
void event_store_of_cluster(struct event_store *store, const char *namespace_, const char *cluster,
			    struct arena *arena, struct event_list *list);

size_t event_store_objects(const struct event_store *store);

#endif
