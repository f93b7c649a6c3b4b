#include "core/model/claimed.h"

#include <string.h>

#include "base/sort.h"
#include "core/model/kubernetes.h"

/* An object of a file may have no namespace. */
static const char *namespace_of(const char *name)
{
	return *name == '\0' ? "default" : name;
}

static int compare_claims(const void *left, const void *right)
{
	const struct claimed_request *a = left, *b = right;
	int order = strcmp(namespace_of(a->namespace_), namespace_of(b->namespace_));

	if (order == 0)
		order = (int)a->is_template - (int)b->is_template;
	return order != 0 ? order : strcmp(a->claim, b->claim);
}

int claimed_compare(const void *left, const void *right)
{
	const struct claimed_request *a = left, *b = right;
	int order = compare_claims(a, b);

	if (order == 0)
		order = strcmp(a->request, b->request);
	return order != 0 ? order : strcmp(a->charge.resource, b->charge.resource);
}

int claimed_class_compare(const void *left, const void *right)
{
	const struct claimed_class *a = left, *b = right;

	return strcmp(a->name, b->name);
}

const struct claimed_request *claimed_find(const struct claimed_index *index,
					   const char *namespace_, const char *claim,
					   bool is_template, size_t *ret_count)
{
	const struct claimed_request wanted = { .namespace_ = namespace_,
						.claim = claim,
						.is_template = is_template };
	const struct claimed_request *found =
		SORT_FIND(&wanted, index->at, index->count, compare_claims);
	const struct claimed_request *end = found;

	while (end && end < index->at + index->count && compare_claims(&wanted, end) == 0)
		end++;
	*ret_count = (size_t)(end - found);
	return found;
}

const struct claimed_class *claimed_class_find(const struct claimed_index *index, const char *name)
{
	const struct claimed_class wanted = { .name = name };

	return SORT_FIND(&wanted, index->classes, index->class_count, claimed_class_compare);
}

static bool spec_uses(const struct pod_spec *spec)
{
	for (size_t c = 0; c < spec->container_count; c++)
		for (size_t i = 0; i < spec->containers[c].limits.count; i++)
			if (strncmp(spec->containers[c].limits.at[i].name,
				    DEVICE_CLASS_RESOURCE_PREFIX,
				    strlen(DEVICE_CLASS_RESOURCE_PREFIX)) == 0)
				return true;
	return spec->claim_count > 0;
}

bool claimed_by_cluster(const struct ray_cluster *cluster)
{
	for (size_t g = 0; g < cluster->group_count; g++)
		if (spec_uses(&cluster->groups[g].template.spec))
			return true;
	return spec_uses(&cluster->head_template.spec);
}
