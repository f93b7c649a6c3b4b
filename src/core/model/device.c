#include "core/model/device.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/resources.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* Sources: the documentation of the device plugins (NVIDIA k8s-device-plugin, ROCm, Intel, Gaudi,
 * AWS Neuron, GKE, Alibaba gpushare, Volcano vGPU, HAMi, Huawei, Cambricon, Hygon, Iluvatar,
 * Kunlunxin, Tencent gpu-manager); for drivers and DeviceClasses kubernetes-sigs/dra-driver-nvidia-gpu,
 * ROCm/k8s-gpu-dra-driver, intel/intel-resource-drivers-for-kubernetes,
 * kubernetes-sigs/dra-driver-google-tpu, aws-neuron/aws-neuron-sdk. */
#define NO_DRIVER "", "", "", 0

static const struct device_row builtin_rows[] = {
	{ "nvidia.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "NVIDIA", "gpu.nvidia.com",
	  "gpu", "gpu.nvidia.com", 0 },
	{ "nvidia.com/gpu.shared", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "NVIDIA", NO_DRIVER },
	{ "nvidia.com/mig-*", DEVICE_GPU, DEVICE_SLICE, 0, "", "", "GPU", "NVIDIA",
	  "gpu.nvidia.com", "mig", "mig.nvidia.com", 0 },
	{ "nvidia.com/gpumem", DEVICE_GPU, DEVICE_QUALIFIER, MIB, "", "", "", "HAMi", NO_DRIVER },
	{ "nvidia.com/gpumem-percentage", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "HAMi",
	  NO_DRIVER },
	{ "nvidia.com/gpucores", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "HAMi", NO_DRIVER },
	{ "alpha.kubernetes.io/nvidia-gpu", DEVICE_GPU, DEVICE_WHOLE, 0, "", "nvidia.com/gpu",
	  "GPU", "NVIDIA", NO_DRIVER },
	{ "amd.com/gpu", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "AMD", "gpu.amd.com", "",
	  "gpu.amd.com", 0 },
	{ "gpu.intel.com/i915", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "Intel", NO_DRIVER },
	{ "gpu.intel.com/xe", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "Intel", "gpu.intel.com",
	  "", "gpu.intel.com", 0 },
	{ "gpu.intel.com/i915_monitoring", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "Intel",
	  NO_DRIVER },
	{ "gpu.intel.com/xe_monitoring", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "Intel",
	  NO_DRIVER },
	{ "habana.ai/gaudi", DEVICE_HPU, DEVICE_WHOLE, 0, "", "", "HPU", "Intel Gaudi", NO_DRIVER },
	{ "aws.amazon.com/neuron", DEVICE_NEURON, DEVICE_WHOLE, 0, "", "", "neuron_cores", "AWS",
	  "neuron.aws.com", "", "neuron.aws.com", 0 },
	{ "aws.amazon.com/neuroncore", DEVICE_NEURON, DEVICE_SLICE, 0, "", "", "neuron_cores",
	  "AWS", NO_DRIVER },
	{ "aws.amazon.com/neurondevice", DEVICE_NEURON, DEVICE_WHOLE, 0, "",
	  "aws.amazon.com/neuron", "neuron_cores", "AWS", NO_DRIVER },
	{ "google.com/tpu", DEVICE_TPU, DEVICE_WHOLE, 0, "", "", "TPU", "Google", "tpu.google.com",
	  "", "tpu.google.com", 0 },
	{ "aliyun.com/gpu-mem", DEVICE_GPU, DEVICE_MEMORY, GIB, "aliyun.com/gpu-count", "", "GPU",
	  "Alibaba gpushare", NO_DRIVER },
	{ "aliyun.com/gpu-count", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "Alibaba gpushare",
	  NO_DRIVER },
	/* Annotations of the Pod, not resources of a container: codec/objects/gpu_annotation. */
	{ "gpu-fraction", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "KAI, Run:ai", NO_DRIVER },
	{ "gpu-memory", DEVICE_GPU, DEVICE_MEMORY, MIB, "", "", "GPU", "KAI, Run:ai", NO_DRIVER },
	{ "volcano.sh/vgpu-number", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "Volcano",
	  NO_DRIVER },
	{ "volcano.sh/vgpu-memory", DEVICE_GPU, DEVICE_QUALIFIER, MIB, "", "", "", "Volcano",
	  NO_DRIVER },
	{ "volcano.sh/vgpu-memory-percentage", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "",
	  "Volcano", NO_DRIVER },
	{ "volcano.sh/vgpu-cores", DEVICE_GPU, DEVICE_QUALIFIER, 0, "", "", "", "Volcano",
	  NO_DRIVER },
	{ "tencent.com/vcuda-core", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "Tencent", "", "",
	  "", 100 },
	{ "tencent.com/vcuda-memory", DEVICE_GPU, DEVICE_QUALIFIER, 256 * MIB, "", "", "",
	  "Tencent", NO_DRIVER },
	{ "microsoft.com/directx", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "Microsoft",
	  NO_DRIVER },
	{ "huawei.com/Ascend*", DEVICE_NPU, DEVICE_WHOLE, 0, "", "", "NPU", "Huawei", NO_DRIVER },
	{ "cambricon.com/vmlu", DEVICE_NPU, DEVICE_TURN, 0, "", "", "NPU", "Cambricon", NO_DRIVER },
	{ "hygon.com/dcunum", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "Hygon", NO_DRIVER },
	{ "iluvatar.ai/*", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "Iluvatar", NO_DRIVER },
	{ "kunlunxin.com/xpu", DEVICE_GPU, DEVICE_WHOLE, 0, "", "", "GPU", "Kunlunxin", NO_DRIVER },
	{ "metax-tech.com/sgpu", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "MetaX", NO_DRIVER },
	{ "mthreads.com/vgpu", DEVICE_GPU, DEVICE_TURN, 0, "", "", "GPU", "Moore Threads",
	  NO_DRIVER },
};

static const struct device_row any_gpu = { "*gpu", DEVICE_GPU, DEVICE_WHOLE, 0,        "",
					   "",     "GPU",      "",           NO_DRIVER };

const struct device_table *device_table_builtin(void)
{
	static const struct device_table table = { builtin_rows,
						   sizeof(builtin_rows) / sizeof(builtin_rows[0]),
						   NULL };
	return &table;
}

/* Ray's own accelerator resources (ray 2.60, _private/accelerators). */
static const char *const ray_names[] = {
	"GPU", "TPU", "neuron_cores", "NPU", "HPU", "RBLN", "FPGA"
};

struct device_table device_table_own(const struct device_table *table)
{
	size_t built_in = sizeof(builtin_rows) / sizeof(builtin_rows[0]);

	if (table->count <= built_in)
		return (struct device_table){ .rows = NULL };
	return (struct device_table){ .rows = table->rows + built_in,
				      .count = table->count - built_in };
}

static int compare_strings(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static struct strings unique(const char **names, size_t count)
{
	size_t kept = 0;

	qsort(names, count, sizeof(*names), compare_strings);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	return (struct strings){ names, kept };
}

struct strings device_ray_names(const struct device_table *table, const struct strings *more,
				struct arena *arena)
{
	size_t own = sizeof(ray_names) / sizeof(ray_names[0]), count = 0;
	struct device_table added = device_table_own(table);
	const char **names = arena_array(arena, own + added.count + more->count, sizeof(*names));

	for (size_t i = 0; i < own; i++)
		names[count++] = ray_names[i];
	for (size_t i = 0; i < added.count; i++)
		if (added.rows[i].ray_resource[0] != '\0')
			names[count++] = added.rows[i].ray_resource;
	for (size_t i = 0; i < more->count; i++)
		names[count++] = more->at[i];
	return unique(names, count);
}

static bool ends_with_gpu(const char *name)
{
	size_t size = strlen(name);
	return size >= 3 && strcmp(name + size - 3, "gpu") == 0;
}

/* Rank of a match: 0 none, a prefix by its length, the full name highest. */
static size_t fit(const char *pattern, const char *resource)
{
	size_t size = 0;

	while (pattern[size] != '\0' && pattern[size] == resource[size])
		size++;
	if (pattern[size] == '*' && pattern[size + 1] == '\0')
		return size + 1;
	return pattern[size] == resource[size] ? SIZE_MAX : 0;
}

const struct device_row *device_find(const struct device_table *table, const char *resource)
{
	const struct device_row *found = ends_with_gpu(resource) ? &any_gpu : NULL;
	size_t best = 0;
	for (size_t i = 0; i < table->count; i++) {
		size_t fits = fit(table->rows[i].resource, resource);
		if (fits > 0 && fits >= best) {
			best = fits;
			found = &table->rows[i];
		}
	}
	return found && found->kind == DEVICE_NONE ? NULL : found;
}

const struct device_row *device_of_class(const struct device_table *table, const char *name)
{
	const struct device_row *found = NULL;

	if (*name == '\0')
		return NULL;
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->rows[i].device_class, name) == 0)
			found = &table->rows[i];
	return found && found->kind == DEVICE_NONE ? NULL : found;
}

/* Rank of a row for a type: 0 none, the same type highest. A driver's first row is that of whole
 * devices. */
static int type_rank(const struct device_row *row, const char *type)
{
	if (strcmp(row->device_type, type) == 0)
		return 3;
	if (*row->device_type == '\0')
		return 2;
	return *type == '\0' ? 1 : 0;
}

const struct device_row *device_of_driver(const struct device_table *table, const char *driver,
					  const char *type)
{
	const struct device_row *found = NULL;
	int best = 0;

	if (*driver == '\0')
		return NULL;
	for (size_t i = 0; i < table->count; i++) {
		const struct device_row *row = &table->rows[i];
		int rank = strcmp(row->driver, driver) == 0 ? type_rank(row, type) : 0;

		if (rank > best || (rank > 1 && rank == best)) {
			best = rank;
			found = row;
		}
	}
	return found && found->kind == DEVICE_NONE ? NULL : found;
}

const char *device_detected_resource(const struct device_row *row)
{
	bool counted = row->kind == DEVICE_GPU && strcmp(row->vendor, "Intel") != 0;

	return counted || row->kind == DEVICE_TPU ? row->ray_resource : NULL;
}

/* nvidia.com/mig-1g.5gb, not the .me variants. KubeRay's expression is bound to the end of the name
 * alone. */
static bool is_mig(const char *name)
{
	static const char prefix[] = "nvidia.com/mig-";
	const char *at = NULL, *next = name;
	while ((next = strstr(next, prefix)) != NULL)
		at = next += sizeof(prefix) - 1;
	if (!at)
		return false;
	size_t slices = strspn(at, "0123456789");
	if (slices == 0 || strncmp(at + slices, "g.", 2) != 0)
		return false;
	at += slices + 2;
	size_t memory = strspn(at, "0123456789");
	return memory > 0 && strcmp(at + memory, "gb") == 0;
}

const char *device_ray_resource(const char *resource)
{
	if (ends_with_gpu(resource) || is_mig(resource))
		return "GPU";
	if (strcmp(resource, "aws.amazon.com/neuroncore") == 0)
		return "neuron_cores";
	if (strcmp(resource, "google.com/tpu") == 0)
		return "TPU";
	return NULL;
}

const char *device_found_resource(const char *resource)
{
	if (ends_with_gpu(resource))
		return "GPU";
	return strcmp(resource, "google.com/tpu") == 0 ? "TPU" : NULL;
}

int64_t device_count(const struct device_row *row, int64_t amount)
{
	int64_t whole = RESOURCE_UNIT * (row->parts > 0 ? row->parts : 1);

	return row->share == DEVICE_MEMORY ? 1 : amount / whole + (amount % whole > 0);
}

const char *device_kind_name(enum device_kind kind)
{
	static const char *const names[] = { "", "GPU", "Neuron", "TPU", "HPU", "NPU" };
	return names[kind];
}

const char *device_share_name(enum device_share share)
{
	static const char *const names[] = { "whole", "slice", "turn", "memory", "qualifier" };
	return names[share];
}
