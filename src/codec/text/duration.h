/* Spans of time as people write them: "90s", "1h30m", "1.5h", "2d", "250ms". Pure. Not for options
 * of the controller: those have one number and one unit (ctl/shared/options). */
#ifndef CODEC_TEXT_DURATION_H
#define CODEC_TEXT_DURATION_H

#include <stdint.h>

/* A hundred years: the sum of a thousand of them fits. */
#define DURATION_MAX_MS (INT64_C(100) * 366 * 86400 * 1000)

/* The whole text: numbers, each with one of the units d, h, m, s and ms; parts of a millisecond are
 * cut. 0 and 0 <= *ret_ms <= DURATION_MAX_MS, or -1 and *ret_problem says why. */
int duration_parse(const char *text, int64_t *ret_ms, const char **ret_problem);

/* A number of seconds, rounded to milliseconds; as duration_parse. */
int duration_from_seconds(double seconds, int64_t *ret_ms, const char **ret_problem);

#endif
