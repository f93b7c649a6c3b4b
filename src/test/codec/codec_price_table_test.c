/* Price tables from files: the rows, and every refusal with its line and column. */
#include "codec/objects/price_table_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/schema/one_document.h"
#include "test/support/support.h"

#define HEAD "apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n"

static const char good[] = HEAD "prices:\n"
				"- {name: spot, gpuModel: A100, market: spot, perGPUHour: 1.23}\n"
				"- groupLabels: {team: vision}\n"
				"  nodeLabels: {pool: p, zone: a}\n"
				"  perGPUHour: 0.000001\n"
				"- {market: any, perGPUHour: 1e6}\n";

static void test_rows_in_their_order(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct price_table table;
	struct err err;

	(void)state;
	if (price_table_read(good, strlen(good), &arena, &table, &err))
		fail_msg("%s", err.text);
	assert_string_equal(table.currency, "EUR");
	assert_int_equal(table.count, 3);
	assert_string_equal(table.rows[0].name, "spot");
	assert_string_equal(table.rows[1].name, "");
	assert_string_equal(table.rows[0].gpu_model, "A100");
	assert_int_equal(table.rows[0].market, PRICE_SPOT);
	assert_int_equal(table.rows[0].micros_per_gpu_hour, 1230000);
	assert_string_equal(labels_value(&table.rows[1].group_labels, "team"), "vision");
	assert_string_equal(labels_value(&table.rows[1].node_labels, "zone"), "a");
	assert_int_equal(table.rows[1].micros_per_gpu_hour, 1);
	assert_string_equal(table.rows[2].gpu_model, "");
	assert_int_equal(table.rows[2].market, PRICE_ANY);
	assert_int_equal(table.rows[2].micros_per_gpu_hour, INT64_C(1000000000000));
}

static const struct {
	const char *text, *error;
} bad[] = {
	{ "", "line 1, column 1: there is no document" },
	{ HEAD, "prices: is missing, must be an array" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: DeviceTable\ncurrency: EUR\nprices: []\n",
	  "line 2, column 1: kind: " },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\nprices: []\n",
	  "currency: is missing, must be a string" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: ''\nprices: []\n",
	  "line 3, column 1: currency: must be a word of at most 16 bytes, such as EUR" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: US dollars\nprices: []",
	  "currency: must be a word" },
	{ HEAD "prices:\n- {perGPUHour: 1}\n- {gpuModel: A100}\n",
	  "line 6, column 3: prices[1].perGPUHour: is missing, must be a number" },
	{ HEAD "prices:\n- {perGPUHour: '1'}\n",
	  "line 5, column 4: prices[0].perGPUHour: must be a number, is a string" },
	{ HEAD "prices:\n- {perGPUHour: -1}\n",
	  "prices[0].perGPUHour: must be 0 to 1000000, the price of one GPU for one hour" },
	{ HEAD "prices:\n- {perGPUHour: 1000001}\n", "must be 0 to 1000000" },
	{ HEAD "prices:\n- {perGPUHour: .nan}\n", "prices[0].perGPUHour: must be" },
	{ HEAD "prices:\n- {perHour: 1}\n",
	  "line 5, column 4: prices[0].perHour: is not a member of a price" },
	{ HEAD "prices:\n- {market: Spot, perGPUHour: 1}\n",
	  "prices[0].market: must be one of any, on-demand, spot, reserved, is \"Spot\"" },
	{ HEAD "prices:\n- {nodeLabels: [a], perGPUHour: 1}\n", "prices[0].nodeLabels: must be" },
	{ HEAD "prices:\n- {name: a, perGPUHour: 1}\n- {perGPUHour: 1}\n- {perGPUHour: 1}\n"
	       "- {name: a, perGPUHour: 2}\n",
	  "line 8, column 4: prices[3].name: a is in the list twice; rename one" },
	{ HEAD "prices:\n- {gpuModel: A100, perGPUHour: 3}\n- {perGPUHour: 1}\n"
	       "- {market: spot, perGPUHour: 1}\n",
	  "prices: row 3 has no effect, as row 2 matches all of its workers first; move it before "
	  "that row, or remove it" },
	{ HEAD "prices:\n- {groupLabels: {a: b}, perGPUHour: 1}\n"
	       "- {groupLabels: {c: d, a: b}, gpuModel: T4, perGPUHour: 1}\n",
	  "prices: row 2 has no effect, as row 1 matches" },
	{ HEAD "rows: []\n", "line 4, column 1: rows: is not a member of a PriceTable" },
	{ HEAD "prices: []\n", "prices: has no row; add one" },
	{ HEAD "prices: [{gpuModel: NVIDIA-A100-SXM4-80GB, perGPUHour: 1}]\n",
	  "prices[0].gpuModel: must be Ray's name of the model, such as A100" },
	{ HEAD "prices: [{gpuModel: t4, perGPUHour: 1}]\n", "prices[0].gpuModel: must be" },
	{ HEAD "prices: [{perGPUHour: 1}]\n---\n" HEAD "prices: []\n",
	  "there is a second document" },
	{ HEAD "prices: [\n", "line 5, column 1" },
	{ "[1]", "top level: must be a PriceTable, is an array; begin it with " },
};

static void test_refusals_name_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct err err = { .kind = ERR_NONE };
		struct price_table table;

		if (price_table_read(bad[i].text, strlen(bad[i].text), &arena, &table, &err) == 0)
			fail_msg("not refused: %s", bad[i].text);
		if (!strstr(err.text, bad[i].error))
			fail_msg("\"%s\" does not have \"%s\"", err.text, bad[i].error);
	}
}

static void test_the_number_of_rows_is_limited(void **state)
{
	struct err err = { .kind = ERR_NONE };

	(void)state;
	for (size_t count = PRICE_TABLE_ROWS_MAX; count <= PRICE_TABLE_ROWS_MAX + 1; count++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(buf_done) struct buf buf;
		struct price_table table;

		buf_init(&buf, ONE_DOCUMENT_BYTES_MAX);
		buf_add_string(&buf, HEAD "prices:\n");
		for (size_t i = 0; i < count; i++)
			buf_printf(&buf, "- {gpuModel: M%zu, perGPUHour: 1}\n", i);
		assert_int_equal(price_table_read(buf_string(&buf), buf.size, &arena, &table, &err),
				 count > PRICE_TABLE_ROWS_MAX ? -1 : 0);
	}
	assert_string_equal(err.text,
			    "line 4, column 1: prices: has 1001 elements, more than 1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_in_their_order),
		cmocka_unit_test(test_refusals_name_the_place),
		cmocka_unit_test(test_the_number_of_rows_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
