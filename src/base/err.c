#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#undef err_set
#undef err_prefix

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

/* One byte more than the text: it shows whether a character is cut. */
#define DRAFT_SIZE (ERR_TEXT_SIZE + 1)

/* A text that was cut must not end within a character: log readers refuse such a line. */
__attribute__((format(printf, 2, 0))) static void format_text(char text[static DRAFT_SIZE],
							      const char *format, va_list arguments)
{
	if (vsnprintf(text, DRAFT_SIZE, format, arguments) < 0)
		text[0] = '\0';
	text[text_fit(text, ERR_TEXT_SIZE - 1)] = '\0';
	blank_control_characters(text);
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
	char text[DRAFT_SIZE]; /* apart, because err->text may be one of the arguments */
	va_list arguments;

	if (!err)
		return -1;
	va_start(arguments, format);
	format_text(text, format, arguments);
	va_end(arguments);
	err->kind = kind;
	memcpy(err->text, text, strlen(text) + 1);
	return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char prefix[DRAFT_SIZE];
	va_list arguments;

	if (!err)
		return -1;
	va_start(arguments, format);
	format_text(prefix, format, arguments);
	va_end(arguments);
	return err_set(err, err->kind, "%s: %s", prefix, err->text);
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "None",         [ERR_INPUT] = "Input", [ERR_RETRY] = "Retry",
		[ERR_CONFLICT] = "Conflict", [ERR_GONE] = "Gone",   [ERR_NOT_FOUND] = "NotFound",
		[ERR_DENIED] = "Denied",     [ERR_LIMIT] = "Limit", [ERR_TIMEOUT] = "Timeout",
		[ERR_MEMORY] = "Memory",     [ERR_FATAL] = "Fatal",
	};

	return names[kind];
}
