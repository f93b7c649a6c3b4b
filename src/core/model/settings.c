#include "core/model/settings.h"

#include <string.h>

#define INITIAL_INTEGER(value) (value)
#define INITIAL_BOOLEAN(value) (value)
#define INITIAL_CHOICE(value) (value)
#define INITIAL_LIST(value)                                                                        \
	{                                                                                          \
		NULL, (value)                                                                      \
	}

static const struct settings defaults = {
#define X(kind, member, name, initial, minimum, maximum, unit, help)                               \
	.member = INITIAL_##kind(initial),
	SETTINGS_TABLE(X)
#undef X
};

static const struct settings_row rows[] = {
#define X(kind, member, name, initial, minimum, maximum, unit, help)                               \
	{ SETTINGS_##kind, name, initial, minimum,                                                 \
	  maximum,         unit, help,    offsetof(struct settings, member) },
	SETTINGS_TABLE(X)
#undef X
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

void settings_init(struct settings *settings)
{
	*settings = defaults;
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
