#include "test/support/golden_want.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Lists of a plan that a map may select from, and the member that names an element. */
static const struct {
	const char *list, *key;
} keys[] = {
	{ "groups", "name" },
	{ "workers", "pod" },
	{ "conditions", "type" },
	{ "toTerminate", "pod" },
};

/* The element of the list `name` that is called `wanted`. */
static const struct cJSON *element(const struct cJSON *list, const char *name, const char *wanted)
{
	const struct cJSON *item;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!name || strcmp(keys[i].list, name) != 0)
			continue;
		cJSON_ArrayForEach(item, list)
		{
			const char *text = cJSON_GetStringValue(
				cJSON_GetObjectItemCaseSensitive(item, keys[i].key));

			if (text && strcmp(text, wanted) == 0)
				return item;
		}
	}
	return NULL;
}

/* The value of `got` that belongs to the member of a wanted object; `name` is the name of `got`.
 * NULL: missing. */
static const struct cJSON *counterpart(const struct cJSON *wanted, const struct cJSON *got,
				       const char *name)
{
	if (cJSON_IsArray(got))
		return element(got, name, wanted->string);
	return cJSON_GetObjectItemCaseSensitive(got, wanted->string);
}

/* ---- comparison ---- */

static const char *shown(const struct cJSON *value, struct arena *arena)
{
	char *text = value ? cJSON_PrintUnformatted(value) : NULL;
	const char *copy = arena_strdup(arena, text ? text : "nothing");

	cJSON_free(text);
	return copy;
}

/* The first difference between the wanted members and the plan, NULL: none. An object is compared
 * by the members that it has, an array of the same length element by element; an object against an
 * array finds its elements by name (counterpart). null means that the member is missing. Other
 * values are compared whole. */
static const char *differ(const struct cJSON *want, const struct cJSON *got, const char *name,
			  const char *path, struct arena *arena)
{
	const char *text = NULL;
	const struct cJSON *item;
	size_t i = 0;

	if (cJSON_IsObject(want) && want->child && (cJSON_IsObject(got) || cJSON_IsArray(got))) {
		cJSON_ArrayForEach(item, want)
		{
			if (!text)
				text = differ(item, counterpart(item, got, name), item->string,
					      arena_printf(arena, "%s.%s", path, item->string),
					      arena);
		}
		return text;
	}
	if (cJSON_IsArray(want) && cJSON_IsArray(got) &&
	    cJSON_GetArraySize(want) == cJSON_GetArraySize(got)) {
		const struct cJSON *other = got->child;

		cJSON_ArrayForEach(item, want)
		{
			if (!text)
				text = differ(item, other, NULL,
					      arena_printf(arena, "%s[%zu]", path, i++), arena);
			other = other->next;
		}
		return text;
	}
	if (cJSON_IsNull(want) && !got)
		return NULL;
	if (got && cJSON_Compare(want, got, true))
		return NULL;
	return arena_printf(arena, "plan%s: wanted %s, decided %s", path, shown(want, arena),
			    shown(got, arena));
}

const char *golden_difference(const struct cJSON *want, const struct cJSON *plan,
			      struct arena *arena)
{
	return differ(want, plan, NULL, "", arena);
}

/* ---- update ---- */

static struct cJSON *update(const struct cJSON *want, const struct cJSON *got, const char *name)
{
	const struct cJSON *item, *other = got ? got->child : NULL;
	struct cJSON *copy;

	if (!got)
		return cJSON_CreateNull();
	if (cJSON_IsObject(want) && want->child && (cJSON_IsObject(got) || cJSON_IsArray(got))) {
		copy = cJSON_CreateObject();
		cJSON_ArrayForEach(item, want) cJSON_AddItemToObject(
			copy, item->string,
			update(item, counterpart(item, got, name), item->string));
		return copy;
	}
	if (!cJSON_IsArray(want) || !cJSON_IsArray(got) ||
	    cJSON_GetArraySize(want) != cJSON_GetArraySize(got))
		return cJSON_Duplicate(got, true);
	copy = cJSON_CreateArray();
	cJSON_ArrayForEach(item, want)
	{
		cJSON_AddItemToArray(copy, update(item, other, NULL));
		other = other->next;
	}
	return copy;
}

struct cJSON *golden_want_update(const struct cJSON *want, const struct cJSON *plan)
{
	return update(want, plan, NULL);
}
