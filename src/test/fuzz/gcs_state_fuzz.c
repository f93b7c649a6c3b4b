/* The protobuf messages that a GCS sends. A state that is read can be written as JSON and read back
 * from that. With a memory budget, whose size depends on that of the message: a state that is read
 * is within it, a refusal reports it, and all of its memory is released. */
#include "fuzz.h"

#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/json_write.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_reader.h"
#include "gcs/gcs_state.h"
#include "ray.pb-c.h"
#include "test/support/ray_state_text.h"

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
	field_write_object(&writer, NULL, ray_state_fields, state);
	REQUIRE(!text.overflowed);
	REQUIRE(json_parse(text.data, text.size, &limits, &tree, &err) == 0);
	REQUIRE(ray_state_decode(tree, "", arena, &again, &err) == 0);
	REQUIRE(again.node_count == state->node_count);
	REQUIRE(again.request_count == state->request_count);
	REQUIRE(again.gang_count == state->gang_count);
	REQUIRE(again.constraint_count == state->constraint_count);
}

/* The arrays of the lists and one entry are allocated before the budget is checked: so much for each
 * byte of the message, and some blocks of the arenas. */
#define BEYOND_PER_BYTE ((size_t)512)
#define BEYOND_BLOCKS ((size_t)256 << 10)

static struct budget all = { .name = "all passes" }, one = { .name = "one pass", .parent = &all };

static void set_budgets(size_t size)
{
	static const size_t limits[] = { 1, 4 << 10, 9 << 10, 32 << 10, 256 << 10, 4 << 20 };

	one.limit_bytes = limits[size % 6];
	all.limit_bytes = limits[size / 6 % 6];
	one.peak_bytes = all.peak_bytes = 0;
}

static bool is_within(const struct budget *budget, size_t beyond)
{
	return budget->peak_bytes <= budget->limit_bytes + beyond &&
	       budget->used_bytes <= budget->peak_bytes;
}

/* The memory of a decoded state is never beyond the budgets. */
static void check_budgets(int status, size_t size, const struct err *err)
{
	size_t beyond = status == 0 ? 0 : BEYOND_PER_BYTE * size + BEYOND_BLOCKS;

	REQUIRE(is_within(&one, beyond) && is_within(&all, beyond));
	REQUIRE(status == 0 || (err->kind != ERR_NONE && err->text[0] != '\0'));
}

static void check_with_budget(const uint8_t *data, size_t size, int status,
			      const struct ray_state *expected)
{
	AUTO(arena_done) struct arena arena = { .budget = &one };
	struct ray_state state;
	struct err err = { .kind = ERR_NONE };
	int budgeted;

	set_budgets(size);
	budgeted = gcs_state_decode(data, size, NULL, &arena, &state, &err);
	check_budgets(budgeted, size, &err);
	REQUIRE(budgeted != 0 || (status == 0 && state.node_count == expected->node_count &&
				  state.request_count == expected->request_count));
	REQUIRE(budgeted == 0 || status != 0 || err.kind == ERR_MEMORY || err.kind == ERR_LIMIT ||
		err.kind == ERR_RETRY);
}

static void check_requests_with_budget(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = { .budget = &one };
	struct ray_constraint constraint;
	struct err err = { .kind = ERR_NONE };

	set_budgets(size);
	check_budgets(gcs_requests_parse(data, size, &arena, &constraint, &err), size, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ProtobufCMessageDescriptor *const replies[] = {
		&ray__get_cluster_id_reply__descriptor, &ray__internal_kvget_reply__descriptor,
		&ray__internal_kvput_reply__descriptor, &ray__drain_node_reply__descriptor,
		&ray__gcs_publish_reply__descriptor,
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state state;
	struct err err;
	int status;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
		(void)gcs_message_unpack(replies[i], data, size, &arena, &err);
	status = gcs_state_decode(data, size, NULL, &arena, &state, &err);
	check_with_budget(data, size, status, &state);
	check_requests_with_budget(data, size);
	REQUIRE(one.used_bytes == 0 && all.used_bytes == 0);
	if (status < 0)
		return 0;
	REQUIRE(state.problems.count <= GCS_READER_PROBLEMS_MAX);
	for (size_t i = 0; i < state.request_count; i++)
		REQUIRE(state.requests[i].count >= 0);
	check_state(&state, &arena);
	return 0;
}
