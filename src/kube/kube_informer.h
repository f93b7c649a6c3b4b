/* Informer: the live copy of one kind of object. Lists, then watches, for ever, and handles every
 * fault. The caller owns struct kube_informer; the informer owns its objects. An object is never
 * changed: a new version is a new object, and the old one is freed when on_change returns, so keep
 * no pointers across turns of the loop: look up again. Must not be used for a decision before
 * kube_informer_synced, nor to remove anything while kube_informer_fresh is false.
 *
 * How a silent server is noticed: each watch asks the server to end it after 20 s (timeoutSeconds),
 * and is opened again at once from the last resourceVersion; so silence for 25 s can only mean that
 * peer or network hang. This needs no bookmarks (real API servers send them once a minute and 2 s
 * before the end), and works where TCP still answers but the server does not. The price is one
 * cheap request per informer in 20 s.
 *
 * Faults: 410, or an ERROR event: list again; a broken stream, 5xx, a stall: watch again from the
 * last resourceVersion; three of those in a row without one event or bookmark: list again. All with
 * backoff (0.5 s doubling to 15 s, jittered; Retry-After is obeyed up to 60 s). A list is read
 * object by object as it arrives, so that an object above FOREIGN_OBJECT_MAX_BYTES is a bad one and
 * does not affect others. A page that takes too long is requested again with half as many objects.
 * An event that is older than an earlier one of the watch is skipped. */
#ifndef KUBE_KUBE_INFORMER_H
#define KUBE_KUBE_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"
#include "kube/kube_client.h"

struct cJSON;
struct kube_informer;

/* A kind of object. The decoder gets a fresh arena and object_size zeroed bytes. */
struct kube_type {
	const char *kind;        /* "Pod" */
	const char *plural;      /* "pods" */
	const char *group;       /* "" is the core group */
	const char *versions[4]; /* the first that is served is used; ends with NULL */
	const char *install;     /* the fix when the server does not know it; "" built in */
	size_t object_size;
	/* Memory that the program keeps of one object beside it, such as the state of a cluster, as far as it
	 * is charged to the object's namespace. */
	size_t beside_bytes;
	int (*decode)(const struct cJSON *json, const char *path, struct arena *arena,
		      void *ret_object, struct err *err);
	/* Makes the struct of an object that `decode` refused because of `problem`: it is kept,
	 * indexed and reported like a good one. NULL: a bad object has no struct. -1 when no field
	 * can be read. */
	int (*decode_bad)(const struct cJSON *json, const char *problem, struct arena *arena,
			  void *ret_object);
	/* Appends the key under which kube_informer_indexed finds the object; nothing: not indexed.
	 * NULL: no index. */
	void (*index)(const void *object, struct buf *ret_key);
	/* Those come first among the objects with their key. NULL: in any order. */
	bool (*leads)(const void *object);
};

/* struct ray_cluster; v1, else v1alpha1; a bad one is `unreadable`, as a bad Pod is. */
extern const struct kube_type kube_type_ray_cluster;
extern const struct kube_type
	kube_type_pod; /* struct pod; index "namespace/cluster" by label, head Pods first */
extern const struct kube_type kube_type_node;       /* struct node */
extern const struct kube_type kube_type_event;      /* struct event */
extern const struct kube_type kube_type_autoscaler; /* struct autoscaler_object */
extern const struct kube_type kube_type_namespace;  /* struct namespace */
/* Features have further kinds in their part `kube`. */

/* Why an object is bad that has not been read yet (large_later). */
#define KUBE_UNREAD_TEXT                                                                           \
	"is not read yet: large objects are read one after another, those of each namespace in "   \
	"turn; wait, or make it smaller"

enum kube_change {
	KUBE_ADDED = 1, /* old is NULL */
	KUBE_MODIFIED,
	KUBE_DELETED, /* new_object is NULL */
	/* The object exists and cannot be decoded: new_object is NULL, or of decode_bad; old may be
	 * NULL. */
	KUBE_BAD,
	KUBE_UNREAD, /* as KUBE_BAD; another change follows when the object has been read */
};

struct kube_informer_callbacks {
	/* `key` is "namespace/name" ("name" when not namespaced). Also called during the first
	 * list. A version that is stored already (same resourceVersion) is not a change. When the
	 * object was bad before, old is NULL and the change is KUBE_ADDED, or KUBE_DELETED with
	 * both NULL. */
	void (*on_change)(void *context, enum kube_change change, const char *key, const void *old,
			  const void *new_object);
	void (*on_synced)(void *context); /* once: the first list is complete */
	/* Each failure, also of the same kind again (net/log has log_repeat); the informer retries
	 * by itself. */
	void (*on_error)(void *context, const struct err *err);
	void (*on_live)(void *context); /* the view is fresh (again) */
	void *context;
};

struct kube_informer_options {
	const struct kube_type *type;
	const char *namespace_;     /* NULL or "": all */
	const char *label_selector; /* "ray.io/cluster"; NULL or "": none */
	const char *field_selector; /* "involvedObject.kind=Pod"; NULL or "": none */
	/* Keep no object: on_change is called for each one that exists (KUBE_ADDED, again with each
	 * version and list) and that is deleted (KUBE_DELETED, old is what the server sent last),
	 * and the owner keeps what it needs. For kinds with many objects, such as Events. */
	bool passing;
	/* Large objects of a list (above KUBE_DECODE_INLINE_BYTES) do not delay on_synced: each is unread
	 * (kube_informer_unread) until it is read again after the list, one at a time, those of many
	 * namespaces in turn. Not with `passing` or field_selector; without effect with name. */
	bool large_later;
	/* Poll one object by GET instead of list and watch: for rights without them (sidecar).
	 * Needs namespace_; its absence (404) is an empty view, not an error. NULL or "": list and
	 * watch. */
	const char *name;
	int64_t poll_ms; /* with name; above 0 */
	/* The delay after a refusal (401, 403) of an optional kind; 0: as after any other
	 * failure. */
	int64_t denied_retry_ms;
	struct kube_informer_callbacks callbacks; /* members may be NULL */
};

/* Starts at once; client is borrowed and must live longer. Strings of options are copied. */
struct kube_informer *kube_informer_new(struct kube_client *client,
					const struct kube_informer_options *options);
/* Not inside its callbacks. NULL is fine. */
void kube_informer_free(struct kube_informer *informer);

bool kube_informer_synced(const struct kube_informer *informer);

#define KUBE_INFORMER_SILENCE_MAX_MS 30000

/* True: synced, and the watch is open (or is being opened again after its regular end), or the last
 * poll succeeded; and that is no longer ago than KUBE_INFORMER_SILENCE_MAX_MS (of a poll: and its
 * period) by the present clock, so that a process that was stopped, or waits for credentials, does
 * not take an old view for a fresh one. A hanging server is
 * noticed after 25 s at most (a poll: after the client's deadline). */
bool kube_informer_fresh(const struct kube_informer *informer);
/* The last failure while not fresh, "" otherwise. */
const char *kube_informer_problem(const struct kube_informer *informer);
/* "ray.io/v1": the version that is served; "" before it is known. */
const char *kube_informer_api_version(const struct kube_informer *informer);

/* NULL when absent, or bad and without decode_bad. */
const void *kube_informer_get(const struct kube_informer *informer, const char *namespace_,
			      const char *name);
/* Why the object could not be decoded (path of the field and fix), NULL when it is not bad. The
 * last good version is not kept: acting on an outdated spec is worse than not acting. So treat a
 * bad object as "exists, and unknown", never as absent. */
const char *kube_informer_bad(const struct kube_informer *informer, const char *namespace_,
			      const char *name);
/* Whether the object is bad only until it has been read (large_later). */
bool kube_informer_unread(const struct kube_informer *informer, const char *namespace_,
			  const char *name);
/* Whether one of the objects with this index key is. */
bool kube_informer_indexed_unread(const struct kube_informer *informer, const char *key);
/* Why not all objects of the namespace are stored, for want of memory: one that is absent may exist. NULL:
 * all are. */
const char *kube_informer_incomplete(const struct kube_informer *informer, const char *namespace_);
size_t kube_informer_bad_count(const struct kube_informer *informer);

/* All objects but the bad ones without decode_bad, in any order: size_t at = 0; while ((p =
 * kube_informer_next(i, &at))) ... */
const void *kube_informer_next(const struct kube_informer *informer, size_t *at);
size_t kube_informer_count(const struct kube_informer *informer); /* good ones */

/* The objects with this index key, those that lead first, else in any order; the array is valid until
 * the next change. */
const void *const *kube_informer_indexed(const struct kube_informer *informer, const char *key,
					 size_t *ret_count);
/* The memory of an object, and of all objects with an index key: in constant time. */
size_t kube_informer_bytes(const struct kube_informer *informer, const char *namespace_,
			   const char *name);
size_t kube_informer_indexed_bytes(const struct kube_informer *informer, const char *key);
size_t kube_informer_leading(const struct kube_informer *informer, const char *key); /* of them */

struct kube_informer_counters {
	uint64_t lists, watches, events, bookmarks, errors, polls;
};
struct kube_informer_counters kube_informer_counters(const struct kube_informer *informer);

#endif
