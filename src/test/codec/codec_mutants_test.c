/* The golden cases with small random changes (test/support/json_mutate.h): a snapshot may be wrong
 * in any way that JSON allows. Laws: it is refused with a text, or
 *   the plan is JSON, and the same bytes when decided again
 *   the snapshot can be written and read again
 *   nothing is terminated without a good reply of Ray, and no Pod whose Ray node may be busy,
 *   unless enforce-max-replicas=now stops workers above maxReplicas
 * MUTANTS: how many of each case (default 20); MUTANTS_SEED: the first seed. */
#include <string.h>

#include "base/buf.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/nodes/inventory.h"
#include "core/nodes/node_sample.h"
#include "core/nodes/pod_digest.h"
#include "core/report/decision_event.h"
#include "core/report/summary.h"
#include "test/support/golden_case.h"
#include "test/support/json_mutate.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define CHANGES_MAX 4

static struct mutate_files files;
static long long refused, decided, terminations;

static void check_rewritten(const char *what, const struct snapshot *snapshot, struct arena *arena)
{
	AUTO(buf_done) struct buf text;
	struct snapshot again;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	if (snapshot_write(snapshot, &text, &err) ||
	    snapshot_read(buf_string(&text), text.size, arena, &again, &err))
		fail_msg("%s: not written and read again: %s", what, err.text);
}

static bool ray_was_read(const struct plan *plan)
{
	for (size_t i = 0; i < plan->conditions.count; i++)
		if (strcmp(plan->conditions.at[i].type, "ScalingActive") == 0)
			return strcmp(plan->conditions.at[i].status, "True") == 0;
	return false;
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

static void check_termination(const char *what, const struct snapshot *snapshot,
			      const struct plan_termination *item)
{
	const struct ray_state *state = snapshot->ray_state;

	terminations++;
	if (item->action == TERMINATE_STOP) {
		assert_true(snapshot->settings.enforce_max == ENFORCE_MAX_NOW ||
			    snapshot->settings.repair_deletes ||
			    is_released(snapshot, snapshot->now));
		return;
	}
	if (item->busy && item->reason == REASON_LEAVING) {
		assert_int_equal(item->action, TERMINATE_DRAIN); /* Ray is notified, nothing ends */
		return;
	}
	if (item->deadline != TIME_NONE) {
		assert_true(item->action == TERMINATE_DRAIN &&
			    is_released(snapshot, item->deadline));
		return;
	}
	assert_non_null(state);
	for (size_t n = 0; n < state->node_count; n++) {
		const struct ray_node *node = &state->nodes[n];

		/* An id that cannot be read is empty, and so is that of a Pod without a node. */
		bool its_own = node->instance_id[0] == '\0' ?
				       node->id[0] != '\0' &&
					       strcmp(node->id, item->ray_node_id) == 0 :
				       strcmp(node->instance_id, item->pod) == 0;

		if (its_own && ray_node_is_alive(node) && node->status != RAY_NODE_IDLE &&
		    !ray_node_is_unused(node))
			fail_msg("%s: Pod %s may be busy and goes", what, item->pod);
	}
}

static void check_safety(const char *what, const struct snapshot *snapshot, const struct plan *plan)
{
	for (size_t g = 0; g < plan->groups.count; g++)
		for (size_t i = 0; i < plan->groups.at[g].terminate.count; i++) {
			if (!ray_was_read(plan))
				fail_msg("%s: a termination without Ray", what);
			check_termination(what, snapshot, &plan->groups.at[g].terminate.at[i]);
		}
}

static void write_plan(const struct plan *plan, struct buf *buf)
{
	struct err err;

	buf_init(buf, TEXT_BYTES_MAX);
	assert_int_equal(plan_write(plan, true, buf, &err), 0);
}

static const struct plan *check_decision(const char *what, const struct snapshot *snapshot,
					 struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf first, second;
	struct plan *plan = decide(snapshot, arena);
	struct err err;

	write_plan(plan, &first);
	write_plan(decide(snapshot, arena), &second);
	if (strcmp(buf_string(&first), buf_string(&second)) != 0)
		fail_msg("%s: decided again, another plan", what);
	if (json_parse(buf_string(&first), first.size, &snapshot_limits, &tree, &err))
		fail_msg("%s: the plan is no JSON: %s", what, err.text);
	check_safety(what, snapshot, plan);
	return plan;
}

/* Checks the reports of a decision: Events, status, the inventory of Nodes. */
static void check_declared(const char *what, const struct snapshot *snapshot,
			   const struct plan *plan, struct arena *arena)
{
	struct decision_event_list events = { .at = { .at = NULL } };
	const struct summary *summary = summary_of(snapshot, plan, arena);
	struct inventory inventory;
	struct pod *pods = arena_array(arena, snapshot->pod_count, sizeof(*pods));

	for (size_t i = 0; i < snapshot->pod_count; i++)
		pods[i] = *snapshot->pods[i];
	decision_event_make(snapshot, plan, arena, &events);
	for (size_t i = 0; i < events.at.count; i++)
		if (decision_event_reason_word(events.at.at[i].reason)[0] == '\0' ||
		    events.at.at[i].message[0] == '\0')
			fail_msg("%s: notice %s of %s: \"%s\"", what,
				 decision_event_reason_word(events.at.at[i].reason),
				 events.at.at[i].key, events.at.at[i].message);
	assert_true(summary->reason[0] != '\0');
	inventory_make(&inventory, snapshot->nodes, snapshot->node_count, pods, snapshot->pod_count,
		       device_table_builtin(), arena);
	assert_true(inventory.other_nodes <= snapshot->node_count);
}

/* Checks the sample of Nodes that the controller makes from a digest of the Pods on them. */
static void check_nodes(const char *what, const struct snapshot *snapshot, size_t most,
			struct arena *arena)
{
	const struct node_capacity **sample;
	struct pod_digest digest;
	struct node_capacities rooms;
	const struct pod *pods;
	size_t count;

	pod_digest_init(&digest, device_table_builtin(), most);
	for (size_t i = 0; i < snapshot->pod_count; i++)
		pod_digest_add(&digest, snapshot->pods[i]);
	pods = pod_digest_finish(&digest, &count);
	node_capacities_init(&rooms, snapshot->nodes, snapshot->node_count, device_table_builtin(),
			     arena);
	for (size_t i = 0; i < count; i++)
		(void)node_capacities_count(&rooms, &pods[i], 1);
	node_capacities_settle(&rooms);
	count = node_sample(&rooms, &snapshot->cluster, snapshot->pods, snapshot->pod_count, arena,
			    &sample);
	if (count > snapshot->node_count)
		fail_msg("%s: %zu Nodes of %zu", what, count, snapshot->node_count);
	pod_digest_done(&digest);
}

/* Later, with the memory of the first decision and the replicas as they were. */
static void check_later(const char *what, const struct snapshot *snapshot, const struct plan *plan,
			int64_t later_ms, struct arena *arena)
{
	struct snapshot after = *snapshot;

	after.now += later_ms;
	after.memory = &plan->memory;
	check_safety(what, &after, decide(&after, arena));
}

/* Nodes of another case, where there are none. */
static void add_nodes(struct cJSON *tree, uint64_t *random)
{
	char name[] = "nodes";
	struct cJSON wanted = { .string = name };
	const struct cJSON *found = mutate_donor(&files.pool, &wanted, random);

	assert_true(found != &wanted);
	if (support_random_below(random, 3) == 0 && !cJSON_GetObjectItemCaseSensitive(tree, name))
		cJSON_AddItemToObject(tree, name, cJSON_Duplicate(found, true));
}

static void check_mutant(int index, uint64_t seed)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *what =
		arena_printf(&arena, "%s, seed %llu", files.names[index], (unsigned long long)seed);
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)index + 1;
	AUTO(json_done)
	struct cJSON *tree = mutate_copy(&files, files.at[index], CHANGES_MAX, &random);
	static const int64_t later_ms[] = { 0, 1000, 4000, 31000, 61000, 400000, -5000 };
	const struct plan *plan;
	struct snapshot snapshot;
	struct err err = { .kind = ERR_NONE };

	add_nodes(tree, &random);
	if (snapshot_decode(tree, "", &arena, &snapshot, &err)) {
		if (err.kind == ERR_NONE || err.text[0] == '\0')
			fail_msg("%s: refused without a reason", what);
		refused++;
		return;
	}
	plan = check_decision(what, &snapshot, &arena);
	check_declared(what, &snapshot, plan, &arena);
	check_nodes(what, &snapshot, 1 + support_random_below(&random, 20), &arena);
	check_later(what, &snapshot, plan,
		    later_ms[support_random_below(&random, SUPPORT_COUNT(later_ms))], &arena);
	check_rewritten(what, &snapshot, &arena);
	decided++;
}

static struct cJSON *read_snapshot(const char *path)
{
	struct cJSON *tree = NULL, *snapshot;
	struct err err = { .kind = ERR_NONE };

	if (golden_read(path, &tree, &err))
		fail_msg("%s", err.text);
	snapshot = cJSON_DetachItemFromObjectCaseSensitive(tree, "snapshot");
	json_free(tree);
	return snapshot;
}

static void test_mutants(void **state)
{
	uint64_t first = mutate_number("MUTANTS_SEED", 1), count = mutate_number("MUTANTS", 20);

	(void)state;
	mutate_read(&files, GOLDEN_DIRECTORY, read_snapshot);
	for (uint64_t seed = first; seed < first + count; seed++)
		for (int i = 0; i < files.count; i++)
			check_mutant(i, seed);
	mutate_free(&files);
	print_message(
		"%lld mutants decided, %lld refused; %lld terminations, none of a busy worker\n",
		decided, refused, terminations);
	/* Most of them are worth something. */
	assert_true(decided > refused);
	assert_true(terminations > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mutants) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
