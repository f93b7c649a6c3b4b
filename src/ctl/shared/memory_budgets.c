#include "ctl/shared/memory_budgets.h"

#include "base/memory.h"
#include "ctl/shared/options.h"

#define MIB ((size_t)1 << 20)
/* The program and its libraries beside the heap. */
#define PROGRAM_BYTES (16 * MIB)
/* Of the rest is for the heap; what remains is for free memory between its blocks (30 MiB after hours of
 * hostile tenants), HTTP/2 sessions and pages that change hands. */
#define HEAP_PARTS ((size_t)3)
#define ALL_PARTS ((size_t)5)
/* The root of a container that is too small for this. */
#define LEAST_PARTS ((size_t)4)
#define OBJECTS_PARTS ((size_t)2) /* of the root */
#define BESIDE_PARTS ((size_t)8)  /* of the root */
#define SPARED_PARTS ((size_t)4)  /* of the objects */
#define PASSES_PARTS ((size_t)2)  /* of the limit */
#define PASSES_BYTES (128 * MIB)  /* without a limit */

static size_t root_bytes(size_t limit_bytes)
{
	size_t least = limit_bytes / LEAST_PARTS;
	size_t rest = limit_bytes > PROGRAM_BYTES ? limit_bytes - PROGRAM_BYTES : 0;
	size_t heap = rest / ALL_PARTS * HEAP_PARTS;

	return heap > least ? heap : least;
}

static size_t passes_bytes(const struct options *options, size_t limit_bytes)
{
	if (options->memory_budget_mib > 0)
		return (size_t)options->memory_budget_mib << 20;
	return limit_bytes > 0 ? limit_bytes / PASSES_PARTS : PASSES_BYTES;
}

void memory_budgets_init(struct memory_budgets *budgets, const struct options *options,
			 size_t limit_bytes)
{
	size_t root = root_bytes(limit_bytes);
	struct budget *objects, *passes;

	budgets->root = budget_new("the controller (limit of the container)",
				   "raise the memory limit of the container", root, NULL);
	budgets->root->measure = memory_heap_bytes;
	objects =
		budget_new("all objects",
			   "delete or shrink objects of this namespace, or raise the memory limit "
			   "of the container",
			   root / OBJECTS_PARTS, budgets->root);
	objects->spared_bytes = root / OBJECTS_PARTS / SPARED_PARTS;
	objects->firm = true;
	passes = budget_new("all passes (--memory-budget)", NULL,
			    passes_bytes(options, limit_bytes), budgets->root);
	budget_children_init(&budgets->objects, objects, "the objects of namespace");
	budgets->beside = budget_new("objects that are refused or replaced", NULL,
				     root / BESIDE_PARTS, budgets->root);
	budgets->beside->firm = true;
	budgets->objects.beside = budgets->beside;
	budget_children_init(&budgets->passes, passes, "the passes of namespace");
}

void memory_budgets_done(struct memory_budgets *budgets)
{
	budget_children_done(&budgets->objects);
	budget_children_done(&budgets->passes);
	budget_free(budgets->beside);
	budget_free(budgets->root);
}
