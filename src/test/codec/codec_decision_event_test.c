/* The Events of decisions: of golden cases, and of a cluster whose workers are kept. */
#include "core/report/decision_event.h"

#include "base/buf.h"
#include "codec/objects/plan_json.h"
#include "core/decide.h"
#include "core/report/summary.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"

/* "Reason [key] subject hold-in-seconds: message", "!" before a warning, "*" before an action. */
static const char *lines_of(struct arena *arena, const struct decision_event_list *list)
{
	const char *text = "";

	for (size_t i = 0; i < list->at.count; i++) {
		const struct decision_event *event = &list->at.at[i];

		text = arena_printf(arena, "%s%s%s%s [%s] %s%s%lld: %s\n", text,
				    decision_event_is_warning(event->reason) ? "!" : "",
				    event->action ? "*" : "",
				    decision_event_reason_word(event->reason), event->key,
				    event->subject, event->subject[0] ? " " : "",
				    (long long)(event->hold_ms / MS_PER_SECOND), event->message);
	}
	return text;
}

/* `more`: changes of the case, as YAML; NULL: none. */
static void check_changed(const char *name, const char *more, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct decision_event_list list;
	struct snapshot snapshot;

	if (golden_snapshot_changed(arena_printf(&arena, GOLDEN_DIRECTORY "/%s.yaml", name), more,
				    &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	decision_event_make(&snapshot, decide(&snapshot, &arena), &arena, &list);
	if (strcmp(lines_of(&arena, &list), wanted) != 0)
		fail_msg("%s gives:\n%s", name, lines_of(&arena, &list));
}

static void expect_case(const char *name, const char *wanted)
{
	check_changed(name, NULL, wanted);
}

/* Event and condition of a feature, on a cluster at rest; `before` is the message of the condition
 * in its object, NULL: there is none. */
static void check_extra(const struct extra_condition *extra, const char *before, bool said,
			bool known)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct snapshot snapshot;
	struct decision_event_list list;
	struct summary_condition condition = { .type = CONDITION_LINT_FINDINGS, .message = before };
	struct summary reported = { .conditions = &condition, .condition_count = before ? 1 : 0 };
	struct autoscaler_object object = { .upscaling_mode = "", .status = &reported };
	const struct plan *plan;
	struct err err;

	buf_init(&buf, 1 << 20);
	assert_int_equal(golden_snapshot(GOLDEN_DIRECTORY "/0017_zero_count_is_nothing.yaml",
					 &arena, &snapshot, &err),
			 0);
	snapshot.extra_conditions = extra;
	snapshot.extra_condition_count = extra ? 1 : 0;
	snapshot.autoscaler = &object;
	plan = decide(&snapshot, &arena);
	decision_event_make(&snapshot, plan, &arena, &list);
	assert_int_equal(list.at.count, said ? 1 : 0);
	assert_true(!said || (list.at.at[0].once && list.at.at[0].known == known &&
			      strstr(list.at.at[0].message, extra->reported)));
	assert_int_equal(plan->conditions.count, extra ? 4 : 3);
	if (extra) {
		assert_string_equal(plan->conditions.at[3].type, CONDITION_LINT_FINDINGS);
		assert_string_equal(plan->conditions.at[3].status,
				    extra->is_true ? "True" : "False");
		assert_int_equal(plan->conditions.at[3].reason, extra->reason);
		assert_string_equal(plan->conditions.at[3].message, extra->message);
	}
	/* A snapshot of that moment must give the same plan. */
	buf_clear(&buf);
	assert_int_equal(plan_write(plan, true, &buf, &err), 0);
	assert_null(strstr(buf_string(&buf), CONDITION_LINT_FINDINGS));
}

static void test_extra_conditions(void **state)
{
	const struct extra_condition notes = { .type = CONDITION_LINT_FINDINGS,
					       .reason = REASON_LINT_NOTES,
					       .message = "2 notes, first x",
					       .reported = "",
					       .cure = "" };
	const struct extra_condition warning = { .type = CONDITION_LINT_FINDINGS,
						 .reason = REASON_LINT_WARNINGS,
						 .message = "1 warning (x), first x; and 1 note",
						 .is_true = true,
						 .reported = "1 warning (x), first x",
						 .cure = "write it",
						 .event = DECISION_EVENT_LINT_FINDINGS };

	(void)state;
	check_extra(NULL, NULL, false, false);
	check_extra(&notes, NULL, false, false);
	check_extra(&warning, NULL, true, false);
	check_extra(&warning, warning.message, true, true);
	/* Another note does not make another set of warnings. */
	check_extra(&warning, "1 warning (x), first x; and 2 notes", true, true);
	check_extra(&warning, "1 warning (y), first y", true, false);
}

static void test_no_event_without_a_change(void **state)
{
	(void)state;
	expect_case("0017_zero_count_is_nothing", "");
	expect_case("0127_gate_unmanaged", "");
	expect_case("0098_drain_rejected_stays", "");
}

static void test_actions(void **state)
{
	(void)state;
	expect_case(
		"0084_drained_is_deleted",
		"*ScaleDown [gpu-group 1 0] 0: Group gpu-group from 1 to 0 replicas, deleting w-a "
		"(ScaleDownDrained): 1 drained worker with nothing in use\n");
	expect_case(
		"0097_two_groups_one_patch",
		"*ScaleDown [gpu-group 1 0] 0: Group gpu-group from 1 to 0 replicas, deleting w-a "
		"(ScaleDownDrained): 1 drained worker with nothing in use\n"
		"*TriggeredScaleUp [cpu-group 2 3] 0: Group cpu-group from 2 to 3 replicas "
		"(ScaleUpDemand): 1 pending bundle {CPU: 4} needs 1 new worker\n");
	expect_case("0213_raylet_gone_recycled",
		    "*WorkerReplaced [gpu-group] 0: Group gpu-group stays at 1 "
		    "replica, deleting w-a (WorkerRecycled): 1 worker whose raylet "
		    "is dead or never registered\n");
}

/* Of a pool that ends busy workers: also when the drain is under way, with the time. */
static void test_a_worker_with_a_deadline(void **state)
{
	(void)state;
	expect_case("1251_release_deadline_idle", "");
	expect_case("1252_release_deadline_draining",
		    "DrainDeadline [gpu-group 2026-11-20T10:10:00Z] w-a 0: Worker w-a of group "
		    "gpu-group ends at 2026-11-20T10:10:00Z at the latest: in use: {CPU: 2, GPU: "
		    "1}; released until 2026-11-20T10:10:00Z: 1 GPU for the queue serving of pool "
		    "a100\n");
}

/* Also in a dry run, and of a sign that does not act. */
static void test_a_node_with_a_sign(void **state)
{
	(void)state;
	expect_case("1804_repair_condition_is_reported",
		    "NodesToRepair [RepairReported] 0: Node node-1 with 1 worker: condition "
		    "SysLogsXIDError: Xid 79\n");
	expect_case("1821_repair_dry_run",
		    "NodesToRepair [RepairReported] 0: Node node-1 with 1 worker: taint "
		    "nvidia.com/gpu-xid-error; repairDryRun: nothing is done\n");
}

#define NO_NODE                                                                                    \
	"Pod w-a: Unschedulable for 901 s, timeout 900 s: 0/3 nodes are available: 3 "             \
	"Insufficient nvidia.com/gpu.\n"

static void test_back_off(void **state)
{
	(void)state;
	expect_case(
		"0173_unschedulable_too_long",
		"*ScaleDown [gpu-group 1 0] 0: Group gpu-group from 1 to 0 "
		"replicas, deleting w-a (ScaleDownBackOff): 1 replica "
		"cancelled, the group provides no capacity: " NO_NODE
		"!ScaleUpTimedOut [gpu-group NodeProvisionTimeout] 0: Group gpu-group "
		"(NodeProvisionTimeout): " NO_NODE
		"!GroupBackedOff [gpu-group NodeProvisionTimeout] 0: Nothing is launched in group "
		"gpu-group for 10 s (NodeProvisionTimeout): " NO_NODE
		"*TriggeredScaleUp [gpu-second 0 1] 0: Group gpu-second from 0 to 1 replicas "
		"(ScaleUpDemand): 1 pending bundle {GPU: 1} needs 1 new worker\n");
}

static void test_demand(void **state)
{
	(void)state;
	expect_case(
		"0034_infeasible_amount",
		"!InfeasibleDemand [no group could serve {GPU: 2}; the closest is gpu-group: GPU 2 "
		"asked, 1 there] 5: 3 pending bundles {GPU: 2} (NoGroupFits): no group could serve "
		"{GPU: 2}; the closest is gpu-group: GPU 2 asked, 1 there\n");
	expect_case(
		"0039_group_at_max_zero_is_unserved",
		"NotTriggerScaleUp [gpu-group MaxReplicas] 10: No worker is launched for 1 pending "
		"bundle {GPU: 1} (MaxReplicas): group gpu-group is at maxReplicas 0\n");
	expect_case(
		"0029_gang_unserved",
		"NotTriggerScaleUp [gpu-group MaxReplicas] 10: No worker is launched for 1 placement "
		"group of 2 bundles, the first {GPU: 1} (MaxReplicas): the placement group "
		"needs more than the 1 worker of group gpu-group that maxReplicas 2 leaves\n");
	/* Two shapes that wait for the same. */
	check_changed(
		"0039_group_at_max_zero_is_unserved",
		"demand: [{bundle: {GPU: 0.5}, count: 7}, {bundle: {GPU: 1}}]",
		"NotTriggerScaleUp [gpu-group MaxReplicas] 10: No worker is launched for 7 pending "
		"bundles {GPU: 0.5} and 1 other shape (MaxReplicas): group gpu-group is at "
		"maxReplicas 0\n");
}

static void test_conditions(void **state)
{
	(void)state;
	expect_case(
		"0114_ray_absent",
		"!DemandUnavailable [] 60: Ray is unreachable: there is no reply of its GCS; nothing "
		"is terminated, minReplicas and the request-resources annotation still scale up\n");
	/* An unreachable head that was ready is reported sooner than one that starts. */
	check_changed(
		"0114_ray_absent",
		"workers: {demo-head: {pod: {status: {conditions: [{type: Ready, status: 'True'}]}}}}",
		"!DemandUnavailable [] 10: Ray is unreachable: there is no reply of its GCS; nothing "
		"is terminated, minReplicas and the request-resources annotation still scale up\n");
	/* A head that starts causes no Event. */
	check_changed("0114_ray_absent",
		      "workers: {demo-head: {pod: {metadata: {creationTimestamp: "
		      "'2026-11-20T09:55:00Z'}, status: {phase: Pending, containerStatuses: "
		      "[{name: ray-head, state: {waiting: {reason: ImagePullBackOff}}}]}}}}",
		      "");
	/* One Event for one mistake: not also one for the demand that waits for the group. */
	expect_case("0148_group_min_above_max",
		    "!InvalidRequest [spec.workerGroupSpecs[0].minReplicas: 5 is above maxReplicas "
		    "3; lower it or raise maxReplicas (group gpu-group)] 0: "
		    "spec.workerGroupSpecs[0].minReplicas: 5 is above maxReplicas 3; lower it or "
		    "raise maxReplicas (group gpu-group)\n");
	expect_case(
		"0132_gate_second_autoscaler",
		"!SecondAutoscaler [] 0: container autoscaler of the head Pod is not parked, "
		"so two autoscalers would change the same fields: run \"rayscaler adopt demo -n "
		"default --yes\", which sets spec.autoscalerOptions.command to [timeout] and "
		"args to [infinity, sleep, infinity], then delete the head Pod, which ends its jobs: kubectl "
		"delete pod demo-head -n default\n");
	expect_case(
		"0995_gate_managed_invalid",
		"!InvalidRequest [annotation rayscaler.dev/managed is neither \"true\" nor "
		"\"false\", so nothing is scaled: correct or remove it] 0: annotation "
		"rayscaler.dev/managed is neither \"true\" nor \"false\", so nothing is scaled: "
		"correct or remove it\n");
	expect_case(
		"0832_conflict_is_named",
		"!ReplicasReverted [] 0: argocd-controller set replicas of group gpu-group back 3 "
		"times: let one program own the field\n"
		"!GroupBackedOff [gpu-group ReplicasReverted] 0: Nothing is launched in group gpu-group "
		"for 10 s (ReplicasReverted): argocd-controller set replicas of group gpu-group back 3 "
		"times: let one program own the field\n"
		"NotTriggerScaleUp [gpu-group BackOff] 10: No worker is launched for 2 pending bundles "
		"{GPU: 1} (BackOff): group gpu-group is in back-off: argocd-controller set replicas of "
		"group gpu-group back 3 times: let one program own the field\n");
}

/* A condition that begins has an Event, except where the user or another program took the cluster. */
static void test_every_condition_that_begins_is_said(void **state)
{
	(void)state;
	expect_case(
		"0870_gpus_above_max_gpus_are_kept",
		"ScalingLimited [TooManyReplicas] 0: 2 GPUs run above maxGPUs 1; they are kept\n");
	/* Demand at the maximum is an Event already. */
	expect_case(
		"0039_group_at_max_zero_is_unserved",
		"NotTriggerScaleUp [gpu-group MaxReplicas] 10: No worker is launched for 1 pending "
		"bundle {GPU: 1} (MaxReplicas): group gpu-group is at maxReplicas 0\n");
	expect_case("0131_gate_paused", "ScalingInactive [Paused] 0: Paused: spec.paused of the "
					"RayClusterAutoscaler is true\n");
	expect_case(
		"0800_stale_view",
		"ScalingInactive [ViewStale] 60: ViewStale: the view of the API server is stale: "
		"Pods: watch of pods: nothing was received for 25000 ms; nothing is terminated, "
		"demand still scales up\n"
		"*TriggeredScaleUp [cpu-group 0 1] 0: Group cpu-group from 0 to 1 replicas "
		"(ScaleUpDemand): 1 pending bundle {CPU: 8} needs 1 new worker\n");
	expect_case("0129_gate_suspended",
		    "ScalingInactive [Suspended] 0: Suspended: spec.suspend is true\n");
}

static void test_a_second_controller(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct decision_event_list list;
	struct snapshot snapshot;
	const struct plan *plan;
	struct err err;

	(void)state;
	assert_int_equal(golden_snapshot(GOLDEN_DIRECTORY "/0017_zero_count_is_nothing.yaml",
					 &arena, &snapshot, &err),
			 0);
	snapshot.second_controller = true;
	plan = decide(&snapshot, &arena);
	assert_non_null(VEC_FIND(&plan->conditions, type, CONDITION_SECOND_CONTROLLER));
	decision_event_make(&snapshot, plan, &arena, &list);
	assert_int_equal(list.at.count, 1);
	assert_int_equal(list.at.at[0].reason, DECISION_EVENT_TWO_CONTROLLERS);
}

/* The report of an earlier process is in the condition of the object. */
static void test_a_condition_is_said_once(void **state)
{
	static const struct summary_condition before[] = {
		{ .type = "ScalingLimited", .status = "True", .reason = "TooManyReplicas" },
		{ .type = "ScalingLimited", .status = "True", .reason = "TooFewReplicas" },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct summary status = { .conditions = &before[i], .condition_count = 1 };
		struct autoscaler_object object;
		struct decision_event_list list;
		struct snapshot snapshot;
		struct err err;

		assert_int_equal(golden_snapshot(GOLDEN_DIRECTORY
						 "/0870_gpus_above_max_gpus_are_kept.yaml",
						 &arena, &snapshot, &err),
				 0);
		object = *snapshot.autoscaler;
		object.status = &status;
		snapshot.autoscaler = &object;
		decision_event_make(&snapshot, decide(&snapshot, &arena), &arena, &list);
		assert_int_equal(list.at.count, 1);
		assert_true(list.at.at[0].once);
		assert_int_equal(list.at.at[0].known, i == 0);
	}
}

/* --- docs/REASONS.md: when is a worker called blocked? --- */

static void test_worker_with_unused_accelerators(void **state)
{
	(void)state;
	expect_case(
		"0081_running_is_not_idle",
		"ScaleDownBlocked [gpu-group unused] w-a 60: Worker w-a of group gpu-group stays, Ray "
		"calls it busy though no GPU of it is in use: Busy: CPU in use\n");
	check_changed(
		"0081_running_is_not_idle", "workers: {w-a: {free: {CPU: 1, GPU: 1}}}",
		"ScaleDownBlocked [gpu-group unused] w-a 60: Worker w-a of group gpu-group stays, Ray "
		"calls it busy though no GPU of it is in use: in use: {CPU: 1}; Busy: CPU in use\n");
	check_changed("0081_running_is_not_idle", "workers: {w-a: {free: {CPU: 2, GPU: 0.5}}}", "");
	/* A worker without accelerators is used when a CPU is. */
	check_changed("0081_running_is_not_idle",
		      "workers: {w-a: {total: {CPU: 2}, free: {CPU: 1}}}", "");
	check_changed(
		"0081_running_is_not_idle", "workers: {w-a: {total: {CPU: 2}, free: {CPU: 2}}}",
		"ScaleDownBlocked [gpu-group unused] w-a 60: Worker w-a of group gpu-group stays, Ray "
		"calls it busy though no CPU of it is in use: Busy: CPU in use\n");
}

static void test_idle_worker_that_stays(void **state)
{
	(void)state;
	expect_case("0073_idle_exactly_timeout_stays", "");
	expect_case("0059_min_keeps_idle", "");
	expect_case(
		"0152_group_removed",
		"*TriggeredScaleUp [gpu-group 0 1] 0: Group gpu-group from 0 to 1 replicas "
		"(ScaleUpDemand): 1 pending bundle {GPU: 1} needs 1 new worker\n"
		"ScaleDownBlocked [old-group GroupRemoved] o-a 5: Worker o-a of group old-group is "
		"idle for 900 s and stays (GroupRemoved): its group is not in the RayCluster\n");
	expect_case(
		"0045_request_annotation_holds",
		"ScaleDownBlocked [gpu-group NeededByRequest] w-a 5: Worker w-a of group gpu-group is "
		"idle for 300 s and stays (NeededByRequest): request-resources holds it\n"
		"ScaleDownBlocked [gpu-group NeededByRequest] w-b 5: Worker w-b of group gpu-group is "
		"idle for 300 s and stays (NeededByRequest): request-resources holds it\n");
	/* Asked to drain in every pass, and still there a minute later. */
	expect_case("0072_idle_longer_than_timeout",
		    "ScaleDownBlocked [gpu-group Idle] demo-gpu-group-worker-x7k2p 60: Worker "
		    "demo-gpu-group-worker-x7k2p of group gpu-group is idle for "
		    "61 s and stays (Idle): Ray has not accepted its drain\n");
}

static void test_busy_worker_above_max(void **state)
{
	(void)state;
	expect_case(
		"0063_max_now_stops_busy",
		"ScalingLimited [TooManyReplicas] 0: group gpu-group is held at maxReplicas 1\n"
		"*ScaleDown [gpu-group 3 1] 0: Group gpu-group from 3 to 1 replicas, deleting w-a "
		"(ScaleDownMaxReplicas): 1 worker above maxReplicas 1\n"
		"ScaleDownBlocked [gpu-group max] w-c 60: Worker w-c is busy and stays though group "
		"gpu-group is above maxReplicas 1: in use: {CPU: 2, GPU: 1}\n");
}

/* --- texts --- */

static void test_no_secret_is_named(void **state)
{
	static const char *const problems[] = {
		"Secret team-a/hidden with Ray's token is being read",
		"GET secrets hidden in namespace team-a: 403 Forbidden",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct snapshot snapshot = { .ray_problem = problems[i] };
		struct plan plan = { .cluster_name = "demo" };
		struct decision_event_list list;

		VEC_PUSH(&arena, &plan.conditions,
			 ((struct plan_condition){ "ScalingActive", "False",
						   REASON_DEMAND_UNAVAILABLE, problems[i] }));
		decision_event_make(&snapshot, &plan, &arena, &list);
		assert_int_equal(list.at.count, 1);
		assert_null(strstr(list.at.at[0].message, "hidden"));
		assert_non_null(strstr(list.at.at[0].message, "credentials cannot be read"));
	}
}

/* A cause that names none is shown. */
static void test_a_refusal_is_shown(void **state)
{
	static const char problem[] =
		"refused: sent was the token of the Secret of spec.authOptions (mode token)";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = { .ray_problem = problem };
	struct plan plan = { .cluster_name = "demo" };
	struct decision_event_list list;

	(void)state;
	VEC_PUSH(&arena, &plan.conditions,
		 ((struct plan_condition){ "ScalingActive", "False", REASON_DEMAND_UNAVAILABLE,
					   problem }));
	decision_event_make(&snapshot, &plan, &arena, &list);
	assert_int_equal(list.at.count, 1);
	assert_non_null(strstr(list.at.at[0].message, problem));
}

static void test_long_messages_are_cut_between_characters(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char text[2001];
	const char *cut;

	(void)state;
	for (size_t i = 0; i < 2000; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[2000] = '\0';
	cut = arena_cut(&arena, text, DECISION_EVENT_MESSAGE_MAX);
	assert_int_equal(strlen(cut), 1020 + 3);
	assert_string_equal(cut + 1018, "\xc3\xa9...");
	assert_ptr_equal(arena_cut(&arena, text, 2000), text);
	/* No character starts in it. */
	assert_string_equal(arena_cut(&arena, "\x80\x80\x80\x80\x80\x80", 5), "...");
	assert_string_equal(decision_event_reason_word((enum decision_event_reason)999), "");
	assert_false(decision_event_is_warning((enum decision_event_reason)999));
}

static void test_idle_termination(void **state)
{
	(void)state;
	expect_case(
		"1061_idle_suspend",
		"*IdleTerminated [] 0: suspended: idle since 2026-11-20T09:30:00Z; resume with: "
		"rayscaler resume demo -n default\n");
	expect_case("1063_idle_delete",
		    "*IdleTerminated [] 0: deleted: idle since 2026-11-20T09:30:00Z\n");
	expect_case("1060_idle_read", "");
	expect_case("1092_idle_suspended", "");
	expect_case("1093_idle_resume_by_annotation",
		    "*Resumed [] 0: resumed: annotation rayscaler.dev/request-resources requests "
		    "workers\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_termination),
		cmocka_unit_test(test_extra_conditions),
		cmocka_unit_test(test_no_event_without_a_change),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_a_worker_with_a_deadline),
		cmocka_unit_test(test_a_node_with_a_sign),
		cmocka_unit_test(test_back_off),
		cmocka_unit_test(test_demand),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_every_condition_that_begins_is_said),
		cmocka_unit_test(test_a_condition_is_said_once),
		cmocka_unit_test(test_a_second_controller),
		cmocka_unit_test(test_worker_with_unused_accelerators),
		cmocka_unit_test(test_idle_worker_that_stays),
		cmocka_unit_test(test_busy_worker_above_max),
		cmocka_unit_test(test_no_secret_is_named),
		cmocka_unit_test(test_a_refusal_is_shown),
		cmocka_unit_test(test_long_messages_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
