#include "core/model/settings.h"

#include <string.h>

static const struct settings_row rows[] = {
#define X(...) SETTINGS_ROW(struct settings, __VA_ARGS__)
	SETTINGS_TABLE(X)
#undef X
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

void settings_rows_init(const struct settings_row *all, size_t count, void *object)
{
	for (size_t i = 0; i < count; i++) {
		void *member = (char *)object + all[i].offset;

		switch (all[i].kind) {
		case SETTINGS_INTEGER:
		case SETTINGS_DURATION:
			*(int64_t *)member = all[i].initial;
			break;
		case SETTINGS_BOOLEAN:
			*(bool *)member = all[i].initial;
			break;
		case SETTINGS_CHOICE:
			*(int *)member = (int)all[i].initial;
			break;
		case SETTINGS_LIST:
			*(struct strings *)member = (struct strings){ .count = 0 };
			break;
		case SETTINGS_TEXT:
			*(const char **)member = all[i].initial_text;
			break;
		}
	}
}

void settings_init(struct settings *settings)
{
	settings_rows_init(rows, ROW_COUNT, settings);
}

const struct settings_row *settings_rows(size_t *ret_count)
{
	*ret_count = ROW_COUNT;
	return rows;
}

const struct settings_row *settings_row_find(const char *name)
{
	return ARRAY_FIND(rows, ROW_COUNT, name, name);
}

int settings_choice_value(const struct settings_row *row, const char *word)
{
	size_t size = strlen(word);
	const char *at = row->unit;

	if (row->kind != SETTINGS_CHOICE)
		return -1;
	for (int value = 0;; value++) {
		size_t length = strcspn(at, "|");

		if (length == size && memcmp(at, word, size) == 0)
			return value;
		if (at[length] == '\0')
			return -1;
		at += length + 1;
	}
}

const char *settings_choice_word(const struct settings_row *row, int64_t value, size_t *ret_size)
{
	const char *word = row->unit;

	for (; value > 0; value--)
		word = strchr(word, '|') + 1;
	*ret_size = strcspn(word, "|");
	return word;
}
