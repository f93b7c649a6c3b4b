/* A workload from a file, and from CSV with columns of any text: up to the first NUL of the input.
 * Laws: a refusal has a reason; items are in order and within their limits. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/workload_file.h"
#include "codec/objects/workload_item.h"
#include "codec/text/duration.h"

static void check_item(const struct work_item *item)
{
	REQUIRE(item->kind <= WORK_REQUEST_RESOURCES);
	REQUIRE(item->submit_ms >= 0 && item->submit_ms <= WORKLOAD_SUBMIT_MAX_MS);
	REQUIRE(item->duration_ms >= 1 && item->duration_ms <= DURATION_MAX_MS);
	REQUIRE(item->count >= 1 && item->count <= WORKLOAD_COUNT_MAX);
	REQUIRE(item->bundle_count >= 1 && item->bundle_count <= WORKLOAD_BUNDLES_MAX);
	REQUIRE(item->bundle_count == 1 || item->kind >= WORK_PLACEMENT_GROUP);
	REQUIRE(item->job && item->cluster);
	for (size_t i = 0; i < item->bundle_count; i++) {
		const struct ray_request *request = &item->bundles[i];

		REQUIRE(!request->problem && request->bundle_count > 0);
		for (size_t k = 0; k < request->bundle_count; k++)
			REQUIRE(request->bundle[k].amount > 0 &&
				request->bundle[k].amount <= RESOURCE_AMOUNT_MAX);
	}
}

static void read_text(const char *text, size_t size, const char *columns)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct workload workload;

	if (workload_read(text, size, columns, &arena, &workload, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return;
	}
	REQUIRE(workload.count > 0);
	for (size_t i = 0; i < workload.count; i++) {
		check_item(&workload.items[i]);
		REQUIRE(i == 0 || workload.items[i - 1].submit_ms <= workload.items[i].submit_ms);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size > 0 ? memchr(text, '\0', size) : NULL;
	size_t columns = end ? (size_t)(end - text) : 0;
	AUTO(memory_free_string) char *copy = memory_strndup(text, columns);

	if (end)
		read_text(end + 1, size - columns - 1, copy);
	else
		read_text(text, size, NULL);
	return 0;
}
