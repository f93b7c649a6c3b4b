#include "net/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/time.h"
#include "codec/text/json_write.h"

#define LOG_VALUE_MAX_BYTES ((size_t)8192)
#define LOG_LINE_MAX_BYTES ((size_t)262144)

static enum log_level log_lowest = LOG_INFO;

static const char *const log_level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARNING] = "warning",
	[LOG_ERROR] = "error",
};

void log_level_set(enum log_level level)
{
	log_lowest = level;
}

int log_level_parse(const char *word, enum log_level *ret_level)
{
	for (size_t i = 0; i < sizeof(log_level_names) / sizeof(log_level_names[0]); i++) {
		if (strcmp(word, log_level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -1;
}

/* A JSON string; a text that is too long ends in "...". */
static void log_add_string(struct buf *line, const char *text)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct json_writer writer;

	json_write_init(&writer, line, JSON_STYLE_LINE);
	json_write_text(&writer, NULL, arena_cut(&arena, text, LOG_VALUE_MAX_BYTES));
}

static void log_add_time(struct buf *line)
{
	struct timespec now = { .tv_sec = 0 };
	struct civil_time civil;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	time_to_civil((time_ms)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000, &civil);
	(void)buf_printf(line, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", (int)civil.year,
			 civil.month, civil.day, civil.hour, civil.minute, civil.second,
			 civil.millisecond);
}

/* A log that cannot be written must not stop the program: the line is lost. */
static void log_put(const struct buf *line)
{
	size_t done = 0;

	while (done < line->size) {
		ssize_t written = write(STDERR_FILENO, line->data + done, line->size - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return;
		done += (size_t)written;
	}
}

void log_write(enum log_level level, const char *message, ...)
{
	AUTO(buf_done) struct buf line = { .data = NULL };
	const char *key;
	va_list pairs;

	if (level < log_lowest)
		return;
	buf_init(&line, LOG_LINE_MAX_BYTES);
	(void)buf_add_string(&line, "{\"time\":");
	log_add_time(&line);
	(void)buf_printf(&line, ",\"level\":\"%s\",\"message\":", log_level_names[level]);
	log_add_string(&line, message);
	va_start(pairs, message);
	while ((key = va_arg(pairs, const char *))) {
		const char *value = va_arg(pairs, const char *);
		size_t before = line.size;

		(void)buf_add_char(&line, ',');
		log_add_string(&line, key);
		(void)buf_add_char(&line, ':');
		log_add_string(&line, value ? value : "");
		/* Keeps the line valid JSON: drops a pair that does not fit, and those after it. */
		if (line.overflowed || line.size + 3 > LOG_LINE_MAX_BYTES) {
			line.size = before;
			line.overflowed = false;
			break;
		}
	}
	va_end(pairs);
	(void)buf_add_string(&line, "}\n");
	log_put(&line);
}

bool log_repeat_error(struct log_repeat *repeat, const char *message, const char *object,
		      const char *text)
{
	repeat->count++;
	if (repeat->text && strcmp(repeat->text, text) == 0)
		return false;
	memory_set_string(&repeat->text, text);
	log_warning(message, "object", object, "error", text, NULL);
	return true;
}

void log_repeat_end(struct log_repeat *repeat, const char *message, const char *object)
{
	char ended[256];
	char count[32];

	if (!repeat->text)
		return;
	(void)snprintf(ended, sizeof(ended), "%s ended", message);
	(void)snprintf(count, sizeof(count), "%llu", (unsigned long long)repeat->count);
	log_info(ended, "object", object, "times", count, NULL);
	log_repeat_done(repeat);
}

void log_repeat_done(struct log_repeat *repeat)
{
	memory_free(repeat->text);
	repeat->text = NULL;
	repeat->count = 0;
}
