/* The resources that one worker adds to Ray, for every family of resource names and every place
 * that can name an amount. The `ray start` of each row is the command that KubeRay 1.7 makes (its
 * generateRayStartCommand and updateRayStartParamsResources, run on the row); rows where Ray itself
 * detects a resource that KubeRay does not pass are marked. */

#include "core/capacity/capacity.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define ITEMS_MAX 8

struct lists {
	struct quantity quantities[4][ITEMS_MAX];
	struct label labels[2][ITEMS_MAX];
	size_t used;
};

struct row {
	const char *what;
	const char *ray_start; /* of KubeRay, for the reader */
	const char *counts;    /* that we count */
	const char *params;    /* "num-gpus=2 resources='{"x": 1}'", separated by ";" */
	const char *own;       /* the group's resources, "GPU=1 CPU=4" */
	const char *limits, *requests;
};

/* "1.5" in 1/10000. */
static int64_t parse_amount(const char *text)
{
	int64_t amount = 0, scale = RESOURCE_UNIT;
	bool fraction = false;

	for (; *text != '\0'; text++) {
		if (*text == '.') {
			fraction = true;
			continue;
		}
		amount = amount * 10 + (*text - '0');
		if (fraction)
			scale /= 10;
	}
	return amount * scale;
}

/* Cuts the next "name=value" off a list; NULL at its end. */
static char *next_item(char **list, const char *separator, char **ret_value)
{
	char *item = *list && **list != '\0' ? strsep(list, separator) : NULL;

	if (!item)
		return NULL;
	*ret_value = strchr(item, '=');
	assert_non_null(*ret_value);
	*(*ret_value)++ = '\0';
	return item;
}

static struct quantities make_quantities(struct arena *arena, const char *text,
					 struct quantity *items)
{
	char *rest = arena_strdup(arena, text ? text : ""), *name, *value;
	size_t count = 0;

	while ((name = next_item(&rest, " ", &value))) {
		assert_true(count < ITEMS_MAX);
		items[count++] = (struct quantity){
			.name = name, .text = value, .amount = parse_amount(value), .valid = true
		};
	}
	return (struct quantities){ .at = items, .count = count };
}

static struct labels make_labels(struct arena *arena, const char *text, struct label *items)
{
	char *rest = arena_strdup(arena, text ? text : ""), *name, *value;
	size_t count = 0;

	while ((name = next_item(&rest, ";", &value)))
		items[count++] = (struct label){ .key = name, .value = value };
	return (struct labels){ .at = items, .count = count };
}

static void make_capacity(const struct row *row, const struct device_table *table,
			  struct arena *arena, struct capacity *ret_capacity)
{
	struct lists *lists = ARENA_NEW(arena, struct lists);
	struct container *container = ARENA_NEW(arena, struct container);
	struct worker_group *group = ARENA_NEW(arena, struct worker_group);
	struct ray_cluster cluster = { .groups = group, .group_count = 1 };
	struct settings settings;

	settings_init(&settings);
	container->limits = make_quantities(arena, row->limits, lists->quantities[0]);
	container->requests = make_quantities(arena, row->requests, lists->quantities[1]);
	group->name = "workers";
	group->resources = make_quantities(arena, row->own, lists->quantities[2]);
	group->ray_start_params = make_labels(arena, row->params, lists->labels[0]);
	group->template.spec.containers = container;
	group->template.spec.container_count = 1;
	capacity_of_group(&cluster, 0, &settings, table, arena, ret_capacity);
}

static const char *print(const struct resources *resources, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < resources->count; i++) {
		const struct resource *one = &resources->at[i];
		const char *rest = one->amount % RESOURCE_UNIT == 5000 ? ".5" : "";

		if (strcmp(one->name, "CPU") == 0)
			continue;
		text = arena_printf(arena, "%s%s%s=%lld%s", text, *text != '\0' ? " " : "",
				    one->name, (long long)(one->amount / RESOURCE_UNIT), rest);
	}
	return text;
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct row row = rows[i];
		struct capacity capacity;
		const char *counts;

		if (!row.limits)
			row.limits = "cpu=1";
		make_capacity(&row, device_table_builtin(), &arena, &capacity);
		counts = print(&capacity.resources, &arena);
		if (strcmp(counts, row.counts) != 0)
			fail_msg("%s: counts \"%s\", not \"%s\" (%s)", row.what, counts, row.counts,
				 row.ray_start);
	}
}

#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof((rows)[0]))

/* limits: {cpu: 1, NAME: 2} */
static const struct row name_rows[] = {
#define NAMED(name, ray_start, counts)                                                             \
	{                                                                                          \
		name, ray_start, counts, .limits = "cpu=1 " name "=2"                              \
	}
	NAMED("nvidia.com/gpu", "--num-gpus=2", "GPU=2"),
	NAMED("nvidia.com/gpu.shared", "", ""),
	NAMED("nvidia.com/mig-1g.5gb", "--num-gpus=2", "GPU=2"),
	NAMED("nvidia.com/mig-10g.80gb", "--num-gpus=2", "GPU=2"),
	NAMED("x.nvidia.com/mig-1g.5gb", "--num-gpus=2", "GPU=2"),
	NAMED("nvidia.com/mig-1g.5gb.me", "", ""),
	NAMED("nvidia.com/mig-1g.10gb.shared", "", ""),
	NAMED("amd.com/gpu", "--num-gpus=2", "GPU=2"),
	NAMED("gpu.intel.com/i915", "", ""),
	NAMED("gpu.intel.com/xe", "", ""),
	NAMED("gpu.intel.com/i915_monitoring", "", ""),
	NAMED("habana.ai/gaudi", "", ""),
	NAMED("aws.amazon.com/neuron", "", ""),
	NAMED("aws.amazon.com/neuroncore", "--resources='{\"neuron_cores\":2}'", "neuron_cores=2"),
	NAMED("aws.amazon.com/neurondevice", "", ""),
	NAMED("google.com/tpu", "--resources='{\"TPU\":2}'", "TPU=2"),
	NAMED("aliyun.com/gpu-mem", "", ""),
	NAMED("aliyun.com/gpu-count", "", ""),
	NAMED("volcano.sh/vgpu-number", "", ""),
	NAMED("volcano.sh/vgpu-memory", "", ""),
	NAMED("nvidia.com/gpumem", "", ""),
	NAMED("nvidia.com/gpucores", "", ""),
	NAMED("alpha.kubernetes.io/nvidia-gpu", "--num-gpus=2", "GPU=2"),
	NAMED("huawei.com/Ascend910", "", ""),
	NAMED("cambricon.com/vmlu", "", ""),
	NAMED("hygon.com/dcunum", "", ""),
	NAMED("metax-tech.com/gpu", "--num-gpus=2", "GPU=2"),
	NAMED("metax-tech.com/sgpu", "--num-gpus=2", "GPU=2"),
	NAMED("mthreads.com/vgpu", "--num-gpus=2", "GPU=2"),
	NAMED("birentech.com/gpu", "--num-gpus=2", "GPU=2"),
	NAMED("iluvatar.ai/vcuda-core", "", ""),
	NAMED("iluvatar.ai/gpu", "--num-gpus=2", "GPU=2"),
	NAMED("kunlunxin.com/xpu", "", ""),
	NAMED("tencent.com/vcuda-core", "", ""),
	NAMED("tencent.com/vcuda-memory", "", ""),
	NAMED("microsoft.com/directx", "", ""),
#undef NAMED
};

static void each_family_of_names_counts_what_ray_is_declared(void **state)
{
	(void)state;
	CHECK_ROWS(name_rows);
}

#define ESCAPED "resources=\"{\\\"x\\\": 8}\""
#define CUSTOM "resources='{\"x\": 8}'"

static const struct row place_rows[] = {
	{ "limits round up", "--num-gpus=1", "GPU=1", .limits = "cpu=1 nvidia.com/gpu=0.5" },
	{ "the first name that is not 0", "--num-gpus=2", "GPU=2",
	  .limits = "cpu=1 nvidia.com/gpu=2 amd.com/gpu=0" },
	{ "the first name of two", "--num-gpus=3", "GPU=3",
	  .limits = "cpu=1 nvidia.com/gpu=2 amd.com/gpu=3" },
	{ "a whole GPU comes before MIG", "--num-gpus=2", "GPU=2",
	  .limits = "cpu=1 nvidia.com/mig-1g.5gb=3 nvidia.com/gpu=2" },
	{ "A6: num-gpus before limits", "--num-gpus=2", "GPU=2", "num-gpus=2",
	  .limits = "cpu=1 nvidia.com/gpu=4" },
	{ "A6: num-gpus 0", "--num-gpus=0", "GPU=0", "num-gpus=0",
	  .limits = "cpu=1 nvidia.com/gpu=4" },
	{ "A6: num-gpus makes gpu-mem a GPU", "--num-gpus=1", "GPU=1", "num-gpus=1",
	  .limits = "cpu=1 aliyun.com/gpu-mem=8" },
	{ "A6: resources before num-gpus", "--num-gpus=3", "GPU=3", "num-gpus=2", "GPU=3",
	  "cpu=1 nvidia.com/gpu=4", "" },
	{ "resources round up", "--num-gpus=1", "GPU=1", .own = "GPU=0.5",
	  .limits = "cpu=1 nvidia.com/gpu=4" },
	{ "resources 0", "--num-gpus=0", "GPU=0", .own = "GPU=0",
	  .limits = "cpu=1 nvidia.com/gpu=4" },
	{ "resources by a name of Kubernetes, in any case", "--num-gpus=2", "GPU=2",
	  .own = "nvidia.com/MIG-1g.5gb=2" },
	{ "resources declare what Ray is not told", "--resources='{\"HPU\":2}'", "HPU=2",
	  .own = "HPU=2", .limits = "cpu=1 habana.ai/gaudi=2" },
	{ "custom ones replace those of rayStartParams", "--resources='{\"y\":1.5}'", "y=1.5",
	  CUSTOM, "y=1.5" },
	{ "requests alone: Kubernetes refuses the Pod, Ray counts it", "", "GPU=1",
	  .requests = "nvidia.com/gpu=1" },
	{ "MIG in requests alone", "", "", .requests = "nvidia.com/mig-1g.5gb=1" },
	{ "one custom accelerator, the first by name", "--resources='{\"neuron_cores\":2}'",
	  "neuron_cores=2", .limits = "cpu=1 google.com/tpu=4 aws.amazon.com/neuroncore=2" },
	{ "that is not 0", "--resources='{\"TPU\":4}'", "TPU=4",
	  .limits = "cpu=1 google.com/tpu=4 aws.amazon.com/neuroncore=0" },
	{ "beside GPUs", "--num-gpus=4 --resources='{\"neuron_cores\":2}'", "GPU=4 neuron_cores=2",
	  .limits = "cpu=1 nvidia.com/gpu=4 aws.amazon.com/neuroncore=2" },
	{ "none beside a declared one", "--resources='{\"TPU\": 8}'", "TPU=8",
	  "resources='{\"TPU\": 8}'", .limits = "cpu=1 aws.amazon.com/neuroncore=2" },
	{ "none beside a declared 0", "--resources='{\"TPU\":0}'", "TPU=0", .own = "TPU=0",
	  .limits = "cpu=1 aws.amazon.com/neuroncore=2" },
	{ "beside another declared one", "--resources='{\"neuron_cores\":2,\"x\":8}'",
	  "neuron_cores=2 x=8", CUSTOM, .limits = "cpu=1 aws.amazon.com/neuroncore=2" },
	{ "beside another of the group", "--resources='{\"neuron_cores\":2,\"x\":8}'",
	  "neuron_cores=2 x=8", .own = "x=8", .limits = "cpu=1 aws.amazon.com/neuroncore=2" },
};

static void each_place_counts_in_its_order(void **state)
{
	(void)state;
	CHECK_ROWS(place_rows);
}

/* KubeRay cannot read them, and gives up on every limit. Ray finds whole GPUs and TPUs by itself. */
static const struct row escaped_rows[] = {
	{ "GPUs", "--resources=\"{\\\"x\\\": 8}\"", "GPU=2 x=8", ESCAPED,
	  .limits = "cpu=1 nvidia.com/gpu=2" },
	{ "TPUs", "--resources=\"{\\\"x\\\": 8}\"", "TPU=2 x=8", ESCAPED,
	  .limits = "cpu=1 google.com/tpu=2" },
	{ "MIG", "--resources=\"{\\\"x\\\": 8}\"", "x=8", ESCAPED,
	  .limits = "cpu=1 nvidia.com/mig-1g.5gb=2", .requests = "nvidia.com/mig-1g.5gb=2" },
	{ "Neuron", "--resources=\"{\\\"x\\\": 8}\"", "x=8", ESCAPED,
	  .limits = "cpu=1 aws.amazon.com/neuroncore=2" },
	{ "not with custom ones of the group", "--num-gpus=2 --resources='{\"y\":1}'", "GPU=2 y=1",
	  ESCAPED, "y=1", "cpu=1 nvidia.com/mig-1g.5gb=2", "" },
	{ "a GPU of the group is told", "--num-gpus=1 --resources=\"{\\\"x\\\": 8}\"", "GPU=1 x=8",
	  ESCAPED, "GPU=1", "cpu=1 nvidia.com/mig-1g.5gb=2", "" },
	{ "num-gpus is told", "--num-gpus=1 --resources=\"{\\\"x\\\": 8}\"", "GPU=1 x=8",
	  "num-gpus=1;" ESCAPED, .limits = "cpu=1 nvidia.com/mig-1g.5gb=2" },
	{ "in double quotes without backslashes", "--num-gpus=2 --resources=\"{\"x\": 8}\"",
	  "GPU=2 x=8", "resources=\"{\"x\": 8}\"", .limits = "cpu=1 nvidia.com/mig-1g.5gb=2" },
};

static void resources_with_backslashes_hide_the_limits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct capacity capacity;

	(void)state;
	CHECK_ROWS(escaped_rows);
	make_capacity(&escaped_rows[2], device_table_builtin(), &arena, &capacity);
	assert_int_equal(capacity.warnings.count, 1);
	assert_non_null(strstr(capacity.warnings.at[0], "does not declare nvidia.com/mig-1g.5gb"));
	assert_true(capacity.accelerator);
	make_capacity(&escaped_rows[0], device_table_builtin(), &arena, &capacity);
	assert_int_equal(capacity.warnings.count, 0);
}

static const struct {
	const char *limits, *resource;
	enum device_kind kind;
	enum device_share share;
	int64_t devices;
	const char *ray_resource; /* NULL: nothing */
} model_rows[] = {
	{ "cpu=1", "", DEVICE_NONE, DEVICE_WHOLE, 0, NULL },
	{ "nvidia.com/gpu=4", "nvidia.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 4, "GPU" },
	{ "nvidia.com/gpu=0", "", DEVICE_NONE, DEVICE_WHOLE, 0, NULL },
	{ "nvidia.com/gpu.shared=2", "nvidia.com/gpu.shared", DEVICE_GPU, DEVICE_TURN, 2, NULL },
	{ "nvidia.com/mig-1g.5gb=7", "nvidia.com/mig-1g.5gb", DEVICE_GPU, DEVICE_SLICE, 7, "GPU" },
	{ "nvidia.com/mig-3g.40gb.me=1", "nvidia.com/mig-3g.40gb.me", DEVICE_GPU, DEVICE_SLICE, 1,
	  NULL },
	{ "amd.com/gpu=8", "amd.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 8, "GPU" },
	{ "gpu.intel.com/i915=1", "gpu.intel.com/i915", DEVICE_GPU, DEVICE_WHOLE, 1, NULL },
	{ "habana.ai/gaudi=8", "habana.ai/gaudi", DEVICE_HPU, DEVICE_WHOLE, 8, NULL },
	{ "aws.amazon.com/neuron=1 aws.amazon.com/neuroncore=2", "aws.amazon.com/neuroncore",
	  DEVICE_NEURON, DEVICE_SLICE, 2, "neuron_cores" },
	{ "google.com/tpu=4", "google.com/tpu", DEVICE_TPU, DEVICE_WHOLE, 4, "TPU" },
	{ "aliyun.com/gpu-mem=10 aliyun.com/gpu-count=2", "aliyun.com/gpu-mem", DEVICE_GPU,
	  DEVICE_MEMORY, 1, NULL },
	{ "volcano.sh/vgpu-number=2 volcano.sh/vgpu-memory=4096", "volcano.sh/vgpu-number",
	  DEVICE_GPU, DEVICE_TURN, 2, NULL },
	{ "nvidia.com/gpu=1 nvidia.com/gpumem=3000 nvidia.com/gpucores=30", "nvidia.com/gpu",
	  DEVICE_GPU, DEVICE_WHOLE, 1, "GPU" },
	{ "tencent.com/vcuda-core=150 tencent.com/vcuda-memory=20", "tencent.com/vcuda-core",
	  DEVICE_GPU, DEVICE_TURN, 2, NULL },
	{ "huawei.com/Ascend910=8", "huawei.com/Ascend910", DEVICE_NPU, DEVICE_WHOLE, 8, NULL },
	{ "birentech.com/gpu=1", "birentech.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 1, "GPU" },
};

static void the_device_model_of_a_worker(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(model_rows) / sizeof(model_rows[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		const struct row row = { .limits = model_rows[i].limits };
		struct capacity capacity;
		const struct device_model *model = &capacity.device;

		make_capacity(&row, device_table_builtin(), &arena, &capacity);
		assert_string_equal(model->resource, model_rows[i].resource);
		assert_int_equal(model->kind, model_rows[i].kind);
		assert_int_equal(model->share, model_rows[i].share);
		assert_int_equal(model->devices, model_rows[i].devices);
		assert_int_equal(capacity.accelerator, model->row != NULL);
		for (size_t h = 0; h < model->held_count; h++)
			if (model->held[h].row == model->row && model_rows[i].ray_resource)
				assert_string_equal(model->held[h].ray_resource,
						    model_rows[i].ray_resource);
			else
				assert_null(model->held[h].ray_resource);
	}
}

/* A row of a user makes a name an accelerator, which CPU demand then spares; it does not make Ray count
 * it. A row of kind none takes one away. */
static void a_table_adds_and_replaces_rows(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct device_row rows[] = {
		{ "nvidia.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "NVIDIA" },
		{ "example.com/card", DEVICE_NPU, DEVICE_WHOLE, 0, "", "", "CARD", "Example" },
		{ "example.com/card-*", DEVICE_NPU, DEVICE_SLICE, 0, "", "", "CARD", "Example" },
		{ "nvidia.com/gpu", DEVICE_NONE, DEVICE_WHOLE, 0, "", "", "", "" },
	};
	const struct device_table table = { rows, 4 };
	struct row row = { .limits = "cpu=1 example.com/card=1" };
	struct capacity capacity;

	(void)state;
	make_capacity(&row, device_table_builtin(), &arena, &capacity);
	assert_false(capacity.accelerator);
	make_capacity(&row, &table, &arena, &capacity);
	assert_true(capacity.accelerator);
	assert_string_equal(print(&capacity.resources, &arena), "");
	assert_int_equal(capacity.device.kind, DEVICE_NPU);
	assert_int_equal(device_find(&table, "example.com/card-half")->share, DEVICE_SLICE);
	assert_null(device_find(&table, "nvidia.com/gpu"));
	row.limits = "cpu=1 nvidia.com/gpu=1";
	make_capacity(&row, &table, &arena, &capacity);
	assert_string_equal(print(&capacity.resources, &arena), "GPU=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_family_of_names_counts_what_ray_is_declared),
		cmocka_unit_test(each_place_counts_in_its_order),
		cmocka_unit_test(resources_with_backslashes_hide_the_limits),
		cmocka_unit_test(the_device_model_of_a_worker),
		cmocka_unit_test(a_table_adds_and_replaces_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
