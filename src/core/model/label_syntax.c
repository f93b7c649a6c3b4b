#include "core/model/label_syntax.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define NAME_MAX_BYTES 63
#define PREFIX_MAX_BYTES 253

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text_is_digit(c);
}

static bool is_name(const char *text, size_t size)
{
	if (size == 0 || size > NAME_MAX_BYTES)
		return false;
	if (!is_alphanumeric(text[0]) || !is_alphanumeric(text[size - 1]))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!is_alphanumeric(text[i]) && !strchr("_.-", text[i]))
			return false;
	return true;
}

/* Names separated by dots; Ray allows empty ones. */
static bool is_prefix(const char *text, size_t size)
{
	size_t start = 0;
	if (size > PREFIX_MAX_BYTES)
		return false;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && text[i] != '.')
			continue;
		if (i > start && !is_name(text + start, i - start))
			return false;
		start = i + 1;
	}
	return true;
}

bool label_syntax_key(const char *key)
{
	const char *slash = strrchr(key, '/');
	if (!slash)
		return is_name(key, strlen(key));
	return is_prefix(key, (size_t)(slash - key)) && is_name(slash + 1, strlen(slash + 1));
}

bool label_syntax_value(const char *value)
{
	return value[0] == '\0' || is_name(value, strlen(value));
}
