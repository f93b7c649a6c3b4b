/* Templates that are remembered in the status of a RayClusterAutoscaler: written from a plan, read
 * back by the next process. */
#include "codec/objects/memory_json.h"

#include <stdlib.h>
#include <string.h>

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/report/autoscaler_status.h"
#include "test/support/codec_support.h"

#define LIMITS "{\"limits\": {\"cpu\": \"4\"}}"
#define LABELS(type, group)                                                                        \
	"\"labels\": {\"ray.io/cluster\": \"demo\", \"ray.io/node-type\": \"" type                 \
	"\", \"ray.io/group\": \"" group "\"}"

/* A worker that has no GPU, of a group that promises one. */
static const char scene_text[] =
	"{\"apiVersion\": \"rayscaler.dev/v1alpha1\", \"kind\": \"Snapshot\","
	" \"now\": \"2026-11-20T10:00:00Z\","
	" \"rayCluster\": {\"metadata\": {\"namespace\": \"a\", \"name\": \"demo\"}, \"spec\": {"
	"  \"enableInTreeAutoscaling\": true, \"workerGroupSpecs\": ["
	"  {\"groupName\": \"gpu-group\", \"replicas\": 1, \"maxReplicas\": 3,"
	"   \"rayStartParams\": {\"num-gpus\": \"1\"},"
	"   \"template\": {\"spec\": {\"containers\": [{\"name\": \"w\", \"resources\": " LIMITS
	"}]}}},"
	"  {\"groupName\": \"new-group\", \"maxReplicas\": 3,"
	"   \"template\": {\"spec\": {\"containers\": [{\"name\": \"w\", \"resources\": " LIMITS
	"}]}}}"
	" ]}},"
	" \"pods\": [{\"metadata\": {\"namespace\": \"a\", \"name\": \"demo-a\","
	"  " LABELS(
		"worker",
		"gpu-group") "},"
			     "  \"spec\": {\"containers\": [{\"name\": \"w\", \"resources\": " LIMITS
			     "}]},"
			     "  \"status\": {\"phase\": \"Running\"}}],"
			     " \"rayState\": {\"nodeStates\": ["
			     "  {\"nodeId\": \"AQ==\", \"instanceId\": \"demo-head\", \"status\": \"RUNNING\","
			     "   \"totalResources\": {\"node:__internal_head__\": 1}},"
			     "  {\"nodeId\": \"Ag==\", \"instanceId\": \"demo-a\", \"status\": \"RUNNING\","
			     "   \"labels\": {\"ray.io/accelerator-type\": \"T4\"},"
			     "   \"totalResources\": {\"CPU\": 4, \"memory\": 8589934592, \"a \\\"name\\\"\": 1}}]}}";

static void read_object(const char *status, struct arena *arena, struct autoscaler_object *ret)
{
	const char *text = arena_printf(arena,
					"{\"metadata\": {\"namespace\": \"a\", \"name\": \"demo\"},"
					" \"status\": %s}",
					status);
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct err err;

	if (autoscaler_decode(tree, "", arena, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void expect_lack(const struct memory_template *templates, size_t count)
{
	assert_int_equal(count, 1);
	assert_string_equal(templates[0].group, "gpu-group");
	assert_string_equal(templates[0].pod, "demo-a");
	assert_true(templates[0].since == TIME_NONE);
	/* A name that is not plain text is left out. */
	assert_int_equal(templates[0].resources.count, 2);
	assert_string_equal(templates[0].resources.at[0].name, "GPU");
	assert_true(templates[0].resources.at[0].amount == 0);
	assert_string_equal(templates[0].resources.at[1].name, "memory");
	assert_true(templates[0].resources.at[1].amount == 8589934592 * RESOURCE_UNIT);
	assert_string_equal(labels_value(&templates[0].labels, "ray.io/accelerator-type"), "T4");
}

static void test_the_next_program_reads_it_from_the_status(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct autoscaler_object object, again;
	struct snapshot snapshot;
	struct err err;

	(void)state;
	if (snapshot_read(scene_text, strlen(scene_text), &arena, &snapshot, &err) < 0)
		fail_msg("%s", err.text);
	read_object("null", &arena, &object);
	assert_int_equal(object.template_count, 0);

	const struct plan *plan = decide(&snapshot, &arena);
	const struct autoscaler_status_input input = {
		.snapshot = &snapshot,
		.plan = plan,
		.summary = summary_of(&snapshot, plan, &arena),
		.object = &object,
	};
	const struct summary made = autoscaler_status_of(&input, &arena);
	const char *status = autoscaler_status_text(&made, &arena);
	expect_lack(plan->memory.templates.at, plan->memory.templates.count);
	read_object(status, &arena, &again);
	expect_lack(again.templates, again.template_count);
	assert_string_equal(status, again.status_text);

	/* The worker was removed; the new process knows it from the status, and keeps it. */
	snapshot.pod_count = 0;
	snapshot.autoscaler = &again;
	plan = decide(&snapshot, &arena);
	expect_lack(plan->memory.templates.at, plan->memory.templates.count);
}

static void test_invalid_entries_are_observed_again(void **state)
{
	static const char *const bad[] = {
		"{\"template\": \"short\"}",
		"{}",
		"{\"template\": \"0123456789abcdef\", \"resources\": {\"GPU\": -1}}",
		"{\"template\": \"0123456789abcdef\", \"since\": 7}",
		"{\"template\": \"0123456789abcdef\", \"labels\": []}",
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct autoscaler_object object;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		read_object(
			arena_printf(
				&arena,
				"{\"groups\": [{\"name\": \"g\", \"seen\": %s}, {\"name\": \"h\","
				" \"seen\": {\"template\": \"0123456789abcdef\"}}]}",
				bad[i]),
			&arena, &object);
		assert_int_equal(object.template_count, 1);
		assert_string_equal(object.templates[0].group, "h");
		assert_true(*object.status_text != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_program_reads_it_from_the_status),
		cmocka_unit_test(test_invalid_entries_are_observed_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
