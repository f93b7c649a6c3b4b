/* Kubernetes resource quantities ("100m", "2Gi", "1e3") as amounts in 1/10000 units, exact decimal
 * arithmetic, rounded up (kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity).
 * "K" is accepted beside "k", as Ray does; "12E" is exa, "12e3" and "12E3" are exponents.
 * Must not be used for amounts that come from Ray: those are doubles (codec/text/number). */
#ifndef CODEC_TEXT_QUANTITY_H
#define CODEC_TEXT_QUANTITY_H

#include <stdint.h>

#include "codec/text/json.h"
#include "core/model/kubernetes.h"

/* 0 and 0 <= *ret_amount <= RESOURCE_AMOUNT_MAX, or -1 and *ret_problem is the problem ("is not a
 * quantity", "is negative", "is too large"). */
int quantity_parse(const char *text, int64_t *ret_amount, const char **ret_problem);

/* A string or a number of a JSON tree; other types are an error. A value that does not parse gives
 * valid == false and a problem in the reader. */
int quantity_decode(const struct json_at *at, struct quantity *ret_quantity);
/* The member `name` (an object of quantities) in the order of the object; none when missing. */
int quantities_decode(const struct json_at *object, struct quantities *ret_quantities);

#endif
