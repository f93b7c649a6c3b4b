#include "test/support/golden_features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "test/support/golden_case.h"

#define LINE_BYTES 2000

/* numbers: "1020-1025 1027" */
static bool has_number(const char *numbers, long number)
{
	char *end;

	for (const char *at = numbers; *at != '\0' && *at != '\n'; at = end) {
		long from = strtol(at, &end, 10), to = from;

		if (end == at)
			return false;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (from <= number && number <= to)
			return true;
	}
	return false;
}

const char *golden_features_of(const char *name, struct arena *arena)
{
	FILE *file = fopen(GOLDEN_DIRECTORY "/features.txt", "re");
	long number = strtol(name, NULL, 10);
	char line[LINE_BYTES];
	const char *found = "";

	if (!file)
		return NULL;
	while (fgets(line, sizeof(line), file)) {
		char *numbers = strchr(line, ':');

		if (!numbers || !has_number(numbers + 1, number))
			continue;
		found = arena_printf(arena, "%.*s", (int)(numbers - line), line);
		break;
	}
	fclose(file);
	return found;
}

bool golden_features_are_built(const char *needed, const char *built, struct arena *arena)
{
	const char *words = arena_printf(arena, " %s ", built);

	while (*needed != '\0') {
		size_t size = strcspn(needed, " ");

		if (!strstr(words, arena_printf(arena, " %.*s ", (int)size, needed)))
			return false;
		needed += size + strspn(needed + size, " ");
	}
	return true;
}
