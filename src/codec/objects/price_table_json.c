#include "codec/objects/price_table_json.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "codec/schema/document_head.h"
#include "codec/schema/one_document.h"

#define PRICE_MAX 1000000 /* of the currency */
#define ROW struct price_row

/* "any" is the word of no market. */
static const char *market_word(unsigned value)
{
	return value == PRICE_ANY ? "any" : price_market_name((enum price_market)value);
}

/* A label value in metrics: letters, digits and signs such as "$" are fine, spaces are not. */
static int check_currency(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	const struct price_table *table = object;
	size_t size = strlen(table->currency);

	if (size == 0 || size > PRICE_CURRENCY_SIZE_MAX || strpbrk(table->currency, " \t\r\n"))
		return json_fail(member, "must be a word of at most %d bytes, such as EUR",
				 PRICE_CURRENCY_SIZE_MAX);
	return 0;
}

static int price_decode(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	struct price_row *row = object;
	double value;

	if (json_type(member) == JSON_STRING)
		return json_fail(member,
				 "must be a number, is a string; write it without quotes and "
				 "currency, and with a point, as 3.50");
	if (json_expect(member, JSON_NUMBER))
		return -1;
	value = json_number_value(member);
	if (!(value >= 0 && value <= PRICE_MAX))
		return json_fail(member, "must be 0 to %d, the price of one GPU for one hour",
				 PRICE_MAX);
	row->micros_per_gpu_hour = (int64_t)(value * (double)PRICE_MICROS + 0.5);
	return 0;
}

static void write_price(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct price_row *row = object;

	json_write_double(writer, field->name,
			  (double)row->micros_per_gpu_hour / (double)PRICE_MICROS);
}

/* Ray's names have no maker, but for AMD's and Intel's, and begin with a capital. */
static int check_model(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	const struct price_row *row = object;
	const char *model = row->gpu_model;

	if (strncasecmp(model, "nvidia", 6) == 0 || strncasecmp(model, "tesla", 5) == 0 ||
	    (*model >= 'a' && *model <= 'z' && text_is_digit(model[1])))
		return json_fail(member,
				 "must be Ray's name of the model, such as A100, T4 or "
				 "AMD-Instinct-MI300X-OAM, is \"%.80s\"",
				 model);
	return 0;
}

static const struct field row_fields[] = {
	FIELD_NAME(ROW, name, "name", .check = field_check_unique, .size = sizeof(ROW)),
	FIELD_LABELS(ROW, group_labels, "groupLabels"),
	FIELD_LABELS(ROW, node_labels, "nodeLabels"),
	FIELD_NAME(ROW, gpu_model, "gpuModel", .check = check_model),
	FIELD_WORD(ROW, market, enum price_market, market_word, "market",
		   .limit = PRICE_RESERVED + 1),
	FIELD_INTEGER(ROW, micros_per_gpu_hour, "perGPUHour", .read = price_decode,
		      .write = write_price),
	FIELD_END,
};

const struct field price_table_fields[] = {
	FIELD_TEXT(struct price_table, currency, "currency", .flags = FIELD_GIVEN,
		   .check = check_currency),
	FIELD_LIST(struct price_table, rows, count, row_fields, "prices", .strict = "a price",
		   .flags = FIELD_ALWAYS | FIELD_GIVEN, .limit = PRICE_TABLE_ROWS_MAX),
	FIELD_END,
};

static const struct field file_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED),
	FIELD_FIXED("kind", "PriceTable", .flags = FIELD_REQUIRED),
	FIELD_HOOK("currency"),
	FIELD_HOOK("prices"),
	FIELD_END,
};

static bool has_labels(const struct labels *all, const struct labels *some)
{
	VEC_EACH(const struct label, label, some) {
		const char *value = labels_value(all, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return true;
}

/* `row` matches each worker that `other` does. */
static bool matches_all_of(const struct price_row *row, const struct price_row *other)
{
	return has_labels(&other->group_labels, &row->group_labels) &&
	       has_labels(&other->node_labels, &row->node_labels) &&
	       (row->gpu_model[0] == '\0' || strcmp(row->gpu_model, other->gpu_model) == 0) &&
	       (row->market == PRICE_ANY || row->market == other->market);
}

/* The first row that matches counts. */
static int check_order(const struct json_at *root, const struct price_table *table)
{
	struct json_at prices = json_member(root, "prices");

	if (table->count == 0)
		return json_fail(&prices, "has no row; add one, such as {perGPUHour: 3}");

	for (size_t i = 1; i < table->count; i++)
		for (size_t before = 0; before < i; before++)
			if (matches_all_of(&table->rows[before], &table->rows[i]))
				return json_fail(
					&prices,
					"row %zu has no effect, as row %zu matches all of its "
					"workers first; move it before that row, or remove it",
					i + 1, before + 1);
	return 0;
}

int price_table_decode(const struct json_at *root, void *ret_table)
{
	return document_head_check(root, "PriceTable") ||
			       field_check_names(root, file_fields, "a PriceTable") ||
			       field_decode_all(root, file_fields, ret_table) ||
			       field_decode_all(root, price_table_fields, ret_table) ||
			       check_order(root, ret_table) ?
		       -1 :
		       0;
}

int price_table_read(const char *text, size_t size, struct arena *arena,
		     struct price_table *ret_table, struct err *err)
{
	struct price_table table = { .currency = "" };

	if (one_document_read(text, size, arena, price_table_decode, &table, err))
		return -1;
	*ret_table = table;
	return 0;
}
