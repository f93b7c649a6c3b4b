#include "codec/text/json_edit.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

/* Of the names of elements in an error. */
#define KNOWN_BYTES_MAX 400

bool json_equal(const struct cJSON *a, const struct cJSON *b)
{
	return cJSON_Compare(a, b, true);
}

struct cJSON *json_copy(const struct cJSON *tree)
{
	struct cJSON *copy = cJSON_Duplicate(tree, true);

	CHECK(copy);
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
		*step = (struct json_step){ arena_strndup(arena, at, size), bracket, NULL };
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
	CHECK(value);
	return value;
}

/* The text that names an element; NULL: none does. */
static const char *name_of(const struct cJSON *element)
{
	static const char *const members[] = { "groupName", "name", "group" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(element, members[i]);

		if (cJSON_IsString(value))
			return value->valuestring;
	}
	return NULL;
}

static struct cJSON *find_element(const struct cJSON *list, const char *name)
{
	int64_t index = -1;

	for (struct cJSON *e = list->child; e; e = e->next) {
		const char *own = name_of(e);

		if (own && strcmp(own, name) == 0)
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
	CHECK(value && cJSON_AddItemToObject(object, name, value));
	return value;
}

/* An element {KEY: NAME} at the end. */
static struct cJSON *add_element(struct cJSON *list, const char *key, const char *name)
{
	struct cJSON *element = cJSON_CreateObject();

	CHECK(element && cJSON_AddItemToArray(list, element));
	add_member(element, key, cJSON_CreateString(name));
	return element;
}

/* The value of one step; a missing one is created, but not a list whose next step is an element
 * without a key. NULL: there is none. */
static struct cJSON *descend(struct cJSON *node, const struct json_step *step)
{
	bool list = step[1].bracket;
	struct cJSON *child;

	if (cJSON_IsArray(node) && step->bracket) {
		child = find_element(node, step->name);
		return child || !step->key ? child : add_element(node, step->key, step->name);
	}
	if (!cJSON_IsObject(node))
		return NULL;
	child = cJSON_GetObjectItemCaseSensitive(node, step->name);
	if (cJSON_IsNull(child)) {
		cJSON_DeleteItemFromObjectCaseSensitive(node, step->name);
		child = NULL;
	}
	if (child || (list && !step[1].key))
		return child;
	return add_member(node, step->name, list ? cJSON_CreateArray() : cJSON_CreateObject());
}

/* node: in which step `i` was not found; NULL: the list of this step was not. */
static int fail_step(const struct json_steps *steps, size_t i, const struct cJSON *node,
		     struct err *err)
{
	const struct json_step *step = &steps->at[i];
	const struct cJSON *list = cJSON_IsArray(node) ? node : NULL;
	AUTO(buf_done) struct buf known = BUF_INIT(KNOWN_BYTES_MAX);

	if (!step->bracket)
		return err_set(err, ERR_INPUT, "%.80s: there is no object with this member",
			       step->name);
	if (list && find_element(list, step->name))
		return err_set(err, ERR_INPUT, "[%.80s]: name a member of this element",
			       step->name);
	for (const struct cJSON *e = list ? list->child : NULL; e; e = e->next)
		if (name_of(e))
			buf_printf(&known, "%s%s", known.size > 0 ? ", " : "", name_of(e));
	return err_set(err, ERR_NOT_FOUND, "%.80s has no element %.80s; it has %s",
		       i > 0 ? steps->at[i - 1].name : "", step->name,
		       known.size > 0 ? buf_string(&known) : "none");
}

int json_edit_set(struct cJSON *tree, const struct json_steps *steps, const char *value,
		  struct err *err)
{
	const struct json_step *last = &steps->at[steps->count - 1];
	struct cJSON *node = tree;

	for (size_t i = 0; i + 1 < steps->count; i++) {
		bool no_list = cJSON_IsObject(node) && steps->at[i + 1].bracket;
		struct cJSON *next = descend(node, &steps->at[i]);

		if (!next)
			return no_list ? fail_step(steps, i + 1, NULL, err) :
					 fail_step(steps, i, node, err);
		node = next;
	}
	if (!cJSON_IsObject(node))
		return fail_step(steps, steps->count - 1, node, err);
	struct cJSON *old = cJSON_GetObjectItemCaseSensitive(node, last->name);
	if (old)
		CHECK(cJSON_ReplaceItemInObjectCaseSensitive(node, last->name, value_of(value)));
	else
		add_member(node, last->name, value_of(value));
	return 0;
}
