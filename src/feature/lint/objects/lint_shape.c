#include "feature/lint/objects/lint_shape.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/text/duration.h"
#include "codec/text/json.h"
#include "codec/text/number.h"
#include "codec/text/yaml_scalar.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_misplaced.h"

/* Limit of the findings of unknown names in one object. */
#define KEYS_MAX 1000 /* compared with each other */
#define UNKNOWN_MAX 20
#define MISSPELT_ERRORS 1
#define INTEGER_MAX 9007199254740992.0 /* 2^53 */
/* Limit of the wrong types that are remembered for one object. */
#define HIDING_MAX 100
#define START_RESOURCES_MAX 20
/* A longer wrong value is not repeated in messages. */
#define SHOWN_BYTES_MAX 200
/* Not a quantity, so that no rule takes it for an amount. */
#define UNKNOWN_QUANTITY "?"

/* ---- one value ---- */

struct check {
	struct json_reader reader; /* its arena is that of the findings */
	const char *kind;          /* of the object */
	bool is_settings;          /* it is of rayscaler.dev */
	struct lint_findings *findings;
};

/* The tree is that of lint_shape_check, which changes it. */
static struct cJSON *node_of(const struct json_at *at)
{
	return memory_without_const(at->json);
}

/* Frees the content of a value and changes its type; name and neighbours are kept. A reference does
 * not own its content. */
static void become(const struct json_at *at, int type, const char *text)
{
	struct cJSON *node = node_of(at);

	if (!(node->type & cJSON_IsReference)) {
		cJSON_Delete(node->child);
		cJSON_free(node->valuestring);
	}
	node->child = NULL;
	node->valuestring = NULL;
	node->type = (node->type & cJSON_StringIsConst) | type;
	if (text) {
		size_t size = strlen(text) + 1;

		node->valuestring = cJSON_malloc(size);
		CHECK(node->valuestring);
		memcpy(node->valuestring, text, size);
	}
}

/* The text of a scalar as it was written (in YAML) or most likely written; NULL: the value is not a scalar. */
static const char *plain_text(const struct json_at *at)
{
	const char *written = node_of(at)->valuestring;
	char number[NUMBER_TEXT_SIZE];

	if (written && (json_type(at) == JSON_BOOLEAN || json_type(at) == JSON_NUMBER))
		return arena_strdup(at->reader->arena, written);
	switch (json_type(at)) {
	case JSON_BOOLEAN:
		return json_boolean_value(at) ? "true" : "false";
	case JSON_NUMBER:
		number_print(json_number_value(at), number);
		return arena_strdup(at->reader->arena, number);
	case JSON_STRING:
		return json_text_value(at);
	default:
		return NULL;
	}
}

/* "NAME: VALUE" or "- VALUE": the suggested line. */
static const char *line_of(const struct json_at *at, const char *value)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-./";
	struct arena *arena = at->reader->arena;

	const char *blank = *value == '\n' ? "" : " ";

	if (!at->name)
		return arena_printf(arena, "-%s%s", blank, value);
	if (*at->name != '\0' && at->name[strspn(at->name, plain)] == '\0')
		return arena_printf(arena, "%s:%s%s", at->name, blank, value);
	return arena_printf(arena, "\"%s\":%s%s", at->name, blank, value);
}

static const char *noun(enum field_kind kind)
{
	switch (kind) {
	case FIELD_KIND_BOOLEAN:
		return "true or false";
	case FIELD_KIND_INTEGER:
		return "an integer";
	case FIELD_KIND_AMOUNT:
		return "a number";
	case FIELD_KIND_TEXTS:
		return "a list of strings";
	case FIELD_KIND_LIST:
		return "a list of objects";
	case FIELD_KIND_LABELS:
	case FIELD_KIND_NOTES:
	case FIELD_KIND_QUANTITIES:
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_POINTER:
		return "an object";
	default:
		return "a string";
	}
}

/* A RayCluster is long: the line and column of its findings are enough. */
static const char *shown_name(const struct check *check, const struct json_at *at)
{
	if (check->is_settings)
		return lint_shown_path(json_path(at));
	if (at->name && *at->name == '\0')
		return "\"\"";
	return at->name ? at->name : "an element of this list";
}

static void report(struct check *check, const struct json_at *at, enum lint_rule_id rule,
		   const char *wanted, const char *fix)
{
	struct arena *arena = at->reader->arena;
	const char *name = shown_name(check, at);
	const char *is = json_type_name(json_type(at));
	double number = json_type(at) == JSON_NUMBER ? json_number_value(at) : 0;

	if (strcmp(wanted, noun(FIELD_KIND_INTEGER)) == 0 && json_type(at) == JSON_NUMBER)
		is = number == trunc(number) ? "too large" : "a fraction";
	lint_add(arena, check->findings, rule, json_path(at),
		 arena_printf(arena, "%.200s must be %s, is %s; the API server refuses the object",
			      name, wanted, is),
		 fix);
}

static bool is_among(const char *text, const char *const *words)
{
	while (*words && nearest_distance(text, *words) > 0)
		words++;
	return *words;
}

/* The number of seconds of "5m" in a field such as idleTimeoutSeconds; NULL: another text or field. */
static const char *seconds_of(const char *name, const char *text, struct arena *arena)
{
	size_t size = strlen(name), end = strlen("Seconds");
	const char *problem;
	int64_t ms;

	if (size < end || strcmp(name + size - end, "Seconds") != 0 || *text == '\0' ||
	    duration_parse(text, &ms, &problem))
		return NULL;
	return arena_printf(arena, "%lld", (long long)(ms / MS_PER_SECOND));
}

/* A quoted integer or boolean without its quotes; what the user has to find out in capitals. */
static const char *unquoted(const struct json_at *at, enum field_kind kind)
{
	static const char *const yes[] = { "true", "yes", "on", "y", NULL };
	static const char *const no[] = { "false", "no", "off", "n", NULL };
	const char *text = json_type(at) == JSON_STRING ? json_text_value(at) : "";
	double number = json_type(at) == JSON_NUMBER ? json_number_value(at) : -1;
	const char *seconds = at->name ? seconds_of(at->name, text, at->reader->arena) : NULL;

	if (kind == FIELD_KIND_BOOLEAN && (number == 0 || number == 1))
		return number == 1 ? "true" : "false";
	if (kind == FIELD_KIND_BOOLEAN)
		return is_among(text, yes) ? "true" : is_among(text, no) ? "false" : "true|false";
	if (seconds)
		return seconds;
	return strlen(text) <= SHOWN_BYTES_MAX &&
			       yaml_scalar_resolve(text).kind == YAML_SCALAR_INTEGER ?
		       text :
		       "NUMBER";
}

static bool is_integer(const struct json_at *at)
{
	double number = json_type(at) == JSON_NUMBER ? json_number_value(at) : NAN;

	return isfinite(number) && number == trunc(number) && fabs(number) <= INTEGER_MAX;
}

/* The text of a scalar that is not one, for the suggested line. NULL: none is near. */
static const char *meant_text(const struct json_at *at, const char *text, enum lint_rule_id rule)
{
	struct arena *arena = at->reader->arena;
	bool is_number = json_type(at) == JSON_NUMBER;

	/* `ray start` reads whole numbers, as 2 and not 2.0. */
	if (is_number && rule == LINT_RULE_RAY_START_PARAM_NOT_STRING &&
	    text[strspn(text, "0123456789")] != '\0')
		return is_integer(at) ? arena_printf(arena, "%.0f", json_number_value(at)) : NULL;
	if (is_number && at->name && strcmp(at->name, "duration") == 0)
		return arena_printf(arena, "%sh", text);
	return text;
}

/* Amounts of a container in the field resources of a group. */
static bool is_of_container(const char *name)
{
	return strcmp(name, "limits") == 0 || strcmp(name, "requests") == 0;
}

static void report_of_container(struct check *check, const struct json_at *at)
{
	lint_add(at->reader->arena, check->findings, LINT_RULE_WRONG_TYPE, json_path(at),
		 arena_printf(at->reader->arena,
			      "%s is of a container: write it into resources of a container of the "
			      "template; resources of a group are amounts for Ray, as GPU: \"1\"; "
			      "the API server refuses the object",
			      at->name),
		 "");
	become(at, cJSON_String, "");
}

/* {a: 1} as `ray start` reads it: "'{\"a\": 1}'"; NULL: it has other values than numbers. */
static const char *start_resources(const struct json_at *at)
{
	struct arena *arena = at->reader->arena;
	const char *text = "", *comma = "";
	size_t count = 0;

	for (struct json_at e = json_first(at); e.json; json_next(&e), comma = ", ") {
		const char *value = plain_text(&e);

		if (json_type(&e) != JSON_NUMBER || !value || !e.name || strpbrk(e.name, "\"\\'") ||
		    ++count > START_RESOURCES_MAX)
			return NULL;
		text = arena_printf(arena, "%s%s\"%s\": %s", text, comma, e.name, value);
	}
	return arena_printf(arena, "'{%s}'", text);
}

static const char *escaped(struct arena *arena, const char *text)
{
	char *line = arena_alloc(arena, 2 * strlen(text) + 1), *to = line;

	for (; *text != '\0'; text++) {
		if (*text == '"')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return line;
}

static void check_text(struct check *check, const struct json_at *at, enum lint_rule_id rule)
{
	struct arena *arena = at->reader->arena;
	const char *text, *meant, *fix = "";

	if (json_type(at) == JSON_STRING)
		return;
	if (json_type(at) == JSON_OBJECT && at->name && is_of_container(at->name)) {
		report_of_container(check, at);
		return;
	}
	text = plain_text(at);
	meant = text ? meant_text(at, text, rule) : NULL;
	if (!text && rule == LINT_RULE_RAY_START_PARAM_NOT_STRING && json_type(at) == JSON_OBJECT &&
	    strcmp(at->name, "resources") == 0)
		meant = start_resources(at);
	if (meant)
		fix = line_of(at, arena_printf(arena, "\"%s\"", escaped(arena, meant)));
	else if (json_type(at) == JSON_OBJECT && at->name && rule == LINT_RULE_WRONG_TYPE)
		fix = line_of(at, "|\n  TEXT");
	report(check, at, rule, noun(FIELD_KIND_TEXT), fix);
	become(at, cJSON_String, meant ? meant : text ? text : "");
}

/* A text that envsubst or the like is to fill in. */
static bool is_variable(const struct json_at *at)
{
	const char *text = json_type(at) == JSON_STRING ? json_text_value(at) : "";

	return strncmp(text, "${", 2) == 0 || strncmp(text, "$(", 2) == 0;
}

static void report_variable(struct check *check, const struct json_at *at, enum field_kind kind)
{
	lint_add(at->reader->arena, check->findings, LINT_RULE_WRONG_TYPE, json_path(at),
		 arena_printf(
			 at->reader->arena,
			 "%.200s must be %s, and nothing has filled in %.80s: give the file that "
			 "envsubst or the like writes",
			 shown_name(check, at), noun(kind), json_text_value(at)),
		 "");
}

/* The value that is most likely meant replaces the wrong one, so that other rules see it. */
static void become_meant(const struct json_at *at, enum field_kind kind, const char *meant)
{
	struct cJSON *node = node_of(at);
	struct yaml_scalar scalar = yaml_scalar_resolve(meant);

	if (kind == FIELD_KIND_BOOLEAN && scalar.kind == YAML_SCALAR_BOOLEAN) {
		become(at, scalar.boolean ? cJSON_True : cJSON_False, NULL);
	} else if (kind == FIELD_KIND_INTEGER && scalar.kind == YAML_SCALAR_INTEGER) {
		become(at, cJSON_Number, NULL);
		cJSON_SetNumberHelper(node, scalar.number);
	} else {
		become(at, cJSON_NULL, NULL);
	}
}

static void check_plain(struct check *check, const struct json_at *at, enum field_kind kind)
{
	const char *meant;

	if (kind == FIELD_KIND_BOOLEAN ? json_type(at) == JSON_BOOLEAN : is_integer(at))
		return;
	meant = arena_strdup(at->reader->arena, unquoted(at, kind));
	if (is_variable(at))
		report_variable(check, at, kind);
	else
		report(check, at, LINT_RULE_WRONG_TYPE, noun(kind), line_of(at, meant));
	become_meant(at, kind, meant);
}

static void check_amount(struct check *check, const struct json_at *at, const struct field *field)
{
	if (field->flags & FIELD_QUOTED) {
		check_text(check, at, LINT_RULE_WRONG_TYPE);
	} else if (json_type(at) != JSON_NUMBER) {
		report(check, at, LINT_RULE_WRONG_TYPE, noun(field->kind),
		       line_of(at, unquoted(at, FIELD_KIND_INTEGER)));
		become(at, cJSON_NULL, NULL);
	}
}

static void check_quantity(struct check *check, const struct json_at *at)
{
	if (json_type(at) == JSON_STRING || json_type(at) == JSON_NUMBER)
		return;
	report(check, at, LINT_RULE_WRONG_TYPE, "a quantity such as 2 or 16Gi", "");
	become(at, cJSON_String, UNKNOWN_QUANTITY);
}

/* ---- values that hold others ---- */

static void check_members(struct check *check, const struct json_at *object,
			  const struct field *fields);

/* A value of a map, or an element of a list of strings. */
static void check_entry(struct check *check, const struct json_at *at, const struct field *field)
{
	if (field->kind == FIELD_KIND_QUANTITIES && !(field->flags & FIELD_STRINGS))
		check_quantity(check, at);
	else if (json_type(at) != JSON_NULL || field->kind == FIELD_KIND_TEXTS)
		/* kubectl and YAML write an empty value of a map as null. */
		check_text(check, at,
			   field->flags & FIELD_START_PARAMS ?
				   LINT_RULE_RAY_START_PARAM_NOT_STRING :
				   LINT_RULE_WRONG_TYPE);
}

/* A map of texts, as a user of other tools writes variables: the first one in the form of a list. */
static const char *first_variable(const struct json_at *at)
{
	struct json_at first = json_first(at);
	const char *value = first.json ? plain_text(&first) : NULL;

	if (!value || strcmp(at->name, "env") != 0 || strlen(value) > SHOWN_BYTES_MAX)
		return NULL;
	return arena_printf(at->reader->arena, "env:\n- {name: %.200s, value: \"%s\"}", first.name,
			    value);
}

/* An object in the place of a list of objects: most likely the dash is missing. */
static const char *first_element(const struct json_at *at)
{
	struct json_at first = json_first(at);
	const char *value = first.json ? plain_text(&first) : NULL;

	if (!value || strlen(value) > SHOWN_BYTES_MAX || strpbrk(value, "\n\"\\#:{}[]"))
		return NULL;
	return line_of(at, arena_printf(at->reader->arena, "\n- %.200s: %s", first.name, value));
}

/* The form of a value that holds others: the user's own text where it is one. */
static const char *container_lines(const struct json_at *at, enum field_kind kind)
{
	struct arena *arena = at->reader->arena;
	const char *text = plain_text(at), *variable;

	if (!at->name)
		return kind == FIELD_KIND_LIST ? "- MEMBER: VALUE" : "";
	if (kind == FIELD_KIND_TEXTS)
		return line_of(at, text && *text != '\0' && strlen(text) <= SHOWN_BYTES_MAX ?
					   arena_printf(arena, "[\"%s\"]", text) :
					   "[\"TEXT\"]");
	if (kind != FIELD_KIND_LIST)
		return line_of(at, "\n  NAME: VALUE");
	variable = json_type(at) == JSON_OBJECT ? first_variable(at) : NULL;
	if (!variable && json_type(at) == JSON_OBJECT)
		variable = first_element(at);
	return variable ? variable : line_of(at, "\n- MEMBER: VALUE");
}

static void check_element(struct check *check, const struct json_at *at,
			  const struct field *members)
{
	if (json_type(at) != JSON_OBJECT) {
		report(check, at, LINT_RULE_WRONG_TYPE, noun(FIELD_KIND_OBJECT),
		       container_lines(at, FIELD_KIND_LIST));
		become(at, cJSON_Object, NULL);
	}
	check_members(check, at, members);
}

/* False: the value is not a container, and the finding was added. */
static bool is_container(struct check *check, const struct json_at *at, enum field_kind kind)
{
	bool is_list = kind == FIELD_KIND_TEXTS || kind == FIELD_KIND_LIST;
	enum json_type wanted = is_list ? JSON_ARRAY : JSON_OBJECT;

	if (json_type(at) == wanted)
		return true;
	report(check, at, LINT_RULE_WRONG_TYPE, noun(kind), container_lines(at, kind));
	become(at, cJSON_NULL, NULL);
	return false;
}

/* Of two elements with the same key of a list that is a map the API server refuses the object. */
static void check_keys(struct check *check, const struct json_at *at, const struct field *field)
{
	static const char words[] = "x-kubernetes-list-map-keys: [";
	const char *key = field->schema ? strstr(field->schema, words) : NULL;
	struct arena *arena = check->reader.arena;
	VEC(const char *) seen = { NULL, 0, 0 };

	if (!key)
		return;
	key += strlen(words);
	key = arena_strndup(arena, key, strcspn(key, "]"));
	for (struct json_at e = json_first(at); e.json && seen.count < KEYS_MAX; json_next(&e)) {
		struct json_at member = json_member(&e, key);
		const char *text = json_text_or_none(&member);

		VEC_EACH(const char *const, other, &seen)
			if (*text != '\0' && strcmp(*other, text) == 0) {
				lint_add(arena, check->findings, LINT_RULE_FIELD_INVALID,
					 json_path(&member),
					 arena_printf(arena,
						      "%.63s is the %s of two elements; the API "
						      "server refuses the object: rename or remove "
						      "one",
						      text, key),
					 "");
				break;
			}
		VEC_PUSH(arena, &seen, text);
	}
}

static void check_container(struct check *check, const struct json_at *at,
			    const struct field *field)
{
	if (!is_container(check, at, field->kind))
		return;
	if (field->kind == FIELD_KIND_OBJECT || field->kind == FIELD_KIND_POINTER) {
		check_members(check, at, field->members);
		return;
	}
	check_keys(check, at, field);
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (field->kind == FIELD_KIND_LIST)
			check_element(check, &e, field->members);
		else
			check_entry(check, &e, field);
	}
}

/* The names of a closed table, one by one; NULL after the last. */
static const char *next_name(const struct field **row, size_t *other)
{
	return (*row)->name ? (*row)++->name : (*row)->others[(*other)++];
}

static bool is_known(const struct field *fields, const char *name)
{
	const char *known;
	size_t other = 0;

	while ((known = next_name(&fields, &other)) && strcmp(known, name) != 0)
		;
	return known;
}

static void report_unknown(struct check *check, const struct json_at *at,
			   const struct field *fields)
{
	struct arena *arena = check->reader.arena;
	const char *known, *place = NULL;
	struct nearest nearest = nearest_start(at->name);
	char hint[NEAREST_HINT_SIZE];
	const char *cure = "; correct the name, or remove the line";
	struct lint_finding *finding;
	bool is_selector = is_known(fields, "matchLabels");
	size_t other = 0;

	while ((known = next_name(&fields, &other)))
		nearest_offer(&nearest, known);
	if (!nearest.word || nearest.distance > MISSPELT_ERRORS)
		place = lint_misplaced(at->name, check->kind, arena);
	if (is_selector)
		cure = arena_printf(arena,
				    ": write it below matchLabels, as matchLabels: {%.63s: ...}",
				    at->name);
	else if (place)
		cure = arena_printf(arena, ": %s", place);
	else if (nearest.word)
		cure = nearest_hint(&nearest, hint);
	finding =
		lint_add(arena, check->findings, LINT_RULE_UNKNOWN_FIELD, json_path(at),
			 arena_printf(arena,
				      "%.200s is not a field of a %s here; the API server drops or "
				      "refuses it%s",
				      shown_name(check, at), check->kind, cure),
			 "");
	/* Most likely a setting that would have no effect. */
	if (place || is_selector || (nearest.word && nearest.distance <= MISSPELT_ERRORS))
		finding->severity = LINT_ERROR;
}

/* The members of an object, or of each object of a list. */
static void check_names(struct check *check, const struct json_at *at, const struct field *fields)
{
	const struct field *end = fields;
	size_t unknown = 0;

	while (end->name)
		end++;
	if (!end->others)
		return;
	for (struct json_at e = json_first(at); e.json && unknown < UNKNOWN_MAX; json_next(&e)) {
		if (json_type(at) == JSON_ARRAY && json_type(&e) == JSON_OBJECT) {
			check_names(check, &e, fields);
		} else if (json_type(at) == JSON_OBJECT && !is_known(fields, e.name)) {
			report_unknown(check, &e, fields);
			unknown++;
		}
	}
}

static void check_field(struct check *check, const struct json_at *at, const struct field *field)
{
	if (!json_is_given(at))
		return;
	switch (field->kind) {
	case FIELD_KIND_HOOK:
		if (field->members)
			check_names(check, at, field->members);
		else if (field->schema && strncmp(field->schema, "type: integer", 13) == 0)
			check_plain(check, at, FIELD_KIND_INTEGER);
		return;
	case FIELD_KIND_BOOLEAN:
	case FIELD_KIND_INTEGER:
		check_plain(check, at, field->kind);
		return;
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
	case FIELD_KIND_TIME:
	case FIELD_KIND_WORD:
	case FIELD_KIND_REASON:
	case FIELD_KIND_FIXED:
		check_text(check, at, LINT_RULE_WRONG_TYPE);
		return;
	case FIELD_KIND_AMOUNT:
		check_amount(check, at, field);
		return;
	default:
		check_container(check, at, field);
	}
}

static void check_members(struct check *check, const struct json_at *object,
			  const struct field *fields)
{
	check_names(check, object, fields);
	for (; fields->name; fields++) {
		struct json_at member = json_member(object, fields->name);

		check_field(check, &member, fields);
	}
}

void lint_shape_check(struct cJSON *object, const struct field *fields, const char *kind,
		      struct arena *arena, struct lint_findings *findings)
{
	struct check check = { .reader = { .arena = arena },
			       .kind = kind,
			       .is_settings = strcmp(kind, "RayCluster") != 0,
			       .findings = findings };
	struct json_at at = json_root(object, "", &check.reader);

	check_members(&check, &at, fields);
}

void lint_shape_value(const struct json_at *at, enum field_kind kind, const char *object_kind,
		      struct lint_findings *findings)
{
	struct check check = { .reader = *at->reader, .kind = object_kind, .findings = findings };
	const struct field field = { .kind = kind };

	if (kind == FIELD_KIND_OBJECT || kind == FIELD_KIND_POINTER || kind == FIELD_KIND_LIST)
		(void)is_container(&check, at, kind);
	else
		check_field(&check, at, &field);
}

static bool is_below(const char *path, const char *above)
{
	size_t size = strlen(above);

	return strncmp(path, above, size) == 0 &&
	       (path[size] == '\0' || path[size] == '.' || path[size] == '[');
}

bool lint_shape_hides(const struct lint_findings *findings, size_t shape_count, size_t i)
{
	const char *wrong = lint_rules()[LINT_RULE_WRONG_TYPE].name;
	const char *invalid = lint_rules()[LINT_RULE_FIELD_INVALID].name;

	if (i < shape_count)
		return false;
	for (size_t j = 0; j < shape_count && j < HIDING_MAX; j++)
		if ((strcmp(findings->list.at[j].rule, wrong) == 0 ||
		     strcmp(findings->list.at[j].rule, invalid) == 0) &&
		    is_below(findings->list.at[i].path, findings->list.at[j].path))
			return true;
	return false;
}
