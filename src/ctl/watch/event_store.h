/* The Events that a decision may need, of Pods and RayClusters: of each object the newest of each
 * meaning (core/model/event_meaning.h), with short messages, within limits; all others are dropped
 * at once. The owner is ctl/watch/events; texts are copied. No I/O, no clock.
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

struct event_store;

struct event_store *event_store_new(void);
void event_store_free(struct event_store *store); /* NULL is fine */

/* Stores an Event. True when it changes what is known of its object: it had none before, or its
 * newest one had another meaning. `ours`: the object belongs to a cluster that is scaled here. */
bool event_store_put(struct event_store *store, const struct event *event, bool ours,
		     int64_t monotonic_ms);
/* The API server has deleted it. */
void event_store_remove(struct event_store *store, const struct event *event);
/* The object was deleted, or its Events do not matter any more. */
void event_store_forget(struct event_store *store, const char *kind, const char *namespace_,
			const char *name);

struct event_list {
	VEC(struct event) events;
};

/* Appends the Events of an object of ours; copied into the arena. */
void event_store_find(struct event_store *store, const char *kind, const char *namespace_,
		      const char *name, struct arena *arena, struct event_list *list);

size_t event_store_objects(const struct event_store *store);

#endif
