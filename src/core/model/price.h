/* Prices of GPU time: rows with selectors, in the order of the user's file; the first row that
 * matches a worker gives its price. A price is of one GPU for one hour, as Ray counts GPUs: so a
 * share of a device, a MIG slice and a worker on a part of a Node cost their part, and
 * used and idle GPUs of one worker have their own cost. Plain data in the arena of the table's creator;
 * core/capacity/price matches it, codec/objects/price_table_json reads it. */
#ifndef CORE_MODEL_PRICE_H
#define CORE_MODEL_PRICE_H

#include "core/model/resources.h"

#define PRICE_MICROS INT64_C(1000000) /* of one unit of the currency */

enum price_market {
	PRICE_ANY = 0,
	PRICE_ON_DEMAND, /* also without a sign of another market */
	PRICE_SPOT,
	PRICE_RESERVED,
};

/* A selector without content matches every worker. */
struct price_row {
	const char *name;           /* for --vary; "" or NULL: none */
	struct labels group_labels; /* of the group, its Pod template, or the Ray node */
	struct labels node_labels;
	const char *gpu_model; /* a name of Ray, "A100"; "" any */
	enum price_market market;
	int64_t micros_per_gpu_hour;
};

struct price_table {
	const char *currency; /* "EUR" */
	const struct price_row *rows;
	size_t count;
};

const char *price_market_name(enum price_market market); /* "", "on-demand", "spot", "reserved" */

#endif
