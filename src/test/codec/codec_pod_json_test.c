#include "codec/objects/pod_json.h"

#include <string.h>

#include "test/support/codec_support.h"

static int decode(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct pod pod;

	return pod_decode(tree, "pods[0]", arena, &pod, err);
}

static void test_full(void **state)
{
	static const char text[] =
		"metadata: {name: p, namespace: n, uid: u, resourceVersion: '5', labels: {a: b},\n"
		"  creationTimestamp: '1970-01-01T00:00:01Z',\n"
		"  deletionTimestamp: '1970-01-01T00:00:09Z'}\n"
		"spec: {nodeName: node-1, restartPolicy: Never,\n"
		"  containers: [{name: ray}, {name: x}]}\n"
		"status:\n"
		"  phase: Running\n"
		"  podIP: 10.0.0.7\n"
		"  reason: Evicted\n"
		"  message: low on memory\n"
		"  conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable,\n"
		"    message: 0/3 nodes, lastTransitionTime: '1970-01-01T00:00:02Z'}]\n"
		"  containerStatuses:\n"
		"  - {name: x, state: {waiting: {reason: ImagePullBackOff, message: m}}}\n"
		"  - {name: ray, state: {running: {startedAt: '1970-01-01T00:00:03Z'}},\n"
		"     restartCount: 2}\n"
		"  - {name: t, state: {terminated: {reason: Error, exitCode: 137, startedAt: "
		"'1970-01-01T00:00:04Z'}}}\n"
		"  - {name: l, lastState: {terminated: {exitCode: 1}}}\n"
		"  - {name: w, state: {waiting: {}}, restartCount: 1}\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cJSON *tree = codec_tree(text);
	const struct container_status *status;
	struct pod pod;
	struct err err;

	(void)state;
	if (pod_decode(tree, "", &arena, &pod, &err))
		fail_msg("%s", err.text);
	json_free(tree);
	assert_string_equal(pod.name, "p");
	assert_string_equal(pod.namespace_, "n");
	assert_true(pod.created == 1000 && pod.deleting && pod.deletion_time == 9000);
	assert_string_equal(pod.spec.node_name, "node-1");
	assert_string_equal(pod.spec.restart_policy, "Never");
	assert_string_equal(pod.phase, "Running");
	assert_string_equal(pod.pod_ip, "10.0.0.7");
	assert_string_equal(pod.reason, "Evicted");
	assert_string_equal(pod.conditions[0].reason, "Unschedulable");
	assert_true(pod.conditions[0].last_transition == 2000);
	assert_int_equal(pod.container_status_count, 5);
	status = pod.container_statuses;
	assert_int_equal(status[2].end.exit_code, 137);
	assert_int_equal(status[0].state, CONTAINER_WAITING);
	assert_string_equal(status[0].reason, "ImagePullBackOff");
	assert_false(container_has_run(&status[0]));
	assert_true(status[0].started_at == TIME_NONE);
	assert_int_equal(status[1].state, CONTAINER_RUNNING);
	assert_true(status[1].started_at == 3000 && status[1].restart_count == 2);
	assert_true(container_has_run(&status[1]));
	assert_int_equal(status[2].state, CONTAINER_TERMINATED);
	assert_true(status[2].started_at == 4000 && container_has_run(&status[2]));
	assert_int_equal(status[3].state, CONTAINER_UNKNOWN);
	assert_true(container_has_run(&status[3]) && container_has_run(&status[4]));
	assert_string_equal(pod_ray_container_status(&pod)->name, "ray");
}

/* 75,000 containers of 18 bytes each were 12.6 MiB. Those that ask for something stay, as does what may be
 * a second autoscaler with its command. */
static void test_only_what_a_decision_reads_is_kept(void **state)
{
	enum { MANY = 20000 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
	const struct pod_spec *spec;
	struct pod pod;
	struct err err;

	(void)state;
	(void)buf_printf(&text, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":["
				"{\"name\":\"ray\",\"command\":[\"a\"],\"args\":[\"b\"],\"env\":["
				"{\"name\":\"SECRET\",\"value\":\"s\"},"
				"{\"name\":\"NVIDIA_VISIBLE_DEVICES\",\"value\":\"all\"}]}");
	for (size_t i = 1; i < MANY; i++)
		(void)buf_printf(&text, ",{\"name\":\"c%zu\"}", i);
	(void)buf_printf(&text,
			 ",{\"name\":\"x\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}},"
			 "{\"name\":\"autoscaler\",\"command\":[\"ray\"],\"args\":[\"start\"]}"
			 "]}}");
	struct cJSON *tree = codec_tree(buf_string(&text));
	if (pod_decode(tree, "", &arena, &pod, &err))
		fail_msg("%s", err.text);
	json_free(tree);
	spec = &pod.spec;
	assert_int_equal(spec->container_count, 10);
	assert_string_equal(spec->containers[7].name, "c7");
	assert_string_equal(spec->containers[8].name, "x");
	assert_int_equal(spec->containers[8].limits.count, 1);
	assert_string_equal(spec->containers[9].command.at[0], "ray");
	assert_int_equal(spec->containers[9].args.count, 1);
	assert_int_equal(spec->containers[0].command.count + spec->containers[0].args.count, 0);
	assert_string_equal(spec->containers[0].env[0].name, "SECRET");
	assert_string_equal(spec->containers[0].env[0].value, "");
	assert_string_equal(spec->containers[0].env[1].value, "all");
	assert_true(arena.used_bytes < 8192);
}

static void test_least(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = codec_tree("metadata: {name: p, labels: null}");
	struct pod pod;
	struct err err;

	(void)state;
	assert_int_equal(pod_decode(tree, "", &arena, &pod, &err), 0);
	assert_true(pod.created == TIME_NONE && !pod.deleting && pod.deletion_time == TIME_NONE);
	assert_string_equal(pod.phase, "");
	assert_string_equal(pod.namespace_, "");
	assert_string_equal(pod.spec.scheduler_name, "");
	assert_null(pod.spec.required_node_terms);
	assert_int_equal(pod.container_status_count, 0);
	assert_int_equal(pod.problems.count, 0);
}

/* A deletion time that does not parse still deletes. */
static void test_problems(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree =
		codec_tree("metadata: {name: p, deletionTimestamp: soon}\n"
			   "status: {containerStatuses: [{state: {running: {startedAt: x}}}]}");
	struct pod pod;
	struct err err;

	(void)state;
	assert_int_equal(pod_decode(tree, "pods[3]", &arena, &pod, &err), 0);
	assert_true(pod.deleting && pod.deletion_time == TIME_NONE);
	assert_int_equal(pod.problems.count, 2);
	assert_non_null(strstr(pod.problems.at[0], "pods[3].metadata.deletionTimestamp: \"soon\""));
	assert_non_null(strstr(pod.problems.at[1], "pods[3].status.containerStatuses[0].state."
						   "running.startedAt: \"x\""));
}

#define M "metadata: {name: p}, "

static void test_wrong_types(void **state)
{
	static const struct codec_bad table[] = {
		{ "7", "pods[0]: must be an object, is a number" },
		{ "{}", "pods[0].metadata.name: is missing" },
		{ "metadata: {name: [p]}", "pods[0].metadata.name: must be a string, is an array" },
		{ "{" M "spec: x}", "pods[0].spec: must be an object" },
		{ "{" M "spec: {nodeName: 1}}", "pods[0].spec.nodeName: must be a string" },
		{ "{" M "spec: {restartPolicy: 1}}",
		  "pods[0].spec.restartPolicy: must be a string" },
		{ "{" M "status: x}", "pods[0].status: must be an object" },
		{ "{" M "status: {phase: 1}}", "pods[0].status.phase: must be a string" },
		{ "{" M "status: {podIP: 1}}", "pods[0].status.podIP: must be a string" },
		{ "{" M "status: {reason: 1}}", "pods[0].status.reason: must be a string" },
		{ "{" M "status: {message: 1}}", "pods[0].status.message: must be a string" },
		{ "{" M "status: {conditions: [{lastTransitionTime: 1}]}}",
		  "pods[0].status.conditions[0].lastTransitionTime: must be a string" },
		{ "{" M "status: {containerStatuses: {}}}",
		  "pods[0].status.containerStatuses: must be an array" },
		{ "{" M "status: {containerStatuses: [1]}}",
		  "pods[0].status.containerStatuses[0]: must be an object" },
		{ "{" M "status: {containerStatuses: [{name: 1}]}}",
		  "pods[0].status.containerStatuses[0].name: must be a string" },
		{ "{" M "status: {containerStatuses: [{state: running}]}}",
		  "pods[0].status.containerStatuses[0].state: must be an object" },
		{ "{" M "status: {containerStatuses: [{state: {running: true}}]}}",
		  "pods[0].status.containerStatuses[0].state.running: must be an object" },
		{ "{" M "status: {containerStatuses: [{state: {waiting: {reason: 1}}}]}}",
		  "pods[0].status.containerStatuses[0].state.waiting.reason: must be a string" },
		{ "{" M "status: {containerStatuses: [{restartCount: x}]}}",
		  "pods[0].status.containerStatuses[0].restartCount: must be an integer" },
		{ "{" M "status: {containerStatuses: [{lastState: 1}]}}",
		  "pods[0].status.containerStatuses[0].lastState: must be an object" },
		{ "{" M "status: {containerStatuses: [{state: {running: {startedAt: 1}}}]}}",
		  "pods[0].status.containerStatuses[0].state.running.startedAt: must be a string" },
	};

	(void)state;
	codec_check_bad(table, SUPPORT_COUNT(table), decode);
}

/* Each amount is compared with each device wherever the Pod counts. */
static void test_amounts_have_a_limit(void **state)
{
	static const struct {
		int amounts;
		bool good;
	} cases[] = { { 1000, true }, { 1001, false } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		const char *text = "metadata: {name: p}\nspec: {containers: [{name: a, resources: "
				   "{limits: {a: 1}}}, {name: b, resources: {requests: {";
		AUTO(buf_done) struct buf buf = BUF_INIT(100000);
		struct err err;

		(void)buf_add_string(&buf, text);
		for (int n = 1; n < cases[i].amounts; n++)
			(void)buf_printf(&buf, "r%d: 1, ", n);
		(void)buf_add_string(&buf, "}}}]}\n");
		assert_int_equal(decode(buf_string(&buf), &arena, &err), cases[i].good ? 0 : -1);
		if (!cases[i].good)
			assert_string_equal(err.text,
					    "pods[0].spec.containers: limits and requests "
					    "have more than 1000 amounts, the limit for "
					    "one Pod; remove some");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts_have_a_limit),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_only_what_a_decision_reads_is_kept),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_wrong_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
