#include "gcs/gcs_requests.h"

#include "base/budget.h"
#include "base/memory.h"
#include "codec/objects/request_resources.h"

/* The tree of the JSON is on the heap: the text's size times this is an upper bound. */
#define TREE_FACTOR 40

int gcs_requests_parse(const void *value, size_t size, struct arena *arena,
		       struct ray_constraint *ret, struct err *err)
{
	AUTO(arena_done) struct arena scratch = { .budget = arena->budget };

	if (!budget_charge(arena->budget, size * TREE_FACTOR))
		return budget_refuse(arena->budget, size * TREE_FACTOR, err);
	int status = request_resources_parse(arena_strndup(&scratch, value, size), arena, ret, err);
	budget_release(arena->budget, size * TREE_FACTOR);
	if (status == 0 && (arena->over_budget || scratch.over_budget))
		return budget_refuse(arena->budget, 0, err);
	return status;
}
