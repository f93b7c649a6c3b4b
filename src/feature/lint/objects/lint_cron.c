/* The schedule of a RayCronJob, as KubeRay reads it: ParseStandard of robfig/cron v3, without a time zone. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/text.h"
#include "codec/text/duration.h"
#include "feature/lint/objects/lint_check.h"

#define BLANKS " \t\n\r\v\f"
#define DIGITS "0123456789"
#define NAME_SIZE 3
#define NO_VALUE (-1)

static const struct form {
	const char *title;
	long least, most;
	const char *names; /* of the values from `least` on, three letters each; "": none */
} forms[] = {
	{ "minute", 0, 59, "" },
	{ "hour", 0, 23, "" },
	{ "day of the month", 1, 31, "" },
	{ "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
	{ "day of the week", 0, 6, "sunmontuewedthufrisat" },
};
#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

/* The value of a number or name of this size; NO_VALUE: neither. */
static long value_of(const struct form *form, const char *text, size_t size)
{
	if (size > 0 && size < 9 && strspn(text, DIGITS) >= size)
		return strtol(text, NULL, 10);
	for (size_t i = 0; size == NAME_SIZE && i < strlen(form->names); i += NAME_SIZE)
		if (strncasecmp(form->names + i, text, NAME_SIZE) == 0)
			return form->least + (long)(i / NAME_SIZE);
	return NO_VALUE;
}

/* "*", "5", "8-18", each with a step as "/2". */
static bool is_range(const struct form *form, const char *text, size_t size)
{
	const char *slash = memchr(text, '/', size);
	size_t range = slash ? (size_t)(slash - text) : size;
	const char *dash = memchr(text, '-', range);
	size_t low = dash ? (size_t)(dash - text) : range;
	long first, last;

	if (slash && value_of(&forms[0], slash + 1, size - range - 1) <= 0)
		return false;
	if (low == 1 && (*text == '*' || *text == '?'))
		return true;
	first = value_of(form, text, low);
	last = dash ? value_of(form, dash + 1, range - low - 1) : first;
	return first >= form->least && last <= form->most && first <= last;
}

/* A list of ranges, in which empty ones are left out. */
static bool is_field(const struct form *form, const char *text, size_t size)
{
	while (size > 0) {
		const char *comma = memchr(text, ',', size);
		size_t one = comma ? (size_t)(comma - text) : size;

		if (one > 0 && !is_range(form, text, one))
			return false;
		one += comma ? 1 : 0;
		text += one;
		size -= one;
	}
	return true;
}

static const char *descriptor_problem(const char *text)
{
	static const char *const words[] = { "@yearly", "@annually", "@monthly", "@weekly",
					     "@daily",  "@midnight", "@hourly" };
	const char *problem;
	int64_t ms;

	if (text_is_among(text, words, sizeof(words) / sizeof(words[0])))
		return NULL;
	if (strncmp(text, "@every ", 7) == 0)
		return strchr(text, 'd') || duration_parse(text + 7, &ms, &problem) ?
			       "schedule has no duration behind @every: write one such as 1h30m" :
			       NULL;
	return "schedule must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
	       "@hourly and \"@every 1h\", or have five fields";
}

const char *lint_cron_problem(const char *text, struct arena *arena)
{
	const char *bad = NULL;
	size_t count = 0;

	if (*text == '@')
		return descriptor_problem(text);
	for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS), count++) {
		size_t size = strcspn(text, BLANKS);

		if (!bad && count < FORM_COUNT && !is_field(&forms[count], text, size))
			bad = arena_printf(arena,
					   "schedule has the %s \"%.*s\": write %ld to %ld, a "
					   "range as %ld-%ld, a step as */2, or *",
					   forms[count].title, (int)(size < 40 ? size : 40), text,
					   forms[count].least, forms[count].most,
					   forms[count].least, forms[count].most);
		text += size;
	}
	return count == FORM_COUNT ?
		       bad :
		       "schedule must have five fields: minute, hour, day of the month, "
		       "month, day of the week";
}
