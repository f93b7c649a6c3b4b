/* Compares JSON trees. */
#ifndef TEST_SUPPORT_JSON_SAME_H
#define TEST_SUPPORT_JSON_SAME_H

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>

/* Same values? The order of members does not matter; a null member and an absent one are the same. */
static bool json_same(const struct cJSON *a, const struct cJSON *b);

static bool elements_are_same(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x = a->child, *y = b->child;

	for (; x && y; x = x->next, y = y->next)
		if (!json_same(x, y))
			return false;
	return !x && !y;
}

/* Objects of ours are small, so a linear search for each name is fine. */
static bool members_are_in(const struct cJSON *a, const struct cJSON *b)
{
	for (const struct cJSON *member = a->child; member; member = member->next) {
		const struct cJSON *other = cJSON_GetObjectItemCaseSensitive(b, member->string);

		if (cJSON_IsNull(member) ? other && !cJSON_IsNull(other) :
					   !other || !json_same(member, other))
			return false;
	}
	return true;
}

static bool json_same(const struct cJSON *a, const struct cJSON *b)
{
	if (cJSON_IsObject(a) && cJSON_IsObject(b))
		return members_are_in(a, b) && members_are_in(b, a);
	if (cJSON_IsArray(a) && cJSON_IsArray(b))
		return elements_are_same(a, b);
	if (cJSON_IsNumber(a) && cJSON_IsNumber(b) && isinf(a->valuedouble))
		return isinf(b->valuedouble) && signbit(a->valuedouble) == signbit(b->valuedouble);
	return cJSON_Compare(a, b, true); /* infinite numbers are never equal there */
}

#endif
