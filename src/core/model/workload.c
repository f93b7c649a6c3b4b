#include "core/model/workload.h"

#include <string.h>

const char *work_kind_name(enum work_kind kind)
{
	static const char *const names[WORK_KINDS] = { "task", "actor", "placement_group",
						       "request_resources" };

	return names[kind];
}

const char *placement_strategy_name(enum placement_strategy strategy)
{
	static const char *const names[PLACEMENT_STRATEGIES] = { "PACK", "SPREAD", "STRICT_PACK",
								 "STRICT_SPREAD" };

	return names[strategy];
}

#define NAME_BYTES_MAX 253

/* "gpu" of "GPU": ASCII letters in another case. */
static bool is_misspelt(const char *name, const char *capitals)
{
	size_t size = strlen(capitals);

	for (size_t i = 0; i < size; i++)
		if ((name[i] & ~0x20) != capitals[i])
			return false;
	return name[size] == '\0' && strcmp(name, capitals) != 0;
}

bool workload_resource_is_usable(const char *name)
{
	if (*name == '\0' || is_misspelt(name, "GPU") || is_misspelt(name, "CPU"))
		return false;
	for (const char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == '\177')
			return false;
	return strlen(name) <= NAME_BYTES_MAX;
}
