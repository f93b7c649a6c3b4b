/* UTF-8 text for messages. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The size of the longest beginning of the text that has at most max_bytes bytes and no half
 * character. */
size_t text_fit(const char *text, size_t max_bytes);

/* The byte of two hexadecimal digits; -1 where the text has none. */
int text_hex_byte(const char *text);

/* ASCII, whatever the locale. */
static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

char text_lower(char c);
bool text_equal_ignoring_case(const char *a, const char *b);

bool text_begins(const char *text, const char *beginning);

/* Equal, or both NULL. */
bool text_same(const char *a, const char *b);
/* One of the words of "A|B|C", in which an empty word, also that of "", is the empty text. */
bool text_is_word(const char *text, const char *words);
bool text_is_among(const char *text, const char *const *list, size_t count);

#endif
