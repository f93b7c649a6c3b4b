#include "codec/text/json_edit.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

struct cJSON *json_copy(const struct cJSON *tree)
{
	struct cJSON *copy = cJSON_Duplicate(tree, true);

	CHECK(copy != NULL);
	return copy;
}

/* ---- paths ---- */

int json_steps_parse(const char *path, struct arena *arena, struct json_steps *ret_steps,
		     struct err *err)
{
	const char *at = path;
	bool bracket = false;

	ret_steps->count = 0;
	do {
		size_t size = strcspn(at, bracket ? "]" : ".[]");
		struct json_step *step = &ret_steps->at[ret_steps->count];

		if (size == 0 || (bracket && at[size] != ']') || (!bracket && at[size] == ']'))
			return err_set(err, ERR_INPUT,
				       "%.80s: is not a path like "
				       "workerGroupSpecs[gpu].maxReplicas",
				       path);
		if (++ret_steps->count > JSON_STEPS_MAX)
			return err_set(err, ERR_INPUT, "%.80s: has more than %d parts", path,
				       JSON_STEPS_MAX);
		*step = (struct json_step){ arena_strndup(arena, at, size), bracket };
		at += size + bracket;
		bracket = *at == '[';
		if (*at != '\0' && *at != '.' && *at != '[')
			return err_set(err, ERR_INPUT, "%.80s: a dot must follow the bracket",
				       path);
		at += *at != '\0';
	} while (*at != '\0' || at[-1] == '.' || at[-1] == '[');
	return 0;
}

/* ---- values ---- */

static struct cJSON *value_of(const char *text)
{
	static const struct json_limits limits = { .bytes = 1 << 16, .depth = 8, .elements = 1000 };
	struct cJSON *value;

	if (json_parse(text, strlen(text), &limits, &value, NULL) == 0)
		return value;
	value = cJSON_CreateString(text);
	CHECK(value != NULL);
	return value;
}

static bool is_named(const struct cJSON *element, const char *member, const char *name)
{
	const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(element, member);

	return cJSON_IsString(value) && strcmp(value->valuestring, name) == 0;
}

static struct cJSON *find_element(const struct cJSON *list, const char *name)
{
	int64_t index = -1;

	for (struct cJSON *e = list->child; e; e = e->next) {
		if (is_named(e, "groupName", name) || is_named(e, "name", name) ||
		    is_named(e, "group", name))
			return e;
	}
	if (number_parse_integer(name, &index) || index < 0)
		return NULL;
	for (struct cJSON *e = list->child; e; e = e->next) {
		if (index-- == 0)
			return e;
	}
	return NULL;
}

static struct cJSON *add_member(struct cJSON *object, const char *name, struct cJSON *value)
{
	CHECK(value != NULL && cJSON_AddItemToObject(object, name, value));
	return value;
}

/* An element {KEY: NAME} at the end. */
static struct cJSON *add_element(struct cJSON *list, const char *key, const char *name)
{
	struct cJSON *element = cJSON_CreateObject();

	CHECK(element != NULL && cJSON_AddItemToArray(list, element));
	add_member(element, key, cJSON_CreateString(name));
	return element;
}

/* The value of one step; a missing one is created, but before a bracket only a list, and only with
 * a key. NULL: there is none. */
static struct cJSON *descend(struct cJSON *node, const struct json_step *step, bool list,
			     const char *key)
{
	struct cJSON *child;

	if (cJSON_IsArray(node) && step->bracket) {
		child = find_element(node, step->name);
		return child || !key ? child : add_element(node, key, step->name);
	}
	if (!cJSON_IsObject(node))
		return NULL;
	child = cJSON_GetObjectItemCaseSensitive(node, step->name);
	if (cJSON_IsNull(child)) {
		cJSON_DeleteItemFromObjectCaseSensitive(node, step->name);
		child = NULL;
	}
	if (child || (list && !key))
		return child;
	return add_member(node, step->name, list ? cJSON_CreateArray() : cJSON_CreateObject());
}

static int fail_step(const struct json_steps *steps, size_t i, struct err *err)
{
	const struct json_step *step = &steps->at[i];

	if (step->bracket)
		return err_set(err, ERR_NOT_FOUND, "%.80s has no element %.80s",
			       i > 0 ? steps->at[i - 1].name : "", step->name);
	return err_set(err, ERR_INPUT, "%.80s: there is no object with this member", step->name);
}

int json_edit_set(struct cJSON *tree, const struct json_steps *steps, const char *value,
		  const char *key, struct err *err)
{
	const struct json_step *last = &steps->at[steps->count - 1];
	struct cJSON *node = tree, *old;

	for (size_t i = 0; i + 1 < steps->count; i++) {
		bool list = steps->at[i + 1].bracket, object = cJSON_IsObject(node);

		node = descend(node, &steps->at[i], list, key);
		if (!node)
			return fail_step(steps, object && list ? i + 1 : i, err);
	}
	if (!cJSON_IsObject(node))
		return fail_step(steps, steps->count - 1, err);
	old = cJSON_GetObjectItemCaseSensitive(node, last->name);
	if (old)
		CHECK(cJSON_ReplaceItemInObjectCaseSensitive(node, last->name, value_of(value)));
	else
		add_member(node, last->name, value_of(value));
	return 0;
}
