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
/* Of the root, whose purposes have together at most all of it granted. */
#define OBJECTS_PARTS ((size_t)2)
#define VIEWS_PARTS ((size_t)4)
#define PASSES_GRANTED_PARTS ((size_t)6)
#define BESIDE_PARTS ((size_t)16)
#define SPARED_PARTS ((size_t)4) /* of the objects */
#define PASSES_PARTS ((size_t)2) /* of the limit */
#define PASSES_BYTES (128 * MIB) /* without a limit */

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

static struct budget *granted(const char *name, const char *fix, size_t bytes, struct budget *root)
{
	struct budget *budget = budget_new(name, fix, bytes, root);

	budget->granted_bytes = bytes;
	return budget;
}

void memory_budgets_init(struct memory_budgets *budgets, const struct options *options,
			 size_t limit_bytes)
{
	size_t all = root_bytes(limit_bytes);
	struct budget *root, *objects, *passes;

	root = budget_new("the controller (limit of the container)",
			  "raise the memory limit of the container", all, NULL);
	root->measure = memory_heap_bytes;
	objects = granted("all objects",
			  "delete or shrink objects of this namespace, or raise the memory limit "
			  "of the container",
			  all / OBJECTS_PARTS, root);
	objects->spared_bytes = all / OBJECTS_PARTS / SPARED_PARTS;
	passes = budget_new("all passes (--memory-budget)", NULL,
			    passes_bytes(options, limit_bytes), root);
	passes->granted_bytes = all / PASSES_GRANTED_PARTS;
	budgets->root = root;
	budgets->views = granted("the views of device claims",
				 "delete ResourceClaimTemplates that no Pod uses, or raise the "
				 "memory limit of the container",
				 all / VIEWS_PARTS, root);
	budgets->beside =
		granted("objects that are refused or replaced", NULL, all / BESIDE_PARTS, root);
	budget_children_init(&budgets->objects, objects, "the objects of namespace");
	budgets->objects.beside = budgets->beside;
	budget_children_init(&budgets->passes, passes, "the passes of namespace");
}

void memory_budgets_done(struct memory_budgets *budgets)
{
	budget_children_done(&budgets->objects);
	budget_children_done(&budgets->passes);
	budget_free(budgets->beside);
	budget_free(budgets->views);
	budget_free(budgets->root);
}
