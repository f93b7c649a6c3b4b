/* The two operations of golden cases on JSON trees: merging, and making a value from a template. */
#ifndef TEST_GOLDEN_TEMPLATE_H
#define TEST_GOLDEN_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct cJSON;

/* JSON merge patch (RFC 7386): objects are merged, anything else replaces, null removes. With `nulls` a
 * null stays, so that the result is a patch for a later merge. Takes `target`, which may be NULL. */
struct cJSON *golden_merge(struct cJSON *target, const struct cJSON *patch, bool nulls);

/* Makes the value of an element: the form of its template (`like`, else `kind`) with its parameters,
 * merged with its other members. An element of a map is number `number` from 1, which gives the parameters
 * name and id; an element of a list has number 0. The caller deletes *ret_made. */
int golden_make(const struct cJSON *templates, const char *kind, const struct cJSON *element,
		size_t number, struct cJSON **ret_made, struct err *err);

#endif
