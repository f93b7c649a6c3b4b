#include "test/support/golden_yaml.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/memory.h"

#define COLUMNS ((size_t)120)
#define LINE_BYTES_MAX ((size_t)1 << 20)

/* Only texts that YAML does not read as a number, a boolean or syntax need no quotes. */
static bool is_plain(const char *text)
{
	static const char *const words[] = { "true", "false", "null", "yes", "no",
					     "on",   "off",   "y",    "n" };
	size_t size = strlen(text);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(words[i], text) == 0)
			return false;
	}
	if (size == 0 || (!strchr("_/", text[0]) && !isalpha((unsigned char)text[0])))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("_./ -", text[i]))
			return false;
	}
	return text[size - 1] != ' ' && text[size - 1] != '-';
}

static bool fits_single_quotes(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\n' || (unsigned char)*text < ' ')
			return false;
	}
	return true;
}

static void write_text(struct buf *buf, const char *text)
{
	struct cJSON *value;
	char *quoted;

	if (is_plain(text)) {
		buf_printf(buf, "%s", text);
	} else if (fits_single_quotes(text)) {
		buf_printf(buf, "'%s'", text);
	} else {
		value = cJSON_CreateString(text);
		quoted = cJSON_PrintUnformatted(value);
		buf_printf(buf, "%s", quoted);
		cJSON_free(quoted);
		cJSON_Delete(value);
	}
}

static void write_flow(struct buf *buf, const struct cJSON *value)
{
	const struct cJSON *item;
	char *text;

	if (cJSON_IsString(value)) {
		write_text(buf, value->valuestring);
	} else if (cJSON_IsObject(value) || cJSON_IsArray(value)) {
		buf_printf(buf, "%c", cJSON_IsObject(value) ? '{' : '[');
		cJSON_ArrayForEach(item, value)
		{
			buf_printf(buf, "%s", item != value->child ? ", " : "");
			if (cJSON_IsObject(value)) {
				write_text(buf, item->string);
				buf_printf(buf, ": ");
			}
			write_flow(buf, item);
		}
		buf_printf(buf, "%c", cJSON_IsObject(value) ? '}' : ']');
	} else {
		text = cJSON_PrintUnformatted(value);
		buf_printf(buf, "%s", text);
		cJSON_free(text);
	}
}

/* The column of the next character. */
static size_t column(const struct buf *buf)
{
	size_t size = 0;

	while (size < buf->size && buf->data[buf->size - 1 - size] != '\n')
		size++;
	return size;
}

/* After "name:" or "-" at column `indent`. `on_lines`: the members each on lines of their own. */
static void write_value(struct buf *buf, const struct cJSON *value, size_t indent, bool in_list,
			bool on_lines)
{
	bool is_object = cJSON_IsObject(value), goes_on = in_list && is_object;
	size_t inner = is_object || in_list ? indent + 2 : indent;
	AUTO(buf_done) struct buf flow;
	const struct cJSON *item;

	buf_init(&flow, LINE_BYTES_MAX);
	write_flow(&flow, value);
	if (!value->child || (!on_lines && column(buf) + 1 + flow.size <= COLUMNS)) {
		buf_printf(buf, " %s\n", buf_string(&flow));
		return;
	}
	buf_printf(buf, goes_on ? " " : "\n");
	cJSON_ArrayForEach(item, value)
	{
		if (!goes_on || item != value->child)
			buf_printf(buf, "%*s", (int)inner, "");
		if (is_object)
			write_text(buf, item->string);
		buf_printf(buf, is_object ? ":" : "-");
		write_value(buf, item, inner, !is_object, false);
	}
}

void golden_yaml_write(struct buf *buf, const char *name, const struct cJSON *value)
{
	buf_printf(buf, "%s:", name);
	write_value(buf, value, 0, false, true);
}
