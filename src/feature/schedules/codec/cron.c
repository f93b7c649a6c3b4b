#include "feature/schedules/codec/cron.h"

#include <ctype.h>
#include <stddef.h>
#include <strings.h>

#define NAME_SIZE 3

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
				      "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct form {
	int minimum, maximum;
	const char *const *names;
	int name_count, first_name; /* the value of the first one */
	const char *problem;
} forms[] = {
	{ 0, 59, NULL, 0, 0,
	  "has a minute (field 1) that is not *, 0 to 59, a list, range or step" },
	{ 0, 23, NULL, 0, 0,
	  "has an hour (field 2) that is not *, 0 to 23, a list, range or step" },
	{ 1, 31, NULL, 0, 0,
	  "has a day of the month (field 3) that is not *, 1 to 31, a list, range or step" },
	{ 1, 12, months, 12, 1,
	  "has a month (field 4) that is not *, 1 to 12, JAN to DEC, a list, range or step" },
	{ 0, 7, weekdays, 7, 0,
	  "has a day of the week (field 5) that is not *, 0 to 7, SUN to SAT, a list, range or step" },
};
#define CRON_FIELDS (sizeof(forms) / sizeof(forms[0]))

/* At most two digits, at least one. */
static int read_number(const char **text, int *ret_value)
{
	int digits = 0;

	*ret_value = 0;
	for (; isdigit((unsigned char)**text); (*text)++) {
		if (++digits > 2)
			return -1;
		*ret_value = *ret_value * 10 + (**text - '0');
	}
	return digits > 0 ? 0 : -1;
}

static int read_value(const struct form *form, const char **text, int *ret_value)
{
	for (int i = 0; i < form->name_count; i++) {
		if (strncasecmp(*text, form->names[i], NAME_SIZE) != 0)
			continue;
		*text += NAME_SIZE;
		*ret_value = form->first_name + i;
		return 0;
	}
	if (read_number(text, ret_value))
		return -1;
	return *ret_value >= form->minimum && *ret_value <= form->maximum ? 0 : -1;
}

/* "*", "*" "/15", "8-18", "8-18/2", "5". */
static int read_range(const struct form *form, const char **text, uint64_t *bits)
{
	int first = form->minimum, last = form->maximum, step = 1;

	if (**text == '*') {
		(*text)++;
	} else {
		if (read_value(form, text, &first))
			return -1;
		last = first;
		if (**text == '-') {
			(*text)++;
			if (read_value(form, text, &last) || last < first)
				return -1;
		} else if (**text == '/') {
			return -1; /* a step of one value: cron programs differ */
		}
	}
	if (**text == '/') {
		(*text)++;
		if (read_number(text, &step) || step == 0)
			return -1;
	}
	for (int value = first; value <= last; value += step)
		*bits |= UINT64_C(1) << value;
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static int read_field(const struct form *form, const char **text, uint64_t *ret_bits)
{
	*ret_bits = 0;
	for (;; (*text)++) {
		if (read_range(form, text, ret_bits))
			return -1;
		if (**text != ',')
			break;
	}
	return **text == '\0' || is_space(**text) ? 0 : -1;
}

int cron_parse(const char *text, struct cron *ret_cron, const char **ret_problem)
{
	uint64_t bits[CRON_FIELDS];
	bool starred[CRON_FIELDS];

	for (size_t i = 0; i < CRON_FIELDS; i++) {
		while (is_space(*text))
			text++;
		*ret_problem = "does not have five fields: minute, hour, day of the month, month, "
			       "day of the week";
		if (*text == '\0')
			return -1;
		*ret_problem = forms[i].problem;
		starred[i] = *text == '*';
		if (read_field(&forms[i], &text, &bits[i]))
			return -1;
	}
	while (is_space(*text))
		text++;
	if (*text != '\0') {
		*ret_problem = "has more than five fields";
		return -1;
	}
	*ret_problem = NULL;
	*ret_cron = (struct cron){
		.minutes = bits[0],
		.hours = (uint32_t)bits[1],
		.days = (uint32_t)bits[2],
		.months = (uint32_t)bits[3],
		.weekdays = (uint32_t)((bits[4] | bits[4] >> 7) & 0x7f),
		.either_day = !starred[2] && !starred[4],
	};
	return 0;
}
