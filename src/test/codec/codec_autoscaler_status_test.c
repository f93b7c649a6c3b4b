/* core/report/autoscaler_status and codec/objects/autoscaler_json: the status of a decision, and that
 * it is written once. */
#include "core/report/autoscaler_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "feature/cost/core/metering.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"

/* A cluster with a busy worker of two GPUs, demand for another one and demand that no group can
 * serve. */
static const char scene_text[] =
	"apiVersion: rayscaler.dev/v1alpha1\n"
	"kind: Snapshot\n"
	"now: '2026-11-20T10:00:00.250Z'\n"
	"rayCluster:\n"
	"  metadata: {namespace: a, name: demo, generation: 7}\n"
	"  spec:\n"
	"    enableInTreeAutoscaling: true\n"
	"    headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}}\n"
	"    workerGroupSpecs:\n"
	"    - groupName: gpu\n"
	"      replicas: 1\n"
	"      maxReplicas: 1\n"
	"      template: {spec: {containers: [{name: w, resources: {limits: {cpu: 1, nvidia.com/gpu: 2}}}]}}\n"
	"    - groupName: cpu\n"
	"      replicas: 0\n"
	"      template: {spec: {containers: [{name: w, resources: {limits: {cpu: 1}}}]}}\n"
	"pods:\n"
	"- metadata: {name: w1, labels: {ray.io/cluster: demo, ray.io/node-type: worker, ray.io/group: gpu}}\n"
	"  spec: {containers: [{name: w}]}\n"
	"  status: {phase: Running}\n"
	"rayState:\n"
	"  nodeStates:\n"
	"  - {nodeId: AQ==, instanceId: h, status: RUNNING, totalResources: {'node:__internal_head__': 1}}\n"
	"  - {nodeId: Ag==, instanceId: w1, status: RUNNING, totalResources: {CPU: 1, GPU: 2}}\n"
	"  pendingResourceRequests:\n"
	"  - {request: {resourcesBundle: {GPU: 0.5, CPU: 1}}, count: 3}\n"
	"  - {request: {resourcesBundle: {TPU: 4}}, count: 1}\n"
	"  clusterResourceConstraints:\n"
	"  - resourceRequests: [{request: {resourcesBundle: {GPU: 2}}, count: 1}]\n";

struct declared {
	struct arena arena;
	struct snapshot snapshot;
	struct autoscaler_object object;
	struct autoscaler_status_input input;
	struct summary status;
	struct cJSON *tree;
	struct json_reader reader;
	const char *text;
};

/* The object with this status on the server. */
static void store(struct declared *declared, const char *status)
{
	const char *text =
		arena_printf(&declared->arena,
			     "{\"metadata\": {\"namespace\": \"a\", \"name\": \"demo\","
			     " \"generation\": 3, \"resourceVersion\": \"9\"}, \"status\": %s}",
			     status);
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct err err;

	if (autoscaler_decode(tree, "", &declared->arena, &declared->object, &err) < 0)
		fail_msg("%s", err.text);
}

static void tell(struct declared *declared)
{
	const struct plan *plan = decide(&declared->snapshot, &declared->arena);

	declared->input.snapshot = &declared->snapshot;
	declared->input.plan = plan;
	declared->input.summary = summary_of(&declared->snapshot, plan, &declared->arena);
	declared->input.object = &declared->object;
	declared->status = autoscaler_status_of(&declared->input, &declared->arena);
	declared->text = autoscaler_status_text(&declared->status, &declared->arena);
	json_free(declared->tree);
	declared->tree = codec_tree(declared->text);
}

static void read_snapshot(struct declared *declared, const char *text)
{
	struct err err;

	*declared = (struct declared){ .arena = ARENA_INIT };
	if (snapshot_read(text, strlen(text), &declared->arena, &declared->snapshot, &err) < 0)
		fail_msg("%s", err.text);
	store(declared, "null");
}

static void declared_done(struct declared *declared)
{
	json_free(declared->tree);
	arena_done(&declared->arena);
}

/* The value of a member of the status, as text on one line; path as in "gpus.max", "groups.0.pods". */
static const char *at(struct declared *declared, const char *path)
{
	struct json_at values[8];
	char *words = arena_strdup(&declared->arena, path), *rest = NULL;
	size_t depth = 0;

	declared->reader = (struct json_reader){ .arena = &declared->arena };
	values[0] = json_root(declared->tree, "", &declared->reader);
	for (char *word = strtok_r(words, ".", &rest); word; word = strtok_r(NULL, ".", &rest)) {
		if (json_type(&values[depth]) == JSON_ARRAY) {
			values[depth + 1] = json_first(&values[depth]);
			for (long i = strtol(word, NULL, 10); i > 0; i--)
				json_next(&values[depth + 1]);
		} else {
			values[depth + 1] = json_member(&values[depth], word);
		}
		depth++;
	}
	return json_print(&values[depth]);
}

static void test_members_of_the_status(void **state)
{
	static const char *const wanted[][2] = {
		{ "observedGeneration", "3" },
		{ "observedClusterGeneration", "7" },
		{ "reason", "\"NoGroupFits\"" },
		{ "lastDecisionTime", "\"2026-11-20T10:00:00Z\"" },
		{ "lastScaleTime", "null" },
		{ "undecidedIntervalSeconds", "null" },
		{ "summary.groups", "\"gpu 1/1, cpu 0/-\"" },
		{ "summary.gpus", "\"2/2/2\"" },
		{ "gpus", "{\"running\":\"2\",\"starting\":\"0\",\"target\":\"2\",\"max\":\"2\","
			  "\"pending\":\"1.5\"}" },
		{ "groups.0.name", "\"gpu\"" },
		{ "groups.0.pods", "{\"running\":1}" },
		{ "groups.0.gpusPerWorker", "\"2\"" },
		{ "groups.0.backoff", "" },
		{ "groups.0.lastScale", "" },
		{ "groups.1.maxReplicas", "2147483647" },
		{ "pendingBundles", "4" },
		{ "demand", "[{\"name\":\"GPU\",\"amount\":\"1.5\"},{\"name\":\"TPU\","
			    "\"amount\":\"4\"},{\"name\":\"CPU\",\"amount\":\"3\"}]" },
		{ "requested", "[{\"source\":\"ray\",\"count\":1,\"bundle\":{\"GPU\":\"2\"}}]" },
		{ "infeasible.0.reason", "\"NoGroupFits\"" },
		{ "infeasible.0.count", "1" },
		{ "infeasible.1", "" },
		{ "unserved.0.reason", "\"MaxReplicas\"" },
		{ "unserved.0.gpus", "\"1.5\"" },
		{ "conditions.0.type", "\"ScalingActive\"" },
		{ "conditions.0.lastTransitionTime", "\"2026-11-20T10:00:00Z\"" },
		{ "conditions.0.observedGeneration", "3" },
		{ "truncated", "false" },
	};
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	tell(&declared);
	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++)
		if (strcmp(at(&declared, wanted[i][0]), wanted[i][1]) != 0)
			fail_msg("%s is %s, not %s; %s", wanted[i][0], at(&declared, wanted[i][0]),
				 wanted[i][1], declared.text);
	declared_done(&declared);
}

/* null removes the fields that a merge patch would keep. */
static void test_what_is_not_known_is_null(void **state)
{
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	declared.snapshot.ray_state = NULL;
	tell(&declared);
	assert_string_equal(at(&declared, "gpus.running"), "null");
	assert_string_equal(at(&declared, "gpus.pending"), "null");
	assert_string_equal(at(&declared, "summary.gpus"), "\"?/2/2\"");
	declared_done(&declared);
}

/* The time of another controller is renewed after 2 min, one's own after 4 to 5. */
static void test_the_time_of_another_controller_is_renewed_sooner(void **state)
{
	static const char *const others[] = { "c-1", "c-2" };
	struct declared declared;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		read_snapshot(&declared, scene_text);
		declared.input.controller = "c-1";
		store(&declared, arena_printf(&declared.arena,
					      "{\"reason\": \"a\", \"message\": \"a\", "
					      "\"controller\": \"%s\", "
					      "\"lastDecisionTime\": \"2026-11-20T09:57:20Z\"}",
					      others[i]));
		tell(&declared);
		assert_string_equal(at(&declared, "lastDecisionTime"),
				    i == 0 ? "\"2026-11-20T09:57:20Z\"" :
					     "\"2026-11-20T10:00:00Z\"");
		assert_string_equal(at(&declared, "controller"), "\"c-1\"");
		declared_done(&declared);
	}
}

#define SCHEDULE                                                                                   \
	"autoscaler: {metadata: {namespace: a, name: demo}, spec: {schedules: [{name: office,\n"   \
	"  start: '0 8 * * mon-fri', duration: 9h, groups: [{name: cpu, minReplicas: 1}]}]}}\n"

/* A merge patch keeps every member that it does not name, so a list that became empty must be in it. The
 * sums of metering are kept on purpose. */
static void test_what_becomes_empty_is_removed(void **state)
{
	struct declared declared;
	char text[8192];
	const char *empty;

	(void)state;
	(void)snprintf(text, sizeof(text), "%s%s", scene_text, SCHEDULE);
	read_snapshot(&declared, text);
	tell(&declared);
	assert_string_equal(at(&declared, "schedules.0.name"), "\"office\"");
	empty = autoscaler_status_text(&summary_none, &declared.arena);
	for (const struct field *status = autoscaler_fields; status->name; status++)
		for (const struct field *field = status->members;
		     !strcmp(status->name, "status") && field->name; field++)
			if (strcmp(field->name, "metering") != 0 &&
			    !strstr(empty, arena_printf(&declared.arena, "\"%s\": ", field->name)))
				fail_msg("%s is not in %s", field->name, empty);
	store(&declared, declared.text);
	declared.snapshot.autoscaler = NULL;
	tell(&declared);
	assert_string_equal(at(&declared, "schedules"), "null");
	assert_string_not_equal(declared.text, declared.object.status_text);
	/* Once removed, it is not written again. */
	store(&declared, declared.text);
	assert_string_equal(declared.text, declared.object.status_text);
	declared_done(&declared);
}

static void test_times_of_conditions(void **state)
{
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	store(&declared, "{\"conditions\": ["
			 "{\"type\": \"ScalingActive\", \"status\": \"True\","
			 " \"lastTransitionTime\": \"2026-11-01T00:00:00Z\"},"
			 "{\"type\": \"AbleToScale\", \"status\": \"False\","
			 " \"lastTransitionTime\": \"2026-11-01T00:00:00Z\"}]}");
	tell(&declared);
	assert_string_equal(at(&declared, "conditions.0.lastTransitionTime"),
			    "\"2026-11-01T00:00:00Z\"");
	assert_string_equal(at(&declared, "conditions.1.type"), "\"AbleToScale\"");
	assert_string_equal(at(&declared, "conditions.1.lastTransitionTime"),
			    "\"2026-11-20T10:00:00Z\"");
	declared_done(&declared);
}

/* The object is still without the status that was sent. */
static void test_times_of_conditions_that_were_sent(void **state)
{
	struct declared declared;
	struct summary sent;

	(void)state;
	read_snapshot(&declared, scene_text);
	tell(&declared);
	sent = autoscaler_status_sent(&declared.status, &declared.arena);
	declared.input.sent = &sent;
	declared.snapshot.now += MS_PER_SECOND;
	tell(&declared);
	assert_string_equal(at(&declared, "conditions.0.lastTransitionTime"),
			    "\"2026-11-20T10:00:00Z\"");
	declared_done(&declared);
}

static void test_last_scale_is_kept_until_a_newer_one(void **state)
{
	struct autoscaler_scale newer = {
		.group = "gpu", .time = 1764000000000, .from = 1, .to = 2, .reason = "ScaleUpDemand"
	};
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	store(&declared,
	      "{\"lastScaleTime\": \"2025-11-01T00:00:00Z\", \"groups\": ["
	      "{\"name\": \"cpu\", \"lastScale\": {\"time\": \"2025-11-01T00:00:00Z\","
	      " \"from\": 4, \"to\": 0, \"reason\": \"ScaleDownIdle\", \"message\": \"x\"}}]}");
	tell(&declared);
	assert_string_equal(at(&declared, "lastScaleTime"), "\"2025-11-01T00:00:00Z\"");
	assert_string_equal(at(&declared, "groups.1.lastScale.from"), "4");
	newer.message = arena_printf(&declared.arena, "%03000d", 0);
	declared.input.scales = &newer;
	declared.input.scale_count = 1;
	tell(&declared);
	assert_string_equal(at(&declared, "lastScaleTime"), "\"2025-11-24T16:00:00Z\"");
	assert_string_equal(at(&declared, "groups.0.lastScale.to"), "2");
	assert_int_equal(strlen(at(&declared, "groups.0.lastScale.message")), 512 + 5);
	assert_string_equal(at(&declared, "groups.1.lastScale.reason"), "\"ScaleDownIdle\"");
	declared_done(&declared);
}

/* The next process reads how long the last one waited. */
static void test_an_undecided_interval_is_kept(void **state)
{
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	tell(&declared);
	store(&declared, declared.text);
	declared.input.undecided_ms = 8000;
	tell(&declared);
	assert_string_equal(at(&declared, "undecidedIntervalSeconds"), "8");
	assert_string_not_equal(declared.text, declared.object.status_text);
	store(&declared, declared.text);
	assert_int_equal(declared.object.status->undecided_seconds, 8);
	declared.input.undecided_ms = 0;
	tell(&declared);
	assert_string_equal(at(&declared, "undecidedIntervalSeconds"), "null");
	assert_string_not_equal(declared.text, declared.object.status_text);
	declared_done(&declared);
}

/* The same message with another duration is not a change; another message is. */
static void test_durations_in_messages_are_no_change(void **state)
{
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	declared.snapshot.now += 7000;
	tell(&declared);
	assert_non_null(strstr(declared.text, "its last reply is 7 s old"));
	store(&declared, declared.text);
	declared.snapshot.now += 93000;
	tell(&declared);
	assert_non_null(strstr(declared.text, "its last reply is 7 s old"));
	assert_string_equal(declared.text, declared.object.status_text);
	declared.snapshot.ray_state = NULL;
	tell(&declared);
	assert_null(strstr(declared.text, "its last reply"));
	assert_string_not_equal(declared.text, declared.object.status_text);
	declared_done(&declared);
}

/* A number that is not a duration is a change. */
static void test_other_figures_are_a_change(void **state)
{
	struct ray_request_count *requests;
	struct ray_state ray;
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	tell(&declared);
	store(&declared, declared.text);
	ray = *declared.snapshot.ray_state;
	requests = arena_array(&declared.arena, 3, sizeof(*requests));
	requests[0] = requests[2] = ray.requests[0];
	requests[1] = ray.requests[1];
	requests[2].request.bundle_count = 1;
	ray.requests = requests;
	ray.request_count = 3;
	declared.snapshot.ray_state = &ray;
	tell(&declared);
	assert_non_null(strstr(at(&declared, "conditions.0.message"), "3 request shapes"));
	assert_string_not_equal(declared.text, declared.object.status_text);
	declared_done(&declared);
}

static void test_a_status_of_another_form_is_rewritten(void **state)
{
	static const char *const odd[] = {
		"\"text\"",
		"{\"conditions\": 1}",
		"{\"groups\": [1]}",
		"{\"groups\": [{\"name\": \"gpu\", \"lastScale\": []}]}",
		"{\"lastScaleTime\": 5}",
		"{\"undecidedIntervalSeconds\": \"60\"}",
		"{\"message\": {}}",
		"{\"infeasible\": [{\"message\": 1}]}",
		"{\"gpus\": {\"running\": 1}}",
		"{\"requested\": [{\"source\": \"nobody\"}]}",
		"{\"requested\": [{\"source\": \"ray\", \"bundle\": {\"GPU\": \"-1\"}}]}",
		"null",
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(odd); i++) {
		struct declared declared;

		read_snapshot(&declared, scene_text);
		store(&declared, odd[i]);
		assert_int_equal(declared.object.generation, 3);
		assert_string_equal(declared.object.status_text, "");
		tell(&declared);
		assert_string_not_equal(declared.text, declared.object.status_text);
		declared_done(&declared);
	}
}

/* A member that another version of the program has written in its own way loses only itself: the
 * sums of metering and the last change go on. */
static void test_a_member_of_another_form_loses_only_itself(void **state)
{
	static const char *const odd[] = {
		"\"requested\": [{\"source\": \"nobody\", \"count\": 2}]",
		"\"requested\": [{\"source\": \"ray\", \"bundle\": {\"GPU\": \"many\"}}]",
		"\"gpus\": {\"target\": \"3\", \"running\": 1}",
		"\"conditions\": 1",
		"\"undecidedIntervalSeconds\": \"60\"",
	};
	const struct autoscaler_metering *metering;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(odd); i++) {
		struct declared declared;

		read_snapshot(&declared, scene_text);
		store(&declared, arena_printf(&declared.arena,
					      "{%s, \"lastScaleTime\": \"2025-11-01T00:00:00Z\","
					      " \"metering\": {\"rayClusterUID\": \"u\","
					      " \"todayGPUSeconds\": 70}}",
					      odd[i]));
		if (!declared.object.status || !declared.object.status->parts.metering)
			fail_msg("metering is lost with %s", odd[i]);
		metering = declared.object.status->parts.metering;
		assert_int_equal(metering->today_gpu_seconds, 70);
		assert_int_equal(declared.object.status->requested_count, 0);
		assert_int_equal(declared.object.status->gpus.wanted, summary_none.gpus.wanted);
		assert_string_equal(declared.object.status_text, "");
		tell(&declared);
		assert_string_equal(at(&declared, "lastScaleTime"), "\"2025-11-01T00:00:00Z\"");
		declared_done(&declared);
	}
}

/* A peer's long names and long lists do not make a long status. */
static void test_size_is_bounded(void **state)
{
	enum { COUNT = 3000 };
	struct ray_request_count *requests;
	struct ray_state ray;
	struct declared declared;

	(void)state;
	read_snapshot(&declared, scene_text);
	requests = arena_array(&declared.arena, COUNT, sizeof(*requests));
	for (size_t i = 0; i < COUNT; i++) {
		struct bundle_entry *entry = ARENA_NEW(&declared.arena, struct bundle_entry);

		*entry = (struct bundle_entry){
			.name = arena_printf(&declared.arena, "%04zu-%01000d\xc3\xa4", i, 0),
			.received = 1,
			.amount = 10000,
		};
		requests[i] =
			(struct ray_request_count){ { .bundle = entry, .bundle_count = 1 }, 1 };
	}
	ray = *declared.snapshot.ray_state;
	ray.requests = requests;
	ray.request_count = COUNT;
	declared.snapshot.ray_state = &ray;
	tell(&declared);
	assert_true(strlen(declared.text) < 16384);
	assert_string_equal(at(&declared, "truncated"), "true");
	store(&declared, declared.text);
	tell(&declared);
	assert_string_equal(declared.text, declared.object.status_text);
	declared_done(&declared);
}

/* --- every decision that is written down --- */

static void check_golden(const char *name)
{
	struct declared declared = { .arena = ARENA_INIT };
	struct err err = { .kind = ERR_NONE };

	declared.reader = (struct json_reader){ .arena = &declared.arena, .err = &err };
	if (golden_snapshot(arena_printf(&declared.arena, GOLDEN_DIRECTORY "/%s", name),
			    &declared.arena, &declared.snapshot, &err))
		fail_msg("%s: %s", name, err.text);
	store(&declared, "null");
	tell(&declared);
	assert_string_not_equal(declared.text, declared.object.status_text);
	store(&declared, declared.text);
	assert_string_not_equal(declared.object.status_text, "");
	tell(&declared);
	if (strcmp(declared.text, declared.object.status_text) != 0)
		fail_msg("%s is reported twice:\n%s\n%s", name, declared.object.status_text,
			 declared.text);
	assert_string_not_equal(at(&declared, "reason"), "\"\"");
	declared_done(&declared);
}

static void test_every_golden_decision_is_declared_once(void **state)
{
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(golden_names_read(GOLDEN_DIRECTORY, &names, &err), 0);
	for (size_t i = 0; i < names.count; i++)
		check_golden(names.at[i]);
	assert_true(names.count > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_of_the_status),
		cmocka_unit_test(test_what_is_not_known_is_null),
		cmocka_unit_test(test_the_time_of_another_controller_is_renewed_sooner),
		cmocka_unit_test(test_what_becomes_empty_is_removed),
		cmocka_unit_test(test_times_of_conditions),
		cmocka_unit_test(test_times_of_conditions_that_were_sent),
		cmocka_unit_test(test_last_scale_is_kept_until_a_newer_one),
		cmocka_unit_test(test_an_undecided_interval_is_kept),
		cmocka_unit_test(test_durations_in_messages_are_no_change),
		cmocka_unit_test(test_other_figures_are_a_change),
		cmocka_unit_test(test_a_status_of_another_form_is_rewritten),
		cmocka_unit_test(test_a_member_of_another_form_loses_only_itself),
		cmocka_unit_test(test_size_is_bounded),
		cmocka_unit_test(test_every_golden_decision_is_declared_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
