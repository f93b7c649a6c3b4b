/* The log: one JSON line per entry on standard error, constant message, variable keys.
 * Only ctl and cli call it; layers below return errors. Never a token, never a request body.
 * Lines with a value "NAMESPACE/NAME", or with the key "namespace", have a limit for each namespace (net/log_limit.h), but not those of
 * level debug; log_report_left_out says how many were left out.
 * A repeated error is logged when it starts, changes and ends: use struct log_repeat. */
#ifndef NET_LOG_H
#define NET_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG = 0, LOG_INFO, LOG_WARNING, LOG_ERROR };

void log_level_set(enum log_level level);
int log_level_parse(const char *word, enum log_level *ret_level); /* 0, or -1 for an unknown word */

/* log_info("scaled", "cluster", key, "reason", reason, NULL): pairs of strings, ended by NULL. */
void log_write(enum log_level level, const char *message, ...) __attribute__((sentinel));
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

/* Logs a line for each namespace of which lines were left out; called from time to time. */
void log_report_left_out(void);

/* Remembers the last error text of one source, so that it is logged once. The owner frees it. */
struct log_repeat {
	char *text; /* NULL: no error now */
	uint64_t count;
};

/* Logs a warning when `text` is new or changed; returns true when it logged. */
bool log_repeat_error(struct log_repeat *repeat, const char *message, const char *object,
		      const char *text);
/* Logs an info line "... ended" when there was an error. */
void log_repeat_end(struct log_repeat *repeat, const char *message, const char *object);
void log_repeat_done(struct log_repeat *repeat);

#endif
