/* The bytes of a LIST reply, cut into items. The first two bytes give the size of the pieces and how large an
 * item may be. Laws: how the bytes are cut makes no difference; memory is bounded; of a text that is a list,
 * the items are those of its tree. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "test/support/json_same.h"
#include "test/support/list_tree.h"

struct outcome {
	uint64_t digest; /* of all items, in their order */
	size_t items, too_large;
	const struct cJSON *expected; /* the tree's next item; NULL: not compared */
	int end;
};

static uint64_t digest_bytes(uint64_t digest, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		digest = (digest ^ (uint8_t)data[i]) * UINT64_C(1099511628211);
	return (digest ^ 0x100) * UINT64_C(1099511628211);
}

static void compare(struct outcome *outcome, const char *text, size_t size)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct err err;

	REQUIRE(json_parse(text, size, &fuzz_limits, &json, &err) == 0);
	REQUIRE(json_same(json, outcome->expected));
	outcome->expected = outcome->expected->next;
}

static void on_item(void *context, const char *text, size_t size, const char *problem)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct outcome *outcome = context;
	struct err err;

	outcome->items++;
	outcome->too_large += problem != NULL;
	outcome->digest = digest_bytes(outcome->digest, text, size);
	foreign_object_parse(text, size, false, &json, &err);
	REQUIRE(json && (err.kind == ERR_NONE || err.text[0] != '\0'));
	if (outcome->expected && !problem)
		compare(outcome, text, size);
	else if (outcome->expected)
		outcome->expected = outcome->expected->next;
}

static void run(const char *data, size_t size, size_t piece, size_t item_max, struct outcome *ret)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(list_stream_done) struct list_stream stream;
	struct list_page page = { .resource_version = NULL };
	struct err err = { .kind = ERR_NONE };

	list_stream_init(&stream, item_max, on_item, ret);
	for (size_t at = 0; at < size; at += piece) {
		list_stream_feed(&stream, data + at, size - at < piece ? size - at : piece);
		REQUIRE(stream.item.size <= item_max && stream.rest.size <= LIST_STREAM_REST_MAX);
	}
	ret->end = list_stream_end(&stream, &arena, &page, &err);
	REQUIRE(ret->end == 0 || (err.kind != ERR_NONE && err.text[0] != '\0'));
	REQUIRE(ret->end != 0 || (page.resource_version && page.continue_token));
}

static bool is_text(const struct cJSON *object, const char *name)
{
	const struct cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

	return !member || cJSON_IsNull(member) || cJSON_IsString(member);
}

/* Names with an escape are not looked for: such a list is refused. */
static void check_tree(const char *data, size_t size)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct outcome outcome = { .digest = 1 };
	const struct cJSON *items, *metadata;
	struct err err;

	if (json_parse(data, size, &fuzz_limits, &tree, &err))
		return;
	items = list_tree_items(tree);
	metadata = cJSON_GetObjectItemCaseSensitive(tree, "metadata");
	if (!items || (metadata && !cJSON_IsNull(metadata) && !cJSON_IsObject(metadata)) ||
	    !is_text(metadata, "resourceVersion") || !is_text(metadata, "continue"))
		return;
	outcome.expected = items->child;
	run(data, size, size, FOREIGN_OBJECT_MAX_BYTES, &outcome);
	REQUIRE(outcome.too_large == 0);
	if (outcome.end == 0)
		REQUIRE(outcome.items == (size_t)cJSON_GetArraySize(items));
	else
		REQUIRE(outcome.items == 0 && items->child && memchr(data, '\\', size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = { .digest = 1 }, pieces = { .digest = 1 };
	const char *text = (const char *)data + 2;
	size_t item_max;

	if (size <= 2)
		return 0;
	item_max = 16 + 8 * (size_t)data[1];
	run(text, size - 2, size - 2, item_max, &whole);
	run(text, size - 2, 1 + data[0] % 64, item_max, &pieces);
	REQUIRE(whole.items == pieces.items && whole.too_large == pieces.too_large);
	REQUIRE(whole.digest == pieces.digest && whole.end == pieces.end);
	check_tree(text, size - 2);
	return 0;
}
