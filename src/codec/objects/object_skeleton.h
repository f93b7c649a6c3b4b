/* The few members by which an object is recognised, cut out of its JSON text as the bytes arrive:
 * kind, names, uid, versions, times, owners and the labels of KubeRay. For objects that cannot be
 * read as a whole (too large, too deep, not JSON): their size does not matter, nor does the content
 * of the other members. The result is a small JSON object for the ordinary decoders.
 *
 * The caller owns struct object_skeleton. Memory: at most OBJECT_SKELETON_VALUE_MAX for each member
 * of the table in object_skeleton.c; a longer value is left out. */
#ifndef CODEC_OBJECTS_OBJECT_SKELETON_H
#define CODEC_OBJECTS_OBJECT_SKELETON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define OBJECT_SKELETON_VALUE_MAX ((size_t)4096)
#define OBJECT_SKELETON_LEVELS 4
/* Nesting of one value; a deeper value is left out, so that the result can always be parsed. */
#define OBJECT_SKELETON_NESTED_MAX ((size_t)8)

struct object_skeleton_member;

struct object_skeleton {
	const struct object_skeleton_member *levels[OBJECT_SKELETON_LEVELS];
	size_t level;  /* objects of the table that are open */
	size_t nested; /* containers that are open in the present value */
	const struct object_skeleton_member *root, *member; /* member NULL: its value is left out */
	bool in_string, escaped, in_value;
	bool has_metadata; /* its end was fed */
	struct buf name, value, out;
};

/* `watch`: the text is a watch event, {"type": ..., "object": ...}. */
void object_skeleton_init(struct object_skeleton *skeleton, bool watch);
void object_skeleton_done(struct object_skeleton *skeleton);
/* How many bytes of a string there are before its end or an escape: most of an object is strings. */
size_t object_skeleton_plain(const char *data, size_t size);
void object_skeleton_feed(struct object_skeleton *skeleton, const char *data, size_t size);
/* The members found so far, as a JSON object ("{}" without any), also when the text ended early. No
 * bytes may be fed after it; valid until object_skeleton_done. */
const struct buf *object_skeleton_end(struct object_skeleton *skeleton);

#endif
