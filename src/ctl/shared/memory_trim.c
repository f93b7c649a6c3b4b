#include "ctl/shared/memory_trim.h"

#include "base/budget.h"
#include "base/memory.h"
#include "net/loop.h"
#include "net/process.h"
#include "net/work.h"

#define LOOK_MS 10000
#define FALL_BYTES ((size_t)16 << 20)

struct memory_trim {
	struct loop *loop;
	struct budget *budget;
	struct loop_timer *timer;
	struct work_job *job; /* NULL: none */
};

static void run(void *context UNUSED, const struct work_job *job UNUSED)
{
	process_trim_heap();
}

static void done(void *context)
{
	((struct memory_trim *)context)->job = NULL;
}

/* The owner is freed while the job runs. */
static void drop(void *context UNUSED)
{
}

static void look(void *context)
{
	static const struct work_functions functions = { run, done, drop };
	struct memory_trim *trim = context;
	size_t used = budget_used(trim->budget);

	loop_timer_start(trim->timer, LOOK_MS);
	if (trim->job || budget_recent_peak(trim->budget, false) < used + FALL_BYTES)
		return;
	(void)budget_recent_peak(trim->budget, true);
	trim->job = work_start(trim->loop, &functions, trim);
}

struct memory_trim *memory_trim_new(struct loop *loop, struct budget *budget)
{
	struct memory_trim *trim = memory_alloc(sizeof(*trim));

	*trim = (struct memory_trim){ .loop = loop, .budget = budget };
	trim->timer = loop_timer_new(loop, look, trim);
	loop_timer_start(trim->timer, LOOK_MS);
	return trim;
}

void memory_trim_free(struct memory_trim *trim)
{
	if (!trim)
		return;
	if (trim->job)
		work_cancel(trim->job);
	loop_timer_free(trim->timer);
	memory_free(trim);
}
