#include "codec/objects/proto_json.h"

#include <string.h>

#include "codec/objects/object_json.h"
#include "codec/text/base64.h"
#include "codec/text/number.h"

/* The name under which the field is given (camel when it is missing). */
static int name_of(const struct json_at *at, const char *camel, const char *snake,
		   const char **ret_name)
{
	struct json_at first = json_member(at, camel), second = json_member(at, snake);

	*ret_name = second.json ? snake : camel;
	if (strcmp(camel, snake) != 0 && first.json && second.json)
		return json_fail(&first, "is given twice, also as %s", snake);
	return 0;
}

int proto_text(const struct json_at *at, const char *camel, const char *snake,
	       const char **ret_value)
{
	const char *name;

	return name_of(at, camel, snake, &name) || json_text(at, name, ret_value) ? -1 : 0;
}

int proto_int64(const struct json_at *at, const char *camel, const char *snake, int64_t *ret_value)
{
	struct json_at member;
	const char *name;

	*ret_value = 0;
	if (name_of(at, camel, snake, &name))
		return -1;
	member = json_member(at, name);
	if (json_type(&member) != JSON_STRING)
		return json_integer(at, name, NULL, ret_value);
	if (number_parse_integer(json_text_value(&member), ret_value))
		return json_fail(&member, "must be an integer, is \"%.40s\"",
				 json_text_value(&member));
	return 0;
}

int proto_enum(const struct json_at *at, const char *camel, const char *snake,
	       const struct proto_enum *table, int32_t *ret_number)
{
	struct json_at member;
	int64_t number = 0;
	const char *name;

	if (name_of(at, camel, snake, &name))
		return -1;
	member = json_member(at, name);
	if (json_type(&member) == JSON_STRING) {
		number = -1;
		for (size_t i = 0; table[i].name; i++) {
			if (strcmp(table[i].name, json_text_value(&member)) == 0)
				number = table[i].number;
		}
		if (number < 0)
			json_problem(&member, "\"%.40s\" is not known", json_text_value(&member));
	} else if (json_integer(at, name, NULL, &number)) {
		return -1;
	}
	if (number < INT32_MIN || number > INT32_MAX)
		return json_fail(&member, "must be a number of an enum");
	*ret_number = (int32_t)number;
	return 0;
}

int proto_bytes_hex(const struct json_at *at, const char *camel, const char *snake,
		    const char **ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	struct arena *arena = at->reader->arena;
	const char *name, *text;
	char *bytes, *hex;
	size_t size;

	if (name_of(at, camel, snake, &name) || json_text(at, name, &text))
		return -1;
	*ret_hex = "";
	if (base64_decode(text, arena, &bytes, &size)) {
		struct json_at member = json_member(at, name);

		json_problem(&member, "is not base64");
		return 0;
	}
	hex = arena_alloc(arena, 2 * size + 1);
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = digits[(unsigned char)bytes[i] >> 4];
		hex[2 * i + 1] = digits[(unsigned char)bytes[i] & 15];
	}
	*ret_hex = hex;
	return 0;
}

int proto_array(const struct json_at *at, const char *camel, const char *snake,
		struct json_at *ret_value)
{
	const char *name;

	return name_of(at, camel, snake, &name) || json_array(at, name, ret_value) ? -1 : 0;
}

int proto_object(const struct json_at *at, const char *camel, const char *snake,
		 struct json_at *ret_value)
{
	const char *name;

	return name_of(at, camel, snake, &name) || json_object(at, name, ret_value) ? -1 : 0;
}

int proto_strings(const struct json_at *at, const char *camel, const char *snake,
		  struct strings *ret_strings)
{
	const char *name;

	return name_of(at, camel, snake, &name) || object_strings_decode(at, name, ret_strings) ?
		       -1 :
		       0;
}

int proto_labels(const struct json_at *at, const char *camel, const char *snake,
		 struct labels *ret_labels)
{
	const char *name;

	return name_of(at, camel, snake, &name) || object_labels_decode(at, name, ret_labels) ? -1 :
												0;
}

int proto_double_value(const struct json_at *at, double *ret_value)
{
	if (json_type(at) == JSON_STRING) {
		if (number_parse(json_text_value(at), ret_value))
			return json_fail(at, "must be a number, is \"%.40s\"", json_text_value(at));
		return 0;
	}
	if (json_expect(at, JSON_NUMBER))
		return -1;
	*ret_value = json_number_value(at);
	return 0;
}
