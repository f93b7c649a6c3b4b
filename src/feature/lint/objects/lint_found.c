#include "feature/lint/objects/lint_found.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"

struct lint_found lint_found_element(struct lint_found list, size_t index, struct arena *arena)
{
	const struct cJSON *element =
		cJSON_IsArray(list.json) ? cJSON_GetArrayItem(list.json, (int)index) : NULL;

	return (struct lint_found){ element,
				    element ? arena_printf(arena, "%s[%zu]", list.path, index) :
					      list.path };
}

static struct lint_found member(struct lint_found of, const char *name, struct arena *arena)
{
	const struct cJSON *next;

	if (cJSON_IsArray(of.json))
		return lint_found_element(of, (size_t)strtoul(name, NULL, 10), arena);
	next = cJSON_GetObjectItemCaseSensitive(of.json, name);
	return (struct lint_found){ next, next ? lint_path_member(arena, of.path, name) : of.path };
}

struct lint_found lint_found_follow(struct lint_found from, const char *names, struct arena *arena)
{
	while (*names != '\0' && from.json) {
		size_t size = strcspn(names, " ");

		from = member(from, arena_strndup(arena, names, size), arena);
		names += size + (names[size] == ' ');
	}
	return from;
}

bool lint_found_is_given(struct lint_found found)
{
	return found.json && !cJSON_IsNull(found.json);
}

const char *lint_found_text(struct lint_found found, struct arena *arena)
{
	if (!found.json)
		return "";
	if (cJSON_IsString(found.json))
		return found.json->valuestring;
	if (cJSON_IsBool(found.json))
		return cJSON_IsTrue(found.json) ? "true" : "false";
	return cJSON_IsNumber(found.json) ? arena_printf(arena, "%g", found.json->valuedouble) : "";
}

const char *lint_found_member_text(struct lint_found object, const char *name, struct arena *arena)
{
	return lint_found_text(lint_found_follow(object, name, arena), arena);
}
