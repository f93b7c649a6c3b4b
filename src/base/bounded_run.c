#include "base/bounded_run.h"

bool bounded_run(struct bounded *bounded, struct arena *arena, void (*run)(void *context),
		 void *context)
{
	struct arena_mark mark = arena_mark(arena);

	bounded_set(bounded);
	if (setjmp(bounded->out) == 0) {
		run(context);
		bounded_set(NULL);
		arena_keep_blocks(&bounded->blocks);
		return true;
	}
	bounded_set(NULL);
	arena_free_blocks(&bounded->blocks);
	arena_rewind(arena, &mark);
	return false;
}
