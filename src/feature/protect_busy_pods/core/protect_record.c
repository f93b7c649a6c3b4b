#include "feature/protect_busy_pods/core/protect_record.h"

#include <string.h>

#define ENDED " ended"

static const struct {
	const char *key, *value;
} annotations[] = {
#define X(identifier, key, value) { key, value },
	PROTECT_ANNOTATIONS(X)
#undef X
};

const char *protect_key(enum protect_annotation annotation)
{
	return annotations[annotation].key;
}

const char *protect_value(enum protect_annotation annotation)
{
	return annotations[annotation].value;
}

bool protect_record_ended(const struct protect_record *record)
{
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++)
		if (record->keys[i])
			return false;
	return true;
}

/* The form that time_text writes, and no other: `N` is a digit. */
static bool has_form(const char *text)
{
	static const char form[] = "NNNN-NN-NNTNN:NN:NNZ";

	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'N' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

static int number_at(const char *text, int digits)
{
	int number = 0;

	for (int i = 0; i < digits; i++)
		number = number * 10 + (text[i] - '0');
	return number;
}

static time_ms time_of(const char *text)
{
	struct civil_time civil;

	if (!has_form(text))
		return 0;
	civil = (struct civil_time){ .year = number_at(text, 4),
				     .month = number_at(text + 5, 2),
				     .day = number_at(text + 8, 2),
				     .hour = number_at(text + 11, 2),
				     .minute = number_at(text + 14, 2),
				     .second = number_at(text + 17, 2) };
	if (civil.month < 1 || civil.month > 12 || civil.day < 1 || civil.day > 31 ||
	    civil.hour > 23 || civil.minute > 59 || civil.second > 59)
		return 0;
	return time_from_civil(&civil);
}

/* Is `word` one of the words that a space precedes? */
static bool has_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (const char *space = strchr(text, ' '); space; space = strchr(space + 1, ' '))
		if (strncmp(space + 1, word, size) == 0 &&
		    (space[1 + size] == ' ' || space[1 + size] == '\0'))
			return true;
	return false;
}

bool protect_record_of(const struct pod *pod, struct protect_record *ret_record)
{
	const char *text = labels_value(&pod->annotations, ANNOTATION_PROTECTED);

	if (!text)
		return false;
	*ret_record = (struct protect_record){ .since = time_of(text) };
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++)
		ret_record->keys[i] = has_word(text, annotations[i].key);
	return true;
}

const char *protect_record_text(const struct protect_record *record, struct arena *arena)
{
	const char *text = time_text(arena, record->since);

	if (protect_record_ended(record))
		return arena_printf(arena, "%s" ENDED, text);
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++)
		if (record->keys[i])
			text = arena_printf(arena, "%s %s", text, annotations[i].key);
	return text;
}
