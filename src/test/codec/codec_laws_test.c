/* Laws that every decision keeps, tested on the snapshots of all golden cases:
 *   bounds       0 <= target, within minReplicas and maxReplicas where the group is sound
 *   safety       no busy, unknown or drained but used worker is terminated (except by stop), and
 *                none at all without a good reply of Ray
 *   idempotence  with the patch applied and the memory handed on, the same snapshot launches
 *                nothing more and patches nothing
 *   two passes   when Ray accepts all drains, the second decision of the pass names those Pods
 *   order        Pods, nodes and demand in another order give the same plan
 *   gpu-quota    under a GPU quota over several clusters a patch never asks for more than the
 *                budget, counted as in the quota, without numbers from Ray; minReplicas excepted
 * The golden cases themselves are tested by codec_golden_test. GOLDEN_DIR: another directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "codec/text/yaml.h"
#include "core/capacity/gpu_count.h"
#include "core/decide.h"
#include "core/decide/gate.h"
#include "test/support/gang_order.h"
#include "test/support/golden_case.h"
#include "test/support/support.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)

static struct arena arena = ARENA_INIT;
static struct golden_names files;

/* ---- the snapshots ---- */

static void load(const char *name, struct snapshot *ret_snapshot)
{
	struct err err = { .kind = ERR_NONE };

	if (golden_snapshot(arena_printf(&arena, "%s/%s", golden_directory(), name), &arena,
			    ret_snapshot, &err))
		fail_msg("%s: %s", name, err.text);
}

static char *plan_text(const struct plan *plan)
{
	struct err err;
	struct buf buf;

	buf_init(&buf, TEXT_BYTES_MAX);
	assert_int_equal(plan_write(plan, false, &buf, &err), 0);
	return buf_steal(&buf);
}

/* ---- looking at plans ---- */

static bool is_sound(const struct worker_group *group)
{
	return !group->problem && !group->suspend && group->min_replicas <= group->max_replicas;
}

static const struct ray_node *find_node(const struct snapshot *snapshot, const char *id)
{
	for (size_t i = 0; snapshot->ray_state && i < snapshot->ray_state->node_count; i++)
		if (strcmp(snapshot->ray_state->nodes[i].id, id) == 0)
			return &snapshot->ray_state->nodes[i];
	return NULL;
}

static bool ray_was_read(const struct plan *plan)
{
	for (size_t i = 0; i < plan->conditions.count; i++)
		if (strcmp(plan->conditions.at[i].type, "ScalingActive") == 0)
			return strcmp(plan->conditions.at[i].status, "True") == 0;
	return false;
}

static size_t count_actions(const struct plan *plan, enum terminate_action action)
{
	size_t count = 0;

	for (size_t g = 0; g < plan->groups.count; g++)
		for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++)
			count += plan->groups.at[g].terminate.at[i].action == action;
	return count;
}

static bool is_deleted(const struct plan *plan, const char *pod)
{
	for (size_t g = 0; g < plan->groups.count; g++)
		for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++)
			if (strcmp(plan->groups.at[g].terminate.at[i].pod, pod) == 0)
				return plan->groups.at[g].terminate.at[i].action ==
				       TERMINATE_DELETE;
	return false;
}

/* ---- the patch, applied ---- */

static struct worker_group *patched_group(const struct ray_cluster *cluster, const char *path,
					  const char **ret_member)
{
	static const char prefix[] = "/spec/workerGroupSpecs/";
	char *end;
	unsigned long index;

	assert_int_equal(strncmp(path, prefix, sizeof(prefix) - 1), 0);
	index = strtoul(path + sizeof(prefix) - 1, &end, 10);
	assert_true(index < cluster->group_count);
	*ret_member = end;
	return (struct worker_group *)&cluster->groups[index];
}

static const char *annotation_key(const char *path)
{
	return strstr(path, "suspended-by") ? ANNOTATION_SUSPENDED : NULL;
}

/* Of the RayCluster itself: its suspension. */
static void apply_suspend_op(struct ray_cluster *cluster, const struct patch_op *op)
{
	VEC(struct label) kept = { .at = NULL };
	const char *key = annotation_key(op->path);

	if (strcmp(op->op, "test") == 0) {
		if (key)
			assert_string_equal(op->string, labels_value(&cluster->annotations, key));
		return;
	}
	if (strcmp(op->path, "/spec/suspend") == 0)
		cluster->suspend = op->integer != 0;
	if (!key)
		return;
	for (size_t i = 0; i < cluster->annotations.count; i++)
		if (strcmp(cluster->annotations.at[i].key, key) != 0)
			VEC_PUSH(&arena, &kept, cluster->annotations.at[i]);
	if (strcmp(op->op, "add") == 0)
		VEC_PUSH(&arena, &kept, ((struct label){ key, op->string }));
	cluster->annotations = labels_sort(kept.at, kept.count);
}

static void apply_op(struct ray_cluster *cluster, const struct patch_op *op)
{
	const char *member;
	struct worker_group *group;

	if (strncmp(op->path, "/spec/workerGroupSpecs", strlen("/spec/workerGroupSpecs")) != 0) {
		apply_suspend_op(cluster, op);
		return;
	}
	group = patched_group(cluster, op->path, &member);
	if (strcmp(op->op, "test") == 0) {
		if (strcmp(member, "/groupName") == 0)
			assert_string_equal(op->string, group->name);
		if (strcmp(member, "/replicas") == 0)
			assert_int_equal(op->integer, group->replicas);
		return;
	}
	assert_string_equal(op->op, "add");
	if (strcmp(member, "/replicas") == 0) {
		group->replicas = op->integer;
		group->has_replicas = true;
	} else if (strcmp(member, "/scaleStrategy") == 0) {
		group->has_scale_strategy = true;
	} else {
		assert_string_equal(member, "/scaleStrategy/workersToDelete");
		assert_true(group->has_scale_strategy);
		group->workers_to_delete = op->strings;
		group->has_workers_to_delete = true;
	}
}

static int64_t count_gpus(const struct snapshot *snapshot, const struct ray_cluster *cluster)
{
	struct gpu_templates templates;
	struct gpu_holdings holdings;
	int64_t *replicas = arena_array(&arena, cluster->group_count, sizeof(*replicas));

	for (size_t g = 0; g < cluster->group_count; g++)
		replicas[g] = cluster->groups[g].replicas;
	gpu_templates_make(&snapshot->cluster, &snapshot->settings, snapshot->device_table, &arena,
			   &arena, &templates);
	gpu_count(&snapshot->cluster, &templates, snapshot->pods, snapshot->pod_count, replicas,
		  &snapshot->settings, snapshot->device_table, &arena, &holdings);
	return holdings.sum;
}

/* Applies the patch and subtracts the launched GPUs from the budget of all clusters. */
static void apply(struct snapshot *snapshot, const struct plan *plan)
{
	size_t bytes = snapshot->cluster.group_count * sizeof(struct worker_group);
	struct worker_group *groups = arena_alloc(&arena, bytes + 1);
	struct ray_cluster patched = snapshot->cluster;
	int64_t added;

	if (bytes > 0)
		memcpy(groups, snapshot->cluster.groups, bytes);
	patched.groups = groups;
	for (size_t i = 0; i < plan->patch.count; i++)
		apply_op(&patched, &plan->patch.at[i]);
	added = count_gpus(snapshot, &patched) - count_gpus(snapshot, &snapshot->cluster);
	snapshot->gpu_budget -= added > 0 ? added : 0;
	snapshot->cluster = patched;
	snapshot->memory = &plan->memory;
}

/* ---- the laws ---- */

static void check_bounds(const char *name, const struct snapshot *snapshot, const struct plan *plan)
{
	for (size_t g = 0; g < plan->groups.count; g++) {
		const struct plan_group *planned = &plan->groups.at[g];
		const struct worker_group *group = &snapshot->cluster.groups[g];

		if (planned->to_launch < 0 || planned->target_replicas < 0)
			fail_msg("%s: a negative number in group %s", name, planned->name);
		AUTO(arena_done) struct arena scratch = ARENA_INIT;

		if (gate_check(snapshot, &scratch).reason || !is_sound(group) ||
		    planned->target_replicas == planned->replicas)
			continue;
		if (planned->target_replicas < group->min_replicas ||
		    planned->target_replicas > group->max_replicas)
			fail_msg("%s: the target of group %s is out of bounds", name,
				 planned->name);
	}
}

/* A pool releases some worker with this deadline at the latest: a replica has that of its hosts. */
static bool is_released(const struct snapshot *snapshot, time_ms deadline)
{
	const struct pool_terms *pools = snapshot->pools;

	for (size_t i = 0; pools && i < pools->release_count; i++)
		if (pools->releases[i].deadline != TIME_NONE &&
		    pools->releases[i].deadline <= deadline)
			return true;
	return false;
}

/* Ray is notified of the end of this Pod: Kubernetes has announced it, and Ray reports it in use. */
static bool is_notified(const struct snapshot *snapshot, const struct plan_termination *item,
			const struct ray_node *node)
{
	const struct pod *pod = NULL;
	bool announced = false;

	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (strcmp(snapshot->pods[i]->name, item->pod) == 0)
			pod = snapshot->pods[i];
	for (size_t i = 0; i < snapshot->pod_count; i++)
		announced = announced || snapshot->pods[i]->deleting ||
			    condition_find(snapshot->pods[i]->conditions,
					   snapshot->pods[i]->condition_count,
					   "DisruptionTarget") ||
			    condition_find(snapshot->pods[i]->conditions,
					   snapshot->pods[i]->condition_count, "TerminationTarget");
	return pod && node && !ray_node_is_unused(node) && node->status != RAY_NODE_IDLE &&
	       (announced || snapshot->node_count > 0);
}

static void check_termination(const char *name, const struct snapshot *snapshot,
			      const struct plan_termination *item)
{
	const struct ray_node *node = find_node(snapshot, item->ray_node_id);

	if (item->action == TERMINATE_STOP)
		assert_true(snapshot->settings.enforce_max == ENFORCE_MAX_NOW ||
			    snapshot->settings.repair_deletes ||
			    is_released(snapshot, snapshot->now));
	else if (item->reason == REASON_LEAVING && item->busy)
		assert_true(item->action == TERMINATE_DRAIN && is_notified(snapshot, item, node));
	else if (item->deadline != TIME_NONE)
		assert_true(item->action == TERMINATE_DRAIN && item->busy &&
			    is_released(snapshot, item->deadline));
	else if (!node)
		assert_int_equal(item->action, TERMINATE_DELETE);
	else if (node->status == RAY_NODE_IDLE)
		assert_int_equal(item->action, TERMINATE_DRAIN);
	else if (node->status == RAY_NODE_DRAINING)
		assert_true(ray_node_is_unused(node));
	else if (node->status != RAY_NODE_DEAD)
		fail_msg("%s: Pod %s is busy or unknown and goes", name, item->pod);
}

static void check_safety(const char *name, const struct snapshot *snapshot, const struct plan *plan)
{
	for (size_t g = 0; g < plan->groups.count; g++)
		for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++) {
			if (!ray_was_read(plan))
				fail_msg("%s: a termination without Ray", name);
			check_termination(name, snapshot, &plan->groups.at[g].terminate.at[i]);
		}
}

/* The launches of the first decision have used the grants. */
static void use_grants(struct snapshot *snapshot)
{
	struct pool_terms *pools;
	struct pool_grant *grants;

	if (!snapshot->pools)
		return;
	pools = ARENA_NEW(&arena, struct pool_terms);
	*pools = *snapshot->pools;
	grants = arena_array(&arena, pools->grant_count, sizeof(*grants));
	for (size_t i = 0; i < pools->grant_count; i++) {
		grants[i] = pools->grants[i];
		grants[i].replicas = 0;
	}
	pools->grants = grants;
	snapshot->pools = pools;
}

/* Parts of a gang have waited too long: the groups of the rest are in back-off from now on, so the next decision
 * cancels its Pods. */
static bool gives_up_a_gang(const struct plan *plan, time_ms now)
{
	VEC_EACH(const struct memory_backoff, backoff, &plan->memory.backoffs)
		if (backoff->cause == REASON_GANG_INCOMPLETE &&
		    backoff->until == now + backoff->seconds * MS_PER_SECOND)
			return true;
	return false;
}

static void check_idempotence(const char *name, const struct snapshot *snapshot,
			      const struct plan *plan)
{
	struct snapshot after = *snapshot;
	struct plan *again;

	apply(&after, plan);
	use_grants(&after);
	again = decide(&after, &arena);
	/* A resumed cluster is scaled like any other. */
	if (plan->cluster.action == CLUSTER_RESUME || gives_up_a_gang(plan, snapshot->now))
		return;
	if (again->patch.count > 0)
		fail_msg("%s: decided again, there is one more patch: %s", name,
			 again->patch.at[again->patch.count - 1].path);
	for (size_t g = 0; g < again->groups.count; g++)
		if (again->groups.at[g].to_launch > plan->groups.at[g].to_launch)
			fail_msg("%s: decided again, group %s launches more", name,
				 again->groups.at[g].name);
	assert_int_equal(count_actions(again, TERMINATE_DELETE), 0);
}

/* Every node that is asked to drain has accepted. */
static void accept_drains(struct snapshot *snapshot, const struct plan *plan)
{
	struct ray_state *state = ARENA_NEW(&arena, struct ray_state);
	struct ray_node *nodes;

	*state = *snapshot->ray_state;
	nodes = arena_array(&arena, state->node_count, sizeof(*nodes));
	memcpy(nodes, state->nodes, state->node_count * sizeof(*nodes));
	for (size_t n = 0; n < state->node_count; n++)
		for (size_t g = 0; g < plan->groups.count; g++)
			for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++) {
				const struct plan_termination *item =
					&plan->groups.at[g].terminate.at[i];

				if (item->action != TERMINATE_DRAIN ||
				    strcmp(item->ray_node_id, nodes[n].id) != 0)
					continue;
				nodes[n].status = RAY_NODE_DRAINING;
				if (item->reason == REASON_LEAVING)
					continue; /* its work continues */
				nodes[n].available = nodes[n].total;
				nodes[n].activity = (struct strings){ NULL, 0 };
			}
	state->nodes = nodes;
	snapshot->ray_state = state;
}

static void check_two_passes(const char *name, const struct snapshot *snapshot,
			     const struct plan *plan)
{
	struct snapshot second = *snapshot;
	struct plan *after;

	if (count_actions(plan, TERMINATE_DRAIN) == 0)
		return;
	accept_drains(&second, plan);
	second.memory = memory_state_drained(snapshot->memory, &plan->memory, &arena);
	after = decide(&second, &arena);
	for (size_t g = 0; g < plan->groups.count; g++) {
		const struct plan_group *group = &plan->groups.at[g];

		for (size_t i = 0; i < group->terminate.count; i++)
			if (group->terminate.at[i].action == TERMINATE_DRAIN &&
			    is_deleted(after, group->terminate.at[i].pod) ==
				    (group->terminate.at[i].reason == REASON_LEAVING))
				fail_msg(
					"%s: %s was drained and is not deleted, or was notified and is",
					name, group->terminate.at[i].pod);
		/* A worker on a sick Node counts until its work has ended and its drain is accepted: at maxReplicas
		 * demand asks for the replacement then, else it is launched beside it. */
		if (after->groups.at[g].target_replicas != group->target_replicas &&
		    !(plan->repair &&
		      group->target_replicas == group->replicas + group->to_launch) &&
		    !gives_up_a_gang(plan, snapshot->now))
			fail_msg("%s: the drained group %s has another target", name, group->name);
	}
	check_idempotence(name, &second, after);
}

#define REVERSE(type, items, count)                                                                \
	({                                                                                         \
		type *reversed_ = arena_array(&arena, (count), sizeof(type));                      \
		for (size_t i_ = 0; i_ < (count); i_++)                                            \
			reversed_[i_] = (items)[(count)-1 - i_];                                   \
		reversed_;                                                                         \
	})

static void check_order(const char *name, const struct snapshot *snapshot, const struct plan *plan)
{
	struct snapshot other = *snapshot;
	struct ray_state state;
	struct ray_gang *gangs;
	AUTO(memory_free_string) char *text = plan_text(plan);
	AUTO(memory_free_string) char *reversed = NULL;

	other.pods = REVERSE(const struct pod *, snapshot->pods, snapshot->pod_count);
	if (snapshot->ray_state) {
		const struct ray_state *old = snapshot->ray_state;

		state = *old;
		state.nodes = REVERSE(struct ray_node, old->nodes, old->node_count);
		state.requests =
			REVERSE(struct ray_request_count, old->requests, old->request_count);
		gangs = REVERSE(struct ray_gang, old->gangs, old->gang_count);
		gang_order_keep_ties(gangs, old->gangs, old->gang_count);
		state.gangs = gangs;
		other.ray_state = &state;
	}
	reversed = plan_text(decide(&other, &arena));
	if (strcmp(text, reversed) != 0)
		fail_msg("%s: another order gives another plan:\n%s\n%s", name, text, reversed);
}

/* The operator creates the Pods of minReplicas, whatever replicas and GPU quotas allow. */
static void drop_minimum(struct ray_cluster *cluster)
{
	struct worker_group *groups = arena_array(&arena, cluster->group_count, sizeof(*groups));

	for (size_t g = 0; g < cluster->group_count; g++) {
		groups[g] = cluster->groups[g];
		groups[g].min_replicas = 0;
	}
	cluster->groups = groups;
}

static void check_gpu_quota(const char *name, const struct snapshot *snapshot,
			    const struct plan *plan)
{
	static const int64_t budgets[] = { 0, 1, 2, 5 };

	(void)plan;
	for (size_t i = 0; i < SUPPORT_COUNT(budgets); i++) {
		struct snapshot before = *snapshot, after;
		int64_t added;

		before.has_gpu_budget = true;
		before.gpu_budget = budgets[i] * RESOURCE_UNIT;
		drop_minimum(&before.cluster);
		after = before;
		apply(&after, decide(&before, &arena));
		added = count_gpus(&before, &after.cluster) - count_gpus(&before, &before.cluster);
		if (added > before.gpu_budget)
			fail_msg("%s: with a budget of %lld GPUs it adds %lld/10000", name,
				 (long long)budgets[i], (long long)added);
	}
}

typedef void law(const char *name, const struct snapshot *snapshot, const struct plan *plan);

static void check_all(law *check)
{
	for (size_t i = 0; i < files.count; i++) {
		struct snapshot snapshot;

		load(files.at[i], &snapshot);
		check(files.at[i], &snapshot, decide(&snapshot, &arena));
		arena_reset(&arena);
	}
}

static void test_bounds(void **state)
{
	(void)state;
	check_all(check_bounds);
}

static void test_safety(void **state)
{
	(void)state;
	check_all(check_safety);
}

static void test_idempotence(void **state)
{
	(void)state;
	check_all(check_idempotence);
}

static void test_two_passes(void **state)
{
	(void)state;
	check_all(check_two_passes);
}

static void test_order(void **state)
{
	(void)state;
	check_all(check_order);
}

static void test_gpu_quota(void **state)
{
	(void)state;
	check_all(check_gpu_quota);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),      cmocka_unit_test(test_safety),
		cmocka_unit_test(test_idempotence), cmocka_unit_test(test_two_passes),
		cmocka_unit_test(test_order),       cmocka_unit_test(test_gpu_quota),
	};
	struct err err = { .kind = ERR_NONE };
	int failed;

	if (golden_names_read(golden_directory(), &files, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	golden_names_free(&files);
	arena_done(&arena);
	return failed;
}
