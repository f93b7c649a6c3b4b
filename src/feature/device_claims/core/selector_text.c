#include "feature/device_claims/core/selector_text.h"

#include <string.h>

/* The API server accepts 10 KiB. */
#define TEXT_MAX 65536

static bool is_quote(char c)
{
	return c == '\'' || c == '"';
}

static bool names_driver(const char *text, const char *driver)
{
	size_t size = strlen(driver);

	for (const char *at = text; size > 0 && (at = strstr(at, driver)) != NULL; at++)
		if (at > text && is_quote(at[-1]) && at[size] == at[-1])
			return true;
	return false;
}

/* The text after `.name ==` or `['name'] ==`; "": none. */
static const char *equal_text(const char *text, const char *name, struct arena *arena)
{
	size_t size = strlen(name);

	for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
		const char *value = at + size;
		bool quoted = at > text && is_quote(at[-1]) && value[0] == at[-1] &&
			      value[1] == ']';

		if (!quoted && (at == text || at[-1] != '.'))
			continue;
		value += quoted ? 2 : 0;
		value += strspn(value, " \t\n");
		if (strncmp(value, "==", 2) != 0)
			continue;
		value += 2 + strspn(value + 2, " \t\n");
		const char *end = is_quote(*value) ? strchr(value + 1, *value) : NULL;
		if (end && !memchr(value, '\\', (size_t)(end - value)))
			return arena_strndup(arena, value + 1, (size_t)(end - value - 1));
	}
	return "";
}

void selector_text_read(const char *text, const struct device_table *table, struct arena *arena,
			struct wanted_device *wanted)
{
	const struct {
		const char *name, **value;
	} attributes[] = {
		{ "type", &wanted->type },
		{ "profile", &wanted->profile },
		{ "productName", &wanted->product },
	};

	if (strlen(text) > TEXT_MAX)
		return;
	for (size_t i = 0; i < table->count; i++)
		if (names_driver(text, table->rows[i].driver))
			wanted->driver = table->rows[i].driver;
	/* Neither an alternative nor a negation says what a device has. */
	if (strstr(text, "||") || strchr(text, '!'))
		return;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *value = equal_text(text, attributes[i].name, arena);

		if (*value != '\0')
			*attributes[i].value = value;
	}
}
