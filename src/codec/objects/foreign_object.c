#include "codec/objects/foreign_object.h"

#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/object_skeleton.h"
#include "codec/text/json.h"

#define PIECE_BYTES ((size_t)4096)

static const struct json_limits object_limits = {
	.bytes = FOREIGN_OBJECT_MAX_BYTES,
	.depth = FOREIGN_OBJECT_MAX_DEPTH,
	.elements = FOREIGN_OBJECT_MAX_VALUES,
	.foreign = true,
};

struct cJSON *foreign_object_skeleton(const char *text, size_t size, bool watch)
{
	struct object_skeleton skeleton;
	struct cJSON *json = NULL;
	const struct buf *found;

	object_skeleton_init(&skeleton, watch);
	/* Its names are in the metadata, and what follows has most bytes. */
	for (size_t at = 0; at < size && (watch || !skeleton.has_metadata); at += PIECE_BYTES)
		object_skeleton_feed(&skeleton, text + at,
				     size - at < PIECE_BYTES ? size - at : PIECE_BYTES);
	found = object_skeleton_end(&skeleton);
	if (json_parse(found->data, found->size, &object_limits, &json, NULL) < 0)
		CHECK(json_parse("{}", 2, &object_limits, &json, NULL) == 0);
	object_skeleton_done(&skeleton);
	return json;
}

void foreign_object_parse(const char *text, size_t size, bool watch, struct cJSON **ret_json,
			  struct err *ret_problem)
{
	*ret_problem = (struct err){ .kind = ERR_NONE };
	if (json_parse(text, size, &object_limits, ret_json, ret_problem) < 0)
		*ret_json = foreign_object_skeleton(text, size, watch);
}

const char *foreign_object_too_large(struct arena *arena, size_t limit)
{
	return arena_printf(arena,
			    "has more than %zu bytes of JSON, the limit for one object; make it "
			    "smaller",
			    limit);
}
