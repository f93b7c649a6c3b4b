#include "codec/objects/gpu_annotation.h"

#include "codec/text/quantity.h"

struct quantities gpu_annotation_decode(const struct labels *annotations, struct arena *arena)
{
	static const char *const names[] = { "gpu-fraction", "gpu-memory" };
	VEC(struct quantity) found = { .at = NULL };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct quantity quantity = { .name = names[i], .valid = true };
		const char *problem;

		quantity.text = labels_value(annotations, names[i]);
		if (quantity.text && !quantity_parse(quantity.text, &quantity.amount, &problem) &&
		    quantity.amount > 0)
			VEC_PUSH(arena, &found, quantity);
	}
	return (struct quantities){ found.at, found.count };
}
