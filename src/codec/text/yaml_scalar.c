#include "codec/text/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A longer text with "_" is read as a string. */
#define NUMBER_BYTES_MAX 64

static bool is_any(const char *text, const char *a, const char *b, const char *c)
{
	return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

/* The words that kubectl reads as true, and as false. */
static bool is_boolean(const char *text, bool *ret_value)
{
	*ret_value = is_any(text, "true", "True", "TRUE") || is_any(text, "yes", "Yes", "YES") ||
		     is_any(text, "on", "On", "ON");
	return *ret_value || is_any(text, "false", "False", "FALSE") ||
	       is_any(text, "no", "No", "NO") || is_any(text, "off", "Off", "OFF");
}

/* The digits behind 0x, 0o, 0b or a leading 0, in a text without a sign: "1F" and base 16. NULL: none. */
static const char *based_digits(const char *text, int *ret_base)
{
	static const struct {
		char letter;
		int base;
	} forms[] = { { 'x', 16 }, { 'X', 16 }, { 'o', 8 }, { 'O', 8 }, { 'b', 2 }, { 'B', 2 } };

	if (text[0] != '0' || text[1] == '\0')
		return NULL;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (text[1] == forms[i].letter) {
			*ret_base = forms[i].base;
			return text + 2;
		}
	*ret_base = 8;
	return text + 1;
}

static bool resolve_based(const char *text, double *ret_number)
{
	static const char all[] = "0123456789abcdefABCDEF";
	bool negative = *text == '-';
	int base = 10;
	const char *digits = based_digits(text + (negative || *text == '+'), &base);
	double number = 0;

	if (!digits || *digits == '\0')
		return false;
	for (const char *p = digits; *p; p++) {
		const char *digit = strchr(all, *p);
		long value = digit ? digit - all : 0;

		value = value > 15 ? value - 6 : value;
		if (!digit || value >= base)
			return false;
		number = number * base + (double)value;
	}
	*ret_number = negative ? -number : number;
	return true;
}

static const char *skip_digits(const char *text)
{
	return text + strspn(text, "0123456789");
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_decimal(const char *text, bool *ret_integer)
{
	const char *digits = text + (*text == '-' || *text == '+');
	const char *p = skip_digits(digits);
	bool any = p > digits;

	*ret_integer = true;
	if (*p == '.') {
		const char *fraction = p + 1;

		*ret_integer = false;
		p = skip_digits(fraction);
		any = any || p > fraction;
	}
	if (any && (*p == 'e' || *p == 'E')) {
		const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');

		*ret_integer = false;
		p = skip_digits(exponent);
		any = p > exponent;
	}
	return any && *p == '\0';
}

/* A number without the "_" between its digits, as YAML 1.1 allows; a longer text is kept. */
static const char *without_underscores(const char *text, char *room, size_t size)
{
	size_t used = 0;

	if (!strchr(text, '_') || strlen(text) >= size || !strchr("+-0123456789", *text))
		return text;
	for (; *text != '\0'; text++)
		if (*text != '_')
			room[used++] = *text;
	room[used] = '\0';
	return room;
}

struct yaml_scalar yaml_scalar_resolve(const char *text)
{
	struct yaml_scalar scalar = { .kind = YAML_SCALAR_STRING };
	char room[NUMBER_BYTES_MAX];
	const char *unsigned_text = text + (*text == '-' || *text == '+');
	bool integer;

	if (*text != '\0' && !strchr("~nNtTfFyYoO.+-0123456789", *text))
		return scalar;
	text = without_underscores(text, room, sizeof(room));
	if (*text == '\0' || strcmp(text, "~") == 0 || is_any(text, "null", "Null", "NULL")) {
		scalar.kind = YAML_SCALAR_NULL;
	} else if (is_boolean(text, &scalar.boolean)) {
		scalar.kind = YAML_SCALAR_BOOLEAN;
	} else if (is_any(unsigned_text, ".inf", ".Inf", ".INF")) {
		scalar.kind = YAML_SCALAR_FLOAT;
		scalar.number = *text == '-' ? -INFINITY : INFINITY;
	} else if (is_any(text, ".nan", ".NaN", ".NAN")) {
		scalar.kind = YAML_SCALAR_FLOAT;
		scalar.number = NAN;
	} else if (resolve_based(text, &scalar.number)) {
		scalar.kind = YAML_SCALAR_INTEGER;
	} else if (is_decimal(text, &integer)) {
		scalar.kind = integer ? YAML_SCALAR_INTEGER : YAML_SCALAR_FLOAT;
		scalar.number = strtod(text, NULL);
	}
	return scalar;
}
