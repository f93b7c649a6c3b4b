#include "core/capacity/start_params.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/model/ray_state.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_spaces(const char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

/* Appends one decimal digit to a number of units; false above the limit. */
static bool add_digit(int64_t *value, char digit)
{
	*value = *value * 10 + (digit - '0');
	return *value <= RESOURCE_AMOUNT_MAX / RESOURCE_UNIT;
}

bool start_params_number(const char *text, int64_t *ret_amount)
{
	const char *at = skip_spaces(text);
	int64_t value = 0;
	bool negative = *at == '-';
	if (*at == '+' || *at == '-')
		at++;
	if (!text_is_digit(*at))
		return false;
	for (; text_is_digit(*at); at++)
		if (!add_digit(&value, *at))
			return false;
	if (*skip_spaces(at) != '\0' || (negative && value > 0))
		return false;
	*ret_amount = value * RESOURCE_UNIT;
	CHECK(*ret_amount >= 0 && *ret_amount <= RESOURCE_AMOUNT_MAX);
	return true;
}

/* The text without its first and last character and without backslashes. */
static char *strip(const char *text, struct arena *arena)
{
	size_t size = strlen(text), count = 0;
	char *result = arena_alloc(arena, size + 1);
	for (size_t i = 1; i + 1 < size; i++)
		if (text[i] != '\\')
			result[count++] = text[i];
	result[count] = '\0';
	return result;
}

/* "name" at *at; the name ends where the closing quote was. JSON has no bare control characters. */
static const char *read_name(char **at)
{
	if (**at != '"')
		return NULL;
	char *name = *at + 1, *end = name;
	while ((unsigned char)*end >= ' ' && *end != '"')
		end++;
	if (*end != '"' || end == name)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return name;
}

/* Digits behind the point, to 1/10000, rounded to nearest. */
static int64_t read_fraction(const char **at)
{
	int64_t scale = RESOURCE_UNIT, value = 0;
	for (; text_is_digit(**at); (*at)++) {
		if (scale > 1) {
			scale /= 10;
			value += (**at - '0') * scale;
		} else if (scale == 1) {
			value += **at >= '5' ? 1 : 0;
			scale = 0;
		}
	}
	return value;
}

/* Numbers as in JSON: no leading zeros. */
static bool read_amount(const char **at, int64_t *ret_amount)
{
	int64_t value = 0;
	if (!text_is_digit(**at) || (**at == '0' && text_is_digit((*at)[1])))
		return false;
	for (; text_is_digit(**at); (*at)++)
		if (!add_digit(&value, **at))
			return false;
	value *= RESOURCE_UNIT;
	if (**at == '.') {
		(*at)++;
		if (!text_is_digit(**at))
			return false;
		value += read_fraction(at);
	}
	*ret_amount = value;
	return value <= RESOURCE_AMOUNT_MAX;
}

static char *skip(char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

static bool read_entry(char **at, struct resource *ret_entry)
{
	*at = skip(*at);
	ret_entry->name = read_name(at);
	if (!ret_entry->name)
		return false;
	*at = skip(*at);
	if (**at != ':')
		return false;
	const char *value = skip(*at + 1);
	if (!read_amount(&value, &ret_entry->amount))
		return false;
	*at += value - *at;
	return true;
}

struct start_params_entry start_params_entry(const struct resource *resource, struct arena *arena)
{
	static const struct {
		const char *resource, *option;
	} options[] = {
		{ "CPU", "num-cpus" },
		{ "GPU", "num-gpus" },
		{ "memory", "memory" },
		{ "object_store_memory", "object-store-memory" },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(resource->name, options[i].resource) == 0)
			return (struct start_params_entry){ .option = options[i].option };
	if (strcmp(resource->name, RAY_HEAD_RESOURCE) == 0)
		return (struct start_params_entry){ .problem = "is a reserved name" };
	if (resource->amount % RESOURCE_UNIT == 0)
		return (struct start_params_entry){ .problem = NULL };
	return (struct start_params_entry){
		.problem = arena_printf(arena, "is %s, which is not a whole number",
					resource_amount_text(arena, resource->amount)),
	};
}

bool start_params_kuberay_reads(const char *text)
{
	return !strchr(text, '\\');
}

bool start_params_resources(const char *text, struct arena *arena, struct resources *ret_resources)
{
	VEC(struct resource) entries = { NULL, 0, 0 };
	char *at = skip(strip(text, arena));
	if (*at != '{')
		return false;
	at = skip(at + 1);
	while (*at != '}') {
		if (entries.count >= START_PARAMS_RESOURCES_MAX ||
		    !read_entry(&at, VEC_ADD(arena, &entries)))
			return false;
		at = skip(at);
		if (*at == '}')
			break;
		if (*at != ',')
			return false;
		at = skip(at + 1);
		if (*at == '}')
			return false;
	}
	if (*skip(at + 1) != '\0')
		return false;
	*ret_resources = resources_sort(entries.at, entries.count);
	return true;
}
