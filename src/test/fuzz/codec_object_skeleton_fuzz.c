/* The text of an object, of which only the names are kept. The first byte gives the size of the pieces, and
 * whether it is a watch event. Laws: how the bytes are cut makes no difference; memory is bounded; of a text
 * that is an object the skeleton is JSON, and has nothing that the object does not have at the same place; when
 * names are written without escapes, it has its name and uid. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/object_skeleton.h"
#include "test/support/json_same.h"

static void take(struct object_skeleton *skeleton, const char *data, size_t size, size_t piece,
		 bool watch)
{
	object_skeleton_init(skeleton, watch);
	for (size_t at = 0; at < size; at += piece)
		object_skeleton_feed(skeleton, data + at, size - at < piece ? size - at : piece);
	REQUIRE(skeleton->name.size <= OBJECT_SKELETON_VALUE_MAX);
	REQUIRE(skeleton->value.size <= OBJECT_SKELETON_VALUE_MAX);
	REQUIRE(object_skeleton_end(skeleton)->size <= 32 * OBJECT_SKELETON_VALUE_MAX);
}

/* Objects of the tables are compared by their members, everything else as a whole. */
static void check_part(const struct json_at *part, const struct json_at *whole, size_t level)
{
	if (level == OBJECT_SKELETON_LEVELS || json_same(part->json, whole->json))
		return;
	REQUIRE(json_type(part) == JSON_OBJECT && json_type(whole) == JSON_OBJECT);
	for (struct json_at e = json_first(part); e.json; json_next(&e)) {
		struct json_at other = json_member(whole, e.name);

		REQUIRE(other.json);
		check_part(&e, &other, level + 1);
	}
}

static bool is_short(const struct json_at *at)
{
	return json_type(at) != JSON_STRING ||
	       strlen(json_text_value(at)) < OBJECT_SKELETON_VALUE_MAX / 8;
}

static void check_names(const struct json_at *part, const struct json_at *whole)
{
	static const char *const names[] = { "name", "uid", "namespace" };
	struct json_at metadata = json_member(part, "metadata");
	struct json_at expected = json_member(whole, "metadata");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct json_at found = json_member(&metadata, names[i]);
		struct json_at wanted = json_member(&expected, names[i]);

		if (json_type(&wanted) == JSON_STRING && is_short(&wanted))
			REQUIRE(found.json && json_same(found.json, wanted.json));
	}
}

static void check_object(const struct buf *found, const char *text, size_t size, bool watch)
{
	AUTO(json_done) struct cJSON *tree = NULL, *skeleton = NULL;
	struct json_reader reader = { .arena = NULL };
	struct json_at part, whole;
	struct err err;

	if (json_parse(text, size, &fuzz_limits, &tree, &err))
		return;
	whole = json_root(tree, "", &reader);
	if (json_type(&whole) != JSON_OBJECT)
		return;
	REQUIRE(json_parse(found->data, found->size, &fuzz_limits, &skeleton, &err) == 0);
	part = json_root(skeleton, "", &reader);
	check_part(&part, &whole, 0);
	if (watch || memchr(text, '\\', size))
		return;
	check_names(&part, &whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_skeleton whole, pieces;
	const char *text = (const char *)data + 1;
	bool watch;

	if (size <= 1)
		return 0;
	watch = data[0] & 0x80;
	take(&whole, text, size - 1, size - 1, watch);
	take(&pieces, text, size - 1, 1 + data[0] % 64, watch);
	REQUIRE(strcmp(buf_string(&whole.out), buf_string(&pieces.out)) == 0);
	check_object(&whole.out, text, size - 1, watch);
	object_skeleton_done(&whole);
	object_skeleton_done(&pieces);
	return 0;
}
