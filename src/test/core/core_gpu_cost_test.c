/* GPUs of one worker under a GPU quota: whole GPUs, and shares by their fraction. */
#include "core/capacity/gpu_cost.h"

#include "test/support/support.h"

#define UNITS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define LIMITS_MAX 2

struct row {
	const char *what;
	struct quantity limits[LIMITS_MAX]; /* name NULL ends them */
	const char *num_gpus;               /* NULL: not set */
	struct label selector;
	struct quantity beside; /* in a second container */
	int64_t amount;
	bool is_share, is_vague;
};

#define HAS(resource, n)                                                                           \
	{                                                                                          \
		resource, #n, true, UNITS(n)                                                       \
	}
#define MEMORY_16_GIB                                                                              \
	{                                                                                          \
		"nvidia.com/gpu.memory", "16384"                                                   \
	}

static const struct row rows[] = {
	{ "no GPU", { HAS("memory", 8) }, .amount = 0 },
	{ "whole", { HAS("nvidia.com/gpu", 2) }, .amount = UNITS(2) },
	{ "told of fewer", { HAS("nvidia.com/gpu", 8) }, "0", .amount = UNITS(8) },
	{ "told of more", { HAS("nvidia.com/gpu", 1) }, "4", .amount = UNITS(4) },
	{ "told without a device", { HAS("memory", 8) }, "3", .amount = UNITS(3) },
	{ "beside Ray's container",
	  { HAS("nvidia.com/gpu", 1) },
	  .beside = HAS("nvidia.com/gpu", 4),
	  .amount = UNITS(5) },
	{ "no GPU but an NPU", { HAS("huawei.com/Ascend910", 8) }, .amount = 0 },
	{ "MIG of seven", { HAS("nvidia.com/mig-1g.5gb", 1) }, .amount = 1428, .is_share = true },
	{ "MIG, all of seven",
	  { HAS("nvidia.com/mig-1g.5gb", 7) },
	  .amount = 10000,
	  .is_share = true },
	{ "MIG, larger", { HAS("nvidia.com/mig-3g.20gb", 1) }, .amount = 4285, .is_share = true },
	{ "MIG, all in one",
	  { HAS("nvidia.com/mig-7g.80gb", 1) },
	  .amount = 10000,
	  .is_share = true },
	{ "MIG of four", { HAS("nvidia.com/mig-2g.12gb", 1) }, .amount = 5000, .is_share = true },
	{ "MIG with media",
	  { HAS("nvidia.com/mig-1g.5gb.me", 1) },
	  .amount = 1428,
	  .is_share = true },
	{ "MIG and whole ones",
	  { HAS("nvidia.com/mig-1g.5gb", 1), HAS("nvidia.com/gpu", 2) },
	  .amount = UNITS(2) + 1428 },
	{ "no profile",
	  { HAS("nvidia.com/mig-9g.5gb", 1) },
	  .amount = UNITS(1),
	  .is_share = true,
	  .is_vague = true },
	{ "memory of a known device",
	  { HAS("aliyun.com/gpu-mem", 4) },
	  "1",
	  MEMORY_16_GIB,
	  .amount = 2500,
	  .is_share = true },
	{ "memory by the label of ACK",
	  { HAS("aliyun.com/gpu-mem", 8) },
	  "1",
	  { "aliyun.accelerator/nvidia_mem", "16384MiB" },
	  .amount = 5000,
	  .is_share = true },
	{ "more memory than the device has",
	  { HAS("aliyun.com/gpu-mem", 40) },
	  "1",
	  MEMORY_16_GIB,
	  .amount = UNITS(1),
	  .is_share = true },
	{ "memory of a device that nobody names",
	  { HAS("aliyun.com/gpu-mem", 4) },
	  "1",
	  .amount = UNITS(1),
	  .is_share = true,
	  .is_vague = true },
	{ "the same, and Ray is not told",
	  { HAS("aliyun.com/gpu-mem", 4) },
	  .amount = UNITS(1),
	  .is_share = true,
	  .is_vague = true },
	{ "a selector that is no number",
	  { HAS("aliyun.com/gpu-mem", 4) },
	  "1",
	  { "nvidia.com/gpu.memory", "16Gi" },
	  .amount = UNITS(1),
	  .is_share = true,
	  .is_vague = true },
	{ "a turn of four",
	  { HAS("nvidia.com/gpu.shared", 1) },
	  "1",
	  { "nvidia.com/gpu.replicas", "4" },
	  .amount = 2500,
	  .is_share = true },
	{ "a turn of how many",
	  { HAS("nvidia.com/gpu.shared", 2) },
	  .amount = UNITS(2),
	  .is_share = true,
	  .is_vague = true },
	{ "hundredths of a GPU",
	  { HAS("tencent.com/vcuda-core", 30), HAS("tencent.com/vcuda-memory", 20) },
	  "1",
	  .amount = 3000,
	  .is_share = true },
	{ "two GPUs in hundredths",
	  { HAS("tencent.com/vcuda-core", 200) },
	  .amount = UNITS(2),
	  .is_share = true },
	{ "a share beside Ray's container",
	  { HAS("memory", 8) },
	  .beside = HAS("nvidia.com/gpu.shared", 1),
	  .amount = UNITS(1) },
};

static void cost(const struct row *row, struct arena *arena, struct gpu_cost *ret_cost)
{
	const struct label num_gpus = { "num-gpus", row->num_gpus };
	size_t limits = row->limits[1].name ? 2 : 1;
	const struct container containers[] = {
		{ .name = "ray", .image = "", .limits = { row->limits, limits } },
		{ .name = "beside", .image = "", .limits = { &row->beside, 1 } },
	};
	const struct worker_group group = {
		.name = "g",
		.num_of_hosts = 1,
		.ray_start_params = { &num_gpus, row->num_gpus ? 1 : 0 },
		.template = { .spec = { .containers = containers,
					.container_count = row->beside.name ? 2 : 1,
					.node_selector = { &row->selector,
							   row->selector.key ? 1 : 0 } } },
		.scale_gate = "",
	};
	const struct ray_cluster cluster = {
		.namespace_ = "", .name = "", .ray_version = "", .groups = &group, .group_count = 1
	};
	struct capacity capacity = { 0 };
	struct settings settings;

	settings_init(&settings);
	capacity_of_group(&cluster, 0, &settings, device_table_builtin(), arena, &capacity);
	gpu_cost_of(&group.template.spec, &capacity, device_table_builtin(), arena, ret_cost);
}

static void test_rows(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		struct gpu_cost found;

		cost(&rows[i], &arena, &found);
		if (found.amount != rows[i].amount || found.is_share != rows[i].is_share ||
		    found.is_vague != rows[i].is_vague)
			fail_msg("%s: %lld share %d vague %d", rows[i].what,
				 (long long)found.amount, found.is_share, found.is_vague);
	}
	arena_done(&arena);
}

static void test_no_container(void **state)
{
	struct arena arena = ARENA_INIT;
	const struct capacity capacity = { .gpu_amount = UNITS(2) };
	const struct pod_spec spec = { 0 };
	struct gpu_cost found;

	(void)state;
	gpu_cost_of(&spec, &capacity, device_table_builtin(), &arena, &found);
	assert_int_equal(found.amount, UNITS(2));
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
					    cmocka_unit_test(test_no_container) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
