/* The golden decisions: each src/test/golden/NNNN_name.yaml is one case, one rule of the policy; README.md
 * there describes the form. A case is decided and compared with its wanted members (`want`) or with the
 * whole plan (`plan`); it is decided again (same bytes), and from its rewritten snapshot (same plan).
 * A case runs if the features that it needs are built (features.txt); without any feature, each other case must fail.
 * UPDATE=1 rewrites the last member, `want` or `plan`. GOLDEN_DIR names another directory;
 * GOLDEN_ONLY=0012 takes the files whose name holds that text. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/decide.h"
#include "feature_core.h"
#include "test/support/golden_case.h"
#include "test/support/golden_features.h"
#include "test/support/golden_want.h"
#include "test/support/golden_yaml.h"
#include "test/support/support.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define CONTEXT_LINES 2
#define CASES_MAX 2000

struct golden {
	struct arena arena;
	struct cJSON *tree;
	struct json_reader reader;
	struct json_at root;
	struct err err;
	bool with_placements;
};

/* ---- trees as stable text ---- */

static void write_tree(struct json_writer *writer, const char *name, const struct json_at *at);

static void write_members(struct json_writer *writer, const struct json_at *at)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		write_tree(writer, e.name, &e);
}

static void write_tree(struct json_writer *writer, const char *name, const struct json_at *at)
{
	switch (json_type(at)) {
	case JSON_MISSING:
	case JSON_NULL:
	case JSON_UNREADABLE:
		json_write_null(writer, name);
		break;
	case JSON_BOOLEAN:
		json_write_boolean(writer, name, json_boolean_value(at));
		break;
	case JSON_NUMBER:
		json_write_double(writer, name, json_number_value(at));
		break;
	case JSON_STRING:
		json_write_text(writer, name, json_text_value(at));
		break;
	case JSON_ARRAY:
		json_write_array(writer, name);
		write_members(writer, at);
		json_write_array_end(writer);
		break;
	case JSON_OBJECT:
		json_write_object(writer, name);
		write_members(writer, at);
		json_write_object_end(writer);
		break;
	}
}

static char *plan_text(const struct json_at *plan)
{
	struct json_writer writer;
	struct buf buf;

	buf_init(&buf, TEXT_BYTES_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	write_members(&writer, plan);
	json_write_object_end(&writer);
	assert_false(buf.overflowed);
	return buf_steal(&buf);
}

/* ---- the difference ---- */

struct lines {
	char **at;
	size_t count;
};

static struct lines split(char *text)
{
	struct lines lines = { .count = 1 };
	size_t i = 0;

	for (const char *p = text; *p; p++)
		lines.count += *p == '\n';
	lines.at = memory_array(lines.count, sizeof(*lines.at));
	for (char *line = text; line; i++) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		lines.at[i] = line;
		line = end ? end + 1 : NULL;
	}
	return lines;
}

static void print_range(const char *mark, const struct lines *lines, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < lines->count; i++)
		fprintf(stderr, "%s %s\n", mark, lines->at[i]);
}

/* Prints the lines that differ: without the common start and end, except for some lines. */
static void print_difference(char *wanted, char *got)
{
	struct lines left = split(wanted), right = split(got);
	size_t start = 0, end = 0, from;

	while (start < left.count && start < right.count &&
	       strcmp(left.at[start], right.at[start]) == 0)
		start++;
	while (end < left.count - start && end < right.count - start &&
	       strcmp(left.at[left.count - 1 - end], right.at[right.count - 1 - end]) == 0)
		end++;
	from = start > CONTEXT_LINES ? start - CONTEXT_LINES : 0;
	fprintf(stderr, "--- wanted (from line %zu of the plan)\n+++ decided\n", from + 1);
	print_range(" ", &left, from, start);
	print_range("-", &left, start, left.count - end);
	print_range("+", &right, start, right.count - end);
	print_range(" ", &left, left.count - end, left.count - end + CONTEXT_LINES);
	memory_free(left.at);
	memory_free(right.at);
}

/* ---- one case ---- */

/* A failure is an error that the whole case returns, so that its memory is freed first. */

static void golden_done(struct golden *golden)
{
	json_free(golden->tree);
	arena_done(&golden->arena);
}

static int load(struct golden *golden, const char *text, size_t size)
{
	struct json_at want, plan;

	*golden = (struct golden){ .arena = ARENA_INIT };
	golden->reader.arena = &golden->arena;
	golden->reader.err = &golden->err;
	if (golden_parse(text, size, &golden->tree, &golden->err))
		return -1;
	golden->root = json_root(golden->tree, "", &golden->reader);
	want = json_member(&golden->root, "want");
	plan = json_member(&golden->root, "plan");
	if ((!want.json) == (!plan.json))
		return json_fail(&golden->root, "either want or plan is required");
	if (json_type(&want) == JSON_OBJECT && !want.json->child)
		return json_fail(&want, "must name members of the plan");
	golden->with_placements = json_member(want.json ? &want : &plan, "placements").json != NULL;
	return json_expect(want.json ? &want : &plan, JSON_OBJECT);
}

static int write_plan(struct golden *golden, const struct snapshot *snapshot, struct buf *buf)
{
	return plan_write(decide(snapshot, &golden->arena), golden->with_placements, buf,
			  &golden->err);
}

static int decide_snapshot(struct golden *golden, struct snapshot *ret_snapshot, struct buf *plan)
{
	struct json_at member = json_member(&golden->root, "snapshot");

	if (snapshot_decode(member.json, "", &golden->arena, ret_snapshot, &golden->err))
		return -1;
	return write_plan(golden, ret_snapshot, plan);
}

static int compare_bytes(struct golden *golden, const struct buf *plan, const struct buf *other,
			 const char *what)
{
	AUTO(memory_free_string) char *left = memory_strdup(buf_string(plan));
	AUTO(memory_free_string) char *right = memory_strdup(buf_string(other));

	if (strcmp(left, right) == 0)
		return 0;
	print_difference(left, right);
	return err_set(&golden->err, ERR_INPUT, "%s gave another plan", what);
}

static int check_same_bytes(struct golden *golden, const struct snapshot *snapshot,
			    const struct buf *plan)
{
	AUTO(buf_done) struct buf again = { .data = NULL };
	AUTO(buf_done) struct buf file = { .data = NULL };
	AUTO(buf_done) struct buf replayed = { .data = NULL };
	struct snapshot reread;

	buf_init(&again, TEXT_BYTES_MAX);
	buf_init(&file, TEXT_BYTES_MAX);
	buf_init(&replayed, TEXT_BYTES_MAX);
	if (write_plan(golden, snapshot, &again) ||
	    compare_bytes(golden, plan, &again, "the same snapshot") ||
	    snapshot_write(snapshot, &file, &golden->err) ||
	    snapshot_read(buf_string(&file), file.size, &golden->arena, &reread, &golden->err) ||
	    write_plan(golden, &reread, &replayed))
		return -1;
	return compare_bytes(golden, plan, &replayed, "the rewritten snapshot");
}

/* Replaces the last member of the file. */
static void update(const char *path, const char *text, const struct buf *member, const char *name)
{
	const char *end = strstr(text, name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_non_null(end);
	fwrite(text, 1, (size_t)(end + 1 - text), file);
	fwrite(buf_string(member), 1, member->size, file);
	assert_int_equal(fclose(file), 0);
	printf("%s: rewritten\n", path);
}

/* JSON is YAML. */
static void update_plan(const char *path, const char *text, const struct buf *plan)
{
	AUTO(buf_done) struct buf member;

	buf_init(&member, TEXT_BYTES_MAX);
	buf_printf(&member, "plan:\n  ");
	for (const char *p = buf_string(plan); *p; p++) {
		buf_printf(&member, "%c", *p);
		if (*p == '\n' && p[1] != '\0')
			buf_printf(&member, "  ");
	}
	update(path, text, &member, "\nplan:");
}

static void update_want(const char *path, const char *text, const struct cJSON *want,
			const struct cJSON *plan)
{
	AUTO(json_done) struct cJSON *tree = golden_want_update(want, plan);
	AUTO(buf_done) struct buf member;

	buf_init(&member, TEXT_BYTES_MAX);
	golden_yaml_write(&member, "want", tree);
	update(path, text, &member, "\nwant:");
}

static int compare_plan(struct golden *golden, const struct json_at *member,
			const struct cJSON *plan)
{
	struct json_at root = json_root(plan, "", &golden->reader);
	AUTO(memory_free_string) char *wanted = plan_text(member);
	AUTO(memory_free_string) char *got = plan_text(&root);

	if (strcmp(wanted, got) == 0)
		return 0;
	print_difference(wanted, got);
	return err_set(&golden->err, ERR_INPUT,
		       "the plan is not the wanted one (UPDATE=1 rewrites it)");
}

static int check(struct golden *golden, const char *path, const char *text, const struct buf *plan)
{
	const char *value = getenv("UPDATE"), *difference;
	bool updating = value && strcmp(value, "1") == 0;
	struct json_at want = json_member(&golden->root, "want");
	struct json_at whole = json_member(&golden->root, "plan");
	AUTO(json_done) struct cJSON *tree = NULL;

	if (json_parse(buf_string(plan), plan->size, &snapshot_limits, &tree, &golden->err))
		return -1;
	if (updating && want.json)
		update_want(path, text, want.json, tree);
	else if (updating)
		update_plan(path, text, plan);
	if (updating)
		return 0;
	if (whole.json)
		return compare_plan(golden, &whole, tree);
	difference = golden_difference(want.json, tree, &golden->arena);
	if (!difference)
		return 0;
	return err_set(&golden->err, ERR_INPUT, "%s (UPDATE=1 rewrites the wanted members)",
		       difference);
}

static int run_case(const char *path, struct err *err)
{
	AUTO(golden_done) struct golden golden = { .tree = NULL };
	AUTO(memory_free_string) char *text = NULL;
	AUTO(buf_done) struct buf plan = { .data = NULL };
	struct snapshot snapshot;
	int failed;

	if (golden_text(path, &text, err))
		return -1;
	buf_init(&plan, TEXT_BYTES_MAX);
	failed = load(&golden, text, strlen(text)) || decide_snapshot(&golden, &snapshot, &plan) ||
		 check(&golden, path, text, &plan) || check_same_bytes(&golden, &snapshot, &plan);
	*err = golden.err;
	return failed ? -1 : 0;
}

static void test_case(void **state)
{
	struct err err;

	if (run_case(*state, &err))
		fail_msg("%s: %s", (const char *)*state, err.text);
}

/* Without any feature: the case shows what features.txt says that it needs. */
static void test_needs(void **state)
{
	struct err err;

	if (run_case(*state, &err) == 0)
		fail_msg("%s passes without features: correct features.txt", (const char *)*state);
}

/* ---- all cases ---- */

/* NULL: the case needs a feature that is not built, and others are. */
static CMUnitTestFunction test_of(const char *name, struct arena *arena)
{
	const char *needed = golden_features_of(name, arena);

	CHECK(needed != NULL);
	if (golden_features_are_built(needed, FEATURE_NAMES, arena))
		return test_case;
	return FEATURE_NAMES[0] == '\0' ? test_needs : NULL;
}

int main(void)
{
	static struct CMUnitTest tests[CASES_MAX];
	struct arena arena = ARENA_INIT;
	const char *only = getenv("GOLDEN_ONLY");
	struct golden_names names;
	struct err err;
	size_t count = 0;
	int failed;

	if (golden_names_read(golden_directory(), &names, &err) || names.count > CASES_MAX) {
		fprintf(stderr, "%s: no golden cases (or more than %d)\n", golden_directory(),
			CASES_MAX);
		return 1;
	}
	for (size_t i = 0; i < names.count; i++) {
		tests[count].name = names.at[i];
		tests[count].test_func = test_of(names.at[i], &arena);
		if (!tests[count].test_func || (only && !strstr(names.at[i], only)))
			continue;
		tests[count++].initial_state =
			arena_printf(&arena, "%s/%s", golden_directory(), names.at[i]);
	}
	failed = _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
	golden_names_free(&names);
	arena_done(&arena);
	return failed;
}
