#include "test/support/loop_wait.h"

#include <uv.h>

#include "base/check.h"
#include "base/memory.h"

struct loop_wait {
	struct loop *loop;
	struct loop_timer *look, *late;
	bool (*holds)(void *context);
	void *context;
	bool held, is_late;
};

static void before_wait(uv_prepare_t *prepare)
{
	struct loop_wait *wait = prepare->data;

	wait->held = wait->held || wait->holds(wait->context);
	if (wait->held || wait->is_late)
		loop_stop(wait->loop);
	else
		loop_timer_start(wait->look, LOOP_WAIT_LOOK_MS);
}

/* Makes a turn, at whose end the predicate is called. */
static void on_look(void *context UNUSED)
{
}

static void on_late(void *context)
{
	struct loop_wait *wait = context;

	wait->is_late = true;
}

bool loop_wait_until(struct loop *loop, bool (*holds)(void *context), void *context,
		     int64_t within_ms)
{
	struct loop_wait wait = { .loop = loop, .holds = holds, .context = context };
	uv_prepare_t *prepare = memory_alloc(sizeof(*prepare));

	CHECK(uv_prepare_init(loop_uv(loop), prepare) == 0);
	prepare->data = &wait;
	CHECK(uv_prepare_start(prepare, before_wait) == 0);
	wait.look = loop_timer_new(loop, on_look, &wait);
	wait.late = loop_timer_new(loop, on_late, &wait);
	loop_timer_start(wait.late, within_ms);
	loop_run(loop);
	loop_handle_free(prepare);
	loop_timer_free(wait.look);
	loop_timer_free(wait.late);
	return wait.held;
}

void burn(void)
{
	int64_t until_us = loop_cpu_us() + BURN_US;

	while (loop_cpu_us() < until_us)
		;
	virtual_clock_sleep(BURN_US / 1000);
}
