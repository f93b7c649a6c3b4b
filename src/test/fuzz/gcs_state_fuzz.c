/* The protobuf messages that a GCS sends. A state that is read can be written as JSON and read back
 * from that. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/json_write.h"
#include "codec/ray_state_json.h"
#include "codec/ray_state_write.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_state.h"
#include "ray.pb-c.h"

static void check_state(const struct ray_state *state, struct arena *arena)
{
	struct json_limits limits = { .bytes = 64 << 20, .depth = 64, .elements = 10000000 };
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf text;
	struct json_writer writer;
	struct ray_state again;
	struct err err;

	buf_init(&text, (size_t)64 << 20);
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	ray_state_write(&writer, NULL, state, arena);
	REQUIRE(!text.overflowed);
	REQUIRE(json_parse(text.data, text.size, &limits, &tree, &err) == 0);
	REQUIRE(ray_state_decode(tree, "", arena, &again, &err) == 0);
	REQUIRE(again.node_count == state->node_count);
	REQUIRE(again.request_count == state->request_count);
	REQUIRE(again.gang_count == state->gang_count);
	REQUIRE(again.constraint_count == state->constraint_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ProtobufCMessageDescriptor *const replies[] = {
		&ray__get_cluster_id_reply__descriptor, &ray__check_alive_reply__descriptor,
		&ray__internal_kvget_reply__descriptor, &ray__internal_kvput_reply__descriptor,
		&ray__drain_node_reply__descriptor,
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state state;
	struct err err;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
		(void)gcs_message_unpack(replies[i], data, size, &arena, &err);
	if (gcs_state_decode(data, size, &arena, &state, &err) < 0)
		return 0;
	REQUIRE(state.problems.count <= GCS_STATE_PROBLEMS_MAX);
	for (size_t i = 0; i < state.request_count; i++)
		REQUIRE(state.requests[i].count >= 0);
	check_state(&state, &arena);
	return 0;
}
