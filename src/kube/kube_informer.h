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

#include "kube/kube_client.h"
#include "kube/kube_informer_options.h"

struct kube_informer;

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

struct kube_informer_counters kube_informer_counters(const struct kube_informer *informer);

#endif
