#include "base/text.h"

#include <string.h>

size_t text_fit(const char *text, size_t max_bytes)
{
	size_t size = strnlen(text, max_bytes + 1);

	if (size <= max_bytes)
		return size;
	/* A character has at most three bytes after its first. */
	for (size = max_bytes;
	     size > 0 && max_bytes - size < 3 && ((unsigned char)text[size] & 0xc0) == 0x80;)
		size--;
	return size;
}

int text_hex_byte(const char *text)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	int value = 0;

	for (int i = 0; i < 2; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return -1;
		value = value * 16 + (int)(digit - digits) % 16;
	}
	return value;
}

char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_equal_ignoring_case(const char *a, const char *b)
{
	while (*a != '\0' && text_lower(*a) == text_lower(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

bool text_begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool text_is_among(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

bool text_is_word(const char *text, const char *words)
{
	for (;; words++) {
		const char *at = text;

		for (; *at != '\0' && *at == *words && *words != '|'; at++)
			words++;
		if (*at == '\0' && (*words == '|' || *words == '\0'))
			return true;
		words = strchrnul(words, '|');
		if (*words == '\0')
			return false;
	}
}

bool text_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}
