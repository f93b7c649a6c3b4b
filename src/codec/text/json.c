#include "codec/text/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/sort.h"
#include "codec/text/json_scan.h"
#include "codec/text/number.h"
#include "codec/text/position.h"

#undef json_fail

/* Paths are for messages: a longer one is cut. */
#define PATH_BYTES_MAX 512
#define PATH_NAME_MAX 100

void json_count_memory(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){ .malloc_fn = memory_try_alloc, .free_fn = memory_free });
}

/* ---- duplicate names ---- */

static int compare_names(const void *a, const void *b)
{
	const struct json_at *left = a, *right = b;

	return strcmp(left->name, right->name);
}

/* The first member of an object that has the name of an earlier one; json NULL: there is none. */
static struct json_at find_twice(const struct json_at *object)
{
	struct json_at twice = { .json = NULL }, *members;
	size_t count = json_count(object), i = 0;

	if (count < 2)
		return twice;
	members = memory_array(count, sizeof(*members));
	for (struct json_at e = json_first(object); e.json; json_next(&e))
		members[i++] = e;
	sort_stable(members, count, sizeof(*members), compare_names);
	for (i = 1; i < count; i++) {
		if (compare_names(&members[i - 1], &members[i]) == 0 &&
		    (!twice.json || members[i].index < twice.index))
			twice = members[i];
	}
	memory_free(members);
	return twice;
}

static int fail_twice(const struct json_at *twice, struct positions *positions, struct place object)
{
	if (!positions)
		return json_fail(twice, "is there twice; which one counts is not clear");
	struct place second = place_first(positions, object);
	while (second.json && second.json != twice->json)
		second = place_next(positions, second);
	positions->failure = position_find(positions, second, "");
	return err_set(twice->reader->err, ERR_INPUT,
		       "line %u, column %u: this member is there twice: %.100s",
		       positions->failure.line, positions->failure.column, twice->name);
}

/* `place`: the same value in `positions`, which may be NULL. */
static int check_unique(const struct json_at *at, struct positions *positions, struct place place)
{
	struct json_at twice = { .json = NULL };

	if (json_type(at) == JSON_OBJECT)
		twice = find_twice(at);
	if (twice.json)
		return fail_twice(&twice, positions, place);
	if (positions)
		place = place_first(positions, place);
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (check_unique(&e, positions, place))
			return -1;
		if (positions && place.json)
			place = place_next(positions, place);
	}
	return 0;
}

/* 0, or ERR_INPUT for the first object of a tree with a duplicate name: "line 3, column 5: this member
 * is there twice: NAME", and `failure` is set; without positions with its path. */
static int check_names(const struct cJSON *tree, struct positions *positions, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct json_reader reader = { .arena = &arena, .err = err };
	struct json_at root = json_root(tree, "", &reader);

	return check_unique(&root, positions, place_root(tree));
}

/* ---- trees ---- */

int json_parse(const char *text, size_t size, const struct json_limits *limits,
	       struct cJSON **ret_json, struct err *err)
{
	return json_parse_positions(text, size, limits, NULL, ret_json, err);
}

int json_parse_positions(const char *text, size_t size, const struct json_limits *limits,
			 struct positions *positions, struct cJSON **ret_json, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf marked = BUF_INIT(size);

	positions_clear(positions);
	if (size > limits->bytes)
		return err_set(err, ERR_LIMIT, "the text has %zu bytes, more than %zu", size,
			       limits->bytes);
	if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
		text += 3;
		size -= 3;
	}
	if (size == 0)
		return err_set(err, ERR_INPUT, "the text is empty");
	if (json_scan(text, size, limits, positions, &marked, err))
		return -1;
	tree = cJSON_ParseWithLength(marked.size > 0 ? marked.data : text, size);
	if (!tree)
		return err_set(err, ERR_LIMIT, "the JSON tree cannot be built");
	if (limits->unique_names && check_names(tree, positions, err))
		return -1;
	*ret_json = steal(&tree);
	return 0;
}

void json_free(struct cJSON *json)
{
	cJSON_Delete(json);
}

void json_done(struct cJSON **json)
{
	cJSON_Delete(*json);
	*json = NULL;
}

/* ---- places ---- */

struct json_at json_root(const struct cJSON *json, const char *path, struct json_reader *reader)
{
	return (struct json_at){ .json = json, .name = path, .reader = reader };
}

static const char *find_mark(const char *text)
{
	return strchr(text, (unsigned char)JSON_MARK);
}

static bool is_unreadable(const struct cJSON *json)
{
	return (json->string && find_mark(json->string)) ||
	       (cJSON_IsString(json) && find_mark(json->valuestring));
}

enum json_type json_type(const struct json_at *at)
{
	if (!at->json)
		return JSON_MISSING;
	if (is_unreadable(at->json))
		return JSON_UNREADABLE;
	switch (at->json->type & 0xFF) {
	case cJSON_NULL:
		return JSON_NULL;
	case cJSON_False:
	case cJSON_True:
		return JSON_BOOLEAN;
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	default:
		CHECK(cJSON_IsObject(at->json));
		return JSON_OBJECT;
	}
}

bool json_is_given(const struct json_at *at)
{
	enum json_type type = json_type(at);

	return type != JSON_MISSING && type != JSON_NULL;
}

static const char unreadable[] =
	"unreadable: text or name has \\u0000, half a surrogate pair or bytes that are not UTF-8";

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_MISSING] = "missing",   [JSON_NULL] = "null",
		[JSON_BOOLEAN] = "a boolean", [JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",   [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",  [JSON_UNREADABLE] = unreadable,
	};

	return names[type];
}

static bool plain_name(const char *name)
{
	if (*name == '\0')
		return false;
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "_-")] == '\0';
}

static void add_path(struct buf *buf, const struct json_at *at)
{
	if (!at->parent) {
		buf_add_string(buf, at->name);
		return;
	}
	add_path(buf, at->parent);
	if (!at->name)
		buf_printf(buf, "[%zu]", at->index);
	else if (!plain_name(at->name))
		buf_printf(buf, "[\"%.*s\"]", PATH_NAME_MAX, at->name);
	else
		buf_printf(buf, "%s%.*s", buf->size ? "." : "", PATH_NAME_MAX, at->name);
}

const char *json_path(const struct json_at *at)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(PATH_BYTES_MAX);

	add_path(&buf, at);
	if (buf.overflowed)
		buf_printf(&buf, "...");
	if (buf.size == 0)
		return "top level";
	return json_shown_text(at->reader->arena, buf_string(&buf));
}

static int fail_text(const struct json_at *at, const char *text)
{
	at->reader->failed_path = json_path(at);
	return err_set(at->reader->err, ERR_INPUT, "%s: %s", at->reader->failed_path, text);
}

int json_fail(const struct json_at *at, const char *format, ...)
{
	char text[ERR_TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return fail_text(at, text);
}

void json_problem(const struct json_at *at, const char *format, ...)
{
	struct json_reader *reader = at->reader;
	char text[ERR_TEXT_SIZE];
	va_list arguments;

	if (reader->problems.count >= JSON_PROBLEMS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	VEC_PUSH(reader->arena, &reader->problems,
		 arena_printf(reader->arena, "%s: %s", json_path(at), text));
}

static const char *cure(enum json_type wanted, enum json_type type)
{
	if (wanted == JSON_STRING && (type == JSON_NUMBER || type == JSON_BOOLEAN))
		return "; put it in quotes";
	if (type == JSON_UNREADABLE)
		return "; remove them";
	return "";
}

int json_expect(const struct json_at *at, enum json_type type)
{
	enum json_type is = json_type(at);

	if (is == type)
		return 0;
	if (is == JSON_MISSING)
		return json_fail(at, "is missing, must be %s", json_type_name(type));
	return json_fail(at, "must be %s, is %s%s", json_type_name(type), json_type_name(is),
			 cure(type, is));
}

int json_optional(const struct json_at *at, enum json_type type)
{
	return json_is_given(at) ? json_expect(at, type) : 0;
}

/* ---- members ---- */

struct json_at json_member(const struct json_at *at, const char *name)
{
	struct json_at member = { .parent = at, .name = name, .reader = at->reader };

	if (json_type(at) == JSON_OBJECT)
		member.json = cJSON_GetObjectItemCaseSensitive(at->json, name);
	return member;
}

int json_text(const struct json_at *at, const char *name, const char **ret_value)
{
	struct json_at member = json_member(at, name);

	if (json_optional(&member, JSON_STRING))
		return -1;
	*ret_value = json_text_or_none(&member);
	return 0;
}

int json_shown(const struct json_at *at, const char *name, const char **ret_value)
{
	struct json_at member = json_member(at, name);

	if (json_type(&member) != JSON_UNREADABLE)
		return json_text(at, name, ret_value);
	*ret_value = json_shown_text(at->reader->arena, json_unreadable_value(&member));
	return 0;
}

int json_boolean(const struct json_at *at, const char *name, bool *ret_value)
{
	struct json_at member = json_member(at, name);

	if (json_optional(&member, JSON_BOOLEAN))
		return -1;
	*ret_value = json_is_given(&member) && json_boolean_value(&member);
	return 0;
}

int json_integer(const struct json_at *at, const char *name, bool *ret_has, int64_t *ret_value)
{
	struct json_at member = json_member(at, name);
	bool has = json_is_given(&member);

	if (has && json_integer_value(&member, ret_value))
		return -1;
	if (ret_has)
		*ret_has = has;
	return 0;
}

static int read_container(const struct json_at *at, const char *name, enum json_type type,
			  struct json_at *ret_value)
{
	struct json_at member = json_member(at, name);

	if (json_optional(&member, type))
		return -1;
	if (json_type(&member) == JSON_NULL)
		member.json = NULL;
	*ret_value = member;
	return 0;
}

int json_array(const struct json_at *at, const char *name, struct json_at *ret_value)
{
	return read_container(at, name, JSON_ARRAY, ret_value);
}

int json_object(const struct json_at *at, const char *name, struct json_at *ret_value)
{
	return read_container(at, name, JSON_OBJECT, ret_value);
}

/* ---- values ---- */

const char *json_text_value(const struct json_at *at)
{
	CHECK(at->json && json_type(at) == JSON_STRING);
	return at->json->valuestring;
}

const char *json_text_or_none(const struct json_at *at)
{
	return json_type(at) == JSON_STRING ? arena_text(at->reader->arena, json_text_value(at)) :
					      "";
}

const char *json_unreadable_value(const struct json_at *at)
{
	CHECK(at->json && json_type(at) == JSON_UNREADABLE);
	return cJSON_IsString(at->json) ? at->json->valuestring : "";
}

const char *json_shown_text(struct arena *arena, const char *text)
{
	AUTO(buf_done) struct buf shown = { .data = NULL };
	const char *mark = find_mark(text);

	if (!mark)
		return arena_text(arena, text);
	buf_init(&shown, strlen(text) * strlen("\uFFFD"));
	for (; mark; mark = find_mark(text)) {
		(void)buf_add(&shown, text, (size_t)(mark - text));
		(void)buf_add_string(&shown, "\uFFFD");
		for (text = mark; *text == JSON_MARK; text++)
			;
	}
	(void)buf_add_string(&shown, text);
	return arena_text(arena, buf_string(&shown));
}

double json_number_value(const struct json_at *at)
{
	CHECK(at->json && json_type(at) == JSON_NUMBER);
	return at->json->valuedouble;
}

bool json_boolean_value(const struct json_at *at)
{
	CHECK(at->json && json_type(at) == JSON_BOOLEAN);
	return cJSON_IsTrue(at->json);
}

int json_integer_value(const struct json_at *at, int64_t *ret_value)
{
	char text[NUMBER_TEXT_SIZE];
	enum json_type type = json_type(at);

	if (!at->json || type == JSON_MISSING)
		return json_fail(at, "is missing, must be an integer");
	if (type != JSON_NUMBER)
		return json_fail(at, "must be an integer, is %s", json_type_name(type));
	double value = json_number_value(at);
	number_print(value, text);
	if (!isfinite(value) || value != trunc(value))
		return json_fail(at, "must be an integer, is %s", text);
	if (fabs(value) > (double)JSON_INTEGER_MAX)
		return json_fail(at, "must be an integer of at most 2^53, is %s", text);
	*ret_value = (int64_t)value;
	return 0;
}

struct json_at json_first(const struct json_at *at)
{
	enum json_type type = json_type(at);
	struct json_at first = { .parent = at, .reader = at->reader };

	if (type == JSON_ARRAY || type == JSON_OBJECT)
		first.json = at->json->child;
	if (first.json)
		first.name = type == JSON_OBJECT ? first.json->string : NULL;
	return first;
}

void json_next(struct json_at *at)
{
	bool named = at->name != NULL;

	at->json = at->json->next;
	at->name = named && at->json ? at->json->string : NULL;
	at->index++;
}

size_t json_count(const struct json_at *at)
{
	size_t count = 0;

	for (struct json_at e = json_first(at); e.json; json_next(&e))
		count++;
	return count;
}

const char *json_print(const struct json_at *at)
{
	if (!at->json)
		return "";
	char *text = cJSON_PrintUnformatted(at->json);
	CHECK(text);
	const char *copy = json_shown_text(at->reader->arena, text);
	cJSON_free(text);
	return copy;
}
