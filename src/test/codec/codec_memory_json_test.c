#include "codec/objects/memory_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

static struct memory_state decode(const char *text, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct memory_state memory;

	memory_decode(tree, arena, &memory);
	return memory;
}

static void write(const struct memory_state *memory, struct buf *buf)
{
	struct json_writer writer;

	buf_init(buf, 1 << 20);
	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	memory_write(&writer, NULL, memory);
}

static void test_round_trip(void **state)
{
	static const char text[] =
		"{\n"
		"  \"backoffs\": [\n"
		"    {\"group\": \"g\", \"until\": \"2026-11-20T10:00:00Z\", \"seconds\": 20, "
		"\"cause\": \"QuotaGate\", \"message\": \"m\"}\n"
		"  ],\n"
		"  \"launches\": [\n"
		"    {\"group\": \"g\", \"replicas\": 2, \"baseReplicas\": 5, \"unjoined\": 3, "
		"\"unneeded\": 1, \"unneededSince\": \"2026-11-20T10:00:00.500Z\", "
		"\"round\": \"2026-11-20T10:00:02Z\"},\n"
		"    {\"group\": \"h\", \"replicas\": 1, \"baseReplicas\": 1, \"unjoined\": 1, "
		"\"unneeded\": 0, \"unneededSince\": null}\n"
		"  ],\n"
		"  \"rayletGone\": [\n"
		"    {\"key\": \"p\", \"since\": \"2026-11-20T10:00:00Z\"}\n"
		"  ],\n"
		"  \"unjoined\": [\n"
		"    {\"key\": \"q\", \"since\": \"2026-11-20T10:00:01Z\"}\n"
		"  ],\n"
		"  \"settling\": [\n"
		"    {\"key\": \"q\", \"since\": \"2026-11-20T10:00:01Z\", \"count\": 1}\n"
		"  ],\n"
		"  \"stuckDemand\": [\n"
		"    {\"key\": \"{GPU: 1}\", \"since\": \"2026-11-20T10:00:00Z\", \"count\": 4}\n"
		"  ],\n"
		"  \"replicaFights\": [\n"
		"    {\"key\": \"g\", \"since\": \"2026-11-20T10:00:00Z\", \"count\": 2, \"who\": "
		"\"argocd\"}\n"
		"  ],\n"
		"  \"replicaRaises\": [\n"
		"    {\"key\": \"g\", \"since\": \"2026-11-20T10:00:00Z\", \"count\": 3}\n"
		"  ],\n"
		"  \"lowered\": [\n"
		"    {\"key\": \"g\", \"since\": \"2026-11-20T10:00:00Z\"}\n"
		"  ],\n"
		"  \"leaving\": [\n"
		"    {\"key\": \"g\", \"since\": \"2026-11-20T10:00:00Z\", \"count\": 1}\n"
		"  ],\n"
		"  \"raySessions\": [\n"
		"    {\"key\": \"session_2026\", \"since\": \"2026-11-20T10:00:00Z\"}\n"
		"  ],\n"
		"  \"templates\": [\n"
		"    {\"group\": \"g\", \"template\": \"0123456789abcdef\"},\n"
		"    {\"group\": \"h\", \"template\": \"0123456789abcdef\", \"since\": "
		"\"2026-11-20T10:00:00Z\", \"pod\": \"p\", \"resources\": {\"GPU\": 0, "
		"\"accelerator_type:T4\": 0.5, \"memory\": 8589934592}, \"labels\": {\"a\": \"b\"}}\n"
		"  ]\n"
		"}";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct memory_state memory = decode(text, &arena);
	AUTO(buf_done) struct buf buf;

	(void)state;
	assert_true(memory.backoffs.at[0].until == 1795168800000);
	assert_true(memory.launches.at[1].unneeded_since == TIME_NONE);
	assert_true(memory.launches.at[1].round == TIME_NONE);
	assert_true(memory_next_mark(&memory, MARK_STARVED_DEMAND, NULL)->count == 4);
	assert_true(memory.templates.at[0].since == TIME_NONE);
	assert_true(memory.templates.at[1].resources.at[1].amount == 5000);
	write(&memory, &buf);
	assert_string_equal(buf_string(&buf), text);
}

/* The copy shares nothing with the original and has one block of its size. */
static void test_kept(void **state)
{
	static const char text[] =
		"{\"backoffs\": [{\"group\": \"g\", \"until\": \"2026-11-20T10:00:00Z\", "
		"\"seconds\": 20, \"cause\": \"QuotaGate\", \"message\": \"m\"}], "
		"\"launches\": [{\"group\": \"g\", \"replicas\": 2, \"baseReplicas\": 5}], "
		"\"settling\": [{\"key\": \"q\", \"since\": \"2026-11-20T10:00:01Z\"}], "
		"\"replicaFights\": [{\"key\": \"g\", \"since\": \"2026-11-20T10:00:00Z\", "
		"\"count\": 2, \"who\": \"argocd\"}], "
		"\"templates\": [{\"group\": \"h\", \"template\": \"0123456789abcdef\", "
		"\"pod\": \"p\", \"resources\": {\"GPU\": 0}, \"labels\": {\"a\": \"b\"}}]}";
	AUTO(arena_done) struct arena first = ARENA_INIT;
	AUTO(arena_done) struct arena second = ARENA_INIT;
	AUTO(buf_done) struct buf before;
	AUTO(buf_done) struct buf after;
	struct memory_state memory = decode(text, &first), huge = { 0 };
	const struct memory_state *copy;
	char large[1024];

	(void)state;
	write(&memory, &before);
	(void)memory_state_keep(&memory, &second);
	copy = memory_state_keep(&memory, &second); /* again, over the old one */
	assert_true(second.used_bytes < 1024);
	arena_done(&first);
	write(copy, &after);
	assert_string_equal(buf_string(&after), buf_string(&before));
	assert_non_null(strstr(buf_string(&after), "argocd"));
	memset(large, 'x', sizeof(large));
	for (size_t i = 0; i < MEMORY_KEPT_BYTES_MAX / sizeof(large); i++)
		VEC_PUSH(&first, &huge.marks,
			 ((struct memory_mark){
				 .key = arena_strndup(&first, large, sizeof(large)) }));
	assert_null(memory_state_keep(&huge, &second));
	assert_int_equal(second.used_bytes, 0);
}

static void test_empty(void **state)
{
	static const char *const texts[] = { "{}",
					     "null",
					     "[]",
					     "text",
					     "7",
					     "{backoffs: {}}",
					     "{backoffs: 1, launches: x, other: [1]}" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct memory_state memory = decode(texts[i], &arena);
		AUTO(buf_done) struct buf buf;

		write(&memory, &buf);
		assert_string_equal(buf_string(&buf), "{}");
	}
}

static void test_bad_entries_are_dropped(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct memory_state memory =
		decode("backoffs:\n"
		       "- {group: good, until: '2026-11-20T10:00:00Z', seconds: 1}\n"
		       "- 5\n"
		       "- {until: '2026-11-20T10:00:00Z', seconds: 1}\n"
		       "- {group: g, until: soon, seconds: 1}\n"
		       "- {group: g, seconds: 1}\n"
		       "- {group: g, until: '2026-11-20T10:00:00Z', seconds: -1}\n"
		       "- {group: g, until: '2026-11-20T10:00:00Z', seconds: 1e9}\n"
		       "- {group: g, until: '2026-11-20T10:00:00Z', seconds: x}\n"
		       "- {group: g, until: '2026-11-20T10:00:00Z', seconds: 1, cause: 5}\n"
		       "launches:\n"
		       "- {group: good, replicas: 1, baseReplicas: 2}\n"
		       "- {group: g, replicas: -1, baseReplicas: 2}\n"
		       "- {group: g, replicas: 1, baseReplicas: 3e9}\n"
		       "- {group: g, replicas: 1, baseReplicas: 1, unneeded: x}\n"
		       "- {group: g, replicas: 1, baseReplicas: 1, unneededSince: 5}\n"
		       "rayletGone: [{key: '', since: '2026-11-20T10:00:00Z'}, {key: p}, null,\n"
		       "  {key: p, since: '2026-11-20T10:00:00Z', count: -1}]\n"
		       "replicaFights: [{key: g, since: '2026-11-20T10:00:00Z', who: 5},\n"
		       "  {key: good, since: '2026-11-20T10:00:00Z', who: ''}]\n",
		       &arena);

	(void)state;
	assert_int_equal(memory.backoffs.count, 1);
	assert_string_equal(memory.backoffs.at[0].group, "good");
	assert_int_equal(memory.backoffs.at[0].cause, REASON_NONE);
	assert_int_equal(memory.launches.count, 1);
	assert_true(memory.launches.at[0].unneeded_since == TIME_NONE);
	assert_int_equal(memory.marks.count, 1);
	assert_int_equal(memory.marks.at[0].kind, MARK_REPLICA_CONFLICT);
	assert_string_equal(memory.marks.at[0].key, "good");
	assert_null(memory.marks.at[0].who);
}

static void test_bad_templates_are_dropped(void **state)
{
	static const char *const bad[] = {
		"{\"group\": \"g\"}",
		"{\"group\": \"\", \"template\": \"0123456789abcdef\"}",
		"{\"group\": \"g\", \"template\": \"0123456789abcde\"}",
		"{\"group\": \"g\", \"template\": 7}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"resources\": []}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"resources\": {\"GPU\": -1}}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"resources\": {\"\": 1}}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"resources\": {\"a\": \"x\"}}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"labels\": {\"a\": 1}}",
		"{\"group\": \"g\", \"template\": \"0123456789abcdef\", \"resources\": {"
		"\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1, \"g\": 1, \"h\": 1, \"i\": 1, "
		"\"j\": 1, \"k\": 1, \"l\": 1, \"m\": 1, \"n\": 1, \"o\": 1, \"p\": 1, \"q\": 1}}",
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *text = arena_printf(&arena,
						"{\"templates\": [%s, {\"group\": \"h\", "
						"\"template\": \"0123456789abcdef\"}]}",
						bad[i]);
		struct memory_state memory = decode(text, &arena);

		assert_int_equal(memory.templates.count, 1);
		assert_string_equal(memory.templates.at[0].group, "h");
	}
}

static void test_ceiling(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text;

	(void)state;
	buf_init(&text, 16 << 20);
	buf_add_string(&text, "{\"rayletGone\": [");
	for (int i = 0; i < MEMORY_ENTRIES_MAX + 5; i++)
		buf_printf(&text, "%s{\"key\": \"p%d\", \"since\": \"2026-11-20T10:00:00Z\"}",
			   i ? "," : "", i);
	buf_add_string(&text, "]}");
	assert_int_equal(decode(buf_string(&text), &arena).marks.count, MEMORY_ENTRIES_MAX);
}

static void test_missing(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct memory_state memory;

	(void)state;
	memory_decode(NULL, &arena, &memory);
	assert_int_equal(memory.backoffs.count, 0);
}

/* A decision after drains has the back-offs that the one before began for gangs, and no launch that is not written yet. */
static void test_drained(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct memory_state old =
		decode("{\"backoffs\":[{\"group\":\"a\",\"until\":0,\"seconds\":1,"
		       "\"cause\":\"NoNode\",\"message\":\"\"}],"
		       "\"gangParts\":[{\"key\":\"w\",\"since\":\"2026-11-20T09:00:00Z\"}],"
		       "\"noPods\":[{\"key\":\"a\",\"since\":\"2026-11-20T09:00:00Z\"}]}",
		       &arena);
	struct memory_state made = decode(
		"{\"backoffs\":[{\"group\":\"a\",\"until\":\"2026-11-20T10:00:00Z\",\"seconds\":600,"
		"\"cause\":\"GangIncomplete\",\"message\":\"\"},{\"group\":\"b\",\"until\":"
		"\"2026-11-20T10:00:00Z\",\"seconds\":5,\"cause\":\"NoNode\",\"message\":\"\"}],"
		"\"launches\":[{\"group\":\"a\",\"replicas\":2,\"baseReplicas\":2,\"unjoined\":2}],"
		"\"gangParts\":[{\"key\":\"w\",\"since\":\"2026-11-20T10:00:00Z\"}]}",
		&arena);
	const struct memory_state *drained = memory_state_drained(&old, &made, &arena);

	(void)state;
	assert_int_equal(drained->backoffs.count, 1);
	assert_int_equal(drained->backoffs.at[0].seconds, 600);
	assert_int_equal(drained->marks.count, 2);
	assert_int_equal(drained->marks.at[0].kind, MARK_NO_POD);
	assert_int_equal(drained->marks.at[1].since, made.marks.at[0].since);
	drained = memory_state_drained(NULL, &made, &arena);
	assert_int_equal(drained->backoffs.count, 2);
	assert_int_equal(drained->launches.count, 0);
	made.backoffs.at[0].cause = REASON_NO_NODE;
	assert_ptr_equal(memory_state_drained(&old, &made, &arena), &old);
	assert_null(memory_state_drained(NULL, &made, &arena));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_bad_entries_are_dropped),
		cmocka_unit_test(test_bad_templates_are_dropped),
		cmocka_unit_test(test_ceiling),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
