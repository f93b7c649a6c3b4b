#include "feature/record/core/ray_work.h"

#include <string.h>

const struct field work_bundle_fields[] = {
	FIELD_RESOURCES(struct work_bundle, resources, "resources"),
	FIELD_LABELS(struct work_bundle, selector, "labelSelector"),
	FIELD_END,
};

void work_bundle_add_key(const struct work_bundle *bundle, struct buf *key)
{
	for (size_t i = 0; i < bundle->resources.count; i++)
		buf_printf(key, "%zu:%s=%lld ", strlen(bundle->resources.at[i].name),
			   bundle->resources.at[i].name, (long long)bundle->resources.at[i].amount);
	for (size_t i = 0; i < bundle->selector.count; i++)
		buf_printf(key, "%zu:%s=%zu:%s;", strlen(bundle->selector.at[i].key),
			   bundle->selector.at[i].key, strlen(bundle->selector.at[i].value),
			   bundle->selector.at[i].value);
	buf_add_char(key, '/');
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

bool ray_work_resource_is_usable(const char *name)
{
	if (*name == '\0' || is_misspelt(name, "GPU") || is_misspelt(name, "CPU"))
		return false;
	for (const char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == '\177')
			return false;
	return strlen(name) <= NAME_BYTES_MAX;
}
