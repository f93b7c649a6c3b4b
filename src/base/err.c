#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef err_set
#undef err_prefix

/* Bytes of the UTF-8 sequence that starts with `lead`; 1 for an invalid lead byte. */
static size_t sequence_size(unsigned char lead)
{
	if (lead >= 0xf0 && lead < 0xf8)
		return 4;
	if (lead >= 0xe0)
		return lead < 0xf0 ? 3 : 1;
	return lead >= 0xc0 ? 2 : 1;
}

/* A text that was cut must not end within a character: log readers refuse such a line. */
static void drop_partial_character(char *text)
{
	size_t size = strlen(text);
	size_t back = 0;

	while (back < size && back < 3 && ((unsigned char)text[size - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back == size)
		return;
	if (sequence_size((unsigned char)text[size - 1 - back]) > back + 1)
		text[size - 1 - back] = '\0';
}

/* Control characters (C0, DEL, C1 as UTF-8) could break a log line or drive a terminal. */
static void blank_control_characters(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
		if (*at < 0x20 || *at == 0x7f) {
			*at = ' ';
		} else if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) {
			at[0] = ' ';
			at[1] = ' ';
		}
	}
}

__attribute__((format(printf, 3, 0))) static void format_text(char *text, size_t size,
							      const char *format, va_list arguments)
{
	int wanted = vsnprintf(text, size, format, arguments);

	if (wanted < 0)
		text[0] = '\0';
	if (wanted >= 0 && (size_t)wanted >= size)
		drop_partial_character(text);
	blank_control_characters(text);
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
	char text[ERR_TEXT_SIZE]; /* apart, because err->text may be one of the arguments */
	va_list arguments;

	if (err == NULL)
		return -1;
	va_start(arguments, format);
	format_text(text, sizeof(text), format, arguments);
	va_end(arguments);
	err->kind = kind;
	memcpy(err->text, text, strlen(text) + 1);
	return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char prefix[ERR_TEXT_SIZE];
	char text[ERR_TEXT_SIZE];
	va_list arguments;
	int wanted;

	if (err == NULL)
		return -1;
	va_start(arguments, format);
	format_text(prefix, sizeof(prefix), format, arguments);
	va_end(arguments);
	wanted = snprintf(text, sizeof(text), "%s: %s", prefix, err->text);
	if (wanted >= 0 && (size_t)wanted >= sizeof(text))
		drop_partial_character(text);
	memcpy(err->text, text, strlen(text) + 1);
	return -1;
}

const char *err_kind_name(enum err_kind kind)
{
	switch (kind) {
	case ERR_NONE:
		return "None";
	case ERR_INPUT:
		return "Input";
	case ERR_RETRY:
		return "Retry";
	case ERR_CONFLICT:
		return "Conflict";
	case ERR_GONE:
		return "Gone";
	case ERR_NOT_FOUND:
		return "NotFound";
	case ERR_DENIED:
		return "Denied";
	case ERR_LIMIT:
		return "Limit";
	case ERR_TIMEOUT:
		return "Timeout";
	case ERR_FATAL:
		return "Fatal";
	}
	return "Unknown";
}
