#include "core/model/claimed.h"

#include <stdlib.h>
#include <string.h>

/* An object of a file may have no namespace. */
static const char *namespace_of(const char *name)
{
	return *name == '\0' ? "default" : name;
}

static int compare_claims(const struct claimed_request *a, const struct claimed_request *b)
{
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
	size_t low = 0, high = index->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_claims(&index->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < index->count && compare_claims(&index->at[end], &wanted) == 0;)
		end++;
	*ret_count = end - low;
	return end > low ? &index->at[low] : NULL;
}

const struct claimed_class *claimed_class_find(const struct claimed_index *index, const char *name)
{
	const struct claimed_class wanted = { .name = name };

	if (index->class_count == 0)
		return NULL;
	return bsearch(&wanted, index->classes, index->class_count, sizeof(wanted),
		       claimed_class_compare);
}
