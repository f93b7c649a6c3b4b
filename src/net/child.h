/* Runs a program and collects its output: no shell, bounded output, a deadline. The child belongs
 * to the loop and is freed when its callback returns or it is cancelled. Standard error is
 * inherited; no other open file is. Must not be used for daemons: a program that still runs at the
 * end is killed (the program itself; not its children). */
#ifndef NET_CHILD_H
#define NET_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct child;

/* err is NULL when the program ended with exit status 0 within deadline and ceiling; output then
 * has output_size bytes and a NUL after them, else it is "". ERR_INPUT: another exit status or
 * killed by a signal; ERR_LIMIT; ERR_TIMEOUT. The texts name neither the program nor its output:
 * the caller adds the name. The arguments are valid until it returns. */
typedef void child_done(void *context, const char *output, size_t output_size,
			const struct err *err);

struct child_options {
	/* Both end with NULL. The first argument is the program, searched in PATH of the
	 * environment unless it has a slash. Copied by the kernel. */
	const char *const *arguments, *const *environment;
	bool pass_stdin; /* else it reads /dev/null */
	size_t ceiling_bytes;
	int64_t deadline_ms; /* above 0 */
	child_done *done;
	void *context;
};

/* Never calls back before it returns. NULL: it could not be started: ERR_NOT_FOUND when the program
 * does not exist, else ERR_INPUT, with the reason. */
struct child *child_start(struct loop *loop, const struct child_options *options, struct err *err);
/* Kills it; no callback any more. NULL is fine; not from inside its callback. */
void child_cancel(struct child *child);

#endif
