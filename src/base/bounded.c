#include "base/bounded.h"

#include "base/check.h"

_Thread_local int64_t bounded_left;
static _Thread_local struct bounded *current;
/* `before` units were counted when bounded_left was `given`. */
static _Thread_local int64_t before, given;

static void leave(struct bounded *bounded)
{
	bounded->ends = true;
	if (bounded->held == 0)
		longjmp(bounded->out, 1);
}

static int64_t units_of(const struct bounded *bounded)
{
	if (!bounded || !bounded->check)
		return INT64_MAX;
	return bounded->units > 0 ? bounded->units : BOUNDED_UNITS;
}

int64_t bounded_units(void)
{
	return before + (given - bounded_left);
}

static void give(int64_t units)
{
	before = bounded_units();
	given = bounded_left = units;
}

void bounded_check(void)
{
	give(units_of(current));
	if (current && !current->ends && current->check && current->check(current->context))
		leave(current);
}

struct bounded *bounded_current(void)
{
	return current;
}

void bounded_end(struct bounded *bounded)
{
	leave(bounded);
}

void bounded_hold(void)
{
	if (current)
		current->held++;
}

void bounded_release(void)
{
	if (current && --current->held == 0 && current->ends)
		leave(current);
}

void bounded_set(struct bounded *bounded)
{
	CHECK(!current || !bounded);
	if (bounded) {
		bounded->ends = false;
		bounded->held = 0;
		bounded->err.kind = ERR_NONE;
	}
	current = bounded;
	give(units_of(bounded));
}
