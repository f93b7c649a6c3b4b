/* The golden decisions: each src/test/golden/NNNN_name.yaml is one case, one rule of the policy.
 *   rule:      a sentence: what the case shows (documentation, required)
 *   debug:     true: the plan is compared with its placements (default false)
 *   ignore:    names of members of the plan that are left out of the comparison (use it rarely)
 *   snapshot:  the Snapshot
 *   plan:      the whole Plan; must be the last member, UPDATE=1 writes it anew
 * Each case is decided, compared as text in the field order of the plan, decided again (same
 * bytes), and decided from its rewritten snapshot (same plan). GOLDEN_DIR names another directory;
 * GOLDEN_ONLY=0012 takes the files whose name holds that text. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/snapshot_write.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/yaml.h"
#include "core/decide.h"
#include "test/support/support.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define CONTEXT_LINES 2
#define CASES_MAX 2000

struct golden {
	struct arena arena;
	struct cJSON *tree;
	struct json_reader reader;
	struct json_at root, ignore;
	struct err err;
	bool debug;
};

static struct arena names_arena = ARENA_INIT;

static const char *directory(void)
{
	const char *name = getenv("GOLDEN_DIR");

	return name ? name : "src/test/golden";
}

static void read_text(const char *path, struct buf *buf)
{
	char bytes[65536];
	size_t size;
	FILE *file = fopen(path, "re");

	if (!file)
		fail_msg("%s cannot be opened; run from the top of the source tree", path);
	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0)
		assert_int_equal(buf_add(buf, bytes, size), 0);
	fclose(file);
}

/* ---- trees as stable text ---- */

static bool is_ignored(const struct golden *golden, const char *name)
{
	for (struct json_at e = json_first(&golden->ignore); e.json; json_next(&e)) {
		if (strcmp(json_text_value(&e), name) == 0)
			return true;
	}
	return false;
}

static void write_tree(struct json_writer *writer, const char *name, const struct json_at *at);

static void write_members(struct json_writer *writer, const struct json_at *at,
			  const struct golden *top)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (!top || !is_ignored(top, e.name))
			write_tree(writer, e.name, &e);
	}
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
		write_members(writer, at, NULL);
		json_write_array_end(writer);
		break;
	case JSON_OBJECT:
		json_write_object(writer, name);
		write_members(writer, at, NULL);
		json_write_object_end(writer);
		break;
	}
}

/* A plan tree as text, without the ignored members. */
static char *plan_text(struct golden *golden, const struct json_at *plan)
{
	struct json_writer writer;
	struct buf buf;

	buf_init(&buf, TEXT_BYTES_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	write_members(&writer, plan, golden);
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

/* What both have at the start and at the end is left out, but for some lines. */
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

static int load(struct golden *golden, const struct buf *text)
{
	*golden = (struct golden){ .arena = ARENA_INIT };
	golden->reader.arena = &golden->arena;
	golden->reader.err = &golden->err;
	if (yaml_parse(buf_string(text), text->size, &snapshot_limits, &golden->tree, &golden->err))
		return -1;
	golden->root = json_root(golden->tree, "", &golden->reader);
	return json_expect(&golden->root, JSON_OBJECT);
}

static int check_form(struct golden *golden)
{
	const char *rule;

	for (struct json_at e = json_first(&golden->root); e.json; json_next(&e)) {
		if (!strstr(" rule debug ignore snapshot plan ",
			    arena_printf(&golden->arena, " %s ", e.name)))
			return json_fail(&e, "is not a member of a golden case");
	}
	if (json_text(&golden->root, "rule", &rule) ||
	    json_boolean(&golden->root, "debug", &golden->debug) ||
	    json_array(&golden->root, "ignore", &golden->ignore))
		return -1;
	for (struct json_at e = json_first(&golden->ignore); e.json; json_next(&e)) {
		if (json_expect(&e, JSON_STRING))
			return -1;
	}
	if (*rule == '\0')
		return json_fail(&golden->root, "rule is required: what the case shows");
	return 0;
}

static int write_plan(struct golden *golden, const struct snapshot *snapshot, struct buf *buf)
{
	return plan_write(decide(snapshot, &golden->arena), golden->debug, buf, &golden->err);
}

static int decide_snapshot(struct golden *golden, struct snapshot *ret_snapshot, struct buf *plan)
{
	struct json_at member = json_member(&golden->root, "snapshot");

	if (json_expect(&member, JSON_OBJECT) ||
	    snapshot_decode(member.json, "", &golden->arena, ret_snapshot, &golden->err))
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

/* Replaces what stands from "plan:" on. The plan's JSON is YAML as it stands. */
static void update(const char *path, const struct buf *text, const struct buf *plan)
{
	const char *old = buf_string(text), *end = strstr(old, "\nplan:");
	size_t kept = end ? (size_t)(end + 1 - old) : text->size;
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fwrite(old, 1, kept, file);
	fputs("plan:\n  ", file);
	for (const char *p = buf_string(plan); *p; p++) {
		fputc(*p, file);
		if (*p == '\n' && p[1] != '\0')
			fputs("  ", file);
	}
	assert_int_equal(fclose(file), 0);
	printf("%s: plan rewritten\n", path);
}

static int compare(struct golden *golden, const struct buf *plan)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(memory_free_string) char *wanted = NULL;
	AUTO(memory_free_string) char *got = NULL;
	struct json_at member = json_member(&golden->root, "plan"), root;

	if (json_expect(&member, JSON_OBJECT) ||
	    json_parse(buf_string(plan), plan->size, &snapshot_limits, &tree, &golden->err))
		return -1;
	root = json_root(tree, "", &golden->reader);
	wanted = plan_text(golden, &member);
	got = plan_text(golden, &root);
	if (strcmp(wanted, got) == 0)
		return 0;
	print_difference(wanted, got);
	return err_set(&golden->err, ERR_INPUT,
		       "the plan is not the wanted one (UPDATE=1 rewrites it)");
}

static int run_case(const char *path, struct err *err)
{
	AUTO(golden_done) struct golden golden = { .tree = NULL };
	AUTO(buf_done) struct buf text = { .data = NULL };
	AUTO(buf_done) struct buf plan = { .data = NULL };
	bool updating = getenv("UPDATE") && strcmp(getenv("UPDATE"), "1") == 0;
	struct snapshot snapshot;
	int failed;

	buf_init(&text, TEXT_BYTES_MAX);
	buf_init(&plan, TEXT_BYTES_MAX);
	read_text(path, &text);
	failed = load(&golden, &text) || check_form(&golden) ||
		 decide_snapshot(&golden, &snapshot, &plan);
	if (!failed && updating)
		update(path, &text, &plan);
	else if (!failed)
		failed = compare(&golden, &plan);
	failed = failed || check_same_bytes(&golden, &snapshot, &plan);
	*err = golden.err;
	return failed ? -1 : 0;
}

static void test_case(void **state)
{
	struct err err;

	if (run_case(*state, &err))
		fail_msg("%s: %s", (const char *)*state, err.text);
}

/* ---- all cases ---- */

static int is_case(const struct dirent *entry)
{
	const char *name = entry->d_name, *only = getenv("GOLDEN_ONLY");
	size_t size = strlen(name);

	return size > 5 && strcmp(name + size - 5, ".yaml") == 0 && (!only || strstr(name, only));
}

int main(void)
{
	static struct CMUnitTest tests[CASES_MAX];
	struct dirent **entries;
	int count = scandir(directory(), &entries, is_case, alphasort), failed;

	if (count < 1 || count > CASES_MAX) {
		fprintf(stderr, "%s: no golden cases (or more than %d)\n", directory(), CASES_MAX);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		tests[i].name = arena_strdup(&names_arena, entries[i]->d_name);
		tests[i].test_func = test_case;
		tests[i].initial_state =
			arena_printf(&names_arena, "%s/%s", directory(), entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	failed = _cmocka_run_group_tests("golden", tests, (size_t)count, NULL, NULL);
	arena_done(&names_arena);
	return failed;
}
