/* The options of an informer, the changes that it reports, and its counters, as plain data. */
#ifndef KUBE_KUBE_INFORMER_OPTIONS_H
#define KUBE_KUBE_INFORMER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_type.h"

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

struct kube_informer_counters {
	uint64_t lists, watches, events, bookmarks, errors, polls;
};
#endif
