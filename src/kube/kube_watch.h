/* One watch request: converts the lines of the stream to events. It ends once and is not opened
 * again here; kube_informer does that. The caller owns struct kube_watch until on_end returns or
 * kube_watch_cancel. A line may arrive in any pieces. A line whose object is too large or cannot be
 * read is an event with `problem`; a line that is not an event ends the watch with an error. So
 * does silence for stall_ms, and a tenth more than that without a whole line, however many bytes or
 * empty lines arrive. */
#ifndef KUBE_KUBE_WATCH_H
#define KUBE_KUBE_WATCH_H

#include <stdint.h>

#include "base/err.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/watch_json.h"
#include "kube/kube_client.h"

/* Of a larger line only the object's skeleton is read (codec/objects/object_skeleton). */
#define KUBE_WATCH_LINE_MAX_BYTES FOREIGN_OBJECT_MAX_BYTES
/* The server is asked to end the watch after the first, silence above the second is a fault; see
 * the top of kube_informer.h. */
#define KUBE_WATCH_SECONDS 20
#define KUBE_WATCH_STALL_MS 25000

struct kube_watch;

struct kube_watch_callbacks {
	void (*on_open)(void *context);
	/* ADDED, MODIFIED, DELETED or BOOKMARK; the event is valid until it returns. */
	void (*on_event)(void *context, const struct watch_event *event);
	/* A line above KUBE_DECODE_INLINE_BYTES, which is read when kube_watch_decoded is called; until
	 * then nothing else of the watch is. The text is valid until it returns. NULL: large lines are
	 * read as others. */
	void (*on_large)(void *context, const char *text, size_t size);
	/* err NULL: the server ended it in good order. ERR_GONE: the resource version is too
	 * old. */
	void (*on_end)(void *context, const struct kube_answer *answer, const struct err *err);
	void *context;
	int64_t stall_ms; /* 0: KUBE_WATCH_STALL_MS */
};

/* `path` is the collection with its selectors; the parameters of the watch are added here. */
struct kube_watch *kube_watch_start(struct kube_client *client, const char *path,
				    const char *resource_version,
				    const struct kube_watch_callbacks *callbacks);
/* Continues after on_large; as if the line were read now. Not inside its callbacks. */
void kube_watch_decoded(struct kube_watch *watch, struct kube_decoded *decoded);
/* No callback any more. Fine inside on_open and on_event; NULL is fine. */
void kube_watch_cancel(struct kube_watch *watch);

#endif
