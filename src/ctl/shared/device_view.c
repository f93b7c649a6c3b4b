#include "ctl/shared/device_view.h"

#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"
#include "ctl/shared/options.h"

struct device_view *device_view_new(struct budget *budget)
{
	struct device_view *view = memory_alloc(sizeof(*view));

	view->holders = 1;
	view->budget = budget_reference(budget);
	view->arena.budget = view->budget;
	return view;
}

struct device_view *device_view_hold(const struct control *control)
{
	struct device_view *view = control->devices ? *control->devices : NULL;

	if (view)
		view->holders++;
	return view;
}

void device_view_drop(struct device_view *view)
{
	if (!view)
		return;
	CHECK(view->holders > 0);
	if (--view->holders > 0)
		return;
	arena_done(&view->arena);
	budget_free(view->budget);
	memory_free(view);
}

uint64_t device_view_number(const struct control *control)
{
	return control->devices && *control->devices ? (*control->devices)->number : 0;
}

const struct device_table *device_view_table(const struct control *control)
{
	return control->devices && *control->devices ? (*control->devices)->table :
						       control->options->device_table;
}
