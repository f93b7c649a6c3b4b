/* A price table from a file. Laws: a refusal has a reason; a table that is read has a currency and
 * prices within their limits. */
#include "fuzz.h"

#include "base/memory.h"
#include "codec/objects/price_table_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct price_table table;

	if (price_table_read((const char *)data, size, &arena, &table, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return 0;
	}
	REQUIRE(table.currency[0] != '\0' && table.count <= PRICE_TABLE_ROWS_MAX);
	for (size_t i = 0; i < table.count; i++) {
		const struct price_row *row = &table.rows[i];

		REQUIRE(row->gpu_model && row->market <= PRICE_RESERVED);
		REQUIRE(row->micros_per_gpu_hour >= 0 &&
			row->micros_per_gpu_hour <= 1000000 * PRICE_MICROS);
	}
	return 0;
}
