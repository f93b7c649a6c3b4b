/* Each refusal of the annotation ray.io/ippr is a condition of the decision and a finding of lint, with the
 * same words; what Ray accepts is neither. Ray's rules: IPPRSpecsSchema of autoscaler/v2/schema.py and
 * _build_ippr_group_spec of .../kuberay/ippr_provider.py (ray 2.60). */
#include <string.h>

#include "core/decide.h"
#include "core/model/reason.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"

#define CASE GOLDEN_DIRECTORY "/1300_resize_before_launch.yaml"
#define ANNOTATION(text) "rayCluster: {metadata: {annotations: {ray.io/ippr: '" text "'}}}"
#define LIMITS(text) ANNOTATION("{\"groups\": {\"cpu-group\": " text "}}")
#define GROUP(text) "groups: {cpu-group: " text "}"
#define OF_ANNOTATION "metadata.annotations[ray.io/ippr]: "
#define OF_GROUP "metadata.annotations[ray.io/ippr].groups[cpu-group]: "

static const struct {
	const char *changes, *problem;
} refused[] = {
	{ ANNOTATION("{\"groups\""), OF_ANNOTATION },
	{ ANNOTATION("[]"), OF_ANNOTATION "top level: must be an object" },
	{ ANNOTATION("{\"groups\": []}"), OF_ANNOTATION "groups: must be an object" },
	{ LIMITS("1"), OF_ANNOTATION "groups.cpu-group: must be an object" },
	{ LIMITS("{\"max-memory\": 1, \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-cpu: is required" },
	{ LIMITS("{\"max-cpu\": true, \"max-memory\": 1, \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-cpu: must be a quantity" },
	{ LIMITS("{\"max-cpu\": \"many\", \"max-memory\": 1, \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-cpu: \"many\" is not a quantity above 0" },
	{ LIMITS("{\"max-cpu\": 1, \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-memory: is required" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": [], \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-memory: must be a quantity" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": \"8Gb\", \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-memory: \"8Gb\" is not a quantity above 0" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": 1.5, \"resize-timeout\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.max-memory: must be a whole number of bytes" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": 1}"),
	  OF_ANNOTATION "groups.cpu-group.resize-timeout: must be a whole number of seconds" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": 1, \"resize-timeout\": \"300\"}"),
	  OF_ANNOTATION "groups.cpu-group.resize-timeout: must be a whole number of seconds" },
	{ LIMITS("{\"max-cpu\": 1, \"max-memory\": 1, \"resize-timeout\": 1.5}"),
	  OF_ANNOTATION "groups.cpu-group.resize-timeout: must be a whole number of seconds" },
	{ GROUP("{rayStartParams: {num-cpus: '2'}}"), OF_GROUP "rayStartParams must not have" },
	{ GROUP("{rayStartParams: {memory: '2'}}"), OF_GROUP "rayStartParams must not have" },
	{ GROUP("{requests: {cpu: null}}"), OF_GROUP "resources.requests of the first container" },
	{ GROUP("{requests: {memory: null}}"),
	  OF_GROUP "resources.requests of the first container" },
	{ GROUP("{template: {spec: {containers: [{name: r, resources: {requests: {cpu: 1, memory: "
		"1Gi}}, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}}}"),
	  OF_GROUP "resizePolicy of the first container" },
	{ GROUP("{template: {spec: {containers: [{name: r, resources: {requests: {cpu: 1, memory: "
		"1Gi}}, resizePolicy: [{resourceName: memory, restartPolicy: Other}]}]}}}"),
	  OF_GROUP "resizePolicy of the first container" },
	{ GROUP("{numOfHosts: 2}"), OF_GROUP "numOfHosts must be 1" },
};

static const char *const accepted[] = {
	ANNOTATION("{}"),
	LIMITS("{\"max-cpu\": 1.5, \"max-memory\": 8589934592, \"resize-timeout\": 300}"),
	LIMITS("{\"max-cpu\": \"1500m\", \"max-memory\": \"8Gi\", \"resize-timeout\": 0, "
	       "\"other\": 1}"),
	GROUP("{template: {spec: {containers: [{name: r, resources: {requests: {cpu: 1, memory: "
	      "1Gi}}, resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, "
	      "{resourceName: ephemeral-storage, restartPolicy: RestartContainer}]}]}}}"),
};

/* Of the condition; NULL: it is True. */
static const char *condition_problem(const struct snapshot *snapshot, struct arena *arena)
{
	const struct plan *plan = decide(snapshot, arena);

	VEC_EACH(const struct plan_condition, condition, &plan->conditions)
		if (strcmp(condition->type, CONDITION_IN_PLACE_RESIZE) == 0) {
			bool is_true = strcmp(condition->status, "True") == 0;

			assert_int_equal(condition->reason,
					 is_true ? REASON_RESIZE_ON : REASON_RESIZE_INVALID);
			return is_true ? NULL : condition->message;
		}
	fail_msg("the plan has no condition " CONDITION_IN_PLACE_RESIZE);
	return NULL;
}

/* Of the first finding; NULL: none. */
static const char *lint_problem(const struct snapshot *snapshot, struct arena *arena)
{
	struct lint_context context = { .devices = device_table_builtin(),
					.settings = &snapshot->settings };
	struct lint_findings findings = { .list = { .at = NULL } };

	lint_cluster(&snapshot->cluster, &context, arena, &findings);
	VEC_EACH(const struct lint_finding, finding, &findings.list)
		if (strcmp(finding->rule, "resize-invalid") == 0)
			return finding->message;
	return NULL;
}

static void read_case(const char *changes, struct arena *arena, struct snapshot *snapshot)
{
	struct err err;

	if (golden_snapshot_changed(CASE, changes, arena, snapshot, &err))
		fail_msg("%s: %s", changes, err.text);
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(refused); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot;
		const char *condition, *finding;

		read_case(refused[i].changes, &arena, &snapshot);
		condition = condition_problem(&snapshot, &arena);
		finding = lint_problem(&snapshot, &arena);
		if (!condition || !finding)
			fail_msg("%s: %s, %s", refused[i].changes,
				 condition ? condition : "no condition",
				 finding ? finding : "no finding");
		if (strncmp(condition, refused[i].problem, strlen(refused[i].problem)) != 0)
			fail_msg("%s: %s", refused[i].changes, condition);
		if (strncmp(condition, OF_ANNOTATION, strlen(OF_ANNOTATION)) == 0)
			condition += strlen(OF_ANNOTATION);
		assert_string_equal(condition, finding);
	}
}

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(accepted); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot;
		const char *condition, *finding;

		read_case(accepted[i], &arena, &snapshot);
		condition = condition_problem(&snapshot, &arena);
		finding = lint_problem(&snapshot, &arena);
		if (condition || finding)
			fail_msg("%s: %s, %s", accepted[i], condition ? condition : "",
				 finding ? finding : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
