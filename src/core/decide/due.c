#include "core/decide/due.h"

bool due_reached(struct due *due, time_ms at)
{
	if (due->now >= at)
		return true;
	if (at < due->next)
		due->next = at;
	return false;
}

bool due_passed(struct due *due, time_ms since, int64_t span_ms)
{
	time_ms at;

	return !__builtin_add_overflow(since, span_ms, &at) && due_reached(due, at);
}

void due_now(struct due *due)
{
	due->next = due->now;
}
