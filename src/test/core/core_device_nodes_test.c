/* Devices of ResourceSlices as amounts of Nodes and Pods, and their totals. */
#include "feature/device_claims/core/device_nodes.h"

#include <string.h>

#include "feature/device_claims/core/resolve.h"
#include "test/support/node_scene.h"

#define GPU "nvidia.com/gpu"
#define DRIVER "gpu.nvidia.com"

static const struct taint sick[] = { { "xid", "", "NoSchedule", TIME_NONE } };
static const char *const is_gpu[] = { "device.driver == '" DRIVER "' && device.attributes['" DRIVER
				      "'].type == 'gpu'" };
static const struct device_class classes[] = {
	{ .name = DRIVER, .resource_version = "", .selectors = { is_gpu, 1 }, GPU },
	{ .name = "mig", .resource_version = "", .selectors = { is_gpu, 1 }, "" },
};
static const struct device_attribute gpu[] = {
	{ DRIVER "/type", ATTRIBUTE_STRING, "gpu", 0 },
	{ DRIVER "/productName", ATTRIBUTE_STRING, "H100", 0 },
};
static const struct device_attribute mig[] = {
	{ DRIVER "/type", ATTRIBUTE_STRING, "mig", 0 },
	{ DRIVER "/profile", ATTRIBUTE_STRING, "1g.10gb", 0 },
	{ DRIVER "/productName", ATTRIBUTE_STRING, "it's", 0 },
};
static const struct device devices[] = {
	{ .name = "gpu-0", .attributes = gpu, .attribute_count = 2, .node_name = "" },
	{ .name = "gpu-1", .attributes = gpu, .attribute_count = 2, .node_name = "" },
	{ .name = "gpu-2",
	  .attributes = gpu,
	  .attribute_count = 2,
	  .taints = sick,
	  .taint_count = 1,
	  .node_name = "" },
	{ .name = "gpu-3-mig", .attributes = mig, .attribute_count = 3, .node_name = "" },
};
static const struct resource_slice slices[] = {
	{ .name = "a",
	  .driver = DRIVER,
	  .pool = "a",
	  .generation = 1,
	  .slice_count = 1,
	  .node_name = "a",
	  .devices = devices,
	  .device_count = SUPPORT_COUNT(devices) },
	{ .name = "half",
	  .driver = DRIVER,
	  .pool = "half",
	  .generation = 1,
	  .slice_count = 2,
	  .node_name = "half",
	  .devices = devices,
	  .device_count = SUPPORT_COUNT(devices) },
};
static const char *const holder[] = { "holder" }, *const limited[] = { "limited" };
static const struct claim_result first = { "r", DRIVER, "a", "gpu-0", false, { NULL, 0 } };
static const struct claim_result second = { "r", DRIVER, "a", "gpu-1", false, { NULL, 0 } };
static const struct resource_claim claims[] = {
	{ .namespace_ = "default",
	  .name = "one",
	  .allocated = true,
	  .results = &first,
	  .result_count = 1,
	  .pods = { holder, 1 } },
	{ .namespace_ = "default",
	  .name = "limited-extended-resources",
	  .allocated = true,
	  .results = &second,
	  .result_count = 1,
	  .pods = { limited, 1 } },
};
static const struct device_objects objects = {
	.slices = slices,
	.slice_count = SUPPORT_COUNT(slices),
	.classes = classes,
	.class_count = SUPPORT_COUNT(classes),
	.claims = claims,
	.claim_count = SUPPORT_COUNT(claims),
	.slices_known = true,
	.classes_known = true,
	.claims_known = true,
};

static const struct device_free *judged(struct arena *arena)
{
	return device_claims_attach(&objects, device_table_builtin(), arena)->claims->devices;
}

static int64_t amount(const struct quantities *amounts)
{
	const struct quantity *found = quantities_find(amounts, GPU);

	return found ? found->amount / RESOURCE_UNIT : -1;
}

/* A Node whose device plugin names the resource, or whose pool is not complete, keeps what it has. */
static void test_nodes(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	const struct device_free *free = judged(&s.arena);
	const struct node *nodes;

	(void)state;
	scene_node(&s, "a", "cpu=4 " GPU "=0", "");
	scene_node(&s, "half", "cpu=4", "");
	scene_node(&s, "unknown", "", "");
	nodes = device_nodes_fill(free, s.nodes, s.node_count, &s.arena);
	assert_int_equal(amount(&nodes[0].capacity), 3);
	assert_int_equal(amount(&nodes[0].allocatable), 2);
	assert_int_equal(nodes[0].allocatable.count, 2);
	assert_int_equal(amount(&nodes[1].allocatable), -1);
	assert_int_equal(nodes[2].allocatable.count, 0);
	assert_int_equal(amount(&s.nodes[0].allocatable), 0);
	s.nodes[0].allocatable = scene_quantities(&s.arena, GPU "=1");
	assert_ptr_equal(device_nodes_fill(free, s.nodes, s.node_count, &s.arena), s.nodes);
	arena_done(&s.arena);
}

/* The scheduler's own claim for a limit is not counted beside the limit. */
static void test_pods(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	const struct device_free *free = judged(&s.arena);
	const struct pod *pods;

	(void)state;
	scene_pod(&s, "holder", "a", "cpu=1");
	scene_pod(&s, "limited", "a", GPU "=1");
	scene_pod(&s, "other", "a", "cpu=1");
	pods = device_nodes_fill_pods(free, s.pods, s.pod_count, &s.arena);
	assert_int_equal(pods[0].spec.container_count, 2);
	assert_int_equal(amount(&pods[0].spec.containers[1].requests), 1);
	assert_int_equal(pods[1].spec.container_count, 1);
	assert_int_equal(pods[2].spec.container_count, 1);
	arena_done(&s.arena);
}

static void test_lacks(void **state)
{
	const struct device_table *table = device_table_builtin();
	struct node_scene s = { .arena = ARENA_INIT };

	(void)state;
	assert_true(device_nodes_lacks(scene_node(&s, "a", "cpu=4", "nvidia.com/gpu.present=true"),
				       table));
	assert_false(device_nodes_lacks(
		scene_node(&s, "b", "cpu=4 " GPU "=1", "nvidia.com/gpu.present=true"), table));
	assert_false(device_nodes_lacks(scene_node(&s, "c", "cpu=4", "zone=a"), table));
	assert_false(
		device_nodes_lacks(scene_node(&s, "d", "", "nvidia.com/gpu.present=true"), table));
	arena_done(&s.arena);
}

/* A product with a quote in it is not part of the selector. */
static void test_stocks(void **state)
{
	struct arena arena = ARENA_INIT;
	const struct device_free *free = judged(&arena);
	size_t count;
	const struct device_stock *stocks = device_nodes_stocks(free, &arena, &count);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(stocks[0].type, "gpu");
	assert_string_equal(stocks[0].product, "H100");
	assert_int_equal(stocks[0].count.total, 3);
	assert_int_equal(stocks[0].count.claimed, 2);
	assert_int_equal(stocks[0].count.tainted, 1);
	assert_int_equal(stocks[0].count.free, 0);
	assert_string_equal(stocks[1].type, "mig 1g.10gb");
	assert_int_equal(stocks[1].count.free, 1);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_pods),
		cmocka_unit_test(test_lacks),
		cmocka_unit_test(test_stocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
