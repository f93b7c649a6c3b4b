#include "codec/text/json_unique.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/json.h"

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first duplicate name of an object, NULL for none. */
static const char *duplicate_name(const struct json_at *object)
{
	size_t count = json_count(object), i = 0;
	const char **names, *twice = NULL;

	if (count < 2)
		return NULL;
	names = memory_array(count, sizeof(*names));
	for (struct json_at e = json_first(object); e.json; json_next(&e))
		names[i++] = e.name;
	qsort(names, count, sizeof(*names), compare_names);
	for (i = 1; i < count && !twice; i++) {
		if (strcmp(names[i - 1], names[i]) == 0)
			twice = names[i];
	}
	memory_free(names);
	return twice;
}

static int check_unique(const struct json_at *at)
{
	enum json_type type = json_type(at);

	if (type == JSON_OBJECT) {
		const char *twice = duplicate_name(at);

		if (twice) {
			struct json_at member = json_member(at, twice);

			return json_fail(&member, "is there twice; which one counts is not clear");
		}
	}
	if (type != JSON_OBJECT && type != JSON_ARRAY)
		return 0;
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (check_unique(&e))
			return -1;
	}
	return 0;
}

int json_check_unique(const struct cJSON *tree, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct json_reader reader = { .arena = &arena, .err = err };
	struct json_at root = json_root(tree, "", &reader);

	return check_unique(&root);
}
