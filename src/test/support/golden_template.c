#include "test/support/golden_template.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
/* Templates of templates. */
#define DEPTH_MAX 8
#define NODE_ID_BYTES 28

/* ---- merging ---- */

static struct cJSON *member(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Adds, or replaces in its place. Takes `value`. */
static void put(struct cJSON *object, const char *name, struct cJSON *value)
{
	if (member(object, name))
		cJSON_ReplaceItemInObjectCaseSensitive(object, name, value);
	else
		cJSON_AddItemToObject(object, name, value);
}

struct cJSON *golden_merge(struct cJSON *target, const struct cJSON *patch, bool nulls)
{
	const struct cJSON *item;

	if (!cJSON_IsObject(patch)) {
		cJSON_Delete(target);
		return cJSON_Duplicate(patch, true);
	}
	if (!cJSON_IsObject(target)) {
		cJSON_Delete(target);
		target = cJSON_CreateObject();
	}
	cJSON_ArrayForEach(item, patch)
	{
		const struct cJSON *old = member(target, item->string);

		if (cJSON_IsNull(item) && !nulls)
			cJSON_DeleteItemFromObjectCaseSensitive(target, item->string);
		else
			put(target, item->string,
			    golden_merge(old ? cJSON_Duplicate(old, true) : NULL, item, nulls));
	}
	return target;
}

/* ---- templates ---- */

static const struct cJSON *value_of(const struct cJSON *parameters, const char *name, size_t size)
{
	const struct cJSON *item;

	cJSON_ArrayForEach(item, parameters)
	{
		if (strlen(item->string) == size && memcmp(item->string, name, size) == 0)
			return cJSON_IsNull(item) ? NULL : item;
	}
	return NULL;
}

/* "x${a}y" with the parameters, NULL when one of them is not set. */
static struct cJSON *fill_text(const char *text, const struct cJSON *parameters)
{
	AUTO(buf_done) struct buf buf = { .data = NULL };
	const char *start, *end, *from = text;

	start = strstr(text, "${");
	if (start == text && strchr(text, '}') == text + strlen(text) - 1) {
		const struct cJSON *value = value_of(parameters, text + 2, strlen(text) - 3);

		return value ? cJSON_Duplicate(value, true) : NULL;
	}
	buf_init(&buf, TEXT_BYTES_MAX);
	for (; start && (end = strchr(start, '}')); start = strstr(from, "${")) {
		const struct cJSON *value =
			value_of(parameters, start + 2, (size_t)(end - start) - 2);

		if (!cJSON_IsString(value))
			return NULL;
		buf_printf(&buf, "%.*s%s", (int)(start - from), from, value->valuestring);
		from = end + 1;
	}
	buf_printf(&buf, "%s", from);
	return cJSON_CreateString(buf_string(&buf));
}

/* A copy of the form with the parameters; members that name a parameter that is not set are left
 * out. */
static struct cJSON *fill(const struct cJSON *form, const struct cJSON *parameters)
{
	struct cJSON *copy, *value;
	const struct cJSON *item;

	if (cJSON_IsString(form))
		return fill_text(form->valuestring, parameters);
	if (!cJSON_IsObject(form) && !cJSON_IsArray(form))
		return cJSON_Duplicate(form, true);
	copy = cJSON_IsObject(form) ? cJSON_CreateObject() : cJSON_CreateArray();
	cJSON_ArrayForEach(item, form)
	{
		value = fill(item, parameters);
		if (cJSON_IsArray(form) && value)
			cJSON_AddItemToArray(copy, value);
		else if (value && !cJSON_IsNull(value))
			cJSON_AddItemToObject(copy, item->string, value);
		else
			cJSON_Delete(value);
	}
	return copy;
}

/* The template merged with the one that it is like: parameters replace those of the other, the form
 * is merged. */
static int template_of(const struct cJSON *templates, const char *name, int depth,
		       struct cJSON **ret_template, struct err *err)
{
	const struct cJSON *own = member(templates, name), *item;
	const struct cJSON *like = member(own, "like");
	struct cJSON *parameters, *template = NULL;

	if (!own || depth > DEPTH_MAX)
		return err_set(err, ERR_INPUT, "%s: %s", name,
			       !own ? "no such template" : "like itself");
	if (cJSON_IsString(like) &&
	    template_of(templates, like->valuestring, depth + 1, &template, err))
		return -1;
	if (!template) {
		template = cJSON_CreateObject();
		cJSON_AddItemToObject(template, "parameters", cJSON_CreateObject());
		cJSON_AddItemToObject(template, "form", cJSON_CreateObject());
	}
	parameters = member(template, "parameters");
	cJSON_ArrayForEach(item, member(own, "parameters"))
		put(parameters, item->string, cJSON_Duplicate(item, true));
	if (member(own, "form"))
		put(template, "form",
		    golden_merge(cJSON_Duplicate(member(template, "form"), true),
				 member(own, "form"), !like));
	*ret_template = template;
	return 0;
}

/* As Ray writes a node ID: base64 of 28 bytes, here all the same. */
static struct cJSON *node_id(size_t number)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned byte = (unsigned)(number % 64);
	const char part[] = { digits[byte >> 2], digits[(byte & 3) << 4 | byte >> 4],
			      digits[(byte & 15) << 2 | byte >> 6], digits[byte & 63], '\0' };
	char text[(NODE_ID_BYTES + 2) / 3 * 4 + 1] = "";

	for (size_t i = 0; i < NODE_ID_BYTES / 3; i++)
		memcpy(text + 4 * i, part, sizeof(part));
	text[NODE_ID_BYTES / 3 * 4] = part[0];
	text[NODE_ID_BYTES / 3 * 4 + 1] = digits[(byte & 3) << 4];
	memcpy(text + NODE_ID_BYTES / 3 * 4 + 2, "==", 3);
	return cJSON_CreateString(text);
}

/* The member of an element sets a parameter: the template has it, or its form names it. */
static bool is_parameter(const struct cJSON *template, const char *form, const char *name)
{
	char mark[64];

	(void)snprintf(mark, sizeof(mark), "${%s}", name);
	return member(member(template, "parameters"), name) || strstr(form, mark);
}

int golden_make(const struct cJSON *templates, const char *kind, const struct cJSON *element,
		size_t number, struct cJSON **ret_made, struct err *err)
{
	const struct cJSON *like = member(element, "like"), *item;
	struct cJSON *template, *set, *patch, *parameters;
	char *form;

	if (template_of(templates, cJSON_IsString(like) ? like->valuestring : kind, 0, &template,
			err))
		return -1;
	set = cJSON_CreateObject();
	patch = cJSON_CreateObject();
	parameters = cJSON_CreateObject();
	form = cJSON_PrintUnformatted(member(template, "form"));
	if (number > 0) {
		cJSON_AddItemToObject(parameters, "id", node_id(number));
		cJSON_AddItemToObject(parameters, "name", cJSON_CreateString(element->string));
	}
	cJSON_ArrayForEach(item, element)
	{
		if (item != like)
			cJSON_AddItemToObject(is_parameter(template, form, item->string) ? set :
											   patch,
					      item->string, cJSON_Duplicate(item, true));
	}
	cJSON_free(form);
	/* Those of the template in their order: one may name those before it. */
	cJSON_ArrayForEach(item, member(template, "parameters"))
	{
		const struct cJSON *own = member(set, item->string);
		struct cJSON *value = fill(own ? own : item, parameters);

		if (value)
			put(parameters, item->string, value);
		if (own)
			cJSON_DeleteItemFromObjectCaseSensitive(set, item->string);
	}
	cJSON_ArrayForEach(item, set) put(parameters, item->string, fill(item, parameters));
	*ret_made = fill(member(template, "form"), parameters);
	*ret_made = golden_merge(*ret_made, patch, false);
	cJSON_Delete(template);
	cJSON_Delete(set);
	cJSON_Delete(patch);
	cJSON_Delete(parameters);
	return 0;
}
