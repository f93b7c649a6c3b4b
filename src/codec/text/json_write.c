#include "codec/text/json_write.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "codec/text/json.h"
#include "codec/text/number.h"
#include "codec/text/rfc3339.h"
#include "codec/text/utf8.h"
#include "core/model/resources.h"

void json_write_init(struct json_writer *writer, struct buf *buf, enum json_style style)
{
	*writer = (struct json_writer){ .buf = buf };
	writer->line[0] = style == JSON_STYLE_LINE;
}

static void new_line(struct json_writer *writer, unsigned depth)
{
	buf_add_char(writer->buf, '\n');
	for (unsigned i = 0; i < depth; i++)
		buf_add(writer->buf, "  ", 2);
}

/* Length of the ASCII at the start of the text that a JSON string contains as it is. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= ' ' && text[length] <= '~' && text[length] != '"' &&
	       text[length] != '\\')
		length++;
	return length;
}

static void write_string(struct buf *buf, const char *text)
{
	static const char plain_escapes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	size_t left = strlen(text);

	buf_add_char(buf, '"');
	while (left) {
		size_t plain = plain_length(text);
		size_t length = plain > 0 ? plain : utf8_length(text, left);
		const char *escape = plain > 0 ? NULL : strchr(plain_escapes, *text);

		if (plain > 0) {
			buf_add(buf, text, plain);
		} else if (length == 0) {
			buf_add_string(buf, "\xEF\xBF\xBD");
			length = 1;
		} else if (escape) {
			buf_add_char(buf, '\\');
			buf_add_char(buf, letters[escape - plain_escapes]);
		} else if (!utf8_is_visible(utf8_code_point(text, length))) {
			utf8_add_json_escape(buf, utf8_code_point(text, length));
		} else {
			buf_add(buf, text, length);
		}
		text += length;
		left -= length;
	}
	buf_add_char(buf, '"');
}

/* Comma, line and name before a value. */
static void begin(struct json_writer *writer, const char *name)
{
	unsigned depth = writer->depth;

	if (depth > 0) {
		if (writer->filled[depth])
			buf_add_char(writer->buf, ',');
		if (!writer->line[depth])
			new_line(writer, depth);
		else if (writer->filled[depth])
			buf_add_char(writer->buf, ' ');
	}
	writer->filled[depth] = true;
	if (name) {
		write_string(writer->buf, name);
		buf_add(writer->buf, ": ", 2);
	}
}

static void open_bracket(struct json_writer *writer, const char *name, char bracket, bool line)
{
	begin(writer, name);
	buf_add_char(writer->buf, bracket);
	CHECK(writer->depth + 1 < JSON_WRITE_DEPTH_MAX);
	line = line || writer->line[writer->depth];
	writer->depth++;
	writer->line[writer->depth] = line;
	writer->filled[writer->depth] = false;
}

static void close_bracket(struct json_writer *writer, char bracket)
{
	CHECK(writer->depth > 0);
	writer->depth--;
	if (writer->filled[writer->depth + 1] && !writer->line[writer->depth + 1])
		new_line(writer, writer->depth);
	buf_add_char(writer->buf, bracket);
}

void json_write_object(struct json_writer *writer, const char *name)
{
	open_bracket(writer, name, '{', false);
}

void json_write_object_line(struct json_writer *writer, const char *name)
{
	open_bracket(writer, name, '{', true);
}

void json_write_object_end(struct json_writer *writer)
{
	close_bracket(writer, '}');
}

void json_write_array(struct json_writer *writer, const char *name)
{
	open_bracket(writer, name, '[', false);
}

void json_write_array_line(struct json_writer *writer, const char *name)
{
	open_bracket(writer, name, '[', true);
}

void json_write_array_end(struct json_writer *writer)
{
	close_bracket(writer, ']');
}

void json_write_text(struct json_writer *writer, const char *name, const char *text)
{
	begin(writer, name);
	write_string(writer->buf, text);
}

void json_write_texts(struct json_writer *writer, const struct json_text *texts)
{
	for (; texts->name; texts++)
		json_write_text(writer, texts->name, texts->text);
}

void json_write_texts_line(struct json_writer *writer, const char *name,
			   const struct json_text *texts)
{
	json_write_object_line(writer, name);
	json_write_texts(writer, texts);
	json_write_object_end(writer);
}

void json_write_integer(struct json_writer *writer, const char *name, int64_t value)
{
	begin(writer, name);
	buf_printf(writer->buf, "%" PRId64, value);
}

void json_write_boolean(struct json_writer *writer, const char *name, bool value)
{
	begin(writer, name);
	buf_add_string(writer->buf, value ? "true" : "false");
}

void json_write_null(struct json_writer *writer, const char *name)
{
	begin(writer, name);
	buf_add_string(writer->buf, "null");
}

void json_write_double(struct json_writer *writer, const char *name, double value)
{
	char text[NUMBER_TEXT_SIZE];

	number_print(value, text);
	begin(writer, name);
	if (strpbrk(text, "NI"))
		write_string(writer->buf, text);
	else
		buf_add_string(writer->buf, text);
}

void json_write_amount(struct json_writer *writer, const char *name, int64_t amount)
{
	char text[RESOURCE_AMOUNT_TEXT_SIZE];

	resource_amount_print(amount, text);
	begin(writer, name);
	buf_add_string(writer->buf, text);
}

void json_write_time(struct json_writer *writer, const char *name, time_ms time)
{
	char text[RFC3339_SIZE];

	if (time == TIME_NONE) {
		json_write_null(writer, name);
		return;
	}
	rfc3339_print(time, text);
	json_write_text(writer, name, text);
}

void json_write_raw(struct json_writer *writer, const char *name, const char *json)
{
	begin(writer, name);
	buf_add_string(writer->buf, json);
}

static bool is_flat(const struct json_at *at)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		if (json_type(&e) == JSON_OBJECT || json_type(&e) == JSON_ARRAY)
			return false;
	return true;
}

void json_write_tree(struct json_writer *writer, const char *name, const struct json_at *at)
{
	bool flat = is_flat(at);

	switch (json_type(at)) {
	case JSON_OBJECT:
		(flat ? json_write_object_line : json_write_object)(writer, name);
		for (struct json_at e = json_first(at); e.json; json_next(&e))
			json_write_tree(writer, e.name, &e);
		json_write_object_end(writer);
		break;
	case JSON_ARRAY:
		(flat ? json_write_array_line : json_write_array)(writer, name);
		for (struct json_at e = json_first(at); e.json; json_next(&e))
			json_write_tree(writer, NULL, &e);
		json_write_array_end(writer);
		break;
	case JSON_STRING:
		json_write_text(writer, name, json_text_value(at));
		break;
	case JSON_NUMBER:
		json_write_double(writer, name, json_number_value(at));
		break;
	case JSON_BOOLEAN:
		json_write_boolean(writer, name, json_boolean_value(at));
		break;
	case JSON_MISSING:
	case JSON_NULL:
	case JSON_UNREADABLE:
		json_write_null(writer, name);
		break;
	}
}
