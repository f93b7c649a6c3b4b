#include "codec/objects/gpu_annotation.h"

#include "codec/text/quantity.h"

#define DEVICES_MAX 256

/* KAI: the part is of each of so many GPUs. */
static int64_t devices_of(const struct labels *annotations)
{
	const char *text = labels_value(annotations, "gpu-fraction-num-devices"), *problem;
	int64_t amount;

	if (!text || quantity_parse(text, &amount, &problem) || amount < RESOURCE_UNIT ||
	    amount > DEVICES_MAX * RESOURCE_UNIT)
		return 1;
	return amount / RESOURCE_UNIT;
}

struct quantities gpu_annotation_decode(const struct labels *annotations, struct arena *arena)
{
	static const char *const names[] = { "gpu-fraction", "gpu-memory" };
	VEC(struct quantity) found = { .at = NULL };

	int64_t devices = devices_of(annotations);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct quantity quantity = { .name = names[i], .valid = true };
		const char *problem;

		quantity.text = labels_value(annotations, names[i]);
		if (quantity.text && !quantity_parse(quantity.text, &quantity.amount, &problem) &&
		    quantity.amount > 0 && quantity.amount <= RESOURCE_AMOUNT_MAX / devices) {
			quantity.amount *= devices;
			VEC_PUSH(arena, &found, quantity);
		}
	}
	return (struct quantities){ found.at, found.count };
}
