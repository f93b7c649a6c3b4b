#include "core/nodes/inventory.h"

#include <stdlib.h>

#include "core/nodes/node_digest.h"
#include "test/support/node_scene.h"

#define MEM "aliyun.com/gpu-mem"
#define UNIT RESOURCE_UNIT

static void make(struct node_scene *s, struct inventory *ret)
{
	inventory_make(ret, s->nodes, s->node_count, s->pods, s->pod_count, device_table_builtin(),
		       &s->arena);
}

static const struct inventory_total *total_of(const struct inventory *inventory,
					      const char *resource)
{
	for (size_t i = 0; i < inventory->total_count; i++)
		if (strcmp(inventory->totals[i].resource, resource) == 0)
			return &inventory->totals[i];
	fail_msg("no total of %s", resource);
	return NULL;
}

/* Row C3: whole GPUs, MIG and gpu-mem alike; Nodes without accelerators are only counted. */
static void test_c3_nodes_users_and_totals(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;
	const struct inventory_resource *memory;
	struct pod *pod;

	(void)state;
	scene_node(&s, "share", "cpu=8 " MEM "=32 aliyun.com/gpu-count=2", "gpushare=true");
	scene_node(&s, "plain", "cpu=8", "");
	scene_node(&s, "gpu", "cpu=8 nvidia.com/gpu=4 nvidia.com/mig-1g.5gb=7", "");
	pod = scene_pod(&s, "b", "share", MEM "=10");
	scene_on(&s, pod, 1);
	pod->labels = scene_labels(&s.arena, "ray.io/cluster=demo ray.io/group=shared");
	scene_pod(&s, "a", "share", MEM "=4");
	scene_pod(&s, "whole", "gpu", "nvidia.com/gpu=3 nvidia.com/mig-1g.5gb=1");
	scene_pod(&s, "ended", "gpu", "nvidia.com/gpu=1")->phase = "Succeeded";
	make(&s, &inventory);

	assert_int_equal(inventory.node_count, 2);
	assert_int_equal(inventory.other_nodes, 1);
	assert_string_equal(inventory.nodes[0].capacity->node->name, "gpu");
	assert_int_equal(inventory.nodes[0].count, 2);
	assert_false(inventory.nodes[0].shared);
	assert_true(inventory.nodes[1].shared);
	/* Not the qualifier aliyun.com/gpu-count. */
	assert_int_equal(inventory.nodes[1].count, 1);
	memory = &inventory.nodes[1].at[0];
	assert_int_equal(memory->users.count, 2);
	assert_string_equal(memory->users.at[0].pod->name, "a");
	assert_int_equal(memory->users.at[0].device, INVENTORY_NO_DEVICE);
	assert_string_equal(memory->users.at[0].cluster, "");
	assert_int_equal(memory->users.at[1].device, 1);
	assert_string_equal(memory->users.at[1].cluster, "demo");
	assert_string_equal(memory->users.at[1].group, "shared");
	assert_int_equal(inventory.total_count, 3);
	assert_int_equal(total_of(&inventory, MEM)->used, 14 * UNIT);
	assert_int_equal(total_of(&inventory, MEM)->allocatable, 32 * UNIT);
	assert_int_equal(total_of(&inventory, "nvidia.com/gpu")->used, 3 * UNIT);
	assert_int_equal(total_of(&inventory, "nvidia.com/mig-1g.5gb")->used, 1 * UNIT);
	arena_done(&s.arena);
}

static struct pod *part_pod(struct node_scene *s, const char *name, const char *node,
			    const char *annotation, int64_t amount)
{
	struct pod *pod = scene_pod(s, name, node, "cpu=1");
	struct quantity *part = ARENA_NEW(&s->arena, struct quantity);

	*part = (struct quantity){ annotation, "", true, amount };
	pod->spec.gpu_shares = (struct quantities){ part, 1 };
	return pod;
}

/* Parts of KAI and Run:ai: the Pod that holds a shared GPU is not counted beside them. */
static void test_parts_by_annotation(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;

	(void)state;
	scene_node(&s, "gpu", "cpu=8 nvidia.com/gpu=4", "nvidia.com/gpu.memory=16000");
	scene_pod(&s, "whole", "gpu", "nvidia.com/gpu=1");
	make(&s, &inventory);
	assert_int_equal(inventory.total_count, 1);

	scene_pod(&s, "reservation", "gpu", "nvidia.com/gpu=1")->labels =
		scene_labels(&s.arena, "runai-gpu-group=a");
	part_pod(&s, "half", "gpu", "gpu-fraction", UNIT / 2)->labels =
		scene_labels(&s.arena, "runai-gpu-group=a ray.io/cluster=demo ray.io/group=shared");
	make(&s, &inventory);
	assert_int_equal(inventory.total_count, 2);
	assert_int_equal(total_of(&inventory, "gpu-fraction")->allocatable, 4 * UNIT);
	assert_int_equal(total_of(&inventory, "gpu-fraction")->used, 3 * UNIT / 2);
	assert_int_equal(total_of(&inventory, "nvidia.com/gpu")->used, 2 * UNIT);
	assert_string_equal(inventory.nodes[0].at[0].amount->resource, "gpu-fraction");
	assert_int_equal(inventory.nodes[0].at[0].users.count, 1);
	assert_string_equal(inventory.nodes[0].at[0].users.at[0].group, "shared");

	/* A quarter of a GPU by its memory, and one that waits. */
	part_pod(&s, "memory", "gpu", "gpu-memory", 4000 * UNIT);
	part_pod(&s, "waits", "", "gpu-fraction", UNIT / 2);
	make(&s, &inventory);
	assert_int_equal(total_of(&inventory, "gpu-fraction")->used, 7 * UNIT / 4);
	assert_int_equal(total_of(&inventory, "gpu-fraction")->waiting_pods, 1);
	assert_int_equal(total_of(&inventory, "gpu-memory")->allocatable, 64000 * UNIT);
	assert_int_equal(total_of(&inventory, "gpu-memory")->used, 28000 * UNIT);
	arena_done(&s.arena);
}

static void expect_stranded(const struct inventory *inventory, size_t node, int64_t amount,
			    const char *why)
{
	const struct inventory_resource *resource = &inventory->nodes[node].at[0];

	assert_int_equal(resource->stranded, amount * UNIT);
	assert_string_equal(resource->stranded_why, why);
}

/* Row C4: pieces of a device's memory that no Pod can use. */
static void test_c4_stranded_memory(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;

	(void)state;
	scene_node(&s, "share", "cpu=8 " MEM "=32 aliyun.com/gpu-count=2", "");
	scene_on(&s, scene_pod(&s, "a", "share", MEM "=10"), 0);
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 12,
			"at most 16 in one piece, a Pod as default/a needs 10 on one device");
	scene_on(&s, scene_pod(&s, "b", "share", MEM "=10"), 1);
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 12,
			"at most 6 in one piece, a Pod as default/a needs 10 on one device");
	/* A smaller Pod that waits can use it, also beside a larger one. */
	scene_pod(&s, "large", "", MEM "=12");
	scene_pod(&s, "small", "", MEM "=3");
	s.pods[s.pod_count++] = s.pods[2];
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	assert_int_equal(total_of(&inventory, MEM)->waiting_pods, 3);
	assert_int_equal(total_of(&inventory, MEM)->waiting, 27 * UNIT);
	arena_done(&s.arena);
}

/* More fits by device than is free in sum: nothing is stranded. */
static void test_c4_overcommitted_device(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;

	(void)state;
	scene_node(&s, "share", "cpu=8 " MEM "=32 aliyun.com/gpu-count=2", "");
	scene_on(&s, scene_pod(&s, "a", "share", MEM "=30"), 0);
	scene_pod(&s, "small", "", MEM "=4");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	arena_done(&s.arena);
}

static void test_c4_stranded_gpus(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;

	(void)state;
	scene_node(&s, "a", "cpu=8 nvidia.com/gpu=4", "");
	scene_node(&s, "b", "cpu=8 nvidia.com/gpu=4", "");
	scene_pod(&s, "p", "a", "cpu=2 nvidia.com/gpu=1");
	scene_pod(&s, "q", "b", "cpu=2 nvidia.com/gpu=1");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	/* One that waits for four finds three on each. */
	scene_pod(&s, "w", "", "cpu=2 nvidia.com/gpu=4");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 3, "a Pod as default/w needs 4 on one Node");
	assert_int_equal(total_of(&inventory, "nvidia.com/gpu")->stranded, 6 * UNIT);
	/* Pods without GPUs have the CPU that the GPUs need. */
	s.pod_count--;
	scene_pod(&s, "cpu", "a", "cpu=5");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 3, "only 1 cpu are free for a Pod as default/p");
	expect_stranded(&inventory, 1, 0, "");
	arena_done(&s.arena);
}

/* Partitions are fixed: a waiting Pod cannot use free ones of another profile. */
static void test_c4_mig_of_another_profile(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct inventory inventory;

	(void)state;
	scene_node(&s, "mig", "cpu=8 nvidia.com/mig-1g.5gb=7", "");
	scene_pod(&s, "a", "mig", "nvidia.com/mig-1g.5gb=1");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	scene_pod(&s, "w", "", "nvidia.com/mig-2g.10gb=1");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 6,
			"Pods wait for nvidia.com/mig-2g.10gb, and partitions are fixed");
	assert_int_equal(total_of(&inventory, "nvidia.com/mig-2g.10gb")->nodes, 0);
	/* None is free, so none is stranded. */
	scene_pod(&s, "rest", "mig", "nvidia.com/mig-1g.5gb=6");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	s.pod_count--;
	/* A part of another vendor is nothing to them. */
	s.pod_count--;
	scene_pod(&s, "w", "", "aws.amazon.com/neuroncore=1");
	make(&s, &inventory);
	expect_stranded(&inventory, 0, 0, "");
	arena_done(&s.arena);
}

/* Devices that a Pod names twice, devices that do not exist, and more than the Pod requests. */
static void test_odd_devices(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct device_use uses[] = { { 0, 4 * UNIT }, { 9, 2 * UNIT }, { -1, 0 }, { 1, 90 * UNIT } };
	struct inventory inventory;
	const struct inventory_resource *memory;
	struct pod *pod;

	(void)state;
	scene_node(&s, "share", MEM "=33 aliyun.com/gpu-count=2", "");
	scene_node(&s, "uncounted", MEM "=32", "");
	scene_node(&s, "absurd", MEM "=32 aliyun.com/gpu-count=100000", "");
	pod = scene_pod(&s, "a", "share", MEM "=10");
	pod->device_uses = uses;
	pod->device_use_count = 4;
	scene_pod(&s, "b", "uncounted", MEM "=32");
	scene_pod(&s, "lost", "no-such-node", MEM "=1");
	make(&s, &inventory);
	assert_string_equal(inventory.nodes[1].capacity->node->name, "share");
	memory = &inventory.nodes[1].at[0];
	assert_int_equal(memory->amount->devices[0].total, 16 * UNIT);
	assert_int_equal(memory->amount->devices[0].used, 4 * UNIT);
	assert_int_equal(memory->amount->devices[1].used, 6 * UNIT);
	assert_int_equal(memory->amount->unplaced, 0);
	assert_int_equal(memory->users.count, 2);
	assert_int_equal(inventory.nodes[0].at[0].amount->device_count, 0);
	assert_int_equal(inventory.nodes[2].at[0].amount->device_count, 0);
	assert_int_equal(inventory.nodes[2].at[0].amount->used, 32 * UNIT);
	arena_done(&s.arena);
}

static void test_order_changes_nothing(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT }, t;
	struct inventory a, b;

	(void)state;
	scene_node(&s, "share", "cpu=8 " MEM "=48 aliyun.com/gpu-count=3", "");
	scene_node(&s, "gpu", "cpu=8 nvidia.com/gpu=4", "");
	for (size_t i = 0; i < 5; i++) {
		scene_pod(&s, arena_printf(&s.arena, "m%zu", i), "share",
			  arena_printf(&s.arena, MEM "=%zu", 3 + i));
		scene_pod(&s, arena_printf(&s.arena, "g%zu", i), i < 4 ? "gpu" : "",
			  "nvidia.com/gpu=1");
	}
	t = s;
	t.arena = ARENA_INIT;
	for (size_t i = 0; i < s.pod_count; i++)
		t.pods[i] = s.pods[s.pod_count - 1 - i];
	t.nodes[0] = s.nodes[1];
	t.nodes[1] = s.nodes[0];
	make(&s, &a);
	make(&t, &b);
	for (size_t n = 0; n < 2; n++) {
		const struct inventory_resource *x = &a.nodes[n].at[0], *y = &b.nodes[n].at[0];

		assert_int_equal(x->stranded, y->stranded);
		assert_string_equal(x->stranded_why, y->stranded_why);
		assert_int_equal(x->users.count, y->users.count);
		for (size_t u = 0; u < x->users.count; u++)
			assert_string_equal(x->users.at[u].pod->name, y->users.at[u].pod->name);
		for (size_t d = 0; d < x->amount->device_count; d++)
			assert_int_equal(x->amount->devices[d].forecast,
					 y->amount->devices[d].forecast);
	}
	arena_done(&s.arena);
	arena_done(&t.arena);
}

static void test_nothing(void **state)
{
	struct arena arena = ARENA_INIT;
	struct inventory inventory;

	(void)state;
	inventory_make(&inventory, NULL, 0, NULL, 0, device_table_builtin(), &arena);
	assert_int_equal(inventory.node_count + inventory.total_count + inventory.other_nodes, 0);
	arena_done(&arena);
}

/* Of the conditions Ready stays, and what says that a device is sick. */
static void test_a_digest_keeps_the_signs_of_a_sick_node(void **state)
{
	static const struct condition conditions[] = {
		{ "DiskPressure", "False", "r", "m", 1 },
		{ "Ready", "True", "r", "m", 1 },
		{ "SysLogsXIDError", "True", "r", "m", 1 },
		{ "GpuMemWatch", "False", "r", "m", 1 },
		{ "AcceleratedHardwareReady", "False", "r", "m", 1 },
	};
	static const char *const kept[] = { "Ready", "SysLogsXIDError",
					    "AcceleratedHardwareReady" };
	struct node_scene s = { .arena = ARENA_INIT };
	struct node *node = scene_node(&s, "gpu-1", "cpu=1", ""), digest;

	(void)state;
	node->conditions = conditions;
	node->condition_count = SUPPORT_COUNT(conditions);
	node_digest(node, &s.arena, &digest);
	assert_int_equal(digest.condition_count, SUPPORT_COUNT(kept));
	for (size_t i = 0; i < digest.condition_count; i++)
		assert_string_equal(digest.conditions[i].type, kept[i]);
	assert_string_equal(digest.conditions[1].message, "m");
	arena_done(&s.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c3_nodes_users_and_totals),
		cmocka_unit_test(test_parts_by_annotation),
		cmocka_unit_test(test_c4_stranded_memory),
		cmocka_unit_test(test_c4_overcommitted_device),
		cmocka_unit_test(test_c4_stranded_gpus),
		cmocka_unit_test(test_c4_mig_of_another_profile),
		cmocka_unit_test(test_odd_devices),
		cmocka_unit_test(test_order_changes_nothing),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_a_digest_keeps_the_signs_of_a_sick_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
