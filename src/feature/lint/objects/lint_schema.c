/* The fields of a RayCluster, RayJob, RayService or RayCronJob as KubeRay defines them, Pod templates included: types, words,
 * required members and unknown names, also of fields that no decoder reads. lint_schema_table.c is made from KubeRay's
 * definitions (e2e/rayscaler_e2e/lint_schema.py). Metadata is not checked. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "codec/text/json.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_misplaced.h"
#include "feature/lint/objects/lint_schema_table.h"
#include "feature/lint/objects/lint_shape.h"

#define FOUND_MAX 20 /* findings of one object */
#define TEXT_BYTES_MAX 200
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./"

struct check {
	const char *kind;
	struct lint_findings *findings;
	size_t most;            /* findings */
	unsigned short cluster; /* members of a RayCluster's spec, which is checked as one */
};

static const struct lint_schema_field *list_of(unsigned short members)
{
	return &lint_schema_fields[lint_schema_lists[members]];
}

static unsigned short members_of(const char *kind)
{
	size_t i = 0;

	while (lint_schema_kinds[i].kind && strcmp(lint_schema_kinds[i].kind, kind) != 0)
		i++;
	return lint_schema_kinds[i].members;
}

static const struct lint_schema_field *find(const struct lint_schema_field *fields,
					    const char *name)
{
	while (fields->name && strcmp(fields->name, name) != 0)
		fields++;
	return fields->name ? fields : NULL;
}

static bool is_reported(const struct check *check, const char *path)
{
	VEC_EACH(const struct lint_finding, finding, &check->findings->list)
		if (strcmp(finding->path, path) == 0)
			return true;
	return check->findings->list.count >= check->most;
}

/* The one text whose name ends with this one, as secretName with "name"; NULL: none, or several. */
static const char *longer_name(const char *name, const struct lint_schema_field *fields)
{
	size_t size = strlen(name);
	const char *found = NULL;

	for (; fields->name && size > 2; fields++) {
		size_t longer = strlen(fields->name);

		if (fields->type != SCHEMA_TEXT || longer <= size ||
		    nearest_distance(fields->name + longer - size, name) > 0 ||
		    fields->name[longer - size] < 'A' || fields->name[longer - size] > 'Z')
			continue;
		if (found)
			return NULL;
		found = fields->name;
	}
	return found;
}

static void report_unknown(const struct check *check, const struct json_at *at,
			   const struct lint_schema_field *fields)
{
	struct arena *arena = at->reader->arena;
	const char *place = NULL;
	struct nearest nearest = nearest_start(at->name);
	char hint[NEAREST_HINT_SIZE];
	const char *longer = longer_name(at->name, fields);

	if (is_reported(check, json_path(at)))
		return;
	for (; fields->name; fields++)
		nearest_offer(&nearest, fields->name);
	if (longer)
		place = arena_printf(arena, "write %s", longer);
	else if (!nearest.word || nearest.distance > 1)
		place = lint_misplaced(at->name, check->kind, arena);
	lint_add(arena, check->findings, LINT_RULE_UNKNOWN_FIELD, json_path(at),
		 arena_printf(arena,
			      "%.200s is not a field of a %s here in KubeRay 1.7; the API server "
			      "drops or refuses it%s%s",
			      at->name, check->kind, place ? ": " : "",
			      place        ? place :
			      nearest.word ? nearest_hint(&nearest, hint) :
					     "; correct the name, or remove the line"),
		 "")
		->severity = place || (nearest.word && nearest.distance <= 1) ? LINT_ERROR :
										LINT_WARNING;
}

/* "A, B, C" of "A|B|C"; NULL: the text is one of them. */
static const char *other_words(const char *text, const char *words, struct arena *arena,
			       struct nearest *nearest)
{
	const char *all = "";

	for (;; words++) {
		const char *word = arena_strndup(arena, words, strcspn(words, "|"));

		if (strcmp(word, text) == 0)
			return NULL;
		nearest_offer(nearest, word);
		all = arena_printf(arena, "%s%s%s", all, *all != '\0' ? ", " : "", word);
		words += strlen(word);
		if (*words == '\0')
			return all;
	}
}

static void check_words(const struct check *check, const struct json_at *at, const char *words)
{
	struct arena *arena = at->reader->arena;
	const char *text = json_type(at) == JSON_STRING ? json_text_value(at) : "";
	struct nearest nearest = nearest_start(text);
	const char *all;

	if (*words == '\0' || *text == '\0' || is_reported(check, json_path(at)))
		return;
	all = other_words(text, words, arena, &nearest);
	if (all) {
		char hint[NEAREST_HINT_SIZE];

		lint_add(arena, check->findings, LINT_RULE_FIELD_INVALID, json_path(at),
			 arena_printf(arena,
				      "%s must be one of %s, is \"%.64s\"; Kubernetes refuses it%s",
				      at->name, all, text, nearest_hint(&nearest, hint)),
			 "");
	}
}

static void check_size(const struct check *check, const struct json_at *at)
{
	if (json_type(at) == JSON_NUMBER && json_number_value(at) > INT32_MAX &&
	    !is_reported(check, json_path(at)))
		lint_add(at->reader->arena, check->findings, LINT_RULE_FIELD_INVALID, json_path(at),
			 arena_printf(at->reader->arena,
				      "%s must be at most %d; the API server refuses it", at->name,
				      INT32_MAX),
			 "");
}

static void check_object(const struct check *check, const struct json_at *object,
			 const struct lint_schema_field *fields);

/* A text for an object, which is most likely its required member: "seccompProfile:\n  type: RuntimeDefault". */
static const char *lines_of(const struct json_at *at, const char *text,
			    const struct lint_schema_field *fields, const char *otherwise)
{
	while (fields->name && !(fields->required && fields->type == SCHEMA_TEXT))
		fields++;
	if (*text == '\0' || !fields->name || !at->name || strlen(text) > TEXT_BYTES_MAX ||
	    text[strspn(text, PLAIN)] != '\0')
		return otherwise;
	return arena_printf(at->reader->arena, "%s:\n  %s: %s", at->name, fields->name, text);
}

static void check_value(const struct check *check, const struct json_at *at,
			const struct lint_schema_field *field)
{
	static const enum field_kind kinds[] = {
		[SCHEMA_TEXT] = FIELD_KIND_TEXT,
		[SCHEMA_INTEGER] = FIELD_KIND_INTEGER,
		[SCHEMA_INTEGER_32] = FIELD_KIND_INTEGER,
		[SCHEMA_NUMBER] = FIELD_KIND_AMOUNT,
		[SCHEMA_BOOLEAN] = FIELD_KIND_BOOLEAN,
		[SCHEMA_MAP] = FIELD_KIND_LABELS,
		[SCHEMA_TEXTS] = FIELD_KIND_TEXTS,
		[SCHEMA_OBJECT] = FIELD_KIND_OBJECT,
		[SCHEMA_LIST] = FIELD_KIND_LIST,
		[SCHEMA_OBJECT_OF_ANY] = FIELD_KIND_OBJECT,
	};

	const char *text = json_is_given(at) && json_type(at) == JSON_STRING ?
				   arena_strdup(at->reader->arena, json_text_value(at)) :
				   "";
	size_t count;

	if (!json_is_given(at) || check->findings->list.count >= check->most)
		return;
	if (field->members == check->cluster || field->type == SCHEMA_SCALAR ||
	    field->type == SCHEMA_ANY || field->type == SCHEMA_LIST_OF_ANY)
		return;
	count = check->findings->list.count;
	lint_shape_value(at, kinds[field->type], check->kind, check->findings);
	if (field->type == SCHEMA_OBJECT && check->findings->list.count > count)
		check->findings->list.at[count].fix = lines_of(at, text, list_of(field->members),
							       check->findings->list.at[count].fix);
	check_words(check, at, field->words);
	if (field->type == SCHEMA_INTEGER_32)
		check_size(check, at);
	if (field->type == SCHEMA_OBJECT && json_type(at) == JSON_OBJECT)
		check_object(check, at, list_of(field->members));
	for (struct json_at e = json_first(at); field->type == SCHEMA_LIST && e.json;
	     json_next(&e)) {
		lint_shape_value(&e, FIELD_KIND_OBJECT, check->kind, check->findings);
		if (json_type(&e) == JSON_OBJECT)
			check_object(check, &e, list_of(field->members));
	}
}

/* A required text, but for the values of headers and sysctls, and names with rules of their own. */
static bool is_empty(const struct json_at *at, const struct lint_schema_field *field)
{
	return field->type == SCHEMA_TEXT && json_is_given(at) && json_type(at) == JSON_STRING &&
	       *json_text_value(at) == '\0' && strcmp(field->name, "value") != 0 &&
	       strcmp(field->name, "groupName") != 0;
}

static void check_required(const struct check *check, const struct json_at *object,
			   const struct lint_schema_field *field)
{
	struct json_at member = json_member(object, field->name);
	struct arena *arena = object->reader->arena;

	if (is_reported(check, json_path(&member)))
		return;
	if (is_empty(&member, field)) {
		lint_add(arena, check->findings, LINT_RULE_FIELD_INVALID, json_path(&member),
			 arena_printf(arena, "%s is empty; the API server refuses it: write it",
				      field->name),
			 "");
		return;
	}
	if (json_is_given(&member) || is_reported(check, json_path(object)))
		return;
	lint_add(arena, check->findings, LINT_RULE_FIELD_INVALID, json_path(object),
		 arena_printf(arena, "%s is required; the API server refuses the object: add it",
			      field->name),
		 arena_printf(arena, "%s: VALUE", field->name));
}

static void check_object(const struct check *check, const struct json_at *object,
			 const struct lint_schema_field *fields)
{
	for (struct json_at e = json_first(object); e.json; json_next(&e)) {
		const struct lint_schema_field *field = find(fields, e.name);

		if (field)
			check_value(check, &e, field);
		else
			report_unknown(check, &e, fields);
	}
	for (; fields->name; fields++)
		if (fields->required)
			check_required(check, object, fields);
}

void lint_schema_check(const char *kind, struct cJSON *object, struct arena *arena,
		       struct lint_findings *findings)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(object, "", &reader), spec = json_member(&root, "spec");
	const struct check check = { kind, findings, findings->list.count + FOUND_MAX,
				     members_of("RayCluster") };

	if (spec.json && json_type(&spec) == JSON_OBJECT)
		check_object(&check, &spec, list_of(members_of(kind)));
}
