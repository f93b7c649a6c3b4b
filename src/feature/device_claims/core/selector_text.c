#include "feature/device_claims/core/selector_text.h"

#include <string.h>

#include "base/text.h"

/* The API server accepts 10 KiB. */
#define TEXT_MAX 65536

static bool is_quote(char c)
{
	return c == '\'' || c == '"';
}

static bool names_driver(const char *text, const char *driver)
{
	size_t size = strlen(driver);

	if (size == 0)
		return false;
	for (const char *at = text; (at = strstr(at, driver)) != NULL; at++)
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

/* ---- in short ---- */

struct short_text {
	char at[SELECTOR_SHORT_MAX + 1];
	size_t size;
};

static void add(struct short_text *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size && out->size < SELECTOR_SHORT_MAX; i++)
		if (text[i] != ' ' || (out->size > 0 && out->at[out->size - 1] != ' '))
			out->at[out->size++] = text[i];
}

/* Where the text between the quotes at the first one ends; NULL: nowhere. */
static const char *quoted_end(const char *text)
{
	return is_quote(*text) ? strchr(text + 1, *text) : NULL;
}

/* The part of a name before that of the attribute: device.attributes['gpu.nvidia.com']. */
static const char *skip_domain(const char *at)
{
	static const char *const maps[] = { "device.attributes[", "device.capacity[" };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		const char *end = text_begins(at, maps[i]) ? quoted_end(at + strlen(maps[i])) :
							     NULL;

		if (end && end[1] == ']' && end[2] == '.')
			return end + 3;
	}
	return text_begins(at, "device.") ? at + strlen("device.") : at;
}

/* A comparison by a method: .compareTo(quantity('80Gi')) >= 0. */
static const char *read_comparison(const char *at, struct short_text *out)
{
	static const struct {
		const char *method, *sign; /* NULL: it follows, with a 0 */
	} methods[] = { { ".compareTo(", NULL },
			{ ".isGreaterThan(", ">" },
			{ ".isLessThan(", "<" } };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const char *value = at + strlen(methods[i].method), *end, *sign = methods[i].sign;
		size_t size = sign ? 1 : 0;

		if (!text_begins(at, methods[i].method))
			continue;
		value += text_begins(value, "quantity(") ? strlen("quantity(") :
			 text_begins(value, "semver(")   ? strlen("semver(") :
							   0;
		end = quoted_end(value);
		if (!end || !text_begins(end + 1, "))"))
			continue;
		at = end + 3;
		if (!sign) {
			sign = at + strspn(at, " ");
			size = strspn(sign, "<>=!");
			at = sign + size + strspn(sign + size, " ");
			if (size == 0 || *at++ != '0')
				return NULL;
		}
		add(out, " ", 1);
		add(out, sign, size);
		add(out, " ", 1);
		add(out, value + 1, (size_t)(end - value - 1));
		return at;
	}
	return NULL;
}

/* One character, or an operator as a word. */
static const char *read_rest(const char *at, struct short_text *out)
{
	if (text_begins(at, "&&") || text_begins(at, "||")) {
		add(out, *at == '&' ? "and" : "or", *at == '&' ? 3 : 2);
		return at + 2;
	}
	if (!is_quote(*at))
		add(out, *at > ' ' && *at < 0x7f ? at : " ", 1);
	return at + 1;
}

const char *selector_text_short(const char *text, struct arena *arena)
{
	struct short_text out = { .size = 0 };

	while (*text != '\0' && out.size < SELECTOR_SHORT_MAX) {
		const char *next = read_comparison(text, &out);

		if (!next)
			next = skip_domain(text);
		text = next == text ? read_rest(text, &out) : next;
	}
	return arena_printf(arena, "%.*s%s", (int)out.size, out.at, *text != '\0' ? "..." : "");
}
