/* A snapshot file (or a golden case) through reader, decision and writers. Laws: a snapshot that is
 * read can be written and read again; the plan is JSON; the same snapshot gives the same bytes. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/yaml.h"
#include "core/decide.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)

static void write_plan(const struct snapshot *snapshot, struct arena *arena, struct buf *buf)
{
	struct err err;

	buf_init(buf, TEXT_BYTES_MAX);
	REQUIRE(plan_write(decide(snapshot, arena), true, buf, &err) == 0);
}

static void check_plan(const struct snapshot *snapshot, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf first, second;
	struct err err;

	write_plan(snapshot, arena, &first);
	write_plan(snapshot, arena, &second);
	REQUIRE(strcmp(buf_string(&first), buf_string(&second)) == 0);
	REQUIRE(json_parse(buf_string(&first), first.size, &snapshot_limits, &tree, &err) == 0 ||
		err.kind == ERR_LIMIT);
}

static void check_rewritten(const struct snapshot *snapshot, struct arena *arena)
{
	AUTO(buf_done) struct buf text;
	struct snapshot again;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	REQUIRE(snapshot_write(snapshot, &text, &err) == 0);
	REQUIRE(snapshot_read(buf_string(&text), text.size, arena, &again, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err = { .kind = ERR_NONE };
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_at root, member;
	struct snapshot snapshot;

	if (yaml_or_json_parse((const char *)data, size, &fuzz_limits, &tree, &err))
		return 0;
	root = json_root(tree, "", &reader);
	member = json_member(&root, "snapshot");
	if (snapshot_decode(member.json ? member.json : tree, "", &arena, &snapshot, &err))
		return 0;
	check_plan(&snapshot, &arena);
	check_rewritten(&snapshot, &arena);
	return 0;
}
