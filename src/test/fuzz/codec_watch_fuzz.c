/* One line of a watch stream or a Status, as received from the API server. */
#include "fuzz.h"

#include "base/memory.h"
#include "codec/objects/watch_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_limits limits = fuzz_limits;
	struct watch_event event;
	struct api_status status;
	struct err err;

	limits.unique_names = false;
	if (json_parse((const char *)data, size, &limits, &tree, &err))
		return 0;
	if (watch_decode(tree, &arena, &event, &err) == 0) {
		REQUIRE(event.type != WATCH_NONE && event.object && event.resource_version);
		REQUIRE(event.status.reason && event.status.message);
	}
	api_status_decode(tree, "", &arena, &status, &err);
	return 0;
}
