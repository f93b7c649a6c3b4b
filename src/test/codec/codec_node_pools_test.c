/* Pools of Nodes from files: the members, every refusal with its line and column, and changes by a
 * path. */
#include "codec/objects/node_pools_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/cluster_set.h"
#include "codec/schema/one_document.h"
#include "test/support/support.h"

#define HEAD "apiVersion: rayscaler.dev/v1alpha1\nkind: NodePools\n"

static const char good[] = HEAD
	"pools:\n"
	"- name: a100-spot\n"
	"  nodeLabels: {pool: spot}\n"
	"  taints: [{key: gpu, value: 'yes', effect: NoSchedule}]\n"
	"  allocatable: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 8}\n"
	"  minNodes: 1\n"
	"  maxNodes: 4\n"
	"  provisioningDelay: 90s\n"
	"  refusals: [{from: 1h, until: 2h}]\n"
	"  repairs: [{from: 1h, until: 2h}, {from: 3h, until: 4h, nodes: 2}]\n"
	"  interruptionsPerHour: 0.5\n"
	"- {name: l4, maxNodes: 2}\n";

static int read_pools(const char *text, size_t size, struct arena *arena,
		      struct node_pools *ret_pools, struct err *err)
{
	struct cluster_set *set = cluster_set_new();
	int failed = cluster_set_add_pools(set, text, size, err) ||
		     cluster_set_decode_pools(set, arena, ret_pools, err);

	cluster_set_free(set);
	return failed ? -1 : 0;
}

static void test_members(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct node_pool *pool;
	struct node_pools pools;
	struct err err;

	(void)state;
	if (read_pools(good, strlen(good), &arena, &pools, &err))
		fail_msg("%s", err.text);
	assert_int_equal(pools.count, 2);
	pool = &pools.at[0];
	assert_string_equal(pool->node.name, "a100-spot");
	assert_string_equal(labels_value(&pool->node.labels, "pool"), "spot");
	assert_string_equal(pool->node.taints[0].value, "yes");
	assert_int_equal(quantities_find(&pool->node.allocatable, "nvidia.com/gpu")->amount,
			 8 * RESOURCE_UNIT);
	assert_int_equal(pool->min_nodes, 1);
	assert_int_equal(pool->max_nodes, 4);
	assert_int_equal(pool->provision_ms, 90000);
	assert_int_equal(pool->refusals[0].from_ms, 3600000);
	assert_int_equal(pool->refusals[0].until_ms, 7200000);
	assert_int_equal(pool->repairs[0].nodes, 1);
	assert_int_equal(pool->repairs[1].nodes, 2);
	assert_int_equal(pool->repairs[1].from_ms, 3 * 3600000);
	assert_int_equal(pool->life_ms, 7200000);
	pool = &pools.at[1];
	assert_int_equal(pool->node.allocatable.count, 0);
	assert_int_equal(pool->min_nodes, 0);
	assert_int_equal(pool->provision_ms, 120000);
	assert_int_equal(pool->life_ms, 0);
}

#define POOL HEAD "pools:\n- {name: a, maxNodes: 2, "

static const struct {
	const char *text, *error;
} bad[] = {
	{ "", "line 1, column 1: there is no document" },
	{ HEAD, "pools: is missing, must be an array" },
	{ HEAD "pools: []\n", "line 3, column 1: pools: must have at least one pool" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: NodePool\npools: []\n",
	  "line 2, column 1: kind: must be NodePools, is \"NodePool\"" },
	{ HEAD "nodes: []\n", "line 3, column 1: nodes: is not a member of a NodePools document" },
	{ HEAD "pools:\n- {maxNodes: 1}\n", "line 4, column 3: pools[0].name: is missing" },
	{ HEAD "pools:\n- {name: a}\n",
	  "line 4, column 3: pools[0].maxNodes: is missing, must be a number" },
	{ HEAD "pools:\n- {name: a, maxNodes: 1}\n- {name: a, maxNodes: 1}\n",
	  "line 5, column 4: pools[1].name: a is in the list twice; rename one" },
	{ HEAD "pools:\n- {name: a, minNodes: 3, maxNodes: 2}\n",
	  "line 4, column 26: pools[0].maxNodes: must be at least minNodes (3), is 2" },
	{ HEAD "pools:\n- {name: a, maxNodes: 100001}\n", "must be 0 to 100000, is 100001" },
	{ HEAD "pools:\n- {name: a, maxNodes: -1}\n", "must be 0 to 100000, is -1" },
	{ HEAD "pools:\n- {name: a, maxNodes: 1.5}\n", "pools[0].maxNodes: must be an integer" },
	{ POOL "minNodes: -1}\n", "pools[0].minNodes: must be 0 to 100000, is -1" },
	{ POOL "count: 1}\n", "line 4, column 26: pools[0].count: is not a member of a pool" },
	{ POOL "provisioningDelay: 90}\n",
	  "pools[0].provisioningDelay: must be a string, is a number" },
	{ POOL "provisioningDelay: soon}\n",
	  "pools[0].provisioningDelay: \"soon\" is not a duration" },
	{ POOL "provisioningDelay: 4000d}\n", "must be at most 10 years" },
	{ POOL "interruptionsPerHour: 1001}\n",
	  "pools[0].interruptionsPerHour: must be 0 to 1000, is 1001" },
	{ POOL "interruptionsPerHour: .nan}\n", "pools[0].interruptionsPerHour: must be" },
	{ POOL "allocatable: {cpu: many}}\n",
	  "line 4, column 40: pools[0].allocatable.cpu: \"many\" is not an amount such as 8 or" },
	{ POOL "allocatable: {cpu: -1}}\n", "pools[0].allocatable.cpu: \"-1\" is not an amount" },
	{ POOL "allocatable: {gpu: 8}}\n",
	  "pools[0].allocatable.gpu: must be cpu, memory, ephemeral-storage, pods or a name such" },
	{ POOL "repairs: [{from: 1h, until: 2h, nodes: 3}]}\n",
	  "pools[0].repairs: nodes must be at most maxNodes (2), is 3" },
	{ POOL "taints: [{key: a}]}\n", "pools[0].taints[0].effect: is missing" },
	{ POOL "taints: [{key: a, effect: Never}]}\n",
	  "must be NoSchedule, PreferNoSchedule or NoExecute, is \"Never\"" },
	{ POOL "taints: [{key: a, operator: Exists}]}\n", "is not a member of a taint" },
	{ POOL "refusals: [{from: 1h}]}\n", "pools[0].refusals[0].until: is missing" },
	{ POOL "refusals: [{from: 2h, until: 1h}]}\n",
	  "pools[0].refusals[0].until: must be after from" },
	{ POOL "nodeLabels: {a: 1}}\n", "pools[0].nodeLabels.a: must be a string" },
	{ HEAD "pools: [\n", "line 4, column 1" },
	{ HEAD "pools: [{name: a, maxNodes: 1}]\n---\n" HEAD, "there is a second document" },
};

static void test_refusals_name_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct err err = { .kind = ERR_NONE };
		struct node_pools pools;

		if (read_pools(bad[i].text, strlen(bad[i].text), &arena, &pools, &err) == 0)
			fail_msg("not refused: %s", bad[i].text);
		if (!strstr(err.text, bad[i].error))
			fail_msg("\"%s\" does not have \"%s\"", err.text, bad[i].error);
	}
}

static void test_the_number_of_pools_is_limited(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct err err = { .kind = ERR_NONE };
	struct node_pools pools;

	(void)state;
	buf_init(&buf, ONE_DOCUMENT_BYTES_MAX);
	buf_add_string(&buf, HEAD "pools:\n");
	for (int i = 0; i <= NODE_POOLS_MAX; i++)
		buf_printf(&buf, "- {name: p%d, maxNodes: 1}\n", i);
	assert_int_equal(read_pools(buf_string(&buf), buf.size, &arena, &pools, &err), -1);
	assert_non_null(strstr(err.text, "pools: has 1001 elements, more than 1000"));
}

static void test_a_path_changes_a_copy(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cluster_set *set = cluster_set_new(), *copy;
	struct node_pools pools;
	struct err err;

	(void)state;
	assert_int_equal(cluster_set_change(set, "pools[l4].maxNodes", "3", &err), -1);
	assert_non_null(strstr(err.text, "there is no document with pools; give --node-pools"));
	assert_int_equal(cluster_set_add_pools(set, "a: 1", 4, &err), -1);
	assert_int_equal(cluster_set_add(set, good, strlen(good), &err), -1);
	assert_string_equal(err.text, "a NodePools is not read here; give --node-pools");
	assert_int_equal(cluster_set_add_pools(set, good, strlen(good), &err), 0);
	copy = cluster_set_copy(set);
	assert_int_equal(cluster_set_change(copy, "pools[l4].maxNodes", "3", &err), 0);
	assert_int_equal(cluster_set_change(copy, "pools[0].interruptionsPerHour", "0", &err), 0);
	assert_int_equal(cluster_set_change(copy, "pools[l5].maxNodes", "3", &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(cluster_set_decode_pools(copy, &arena, &pools, &err), 0);
	assert_int_equal(pools.at[1].max_nodes, 3);
	assert_int_equal(pools.at[0].life_ms, 0);
	assert_int_equal(cluster_set_decode_pools(set, &arena, &pools, &err), 0);
	assert_int_equal(pools.at[1].max_nodes, 2);
	assert_int_equal(cluster_set_change(copy, "pools[0].cpus", "3", &err), 0);
	assert_int_equal(cluster_set_decode_pools(copy, &arena, &pools, &err), -1);
	assert_string_equal(
		err.text,
		"pools[0].cpus: is not a member of a pool; it has name, nodeLabels, taints, allocatable, minNodes, maxNodes, provisioningDelay, refusals, repairs, interruptionsPerHour");
	cluster_set_free(copy);
	cluster_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_refusals_name_the_place),
		cmocka_unit_test(test_the_number_of_pools_is_limited),
		cmocka_unit_test(test_a_path_changes_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
