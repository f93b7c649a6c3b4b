#include "test/support/loop_wait.h"

static void loop_wait_look(void *context)
{
	struct loop_wait *wait = context;

	wait->held = wait->holds(wait->context);
	if (wait->held || loop_monotonic_ms(wait->loop) >= wait->deadline_ms)
		loop_stop(wait->loop);
	else
		loop_timer_start(wait->timer, 2);
}

bool loop_wait_until(struct loop *loop, bool (*holds)(void *context), void *context,
		     int64_t within_ms)
{
	struct loop_wait wait = { .loop = loop, .holds = holds, .context = context };

	wait.deadline_ms = loop_monotonic_ms(loop) + within_ms;
	wait.timer = loop_timer_new(loop, loop_wait_look, &wait);
	loop_timer_start(wait.timer, 0);
	loop_run(loop);
	loop_timer_free(wait.timer);
	return wait.held;
}
