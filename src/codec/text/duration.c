#include "codec/text/duration.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* With their unit of at most a day they stay below 2^63. */
#define DIGITS_MAX 10
#define FRACTION_DIGITS_MAX 9

static const char problem_form[] = "is not a duration like 90s, 1h30m or 2d";
static const char problem_negative[] = "is negative";
static const char problem_large[] = "is longer than 100 years";

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
	{ "ms", 1 },
	{ "d", INT64_C(86400000) },
	{ "h", INT64_C(3600000) },
	{ "m", INT64_C(60000) },
	{ "s", INT64_C(1000) },
};

static const struct unit *find_unit(const char *text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
			return &units[i];
	}
	return NULL;
}

/* Digits as a number, the text moved behind them; those above `digits_max` are dropped if they are
 * a fraction. Returns how many were read. */
static int read_digits(const char **text, int digits_max, int64_t *ret_value)
{
	int digits = 0;

	*ret_value = 0;
	for (; isdigit((unsigned char)**text); (*text)++) {
		if (digits++ < digits_max)
			*ret_value = *ret_value * 10 + (**text - '0');
	}
	return digits;
}

/* One number and its unit. */
static int parse_part(const char **text, int64_t *ret_ms, const char **ret_problem)
{
	int64_t whole, fraction = 0, scale = 1;
	int digits = read_digits(text, DIGITS_MAX, &whole), fraction_digits = 0;

	*ret_problem = problem_form;
	if (**text == '.') {
		(*text)++;
		fraction_digits = read_digits(text, FRACTION_DIGITS_MAX, &fraction);
	}
	const struct unit *unit = find_unit(*text);
	if (digits + fraction_digits == 0 || !unit)
		return -1;
	*ret_problem = problem_large;
	if (digits > DIGITS_MAX || whole > DURATION_MAX_MS / unit->ms)
		return -1;
	for (int i = 0; i < fraction_digits && i < FRACTION_DIGITS_MAX; i++)
		scale *= 10;
	*text += strlen(unit->name);
	*ret_ms = whole * unit->ms + fraction * unit->ms / scale;
	return 0;
}

int duration_parse(const char *text, int64_t *ret_ms, const char **ret_problem)
{
	int64_t sum = 0, part;

	if (*text == '-' && isdigit((unsigned char)text[1])) {
		*ret_problem = problem_negative;
		return -1;
	}
	do {
		if (parse_part(&text, &part, ret_problem))
			return -1;
		sum += part;
		if (sum > DURATION_MAX_MS)
			return -1; /* problem_large */
	} while (*text != '\0');
	*ret_problem = NULL;
	*ret_ms = sum;
	return 0;
}

int duration_from_seconds(double seconds, int64_t *ret_ms, const char **ret_problem)
{
	*ret_problem = NULL;
	if (!isfinite(seconds))
		*ret_problem = "is not a finite number of seconds; write one, such as 90";
	else if (seconds < 0)
		*ret_problem = problem_negative;
	else if (seconds > (double)DURATION_MAX_MS / 1000)
		*ret_problem = problem_large;
	if (*ret_problem)
		return -1;
	*ret_ms = (int64_t)llround(seconds * 1000);
	return 0;
}
