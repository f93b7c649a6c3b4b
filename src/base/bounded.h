/* A run that ends when its limits are reached, wherever it is then: work is counted where loops and
 * allocations are (bounded_count), memory is refused before it is taken (base/arena), and neither returns once
 * the run has to end. The blocks that arenas took in the run are freed then, so code between
 * two counts has nothing to clean up; it must own nothing but arenas. Of one thread: the run of the
 * thread is found by a variable of the thread, so no code can count or allocate beside it. */
#ifndef BASE_BOUNDED_H
#define BASE_BOUNDED_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena_block;
struct budget;

/* Between two calls of `check`. A unit is one turn of a loop, or the allocation of 16 bytes: 1 to 20 ns. */
#define BOUNDED_UNITS ((int64_t)8192)

struct bounded {
	bool (*check)(void *context); /* true: the run ends; NULL: no limit of work */
	void *context;
	struct budget *memory; /* charged with the blocks of arenas that have no budget; NULL: none */
	int64_t units;         /* between two calls of check; 0: BOUNDED_UNITS */
	struct err err;        /* memory that was refused; ERR_NONE: it was the work */
	/* Of this module, base/arena and base/bounded_run: */
	struct arena_block *blocks; /* taken in the run and still there */
	int held;                   /* it may not be left now */
	bool ends;                  /* it is left as soon as it may be */
	jmp_buf out;
};

extern _Thread_local int64_t bounded_left
	__attribute__((tls_model("local-exec"))); /* until the next check */
void bounded_check(void) __attribute__((cold, noinline));
/* May not return. Costs two instructions; nothing happens outside of a run. */
static inline void bounded_count(int64_t units)
{
	if (__builtin_expect((bounded_left -= units) < 0, 0))
		bounded_check();
}

/* Units that this thread has counted so far, in a run or not: the same on each machine for the same work. */
int64_t bounded_units(void);

/* A loop that base/counted.h does not count, because a constant limits its turns,
 * or because they are counted otherwise. */
/* clang-format off */
#define UNCOUNTED_FOR(...) for BOUNDED_NOTHING(__VA_ARGS__)
/* clang-format on */
#define BOUNDED_NOTHING

/* The run of this thread, or NULL. */
struct bounded *bounded_current(void);
/* Of base/bounded_run: the run begins, or (NULL) has ended. */
void bounded_set(struct bounded *bounded);
/* Ends it for want of memory, with err set; returns when it may not be left now. */
void bounded_end(struct bounded *bounded);

/* Around a function of libc that owns memory while it calls back: a run is left after it. Pairs nest. */
void bounded_hold(void);
void bounded_release(void);

#endif
