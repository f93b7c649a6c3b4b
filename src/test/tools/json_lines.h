/* A tool that answers one JSON text per line of standard input with one line: the loop around the
 * answer. The next line frees the memory that an answer takes from the arena. Header only. */
#ifndef TEST_TOOLS_JSON_LINES_H
#define TEST_TOOLS_JSON_LINES_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"

/* Writes the answer to `line` (size bytes, NUL after them) into the empty buf; 0, or -1 with err. */
typedef int json_lines_answer(const char *line, size_t size, struct arena *arena, struct buf *buf,
			      struct err *err);

/* Until the input ends: 0; 1 after an error, which is on standard error. */
static inline int json_lines_run(json_lines_answer *answer, size_t ceiling_bytes)
{
	AUTO(buf_done) struct buf buf;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	size_t capacity = 0;
	char *line = NULL;
	ssize_t size;
	int status = 0;

	buf_init(&buf, ceiling_bytes);
	while (!status && (size = getline(&line, &capacity, stdin)) > 0) {
		struct err err = { .kind = ERR_NONE };

		buf_clear(&buf);
		arena_reset(&arena);
		if (answer(line, (size_t)size, &arena, &buf, &err)) {
			fprintf(stderr, "%s\n", err.text);
			status = 1;
			continue;
		}
		while (buf.size && buf.data[buf.size - 1] == '\n')
			buf.size--;
		fwrite(buf.data, 1, buf.size, stdout);
		putchar('\n');
		fflush(stdout);
	}
	free(line);
	return status;
}

#endif
