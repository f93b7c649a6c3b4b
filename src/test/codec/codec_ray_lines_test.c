/* The lines in the words of Ray's autoscaler, of golden cases. */
#include "core/report/ray_lines.h"

#include "core/decide.h"
#include "test/support/codec_support.h"
#include "test/support/golden_case.h"

/* `more`: changes of the case, as YAML; NULL: none. */
static void expect_lines(const char *name, const char *more, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct snapshot snapshot;
	struct strings lines;
	const char *text = "";

	if (golden_snapshot_changed(arena_printf(&arena, GOLDEN_DIRECTORY "/%s.yaml", name), more,
				    &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	lines = ray_lines(&snapshot, decide(&snapshot, &arena), &arena);
	for (size_t i = 0; i < lines.count; i++)
		text = arena_printf(&arena, "%s%s\n", text, lines.at[i]);
	assert_string_equal(text, wanted);
}

static void test_launches(void **state)
{
	(void)state;
	expect_lines("0001_scale_up_pending_actors", NULL,
		     "Adding 2 node(s) of type gpu-group.\n"
		     "Group gpu-group from 0 to 2 replicas (ScaleUpDemand): 2 pending bundles "
		     "{CPU: 1, GPU: 1} need 2 new workers\n"
		     "Resized to 4 CPUs, 2 GPUs.\n");
}

/* ReplicasRepaired raises replicas to the workers that exist; hosts of a replica are one. */
static void test_replicas_that_exist_are_not_added(void **state)
{
	(void)state;
	expect_lines(
		"0067_replicas_lowered_by_hand", NULL,
		"Group gpu-group from 1 to 2 replicas (ReplicasRepaired): replicas 1 is below the 2 that live\n"
		"Resized to 4 CPUs, 2 GPUs.\n");
}

static void test_removals_have_the_cause_of_ray(void **state)
{
	(void)state;
	expect_lines(
		"0084_drained_is_deleted", NULL,
		"Removing 1 nodes of type gpu-group (idle).\n"
		"Group gpu-group from 1 to 0 replicas (ScaleDownDrained): 1 drained worker with nothing in use\n"
		"Resized to 0 CPUs.\n");
	expect_lines(
		"0084_drained_is_deleted", "groups: {gpu-group: {maxReplicas: 0}}",
		"Removing 1 nodes of type gpu-group (max number of worker nodes per type reached).\n"
		"Group gpu-group from 1 to 0 replicas (ScaleDownDrained): 1 drained worker with nothing in use\n"
		"Resized to 0 CPUs.\n");
	expect_lines(
		"0063_max_now_stops_busy", NULL,
		"Removing 2 nodes of type gpu-group (max number of worker nodes per type reached).\n"
		"Group gpu-group from 3 to 1 replicas (ScaleDownMaxReplicas): 1 worker above maxReplicas 1\n"
		"Resized to 2 CPUs, 1 GPUs.\n");
	expect_lines(
		"0066_replicas_above_max_without_pods", NULL,
		"Removing 3 nodes of type gpu-group (max number of worker nodes per type reached).\n"
		"Group gpu-group from 5 to 2 replicas (ScaleDownMaxReplicas): replicas 5 is above maxReplicas 2\n"
		"Resized to 4 CPUs, 2 GPUs.\n");
}

/* Ray has no word for it, so ours is in its place. */
static void test_other_causes(void **state)
{
	(void)state;
	expect_lines(
		"0213_raylet_gone_recycled", NULL,
		"Removing 1 nodes of type gpu-group (RayletGone).\n"
		"Group gpu-group from 1 to 1 replicas (WorkerRecycled): 1 worker whose raylet is dead or never registered\n"
		"Resized to 2 CPUs, 1 GPUs.\n");
	expect_lines(
		"0173_unschedulable_too_long", NULL,
		"Removing 1 nodes of type gpu-group (GroupBackedOff).\n"
		"Group gpu-group from 1 to 0 replicas (ScaleDownBackOff): 1 replica cancelled, the group provides no capacity: Pod w-a: Unschedulable for 901 s, timeout 900 s: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n"
		"Adding 1 node(s) of type gpu-second.\n"
		"Group gpu-second from 0 to 1 replicas (ScaleUpDemand): 1 pending bundle {GPU: 1} needs 1 new worker\n"
		"Resized to 2 CPUs, 1 GPUs.\n");
}

static void test_nothing_is_said_of_nothing(void **state)
{
	(void)state;
	expect_lines("0212_raylet_gone_waits", NULL, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_replicas_that_exist_are_not_added),
		cmocka_unit_test(test_removals_have_the_cause_of_ray),
		cmocka_unit_test(test_other_causes),
		cmocka_unit_test(test_nothing_is_said_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
