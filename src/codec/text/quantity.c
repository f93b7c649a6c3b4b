#include "codec/text/quantity.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "codec/text/number.h"

#define TEXT_SIZE_MAX 64
/* Digits of the text, times 1024 six times (18.1 digits), and room for the carry. */
#define DIGITS_MAX (TEXT_SIZE_MAX + 20)
/* 1/10000 units. */
#define UNIT_EXPONENT 4

static const char problem_form[] = "is not a quantity";
static const char problem_negative[] = "is negative";
static const char problem_large[] = "is too large";

/* digits (most significant first) × 10^exponent */
struct decimal {
	unsigned char digits[DIGITS_MAX];
	int count;
	int exponent;
};

/* "12", "12.", ".5", "1.5"; leading zeros are dropped. Returns the rest, NULL when it is not a
 * number. */
static const char *parse_digits(const char *text, struct decimal *decimal)
{
	bool any = false, point = false;

	for (; text_is_digit(*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		any = true;
		if (point)
			decimal->exponent--;
		if (decimal->count > 0 || *text != '0')
			decimal->digits[decimal->count++] = (unsigned char)(*text - '0');
	}
	return any ? text : NULL;
}

static void multiply(struct decimal *decimal, unsigned factor)
{
	unsigned carry = 0;

	for (int i = decimal->count - 1; i >= 0; i--) {
		carry += decimal->digits[i] * factor;
		decimal->digits[i] = (unsigned char)(carry % 10);
		carry /= 10;
	}
	while (carry) {
		CHECK(decimal->count < DIGITS_MAX);
		memmove(decimal->digits + 1, decimal->digits, (size_t)decimal->count);
		decimal->digits[0] = (unsigned char)(carry % 10);
		decimal->count++;
		carry /= 10;
	}
}

/* After "e" or "E": an integer with or without sign. */
static int parse_exponent(const char *text, struct decimal *decimal)
{
	bool negative = *text == '-';
	int value = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (!text_is_digit(*text))
		return -1;
	for (; text_is_digit(*text); text++) {
		if (value < 100000)
			value = value * 10 + (*text - '0');
	}
	if (*text != '\0')
		return -1;
	decimal->exponent += negative ? -value : value;
	return 0;
}

static int apply_suffix(const char *suffix, struct decimal *decimal)
{
	static const char letters[] = "num kMGTPE"; /* 10^-9, 10^-6, ... 10^18; the space is 10^0 */

	if (*suffix == '\0')
		return 0;
	if ((*suffix == 'e' || *suffix == 'E') && suffix[1] != '\0' && suffix[1] != 'i')
		return parse_exponent(suffix + 1, decimal);
	const char *letter = *suffix == 'K' ? strchr(letters, 'k') : strchr(letters, *suffix);
	if (!letter || *suffix == ' ')
		return -1;
	int step = (int)(letter - letters) - 3;
	if (suffix[1] == '\0') {
		decimal->exponent += 3 * step;
		return 0;
	}
	/* Ki, not ki: 1024 has a capital letter. */
	if (strcmp(suffix + 1, "i") != 0 || step < 1 || *suffix == 'k')
		return -1;
	for (int i = 0; i < step; i++)
		multiply(decimal, 1024);
	return 0;
}

/* The value in 1/10000 units, rounded up. */
static int to_amount(const struct decimal *decimal, int64_t *ret_amount)
{
	int shift = decimal->exponent + UNIT_EXPONENT;
	int kept = decimal->count + (shift < 0 ? shift : 0);
	int64_t amount = 0;
	bool rest = false;

	if (decimal->count == 0) {
		*ret_amount = 0;
		return 0;
	}
	/* RESOURCE_AMOUNT_MAX has 18 digits. */
	if (decimal->count + shift > 18)
		return -1;
	for (int i = 0; i < decimal->count; i++) {
		if (i < kept)
			amount = amount * 10 + decimal->digits[i];
		else if (decimal->digits[i])
			rest = true;
	}
	for (int i = 0; i < shift; i++)
		amount *= 10;
	amount += rest;
	if (amount > RESOURCE_AMOUNT_MAX)
		return -1;
	*ret_amount = amount;
	return 0;
}

int quantity_parse(const char *text, int64_t *ret_amount, const char **ret_problem)
{
	struct decimal decimal = { .count = 0 };
	bool negative = *text == '-';

	*ret_problem = problem_form;
	if (strnlen(text, TEXT_SIZE_MAX + 1) > TEXT_SIZE_MAX)
		return -1;
	const char *suffix = parse_digits(text + (*text == '-' || *text == '+'), &decimal);
	if (!suffix || apply_suffix(suffix, &decimal))
		return -1;
	if (negative && decimal.count > 0) {
		*ret_problem = problem_negative;
		return -1;
	}
	if (to_amount(&decimal, ret_amount)) {
		*ret_problem = problem_large;
		return -1;
	}
	*ret_problem = NULL;
	return 0;
}

int quantity_decode(const struct json_at *at, struct quantity *ret_quantity)
{
	struct quantity quantity = { .name = "", .text = "" };
	struct arena *arena = at->reader->arena;
	char number[NUMBER_TEXT_SIZE];
	const char *problem;

	if (at->name)
		quantity.name = arena_text(arena, at->name);
	if (json_type(at) == JSON_NUMBER) {
		number_print(json_number_value(at), number);
		quantity.text = arena_text(arena, number);
	} else if (json_type(at) == JSON_STRING) {
		quantity.text = arena_text(arena, json_text_value(at));
	} else {
		return json_fail(at, "must be a quantity (a string or a number), is %s",
				 json_type_name(json_type(at)));
	}
	quantity.valid = quantity_parse(quantity.text, &quantity.amount, &problem) == 0;
	if (!quantity.valid)
		json_problem(at, "\"%.*s\" %s", TEXT_SIZE_MAX, quantity.text, problem);
	*ret_quantity = quantity;
	return 0;
}

int quantities_decode(const struct json_at *object, struct quantities *ret_quantities)
{
	VEC(struct quantity) quantities = { .at = NULL };

	if (json_optional(object, JSON_OBJECT))
		return -1;
	VEC_RESERVE(object->reader->arena, &quantities, json_count(object));
	for (struct json_at e = json_first(object); e.json; json_next(&e)) {
		struct quantity quantity;

		if (quantity_decode(&e, &quantity))
			return -1;
		VEC_PUSH(object->reader->arena, &quantities, quantity);
	}
	*ret_quantities = (struct quantities){ .at = quantities.at, .count = quantities.count };
	return 0;
}
