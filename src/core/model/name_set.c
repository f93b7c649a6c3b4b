#include "core/model/name_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static struct name_set sorted(const char **names, size_t count)
{
	if (count > 0)
		qsort(names, count, sizeof(*names), compare_names);
	return (struct name_set){ names, count };
}

struct name_set name_set_of_strings(struct arena *arena, const struct strings *names)
{
	return sorted(ARENA_COPY(arena, names->at, names->count), names->count);
}

struct name_set name_set_of_pods(struct arena *arena, const struct pod *const *pods, size_t count)
{
	const char **names = arena_array(arena, count, sizeof(*names));

	for (size_t i = 0; i < count; i++)
		names[i] = pods[i]->name;
	return sorted(names, count);
}

bool name_set_contains(const struct name_set *set, const char *name)
{
	return SORT_FIND(&name, set->at, set->count, compare_names) != NULL;
}
