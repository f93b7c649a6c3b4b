/* RFC 3339 points in time as milliseconds since 1970 and back.
 * Pure text; reads no clock and knows no time zone but the offset in the text. */
#ifndef CODEC_TEXT_RFC3339_H
#define CODEC_TEXT_RFC3339_H

#include "base/time.h"
#include "codec/text/json.h"

#define RFC3339_SIZE 32

/* Years 0000 to 9999, "T" or "t", "Z", "z" or an offset; a fraction is cut to milliseconds; a leap
 * second (60 at 23:59 UTC) counts as the first moment of the next minute. -1: invalid, *ret_problem
 * says why. */
int rfc3339_parse(const char *text, time_ms *ret_time, const char **ret_problem);
/* "2026-11-20T10:00:00Z", with ".123" when there are milliseconds; "" for TIME_NONE. Times outside
 * the years 0 to 9999 are printed as the nearest one inside. */
void rfc3339_print(time_ms time, char ret_text[static RFC3339_SIZE]);
/* As rfc3339_print with six digits of a second, always: the form of a MicroTime. */
void rfc3339_print_micro(time_ms time, char ret_text[static RFC3339_SIZE]);

/* A member that is a time: TIME_NONE when missing. Wrong type: -1; does not parse: a problem. */
int rfc3339_decode(const struct json_at *at, const char *name, time_ms *ret_time);

#endif
