/* The attributes of a device that CEL selectors ask for, recognised in their text as drivers'
 * documents write them: `device.driver == 'gpu.nvidia.com'`, and
 * `device.attributes['gpu.nvidia.com'].type == 'mig'`. Pure; results live in the arena. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_SELECTOR_TEXT_H
#define FEATURE_DEVICE_CLAIMS_CORE_SELECTOR_TEXT_H

#include "base/arena.h"
#include "core/model/device.h"

#define SELECTOR_SHORT_MAX 100

struct wanted_device {
	const char *driver; /* of a row of the table that a selector names; "": none */
	const char *type, *profile, *product; /* "": any */
};

/* Adds what one selector asks for. */
void selector_text_read(const char *text, const struct device_table *table, struct arena *arena,
			struct wanted_device *wanted);
/* The selector in short, for messages: "memory >= 80Gi and architecture == Hopper", at most
 * SELECTOR_SHORT_MAX bytes. */
const char *selector_text_short(const char *text, struct arena *arena);

#endif
