/* core/capacity/accelerator_type: Ray's own rule for names, labels of the clouds, and the spec of a
 * Pod. */
#include "core/capacity/accelerator_type.h"

#include <string.h>

#include "test/support/support.h"

static struct arena arena = ARENA_INIT;

/* The results of ray 2.60, _gpu_name_to_accelerator_type (checked with the wheel in e2e). */
static void test_names_as_ray_has_them(void **state)
{
	static const char *const names[][2] = {
		{ "Tesla T4", "T4" },
		{ "Tesla V100-SXM2-16GB", "V100" },
		{ "NVIDIA A100-SXM4-40GB", "A100" },
		{ "NVIDIA A100 80GB PCIe", "A100" },
		{ "NVIDIA H100 80GB HBM3", "H100" },
		{ "NVIDIA L40S", "L40S" },
		{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000" },
		{ "NVIDIA RTX A6000", "RTX-A6000" },
		{ "Quadro RTX 6000", "RTX-6000" },
		{ "NVIDIA GeForce RTX 5090", "GeForce-RTX-5090" },
		{ "NVIDIA TITAN V", "TITAN-V" },
		{ "NVIDIA", "NVIDIA" },
		{ "NVIDIA 4", "4" }, /* one letter is not a model */
		{ "Tesla rtx", "Tesla-rtx" },
		{ "Tesla RTXa 4", "Tesla-RTXa-4" },
		{ "_x T4", "T4" },
		{ "a{b T4", "a{b-T4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(accelerator_type_of_name(names[i][0], &arena), names[i][1]);
	assert_null(accelerator_type_of_name("", &arena));
}

static bool by_selector(const char *key, const char *value, const char *version,
			struct accelerator_type *ret_type)
{
	const struct label labels[] = { { key, value } };
	const struct pod_spec spec = { .node_selector = { labels, 1 } };

	return accelerator_type_of_pod(&spec, version, &arena, ret_type);
}

static void test_labels_of_models(void **state)
{
	static const char *const known[][3] = {
		{ "nvidia.com/gpu.product", "Tesla-T4", "T4" },
		{ "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB", "A100" },
		{ "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100" },
		{ "nvidia.com/gpu.product", "Tesla-T4-SHARED", "T4" },
		{ "aliyun.accelerator/nvidia_name", "NVIDIA-A10", "A10" },
		{ "cloud.google.com/gke-accelerator", "nvidia-h100-mega-80gb", "H100" },
		{ "cloud.google.com/gke-accelerator", "nvidia-tesla-v100", "V100" },
		{ "k8s.amazonaws.com/accelerator", "nvidia-a10g", "A10G" },
		{ "karpenter.k8s.aws/instance-gpu-name", "l40s", "L40S" },
		{ "karpenter.azure.com/sku-gpu-name", "A100", "A100" },
		{ "amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM",
		  "AMD-Instinct-MI300X-OAM" },
		{ "amd.com/gpu.device-id", "74A1", "AMD-Instinct-MI300X-OAM" },
	};
	struct accelerator_type type;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(by_selector(known[i][0], known[i][1], "", &type));
		assert_string_equal(type.type, known[i][2]);
		assert_string_equal(type.vendor, i < 10 ? "NVIDIA" : "AMD");
		assert_string_equal(type.key, known[i][0]);
	}
	assert_false(by_selector("cloud.google.com/gke-accelerator", "nvidia-x9", "", &type));
	assert_false(by_selector("accelerator", "nvidia-tesla-t4", "", &type));
	assert_false(by_selector("amd.com/gpu.product-name", "AMD_Instinct_MI999", "", &type));
	assert_false(by_selector("nvidia.com/gpu.product", "", "", &type));
}

static void test_names_that_changed_need_a_version(void **state)
{
	static const char *const later[] = { "2.60.0", "2.60", "2.61.3", "3.0.0", "10.0" };
	static const char *const earlier[] = {
		"", "2.59.1", "2.6.0", "1.60", "nightly", "2", "-3.1"
	};
	struct accelerator_type type;

	(void)state;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		assert_true(by_selector("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-5090-SHARED",
					later[i], &type));
		assert_string_equal(type.resource, "accelerator_type:GeForce-RTX-5090");
		assert_true(by_selector("cloud.google.com/gke-accelerator", "nvidia-rtx-pro-6000",
					later[i], &type));
	}
	for (size_t i = 0; i < sizeof(earlier) / sizeof(earlier[0]); i++) {
		assert_false(by_selector("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-5090",
					 earlier[i], &type));
		assert_false(by_selector("cloud.google.com/gke-accelerator", "nvidia-rtx-pro-6000",
					 earlier[i], &type));
		assert_true(by_selector("nvidia.com/gpu.product", "Tesla-T4", earlier[i], &type));
	}
}

/* --- affinity --- */

#define PRODUCT "nvidia.com/gpu.product"

static struct node_expression in(const char *const *values, size_t count)
{
	return (struct node_expression){ PRODUCT, "In", { values, count }, false };
}

static void test_affinity_must_leave_one_model(void **state)
{
	static const char *const a100[] = { "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB" };
	static const char *const mixed[] = { "NVIDIA-A100-SXM4-40GB", "Tesla-T4" };
	const struct node_expression one = in(a100, 2), two = in(mixed, 2), t4 = in(&mixed[1], 1);
	struct node_expression not_in = t4, field = t4;
	struct accelerator_type type;
	struct node_term terms[] = { { &one, 1 }, { &one, 1 } };
	struct pod_spec spec = { .required_node_terms = terms, .required_node_term_count = 2 };

	(void)state;
	assert_true(accelerator_type_of_pod(&spec, "", &arena, &type));
	assert_string_equal(type.type, "A100");
	terms[1].expressions = &t4; /* the other model will do as well */
	assert_false(accelerator_type_of_pod(&spec, "", &arena, &type));
	terms[1].count = 0; /* matches no Node */
	assert_true(accelerator_type_of_pod(&spec, "", &arena, &type));
	terms[0].expressions = &two;
	assert_false(accelerator_type_of_pod(&spec, "", &arena, &type));
	not_in.operation = "NotIn";
	terms[0].expressions = &not_in;
	assert_false(accelerator_type_of_pod(&spec, "", &arena, &type));
	field.is_field = true;
	terms[0].expressions = &field;
	assert_false(accelerator_type_of_pod(&spec, "", &arena, &type));
}

static void test_selector_and_affinity_must_agree(void **state)
{
	static const char *const t4[] = { "Tesla-T4" };
	const struct node_expression expression = in(t4, 1);
	const struct node_term term = { &expression, 1 };
	struct label labels[] = { { "cloud.google.com/gke-accelerator", "nvidia-tesla-t4" } };
	struct pod_spec spec = { .node_selector = { labels, 1 },
				 .required_node_terms = &term,
				 .required_node_term_count = 1 };
	struct accelerator_type type;

	(void)state;
	assert_true(accelerator_type_of_pod(&spec, "", &arena, &type));
	assert_string_equal(type.resource, "accelerator_type:T4");
	labels[0].value = "nvidia-l4";
	assert_false(accelerator_type_of_pod(&spec, "", &arena, &type));
}

/* --- groups --- */

static bool of_group(const char *resource, int64_t gpus, struct accelerator_type *ret_type)
{
	struct label labels[] = { { PRODUCT, "Tesla-T4" } };
	const struct worker_group group = { .template = {
						    .spec = { .node_selector = { labels, 1 } } } };
	const struct device_row *row = device_find(device_table_builtin(), resource);
	const struct capacity capacity = {
		.gpu_amount = gpus,
		.device = { .resource = resource,
			    .row = row,
			    .kind = row ? row->kind : DEVICE_NONE },
	};

	return accelerator_type_of_group(&group, &capacity, "", &arena, ret_type);
}

static void test_only_what_ray_finds_by_itself_counts(void **state)
{
	static const char *const found[] = { "nvidia.com/gpu", "nvidia.com/gpu.shared",
					     "nvidia.com/mig-1g.5gb", "aliyun.com/gpu-mem",
					     "volcano.sh/vgpu-number" };
	static const char *const not_found[] = { "amd.com/gpu",        "gpu.intel.com/i915",
						 "google.com/tpu",     "habana.ai/gaudi",
						 "vendor.example/gpu", "cpu" };
	struct accelerator_type type;

	(void)state;
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		assert_true(of_group(found[i], RESOURCE_UNIT, &type));
		assert_false(of_group(found[i], 0, &type));
	}
	for (size_t i = 0; i < sizeof(not_found) / sizeof(not_found[0]); i++)
		assert_false(of_group(not_found[i], RESOURCE_UNIT, &type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_as_ray_has_them),
		cmocka_unit_test(test_labels_of_models),
		cmocka_unit_test(test_names_that_changed_need_a_version),
		cmocka_unit_test(test_affinity_must_leave_one_model),
		cmocka_unit_test(test_selector_and_affinity_must_agree),
		cmocka_unit_test(test_only_what_ray_finds_by_itself_counts),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
