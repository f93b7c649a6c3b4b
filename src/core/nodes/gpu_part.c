#include "core/nodes/gpu_part.h"

#include <string.h>

#include "base/text.h"

#define FRACTION "gpu-fraction"
#define MEMORY "gpu-memory"
/* Of one GPU, in MiB; far above every device. */
#define MEMORY_MOST (INT64_C(1) << 24)

const char *const gpu_part_names[GPU_PART_AMOUNTS] = { FRACTION, MEMORY };

bool gpu_part_is(const char *resource)
{
	return strcmp(resource, FRACTION) == 0 || strcmp(resource, MEMORY) == 0;
}

/* MiB of one GPU; 0: unknown. */
static int64_t memory_of(const struct node *node)
{
	const char *text = labels_value(&node->labels, "nvidia.com/gpu.memory");
	int64_t value = 0;

	for (; text && text_is_digit(*text) && value <= MEMORY_MOST; text++)
		value = 10 * value + (*text - '0');
	return text && *text == '\0' && value <= MEMORY_MOST ? value : 0;
}

static int64_t times(int64_t amount, int64_t factor)
{
	return amount > RESOURCE_AMOUNT_MAX / factor ? RESOURCE_AMOUNT_MAX : amount * factor;
}

void gpu_part_totals(const struct node *node, int64_t ret_totals[GPU_PART_AMOUNTS])
{
	const struct quantity *gpus = quantities_find(&node->allocatable, GPU_PART_WHOLE);
	int64_t whole = gpus && gpus->amount > 0 ? gpus->amount : 0, memory = memory_of(node);

	ret_totals[0] = whole;
	ret_totals[1] = memory > 0 ? times(whole, memory) : 0;
}

void gpu_part_used(const struct node *node, const struct pod *pod, const struct resources *request,
		   int64_t ret_used[GPU_PART_AMOUNTS])
{
	int64_t memory, whole = 0, fraction = 0, part = 0;

	/* One walk: each Pod of a fleet is counted. */
	for (size_t i = 0; i < request->count; i++) {
		const struct resource *asked = &request->at[i];

		if (strcmp(asked->name, GPU_PART_WHOLE) == 0)
			whole = asked->amount;
		else if (strcmp(asked->name, FRACTION) == 0)
			fraction = asked->amount;
		else if (strcmp(asked->name, MEMORY) == 0)
			part = asked->amount;
	}
	ret_used[0] = ret_used[1] = 0;
	if (whole > 0 && labels_value(&pod->labels, GPU_PART_GROUP))
		whole = 0;
	if (whole == 0 && fraction == 0 && part == 0)
		return;
	memory = memory_of(node);
	ret_used[0] = resource_sum(whole, memory > 0 ? part / memory : 0);
	ret_used[1] = memory > 0 ? times(resource_sum(whole, fraction), memory) : 0;
}
