/* Workloads from YAML and JSON lines: what the items become, and every refusal with its line and
 * column. */

#include "codec/objects/workload_file.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "test/support/codec_support.h"

#define HEAD "apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n"

static void read_all(const char *text, struct arena *arena, struct workload *ret)
{
	struct err err;

	if (workload_read(text, strlen(text), NULL, arena, ret, &err))
		fail_msg("%s\n%s", err.text, text);
}

static int decode(const char *text, struct arena *arena, struct err *err)
{
	struct workload workload;

	return workload_read(text, strlen(text), NULL, arena, &workload, err);
}

static void items_have_all_members(void **state)
{
	static const char text[] = HEAD
		"- submit: 90s\n"
		"  duration: 1h30m\n"
		"  resources: {GPU: 0.5, CPU: 0}\n"
		"- {submit: 0, kind: actor, duration: 20.5, resources: {CPU: 1}, count: 3,\n"
		"   labelSelector: {market: \"in(spot, reserved)\"}, job: serve, cluster: b}\n"
		"- submit: 1s\n"
		"  kind: placement_group\n"
		"  strategy: STRICT_SPREAD\n"
		"  duration: 1s\n"
		"  checkpoint: 90s\n"
		"  labelSelector: {a: b}\n"
		"  bundles: [{GPU: 8}, {resources: {GPU: 4}, label_selector: {c: \"!d\"}}]\n"
		"- {submit: 1s, kind: request_resources, until: 2m, resources: {GPU: 2}}\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;
	const struct work_item *item;

	(void)state;
	read_all(text, &arena, &all);
	assert_int_equal(all.count, 4);
	item = &all.items[0];
	assert_int_equal(item->kind, WORK_ACTOR);
	assert_int_equal(item->submit_ms, 0);
	assert_int_equal(item->duration_ms, 20500);
	assert_int_equal(item->count, 3);
	assert_string_equal(item->job, "serve");
	assert_string_equal(item->cluster, "b");
	assert_int_equal(item->bundles[0].selectors[0].constraints[0].values.count, 2);
	item = &all.items[1];
	assert_int_equal(item->kind, WORK_PLACEMENT_GROUP);
	assert_int_equal(item->strategy, PLACEMENT_STRICT_SPREAD);
	assert_int_equal(item->bundle_count, 2);
	assert_true(item->checkpoints && item->checkpoint_ms == 90000);
	assert_string_equal(item->bundles[0].selectors[0].constraints[0].key, "a");
	assert_string_equal(item->bundles[1].selectors[0].constraints[0].key, "c");
	item = &all.items[2];
	assert_int_equal(item->kind, WORK_REQUEST_RESOURCES);
	assert_int_equal(item->duration_ms, 119000);
	item = &all.items[3];
	assert_int_equal(item->kind, WORK_TASK);
	assert_int_equal(item->submit_ms, 90000);
	assert_false(item->checkpoints);
	assert_int_equal(item->bundles[0].bundle_count, 1);
	assert_string_equal(item->bundles[0].bundle[0].name, "GPU");
	assert_int_equal(item->bundles[0].bundle[0].amount, 5000);
	assert_string_equal(item->job, "");
}

static void times_count_from_the_earliest(void **state)
{
	static const char text[] = HEAD
		"- {submit: 2026-11-20T10:00:30Z, duration: 1s, resources: {CPU: 1}}\n"
		"- {submit: 2026-11-20T10:00:00Z, duration: 2s, resources: {CPU: 1}}\n"
		"- {submit: 2026-11-20T12:00:10+02:00, kind: request_resources,\n"
		"   until: 2026-11-20 10:01:10, resources: {CPU: 1}}\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;

	(void)state;
	read_all(text, &arena, &all);
	assert_int_equal(all.items[0].submit_ms, 0);
	assert_int_equal(all.items[0].duration_ms, 2000);
	assert_int_equal(all.items[1].submit_ms, 10000);
	assert_int_equal(all.items[1].duration_ms, 60000);
	assert_int_equal(all.items[2].submit_ms, 30000);
}

static void lines_share_equal_bundles_and_names(void **state)
{
	static const char text[] =
		"\n{\"submit\": 5, \"duration\": 1, \"resources\": {\"GPU\": 1, \"CPU\": 4}, "
		"\"job\": \"a\"}\r\n"
		"  \n"
		"{\"submit\": \"5s\", \"duration\": 2, \"resources\": {\"CPU\": 4, \"GPU\": 1}, "
		"\"job\": \"a\"}\n"
		"{\"submit\": 5, \"duration\": 3, \"resources\": {\"CPU\": 4.5, \"GPU\": 1}}";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload all;

	(void)state;
	read_all(text, &arena, &all);
	assert_int_equal(all.count, 3);
	assert_int_equal(all.items[0].duration_ms, 1000);
	assert_int_equal(all.items[1].duration_ms, 2000);
	assert_int_equal(all.items[2].duration_ms, 3000);
	assert_ptr_equal(all.items[0].bundles, all.items[1].bundles);
	assert_ptr_equal(all.items[0].job, all.items[1].job);
	assert_ptr_not_equal(all.items[0].bundles, all.items[2].bundles);
}

#define TASK "duration: 1s, resources: {CPU: 1}"

static void errors_have_line_and_column(void **state)
{
	static const struct codec_bad bad[] = {
		{ "", "there is no Workload" },
		{ "a: 1", "line 1, column 1: apiVersion: is missing" },
		{ HEAD, "there is no item; add at least one" },
		{ "apiVersion: v1\nkind: Workload\n",
		  "line 1, column 1: apiVersion: must be rayscaler.dev/v1alpha1, is \"v1\"" },
		{ HEAD "- {submit: 0, " TASK "}\nmore: 1\n",
		  "line 5, column 1: more: is not a member of a Workload" },
		{ HEAD "- {submit: 0, " TASK "}\n---\na: 1\n",
		  "line 6, column 1: apiVersion: is missing" },
		{ HEAD "- {submit: 0, " TASK "}\n- {" TASK "}\n",
		  "line 5, column 3: items[1].submit: is missing; give a time" },
		{ HEAD "- {submit: 0, gpus: 1, " TASK "}\n",
		  "line 4, column 15: items[0].gpus: is not a member of an item" },
		{ HEAD "- {submit: -1, " TASK "}\n",
		  "line 4, column 4: items[0].submit: -1 is negative" },
		{ HEAD "- {submit: -5s, " TASK "}\n",
		  "line 4, column 4: items[0].submit: \"-5s\" is negative" },
		{ HEAD "- {submit: .nan, " TASK "}\n",
		  "line 4, column 4: items[0].submit: nan is not a finite number" },
		{ HEAD "- {submit: 1e99, " TASK "}\n",
		  "line 4, column 4: items[0].submit: 1e+99 is longer than 100 years" },
		{ HEAD "- {submit: soon, " TASK "}\n",
		  "line 4, column 4: items[0].submit: \"soon\" is not a time like 2026-" },
		{ HEAD "- {submit: 2026-13-20T10:00:00Z, " TASK "}\n",
		  "line 4, column 4: items[0].submit: \"2026-13-20T10:00:00Z\" is not a time" },
		{ HEAD "- {submit: [], " TASK "}\n",
		  "line 4, column 4: items[0].submit: must be a time, a duration" },
		{ HEAD "- {submit: 2026-01-01T00:00:00Z, " TASK "}\n"
		       "- {submit: 2226-01-01T00:00:00Z, " TASK "}\n",
		  "items[1].submit: more than 10 years after the first item" },
		{ HEAD "- {submit: 0, resources: {CPU: 1}}\n",
		  "line 4, column 3: items[0].duration: is missing; give a duration" },
		{ HEAD "- {submit: 0, duration: 0, resources: {CPU: 1}}\n",
		  "line 4, column 15: items[0].duration: must be above 0" },
		{ HEAD "- {submit: 0, duration: -1h, resources: {CPU: 1}}\n",
		  "line 4, column 15: items[0].duration: \"-1h\" is negative" },
		{ HEAD "- {submit: 0, duration: 2026-11-20T10:00:00Z, resources: {CPU: 1}}\n",
		  "line 4, column 15: items[0].duration: must be a duration like 1h30m, is a time" },
		{ HEAD "- {submit: 0, until: 5s, resources: {CPU: 1}}\n",
		  "line 4, column 15: items[0].until: is of kind request_resources only" },
		{ HEAD "- {submit: 0, kind: request_resources, until: 5s, " TASK "}\n",
		  "line 4, column 40: items[0].until: is given beside duration" },
		{ HEAD "- {submit: 5s, kind: request_resources, until: 5s, resources: {CPU: 1}}\n",
		  "line 4, column 41: items[0].until: must be after submit" },
		{ HEAD "- {submit: 5s, kind: request_resources, until: 2026-11-20T10:00:00Z,\n"
		       "   resources: {CPU: 1}}\n",
		  "line 4, column 41: items[0].until: must have the form of submit" },
		{ HEAD "- {submit: 0, checkpoint: 2026-11-20T10:00:00Z, " TASK "}\n",
		  "line 4, column 15: items[0].checkpoint: must be a duration like 90s, is a time" },
		{ HEAD "- {submit: 0, kind: request_resources, checkpoint: 0, " TASK "}\n",
		  "line 4, column 40: items[0].checkpoint: is not of kind request_resources" },
		{ HEAD "- {submit: 0, kind: job, " TASK "}\n",
		  "line 4, column 15: items[0].kind: must be one of task, actor, "
		  "placement_group, request_resources, is \"job\"" },
		{ HEAD "- {submit: 0, strategy: PACK, " TASK "}\n",
		  "line 4, column 15: items[0].strategy: is of kind placement_group only" },
		{ HEAD "- {submit: 0, count: 0, " TASK "}\n",
		  "line 4, column 15: items[0].count: is 0; must be at least 1" },
		{ HEAD "- {submit: 0, count: 1.5, " TASK "}\n",
		  "line 4, column 15: items[0].count: must be an integer" },
		{ HEAD "- {submit: 0, count: 9999999, " TASK "}\n"
		       "- {submit: 0, count: 2, " TASK "}\n",
		  "line 5, column 15: items[1].count: is 2; must be at least 1, and the counts of "
		  "all items together at most 10000000" },
	};

	(void)state;
	codec_check_bad(bad, SUPPORT_COUNT(bad), decode);
}

#define AT HEAD "- {submit: 0, duration: 1s, "

static void errors_of_resources(void **state)
{
	static const struct codec_bad bad[] = {
		{ AT "}\n", "line 4, column 3: items[0].resources: is missing; give resources" },
		{ AT "resources: {}}\n",
		  "line 4, column 29: items[0].resources: asks for nothing" },
		{ AT "resources: {GPU: 0}}\n",
		  "line 4, column 29: items[0].resources: asks for nothing" },
		{ AT "resources: {GPU: -1}}\n",
		  "line 4, column 29: items[0].resources: GPU is negative" },
		{ AT "resources: {GPU: .nan}}\n",
		  "line 4, column 29: items[0].resources: GPU is NaN" },
		{ AT "resources: {GPU: 1e30}}\n",
		  "line 4, column 29: items[0].resources: GPU is too large" },
		{ AT "resources: {gpu: 1}}\n",
		  "line 4, column 29: items[0].resources: gpu is a custom resource for Ray" },
		{ AT "resources: {GPU: one}}\n",
		  "line 4, column 41: items[0].resources.GPU: must be a number" },
		{ AT "resources: {CPU: 1}, labelSelector: {a: \"in(\"}}\n",
		  "line 4, column 66: items[0].labelSelector.a: \"in(\" is not a label selector" },
		{ AT "bundles: [{CPU: 1}]}\n",
		  "line 4, column 29: items[0].bundles: is not of kind task; give resources" },
		{ AT "kind: placement_group, resources: {CPU: 1}}\n",
		  "line 4, column 3: items[0].bundles: is missing; a placement_group has" },
		{ AT "kind: placement_group, bundles: []}\n",
		  "line 4, column 52: items[0].bundles: has 0 elements; must have 1 to 10000" },
		{ AT "kind: placement_group, bundles: [{CPU: 1}, {CPU: -1}]}\n",
		  "line 4, column 72: items[0].bundles[1]: CPU is negative" },
		{ AT "kind: request_resources, bundles: [{CPU: 1}], resources: {CPU: 1}}\n",
		  "line 4, column 54: items[0].bundles: is given beside resources" },
	};

	(void)state;
	codec_check_bad(bad, SUPPORT_COUNT(bad), decode);
}

#define LINE "{\"submit\": 0, \"duration\": 1, \"resources\": {\"CPU\": 1}}\n"

static void errors_of_lines_have_their_line(void **state)
{
	static const struct codec_bad bad[] = {
		{ LINE "\n{\"submit\": 0 \"duration\": 1}\n", "line 3, column 14: " },
		{ LINE "[]\n", "line 2, column 1: top level: must be an object" },
		{ LINE "{\"submit\": 0, \"duration\": -1, \"resources\": {\"CPU\": 1}}",
		  "line 2, column 15: duration: -1 is negative" },
		{ LINE "{\"submit\": 0, \"submit\": 0}",
		  "line 2, column 15: this member is there twice: submit" },
		{ LINE "{\"submit\": 0, \"duration\": 1, \"resources\": {\"CPU\": 1}, \"x\": 1}",
		  "line 2, column 55: x: is not a member of an item of a Workload" },
	};

	(void)state;
	codec_check_bad(bad, SUPPORT_COUNT(bad), decode);
}

static void large_yaml_is_refused_by_its_size(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct workload workload;
	struct err err;

	(void)state;
	/* The size is checked before the text is read. */
	assert_int_equal(workload_read("\0", WORKLOAD_BYTES_MAX + 1, NULL, &arena, &workload, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.text, "join equal items with count"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_have_all_members),
		cmocka_unit_test(times_count_from_the_earliest),
		cmocka_unit_test(lines_share_equal_bundles_and_names),
		cmocka_unit_test(errors_have_line_and_column),
		cmocka_unit_test(errors_of_resources),
		cmocka_unit_test(errors_of_lines_have_their_line),
		cmocka_unit_test(large_yaml_is_refused_by_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
