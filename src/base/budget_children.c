#include "base/budget_children.h"

#include "base/arena.h"
#include "base/memory.h"

#define SWEEP_LEAST 64 /* children */

struct child {
	const char *key; /* of the map */
	struct budget *budget;
};

void budget_children_init(struct budget_children *children, struct budget *parent, const char *of)
{
	*children = (struct budget_children){ .parent = parent, .of = of, .budgets = MAP_INIT };
}

static void child_done(void *value)
{
	budget_free(((struct child *)value)->budget);
}

void budget_children_done(struct budget_children *children)
{
	map_drop_all(&children->budgets, child_done);
	budget_free(children->parent);
}

/* Amortized: once the number has doubled. From the end, as removing moves the last one into the
 * gap. */
static void sweep(struct budget_children *children)
{
	struct map *budgets = &children->budgets;

	if (budgets->count < SWEEP_LEAST || budgets->count / 2 < children->swept)
		return;
	for (size_t i = budgets->count; i-- > 0;) {
		const struct child *child = budgets->entries[i].value;
		const struct budget *budget = child->budget;

		if (budget->references == 1 && budget_used(budget) == 0)
			map_drop(budgets, child->key, child_done);
	}
	children->swept = budgets->count;
}

struct budget *budget_children_get(struct budget_children *children, const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct child *child;

	if (!children)
		return NULL;
	child = map_get(&children->budgets, name);
	if (!child) {
		sweep(children);
		child = map_make(&children->budgets, name, sizeof(*child));
		child->budget = budget_new(arena_printf(&arena, "%s %s", children->of, name), NULL,
					   0, children->parent);
	}
	return budget_reference(child->budget);
}
