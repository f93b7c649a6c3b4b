/* A price table (docs/COST.md), YAML or JSON, to struct price_table. Results live in the arena. Must
 * not match rows: that is core/capacity/price. */
#ifndef CODEC_OBJECTS_PRICE_TABLE_JSON_H
#define CODEC_OBJECTS_PRICE_TABLE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/price.h"

#define PRICE_TABLE_ROWS_MAX 1000
#define PRICE_CURRENCY_SIZE_MAX 16

/* A whole document: a struct price_table. -1 with the reader's error. */
int price_table_decode(const struct json_at *root, void *ret_table);
/* ERR_INPUT or ERR_LIMIT names line, column and member. */
int price_table_read(const char *text, size_t size, struct arena *arena,
		     struct price_table *ret_table, struct err *err);

/* Currency and prices: the member priceTable of a Snapshot. */
extern const struct field price_table_fields[];

#endif
