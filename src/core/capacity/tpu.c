#include "core/capacity/tpu.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"

#define CHIPS_MAX 1000000

static const struct {
	const char *accelerator, *generation;
	int64_t cores_per_chip;
} generations[] = {
	{ "tpu-v4-podslice", "v4", 2 },
	{ "tpu-v5-lite-device", "v5litepod", 1 },
	{ "tpu-v5-lite-podslice", "v5litepod", 1 },
	{ "tpu-v5p-slice", "v5p", 2 },
	{ "tpu-v6e-slice", "v6e", 1 },
	{ "tpu7x", "v7x", 2 },
};

bool tpu_chips(const char *topology, int64_t *ret_chips)
{
	int64_t chips = 1;
	for (const char *at = topology;; at++) {
		int64_t side = 0;
		if (*at < '0' || *at > '9')
			return false;
		for (; text_is_digit(*at); at++) {
			side = side * 10 + (*at - '0');
			if (side > CHIPS_MAX)
				return false;
		}
		chips *= side;
		if (chips > CHIPS_MAX)
			return false;
		if (*at == '\0')
			break;
		if (*at != 'x' && *at != 'X')
			return false;
	}
	CHECK(chips >= 0 && chips <= CHIPS_MAX);
	*ret_chips = chips;
	return true;
}

const char *tpu_type(struct arena *arena, const char *accelerator, const char *topology)
{
	int64_t chips;
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		if (strcmp(generations[i].accelerator, accelerator) != 0)
			continue;
		if (!tpu_chips(topology, &chips))
			return NULL;
		return arena_printf(arena, "%s-%lld", generations[i].generation,
				    (long long)(chips * generations[i].cores_per_chip));
	}
	return NULL;
}
