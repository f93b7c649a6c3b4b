/* Cuts the items out of a Kubernetes LIST reply as its bytes arrive, so that memory is bounded by
 * one item and not by the list. The inside of an item is not examined: an item that is not JSON
 * within its brackets costs itself alone. The rest of the reply (metadata, before or after the
 * items) is kept and decoded at the end.
 *
 * The caller owns struct list_stream. Cost: one step per byte. */
#ifndef CODEC_OBJECTS_LIST_STREAM_H
#define CODEC_OBJECTS_LIST_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/objects/object_skeleton.h"

/* Texts are in the arena. */
struct list_page {
	const char *resource_version; /* opaque */
	const char *continue_token;   /* "" on the last page */
};

/* The reply without its items. */
#define LIST_STREAM_REST_MAX ((size_t)1 << 20)

struct list_stream {
	/* The text of one item; valid until it returns. `problem` is NULL; or why the item is
	 * incomplete, then `text` is its skeleton. */
	void (*on_item)(void *context, const char *text, size_t size, const char *problem);
	void *context;
	size_t item_max_bytes;

	struct buf item, rest;
	struct object_skeleton skeleton; /* of an item that is too large */
	size_t depth;
	bool in_string, escaped, in_items, too_large;
	bool held;    /* set by on_item: list_stream_feed returns */
	char name[8]; /* the last string of depth 1, cut */
	size_t name_size;
};

void list_stream_init(struct list_stream *stream, size_t item_max_bytes,
		      void (*on_item)(void *context, const char *text, size_t size,
				      const char *problem),
		      void *context);
void list_stream_done(struct list_stream *stream);
/* Feeds a piece of any size. The number of bytes that it has read: all of them, unless on_item has set
 * `held`, which the caller clears before it feeds the others. */
size_t list_stream_feed(struct list_stream *stream, const char *data, size_t size);
/* After the last piece: the metadata. ERR_INPUT when it was not a list, ERR_LIMIT when the rest is too large. */
int list_stream_end(struct list_stream *stream, struct arena *arena, struct list_page *ret_page,
		    struct err *err);

#endif
