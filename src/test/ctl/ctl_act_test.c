/* From a plan to requests: the drains, the Pods that are read again, and the log. */
#include <string.h>

#include "base/memory.h"
#include "ctl/pass/act.h"
#include "test/support/support.h"

static struct plan_termination end(const char *pod, const char *node, enum terminate_action action)
{
	return (struct plan_termination){ .pod = pod,
					  .ray_node_id = node,
					  .action = action,
					  .reason = REASON_IDLE,
					  .message = "idle for 61 s" };
}

static struct plan *plan_of(struct arena *arena, const struct plan_termination *ends, size_t count)
{
	struct plan *plan = ARENA_NEW(arena, struct plan);
	struct plan_group *group = VEC_ADD(arena, &plan->groups);

	*group = (struct plan_group){ .name = "gpu",
				      .replicas = 3,
				      .target_replicas = 2,
				      .reason = REASON_SCALE_DOWN_IDLE,
				      .message = "1 worker idle" };
	for (size_t i = 0; i < count; i++)
		VEC_PUSH(arena, &group->terminate, ends[i]);
	return plan;
}

static void test_drains_keep_order_and_limit(void **state)
{
	const struct plan_termination ends[] = { end("a", "01", TERMINATE_DRAIN),
						 end("b", "02", TERMINATE_DELETE),
						 end("c", "03", TERMINATE_DRAIN),
						 end("d", "04", TERMINATE_DRAIN) };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct act_drains drains;

	(void)state;
	act_drains(plan_of(&arena, ends, 4), 2, &arena, &drains);
	assert_int_equal(drains.list.count, 2);
	assert_string_equal(drains.list.at[0].node_id, "01");
	assert_string_equal(drains.list.at[1].pod, "c");
}

static void test_only_pods_that_never_joined_are_read_again(void **state)
{
	const struct plan_termination registered[] = { end("a", "01", TERMINATE_DELETE),
						       end("b", "02", TERMINATE_DRAIN) };
	const struct plan_termination never[] = { end("c", "", TERMINATE_DELETE) };
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	assert_false(act_needs_fresh_pods(plan_of(&arena, registered, 2)));
	assert_true(act_needs_fresh_pods(plan_of(&arena, never, 1)));
}

static void test_the_patch_tests_the_uid(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	struct plan *plan = plan_of(&arena, NULL, 0);
	struct err err;

	(void)state;
	VEC_PUSH(&arena, &plan->patch,
		 ((struct patch_op){ .op = "add", .path = "/x", .integer = 2 }));
	buf_init(&body, ACT_PATCH_MAX);
	assert_int_equal(act_write_patch(plan, "u-1", &arena, &body, &err), 0);
	assert_string_equal(buf_string(&body),
			    "[{\"op\": \"test\", \"path\": \"/metadata/uid\", \"value\": \"u-1\"}, "
			    "{\"op\": \"add\", \"path\": \"/x\", \"value\": 2}]");
	assert_int_equal(plan->patch.count, 1);
	buf_clear(&body);
	assert_int_equal(act_write_patch(plan, "", &arena, &body, &err), 0);
	assert_string_equal(buf_string(&body),
			    "[{\"op\": \"add\", \"path\": \"/x\", \"value\": 2}]");
}

static void test_scaled_is_a_copy(void **state)
{
	const struct plan_termination ends[] = { end("a", "01", TERMINATE_DELETE),
						 end("b", "02", TERMINATE_DRAIN) };
	AUTO(arena_done) struct arena kept = ARENA_INIT;
	struct act_scaled_list list;

	(void)state;
	{
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct plan *plan = plan_of(&arena, ends, 2);

		plan->groups.at[0].message = arena_strdup(&arena, "1 worker idle");
		act_scaled(plan, &kept, &list);
	}
	assert_int_equal(list.groups.count, 1);
	assert_string_equal(list.groups.at[0].message, "1 worker idle");
	assert_int_equal(list.groups.at[0].workers_to_delete, 1);
}

static void test_unchanged_groups_are_not_logged(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan *plan = plan_of(&arena, NULL, 0);
	struct act_scaled_list list;

	(void)state;
	plan->groups.at[0].target_replicas = 3;
	act_scaled(plan, &arena, &list);
	assert_int_equal(list.groups.count, 0);
}

static void test_answers_are_decoded(void **state)
{
	static const char cluster_text[] =
		"{\"apiVersion\": \"ray.io/v1\", \"kind\": \"RayCluster\","
		" \"metadata\": {\"name\": \"demo\", \"namespace\": \"ray\", \"generation\": 7},"
		" \"spec\": {}}";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_cluster cluster;
	struct err err;

	(void)state;
	assert_int_equal(
		act_decode_cluster(cluster_text, strlen(cluster_text), &arena, &cluster, &err), 0);
	assert_int_equal(cluster.generation, 7);
	assert_int_equal(act_decode_cluster("{", 1, &arena, &cluster, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drains_keep_order_and_limit),
		cmocka_unit_test(test_only_pods_that_never_joined_are_read_again),
		cmocka_unit_test(test_the_patch_tests_the_uid),
		cmocka_unit_test(test_scaled_is_a_copy),
		cmocka_unit_test(test_unchanged_groups_are_not_logged),
		cmocka_unit_test(test_answers_are_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
