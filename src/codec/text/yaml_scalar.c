#include "codec/text/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_any(const char *text, const char *a, const char *b, const char *c)
{
	return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

/* 0o17 and 0x1F, without a sign. */
static bool resolve_based(const char *text, double *ret_number)
{
	const char *digits = "01234567";
	int base = 8;
	double number = 0;

	if (text[0] != '0' || (text[1] != 'o' && text[1] != 'x') || text[2] == '\0')
		return false;
	if (text[1] == 'x') {
		digits = "0123456789abcdefABCDEF";
		base = 16;
	}
	for (const char *p = text + 2; *p; p++) {
		const char *digit = strchr(digits, *p);

		if (!digit)
			return false;
		long value = digit - digits;
		number = number * base + (double)(value > 15 ? value - 6 : value);
	}
	*ret_number = number;
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

struct yaml_scalar yaml_scalar_resolve(const char *text)
{
	struct yaml_scalar scalar = { .kind = YAML_SCALAR_STRING };
	const char *unsigned_text = text + (*text == '-' || *text == '+');
	bool integer;

	if (*text != '\0' && !strchr("~nNtTfF.+-0123456789", *text))
		return scalar;
	if (*text == '\0' || strcmp(text, "~") == 0 || is_any(text, "null", "Null", "NULL")) {
		scalar.kind = YAML_SCALAR_NULL;
	} else if (is_any(text, "true", "True", "TRUE") ||
		   is_any(text, "false", "False", "FALSE")) {
		scalar.kind = YAML_SCALAR_BOOLEAN;
		scalar.boolean = *text == 't' || *text == 'T';
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
