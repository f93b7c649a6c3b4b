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
#include "net/log_limit.h"

#define LOG_VALUE_MAX_BYTES ((size_t)8192)
#define LOG_LINE_MAX_BYTES ((size_t)262144)
#define LOG_NAMESPACE_MAX 63

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

/* Keeps the line valid JSON: drops a pair that does not fit, and those after it. */
static void log_add_pairs(struct buf *line, va_list pairs)
{
	const char *key;

	while ((key = va_arg(pairs, const char *))) {
		const char *value = va_arg(pairs, const char *);
		size_t before = line->size;

		(void)buf_add_char(line, ',');
		log_add_string(line, key);
		(void)buf_add_char(line, ':');
		log_add_string(line, value ? value : "");
		if (line->overflowed || line->size + 3 > LOG_LINE_MAX_BYTES) {
			line->size = before;
			line->overflowed = false;
			break;
		}
	}
}

static void log_put_line(enum log_level level, const char *message, va_list pairs)
{
	AUTO(buf_done) struct buf line = { .data = NULL };

	buf_init(&line, LOG_LINE_MAX_BYTES);
	(void)buf_add_string(&line, "{\"time\":");
	log_add_time(&line);
	(void)buf_printf(&line, ",\"level\":\"%s\",\"message\":", log_level_names[level]);
	log_add_string(&line, message);
	log_add_pairs(&line, pairs);
	(void)buf_add_string(&line, "}\n");
	log_put(&line);
}

/* Without a limit. */
static void log_put_pairs(enum log_level level, const char *message, ...) __attribute__((sentinel));
static void log_put_pairs(enum log_level level, const char *message, ...)
{
	va_list pairs;

	va_start(pairs, message);
	log_put_line(level, message, pairs);
	va_end(pairs);
}

static void log_report(const char *namespace_, uint64_t lines)
{
	char count[32];

	(void)snprintf(count, sizeof(count), "%llu", (unsigned long long)lines);
	log_put_pairs(LOG_WARNING, "log lines about objects of a namespace were left out",
		      "namespace", namespace_, "lines", count, NULL);
}

static int64_t log_now_ms(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000;
}

void log_report_left_out(void)
{
	log_limit_report(log_now_ms(), log_report);
}

/* The characters of a name in Kubernetes. */
static size_t log_name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");
}

/* The namespace of "NAMESPACE/NAME", or of the key "namespace"; false: the text has another form, as a path
 * or a URL. */
static bool log_take_namespace(const char *key, const char *text, char *ret, size_t size)
{
	size_t namespace_ = log_name_length(text);
	const char *rest = text + namespace_;
	bool found;

	if (strcmp(key, "namespace") == 0)
		found = *rest == '\0';
	else
		found = *rest == '/' && rest[1] && rest[1 + log_name_length(rest + 1)] == '\0';
	if (!found || namespace_ == 0 || namespace_ >= size)
		return false;
	memcpy(ret, text, namespace_);
	ret[namespace_] = '\0';
	return true;
}

/* "": the line is about no object of a namespace. A Lease is the controller's own. */
static void log_find_namespace(va_list pairs, char *ret, size_t size)
{
	const char *key;

	ret[0] = '\0';
	while ((key = va_arg(pairs, const char *))) {
		const char *value = va_arg(pairs, const char *);

		if (value && strcmp(key, "lease") != 0 && log_take_namespace(key, value, ret, size))
			return;
	}
}

void log_write(enum log_level level, const char *message, ...)
{
	char namespace_[LOG_NAMESPACE_MAX + 1];
	va_list pairs;

	if (level < log_lowest)
		return;
	va_start(pairs, message);
	log_find_namespace(pairs, namespace_, sizeof(namespace_));
	va_end(pairs);
	if (level > LOG_DEBUG && namespace_[0] && !log_limit_take(namespace_, log_now_ms()))
		return;
	va_start(pairs, message);
	log_put_line(level, message, pairs);
	va_end(pairs);
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
