/* The objects of one informer by "namespace/name", each in a block of its own size, and an index.
 * The caller owns struct kube_store, which owns the objects. Knows nothing of requests.
 *
 * With budgets, each object is charged to that of its namespace. One that does not fit becomes a bad
 * entry, which is charged to budgets->beside. A later list stores it when it
 * fits by then (kube_store_has_room).
 * Only for kube_informer. */
#ifndef KUBE_KUBE_STORE_H
#define KUBE_KUBE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/budget_children.h"
#include "base/list.h"
#include "base/map.h"
#include "kube/kube_informer_options.h"

struct kube_decoded;
struct kube_entry;

struct kube_store {
	const struct kube_type *type;
	const struct kube_informer_callbacks *callbacks; /* on_change is called from here */
	struct map entries;                              /* of struct kube_entry */
	struct map groups;                               /* the index: key to struct kube_group */
	struct arena scratch;
	struct words *words; /* of all objects */
	/* Before the first object; borrowed. NULL: no limit. */
	struct budget_children *budgets;
	size_t refused_count;
	struct list unread;    /* of struct kube_entry */
	struct map turns;      /* of their namespaces */
	struct map incomplete; /* the namespaces of kube_store_incomplete */
	struct loop *loop; /* whose jobs may still read an object that was replaced (net/work.h) */
	size_t good_count, bad_count;
	uint64_t round;  /* of lists: objects that the last one did not name are deleted */
	size_t sweep_at; /* entries that the sweep has not looked at; 0: none is under way */
	bool passing;    /* set after init: objects are reported and not kept */
};

void kube_store_init(struct kube_store *store, struct loop *loop, const struct kube_type *type,
		     const struct kube_informer_callbacks *callbacks);
/* Makes no callback. No job may be under way that reads an object. */
void kube_store_done(struct kube_store *store);

/* A list begins; kube_store_sweep ends it and deletes the objects that were not put since then. False: the turn of the
 * loop has no time for the rest; it is called again, and nothing is put in between. */
void kube_store_mark(struct kube_store *store);
bool kube_store_sweep(struct kube_store *store);

/* Stores this version of the object. -1 with ERR_INPUT only when it has no name; one that cannot be
 * decoded becomes a bad entry. `problem`: NULL, or why `json` is only the object's skeleton
 * (codec/objects/foreign_object); then the entry is bad as well. */
int kube_store_put(struct kube_store *store, const struct cJSON *json, const char *problem,
		   struct err *err);
/* The same with the object, decoded already (kube_decode.h), of which `json` is the skeleton. Takes the
 * arena. */
int kube_store_put_decoded(struct kube_store *store, const struct cJSON *json,
			   struct kube_decoded *decoded, struct err *err);
/* Only notes that the object exists, from its skeleton: a bad entry until it is put. Nothing when this
 * version is stored. */
int kube_store_put_unread(struct kube_store *store, const struct cJSON *json, struct err *err);
bool kube_store_unread(const struct kube_store *store, const char *key);
/* The key of the object to read next, NULL: none is unread. The n-th of a namespace comes before the
 * (n+1)-th of any other. Linear in the number of unread objects. */
const char *kube_store_next_unread(const struct kube_store *store);
/* The object was deleted; fine when it is not stored. -1 as above. */
int kube_store_remove(struct kube_store *store, const struct cJSON *json, const char *problem,
		      struct err *err);
void kube_store_remove_key(struct kube_store *store, const char *key);

/* Why objects of the namespace are not even named: budgets->beside was full; until a list that has room for
 * all. NULL: all are known. "": of objects without a namespace. */
const char *kube_store_incomplete(const struct kube_store *store, const char *namespace_);
/* Whether an object was refused that would fit now; linear when there are refused ones. */
bool kube_store_has_room(const struct kube_store *store);

/* Of the object named in `json`; NULL: not stored, or without a name. */
const char *kube_store_version(struct kube_store *store, const struct cJSON *json);
const void *kube_store_get(const struct kube_store *store, const char *key);
const char *kube_store_bad(const struct kube_store *store, const char *key);
const void *kube_store_next(const struct kube_store *store, size_t *at);
const void *const *kube_store_indexed(const struct kube_store *store, const char *key,
				      size_t *ret_count);
/* The memory of an object, and of all objects with an index key. */
size_t kube_store_bytes(const struct kube_store *store, const char *key);
size_t kube_store_indexed_bytes(const struct kube_store *store, const char *key);
size_t kube_store_indexed_unread(const struct kube_store *store, const char *key);
size_t kube_store_leading(const struct kube_store *store, const char *key);

#endif
