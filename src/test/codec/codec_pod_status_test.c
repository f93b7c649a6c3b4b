/* core/model/pod_status on Pods as a kubelet writes them. */
#include "core/model/pod_status.h"

#include "codec/objects/pod_json.h"
#include "core/report/decision_event.h"
#include "test/support/codec_support.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena = ARENA_INIT;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* `rest`: members of the Pod, beside its names and containers. */
static struct pod pod_of(const char *rest)
{
	struct pod pod;
	struct err err;
	struct cJSON *tree = codec_tree(
		arena_printf(&arena,
			     "metadata: {name: p, namespace: n, labels: {ray.io/node-type: worker, "
			     "ray.io/group: g, ray.io/cluster: c}}\n"
			     "spec: {containers: [{name: ray}, {name: side}], restartPolicy: %s}\n"
			     "status: {%s}\n",
			     strstr(rest, "#never") ? "Never" : "Always", rest));

	if (pod_decode(tree, "", &arena, &pod, &err))
		fail_msg("%s", err.text);
	json_free(tree);
	return pod;
}

#define WAITS(reason) "state: {waiting: {reason: " reason "}}"
#define ENDED(code) "state: {terminated: {reason: Error, exitCode: " code "}}"
#define LAST(code) "lastState: {terminated: {reason: Error, exitCode: " code "}}"
#define RUNS "state: {running: {startedAt: '2026-11-20T10:00:00Z'}}"
#define RAY(...) "containerStatuses: [{name: ray, " __VA_ARGS__ "}]"

static const struct {
	const char *status;
	enum pod_outlook outlook;
	const char *text;
} rows[] = {
	{ "phase: Pending", POD_PROCEEDS, "" },
	{ "phase: Running, " RAY(RUNS), POD_PROCEEDS, "" },
	{ "phase: Pending, " RAY(WAITS("ContainerCreating")), POD_PROCEEDS, "ContainerCreating" },
	{ "phase: Pending, " RAY(WAITS("ImagePullBackOff")), POD_RETRIES,
	  "container ray: ImagePullBackOff" },
	{ "phase: Pending, " RAY("state: {waiting: {reason: ErrImagePull, message: no such host.}}"),
	  POD_RETRIES, "container ray: ErrImagePull: no such host" },
	{ "phase: Pending, " RAY(WAITS("CreateContainerConfigError")), POD_RETRIES,
	  "container ray: CreateContainerConfigError" },
	{ "phase: Pending, " RAY(WAITS("OfANewerKubelet")), POD_RETRIES,
	  "container ray: OfANewerKubelet" },
	{ "phase: Pending, " RAY(WAITS("InvalidImageName")), POD_FAILS,
	  "container ray: InvalidImageName" },
	{ "phase: Pending, " RAY(WAITS("ErrImageNeverPull")), POD_FAILS,
	  "container ray: ErrImageNeverPull" },
	{ "phase: Running, " RAY("restartCount: 1, " WAITS("CrashLoopBackOff") ", " LAST("2")),
	  POD_RESTARTS, "container ray: Error, exit code 2, 1 restart (CrashLoopBackOff)" },
	{ "phase: Running, " RAY("restartCount: 3, " WAITS("CrashLoopBackOff") ", " LAST("2")),
	  POD_FAILS, "container ray: Error, exit code 2, 3 restarts (CrashLoopBackOff)" },
	{ "phase: Pending, " RAY(
		  WAITS("PodInitializing")) ", initContainerStatuses: [{name: fetch, " RUNS "}]",
	  POD_PROCEEDS, "PodInitializing: init container fetch runs since 2026-11-20T10:00:00Z" },
	/* Not its end keeps it from running. */
	{ "phase: Running, " RAY(
		  "restartCount: 2, state: {waiting: {reason: RunContainerError, message: "
		  "'exec: \"raay\": not found'}}, " LAST("1")),
	  POD_RETRIES,
	  "container ray: RunContainerError: exec: \"raay\": not found; its last run: Error, exit code 1, 2 "
	  "restarts" },
	{ "phase: Running, " RAY("restartCount: 1, " WAITS("ErrImageNeverPull") ", " LAST("9")),
	  POD_FAILS,
	  "container ray: ErrImageNeverPull; its last run: Error, exit code 9, 1 restart" },
	/* The moment before CrashLoopBackOff. */
	{ "phase: Running, " RAY("restartCount: 0, " ENDED("1")), POD_RESTARTS,
	  "container ray: Error, exit code 1" },
	{ "phase: Running, " RAY("restartCount: 3, " ENDED("1")), POD_FAILS,
	  "container ray: Error, exit code 1, 3 restarts" },
	/* KubeRay deletes it, with a sidecar that still runs. */
	{ "phase: Running, " RAY(ENDED("1")) " #never\n", POD_FAILS,
	  "container ray: Error, exit code 1" },
	/* It runs again. */
	{ "phase: Running, " RAY("restartCount: 4, " RUNS ", " LAST("137")), POD_PROCEEDS,
	  "container ray: Error, exit code 137, 4 restarts" },
	{ "phase: Running, " RAY("restartCount: 1, " RUNS ", " LAST("0")), POD_PROCEEDS, "" },
	{ "phase: Pending, initContainerStatuses: [{name: a, " ENDED(
		  "0") "}, {name: b, "
		       "restartCount: 5, " WAITS("CrashLoopBackOff") ", " LAST("7") "}], " RAY(
			       WAITS("PodInitializing")),
	  POD_FAILS, "init container b: Error, exit code 7, 5 restarts (CrashLoopBackOff)" },
	{ "phase: Pending, initContainerStatuses: [{name: a, " RUNS
	  "}], " RAY(WAITS("PodInitializing")),
	  POD_PROCEEDS, "PodInitializing: init container a runs since 2026-11-20T10:00:00Z" },
	{ "phase: Pending, initContainerStatuses: [{name: a, " WAITS("ImagePullBackOff") "}], " RAY(
		  WAITS("PodInitializing")),
	  POD_RETRIES, "init container a: ImagePullBackOff" },
	/* A sidecar decides nothing, and the Ray container comes before it. */
	{ "phase: Running, containerStatuses: [{name: side, restartCount: 9, " ENDED(
		  "1") "}, {name: ray, " RUNS "}]",
	  POD_PROCEEDS, "container side: Error, exit code 1, 9 restarts" },
	{ "phase: Running, containerStatuses: [{name: side, " ENDED("0") "}, {name: ray, " RUNS
									 "}] #never\n",
	  POD_PROCEEDS, "" },
	{ "phase: Running, containerStatuses: [{name: side, " ENDED("1") "}, {name: ray, " ENDED(
		  "2") "}]",
	  POD_RESTARTS, "container ray: Error, exit code 2" },
	{ "phase: Failed, reason: Evicted, message: The node was low on memory., " RAY(ENDED("137")),
	  POD_ENDED, "Failed: Evicted: The node was low on memory" },
	{ "phase: Failed, message: Pod was rejected", POD_ENDED, "Failed: Pod was rejected" },
	{ "phase: Failed, " RAY(
		  "state: {terminated: {reason: OOMKilled, exitCode: 137, message: m}}"),
	  POD_ENDED, "Failed: container ray: OOMKilled, exit code 137: m" },
	/* The one that failed, not the one that was ended with it. */
	{ "phase: Failed, containerStatuses: [{name: ray, " ENDED("0") "}, {name: side, " ENDED(
		  "3") "}] #never\n",
	  POD_ENDED, "Failed: container side: Error, exit code 3" },
	{ "phase: Failed", POD_ENDED, "Failed" },
	{ "phase: Succeeded", POD_ENDED, "Succeeded" },
	{ "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
	  "message: 0/3 nodes are available.}]",
	  POD_PROCEEDS, "Unschedulable: 0/3 nodes are available" },
};

static void test_what_a_pod_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		struct pod pod = pod_of(rows[i].status);
		struct pod_status status = pod_status_read(&pod, &arena);

		if (status.outlook != rows[i].outlook || strcmp(status.text, rows[i].text) != 0)
			fail_msg("%s: %d \"%s\" instead of %d \"%s\"", rows[i].status,
				 status.outlook, status.text, rows[i].outlook, rows[i].text);
	}
}

static void expect_event(const char *before, const char *after, const char *message)
{
	struct pod old = pod_of(before), pod = pod_of(after);
	struct decision_event event = { .message = NULL };
	bool any = decision_event_of_pod(&old, &pod, &arena, &event);

	if (any != (message != NULL) || (any && strcmp(event.message, message) != 0))
		fail_msg("%s: %s", after, any ? event.message : "no Event");
}

/* KubeRay deletes a failed Pod within milliseconds: each failure is reported from the watch, once. */
static void test_a_failure_is_an_event(void **state)
{
	static const char runs[] = "phase: Running, " RAY(RUNS);
	static const char crashed[] = "phase: Running, " RAY("restartCount: 0, " ENDED("1"));
	static const char waits[] = "phase: Running, " RAY(
		"restartCount: 0, " WAITS("CrashLoopBackOff") ", " LAST("1"));
	static const char again[] = "phase: Running, " RAY("restartCount: 1, " RUNS ", " LAST("1"));
	static const char pulls[] = "phase: Pending, " RAY(WAITS("ErrImagePull"));
	struct pod deleted = pod_of(crashed), old = pod_of(runs);
	struct decision_event event = { .message = "m" };

	(void)state;
	expect_event(runs, "phase: Failed, reason: Evicted, message: low",
		     "Worker p of group g: Failed: Evicted: low");
	expect_event(runs, crashed, "Worker p of group g: container ray: Error, exit code 1");
	expect_event(crashed, waits, NULL);
	expect_event(waits, again, NULL);
	expect_event(again, "phase: Running, " RAY("restartCount: 1, " ENDED("1")),
		     "Worker p of group g: container ray: Error, exit code 1, 1 restart");
	expect_event("phase: Pending", pulls, "Worker p of group g: container ray: ErrImagePull");
	expect_event(pulls, "phase: Pending, " RAY(WAITS("ImagePullBackOff")), NULL);
	expect_event("phase: Pending", runs, NULL);
	decision_event_note(&event, "", &arena);
	decision_event_note(&event, "; its Node n", &arena);
	assert_string_equal(event.message, "m; its Node n");
	event.message = arena_printf(&arena, "%1100d", 1);
	decision_event_note(&event, "; its Node n", &arena);
	assert_true(strlen(event.message) < DECISION_EVENT_MESSAGE_MAX);
	assert_non_null(strstr(event.message, "...; its Node n"));
	deleted.deleting = true;
	assert_false(decision_event_of_pod(&old, &deleted, &arena, &event));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_a_pod_says, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_failure_is_an_event, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
