/* The Nodes of a sample: a few for each group, and the free ones of NVLink cliques for a group of
 * several hosts with claims. */
#include "core/nodes/node_sample.h"

#include "test/support/node_scene.h"

#define NODES 20

static const struct pod_claim claim = { .name = "channel", .claim = "", .template_ = "nvlink" };

static size_t sample_of(int64_t hosts, bool claims)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct worker_group group = { .name = "g", .num_of_hosts = hosts };
	const struct ray_cluster cluster = { .groups = &group, .group_count = 1 };
	const struct node_capacity **found;
	struct node_capacities capacities;
	size_t count;

	group.template.spec.claims = claims ? &claim : NULL;
	group.template.spec.claim_count = claims;
	for (size_t i = 0; i < NODES; i++)
		scene_node(&s, arena_printf(&s.arena, "n%zu", i), "cpu=4",
			   "nvidia.com/gpu.clique=rack.0");
	s.nodes[NODES - 1].unschedulable = true;
	scene_node(&s, "other", "cpu=4", "");
	scene_capacities(&s, &capacities);
	count = node_sample(&capacities, &cluster, NULL, 0, &s.arena, &found);
	arena_done(&s.arena);
	return count;
}

static void test_cliques_of_a_group_of_hosts(void **state)
{
	(void)state;
	assert_int_equal(sample_of(4, true), NODES - 1);
	assert_int_equal(sample_of(1, true), NODE_SAMPLE_NODES_MAX);
	assert_int_equal(sample_of(4, false), NODE_SAMPLE_NODES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cliques_of_a_group_of_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
