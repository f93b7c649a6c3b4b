#include "codec/text/position.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/codec_support.h"

struct parsed {
	struct arena arena;
	struct positions positions;
	struct cJSON *tree;
	struct err err;
	int failed;
};

static void parse(struct parsed *parsed, const char *text, bool json)
{
	*parsed = (struct parsed){ .arena = ARENA_INIT };
	parsed->positions.arena = &parsed->arena;
	if (json) {
		parsed->failed = json_parse_positions(text, strlen(text), &codec_limits,
						      &parsed->positions, &parsed->tree,
						      &parsed->err);
	} else {
		struct yaml_stream *stream = yaml_stream_new(text, strlen(text), &codec_limits);

		parsed->failed = yaml_stream_next(stream, &parsed->positions, &parsed->tree,
						  &parsed->err) < 0;
		yaml_stream_free(stream);
	}
}

static void done(struct parsed *parsed)
{
	json_free(parsed->tree);
	arena_done(&parsed->arena);
}

struct want {
	const char *path;
	unsigned line, column;
};

static void check(const char *text, bool json, const struct want *table, size_t count)
{
	struct parsed parsed;

	parse(&parsed, text, json);
	if (parsed.failed)
		fail_msg("%s", parsed.err.text);
	for (size_t i = 0; i < count; i++) {
		struct position at =
			position_find(&parsed.positions, place_root(parsed.tree), table[i].path);

		if (at.line != table[i].line || at.column != table[i].column)
			fail_msg("%s is at %u:%u, not %u:%u", table[i].path, at.line, at.column,
				 table[i].line, table[i].column);
	}
	done(&parsed);
}

static void test_yaml(void **state)
{
	static const char text[] = "# comment\n"
				   "kind: RayCluster\n"
				   "spec:\n"
				   "  groups:\n"
				   "  - name: a\n"
				   "    limits: {cpu: 1, \"nvidia.com/gpu\": 2}\n"
				   "  -\n"
				   "    name: b\n"
				   "    args:\n"
				   "    - x\n"
				   "    - 'y'\n"
				   "    empty: {}\n"
				   "  \"last\xC3\xA9\": [1, [2, 3]]\n";
	static const struct want table[] = {
		{ "", 2, 1 },
		{ "kind", 2, 1 },
		{ "spec", 3, 1 },
		{ "spec.groups", 4, 3 },
		{ "spec.groups[0]", 5, 5 },
		{ "spec.groups[0].name", 5, 5 },
		{ "spec.groups[0].limits", 6, 5 },
		{ "spec.groups[0].limits.cpu", 6, 14 },
		{ "spec.groups[0].limits[\"nvidia.com/gpu\"]", 6, 22 },
		{ "spec.groups[1]", 8, 5 },
		{ "spec.groups[1].args[1]", 11, 7 },
		{ "spec.groups[1].empty", 12, 5 },
		{ "spec[\"last\xC3\xA9\"]", 13, 3 },
		{ "spec[\"last\xC3\xA9\"][1][1]", 13, 20 },
		/* Missing members: the nearest one that exists. */
		{ "spec.groups[0].limits.memory.more", 6, 5 },
		{ "spec.groups[2].name", 4, 3 },
		{ "spec.groups[1].empty.x", 12, 5 },
		{ "spec.groups.name", 4, 3 },
		{ "spec[0]", 3, 1 },
		{ "kind.x[1]", 2, 1 },
		{ "nothing", 2, 1 },
		{ "spec.groups[99999999999999999999]", 4, 3 },
		/* Not a path. */
		{ "spec.groups[", 4, 3 },
		{ "spec.groups[\"a", 4, 3 },
		{ "spec..groups", 3, 1 },
	};

	(void)state;
	check(text, false, table, SUPPORT_COUNT(table));
}

static void test_json(void **state)
{
	static const char text[] = "\xEF\xBB\xBF{\n"
				   "\t\"kind\": \"x\",\n"
				   "  \"\xC3\xA9\": 1, \"items\": [\n"
				   "    {\"a\": [ ], \"b\": {}},\n"
				   "    [1, -2.5e3, \"q\\\"]\", {\"c\\u00e9\": null}]\n"
				   "  ]\n}\n";
	static const struct want table[] = {
		{ "kind", 2, 2 },
		{ "\xC3\xA9", 3, 3 },
		{ "items", 3, 11 },
		{ "items[0]", 4, 5 },
		{ "items[0].b", 4, 16 },
		{ "items[1][1]", 5, 9 },
		{ "items[1][2]", 5, 17 },
		{ "items[1][3].c\xC3\xA9", 5, 26 },
		{ "items[1][3].none", 5, 25 },
		{ "items[7]", 3, 11 },
	};

	(void)state;
	check(text, true, table, SUPPORT_COUNT(table));
}

/* The content of an alias has the position of the alias; later positions are not shifted. */
static void test_aliases(void **state)
{
	static const char text[] = "base: &b\n"
				   "  deep: {x: [1, 2, 3]}\n"
				   "list:\n"
				   "- *b\n"
				   "- {y: *b, z: 1}\n"
				   "after: 1\n";
	static const struct want table[] = {
		{ "base.deep.x[1]", 2, 17 },
		{ "list[0]", 4, 3 },
		{ "list[0].deep.x[1]", 4, 3 },
		{ "list[1].y", 5, 4 },
		{ "list[1].y.deep.x[2]", 5, 4 },
		{ "list[1].z", 5, 11 },
		{ "after", 6, 1 },
	};

	(void)state;
	check(text, false, table, SUPPORT_COUNT(table));
}

static void test_documents(void **state)
{
	static const char text[] = "a: &x 1\n---\n---\nb: 2\n...\n# c\n---\nc: *x\n";
	struct yaml_stream *stream = yaml_stream_new(text, strlen(text), &codec_limits);
	struct parsed parsed = { .arena = ARENA_INIT };
	struct position at;

	(void)state;
	parsed.positions.arena = &parsed.arena;
	assert_int_equal(yaml_stream_next(stream, &parsed.positions, &parsed.tree, &parsed.err), 1);
	json_done(&parsed.tree);
	assert_int_equal(yaml_stream_next(stream, &parsed.positions, &parsed.tree, &parsed.err), 1);
	json_done(&parsed.tree); /* null */
	assert_int_equal(yaml_stream_next(stream, &parsed.positions, &parsed.tree, &parsed.err), 1);
	at = position_find(&parsed.positions, place_root(parsed.tree), "b");
	assert_int_equal(at.line, 4);
	json_done(&parsed.tree);
	/* An anchor is of its document. */
	assert_int_equal(yaml_stream_next(stream, &parsed.positions, &parsed.tree, &parsed.err),
			 -1);
	assert_int_equal(parsed.positions.failure.line, 8);
	assert_int_equal(parsed.positions.failure.column, 4);
	yaml_stream_free(stream);
	done(&parsed);
}

static void test_empty_stream(void **state)
{
	static const char *const texts[] = { "", "# nothing\n", "\n\n" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		struct yaml_stream *stream =
			yaml_stream_new(texts[i], strlen(texts[i]), &codec_limits);
		struct cJSON *tree = NULL;

		assert_int_equal(yaml_stream_next(stream, NULL, &tree, NULL), 0);
		assert_null(tree);
		yaml_stream_free(stream);
	}
}

static void test_failures(void **state)
{
	static const struct {
		const char *text;
		bool json;
		unsigned line, column;
		const char *error;
	} table[] = {
		{ "a: 1\nb: 2\na: 3\n", false, 3, 1, "line 3, column 1: this member is there" },
		{ "a: [1\nb: 2\n", false, 2, 2, "line 2, column 2: " },
		{ "a: 1\n\xC3\xA9: \xFF\n", false, 2, 4, "byte 9: " },
		{ "{\"a\": {\"b\": 1, \"c\": [],\n \"c\": 2, \"b\": 3}}", true, 2, 2,
		  "line 2, column 2: this member is there twice: c" },
		{ "{\"a\": 1,\n  b}", true, 2, 3, "line 2, column 3: a member name" },
		{ "{\"\xC3\xA9\": b}", true, 1, 7, "line 1, column 7: a value is expected" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		struct parsed parsed;

		parse(&parsed, table[i].text, table[i].json);
		assert_true(parsed.failed);
		assert_memory_equal(parsed.err.text, table[i].error, strlen(table[i].error));
		assert_int_equal(parsed.positions.failure.line, table[i].line);
		assert_int_equal(parsed.positions.failure.column, table[i].column);
		done(&parsed);
	}
}

/* One entry for each value that is spelled out: aliases do not multiply them. */
static void test_entries_are_bounded(void **state)
{
	static const char text[] = "a: &a [1, 2, 3, 4, 5, 6, 7, 8]\n"
				   "b: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n";
	struct parsed parsed;

	(void)state;
	parse(&parsed, text, false);
	assert_false(parsed.failed);
	assert_int_equal(parsed.positions.list.count, 1 + 9 + 5 + 5);
	done(&parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_empty_stream),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_entries_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
