#include "test/support/growth_template.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "codec/schema/field.h"
#include "codec/text/json_write.h"
#include "core/model/memory_state.h"
#include "core/model/settings.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "test/support/golden_case.h"

#define ROWS_MAX 4    /* of one name in a table */
#define NESTED_MAX 16 /* lists within lists */
#define NO_LIST SIZE_MAX
#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define INNER_MAX 100000 /* elements of a list within another one */

const char *const growth_texts_names[] = { "equal", "matching", "distinct" };

enum node_kind { NODE_OBJECT, NODE_ARRAY, NODE_TEXT, NODE_NUMBER, NODE_BOOLEAN, NODE_NULL };

struct growth_node {
	enum node_kind kind;
	bool in_text;     /* written as JSON in a text */
	bool is_repeated; /* an element that is repeated */
	const char *name; /* of a member */
	const char *text; /* of a TEXT */
	double number;    /* of a NUMBER, a BOOLEAN */
	size_t list;      /* which it is; NO_LIST: none */
	struct growth_node *first, *next;
};

/* Where a variable is: the lists around it. */
struct growth_place {
	size_t lists[NESTED_MAX];
	size_t count;
};

struct growth_variable {
	const char *name;
	VEC(size_t) defined_by; /* lists whose elements it identifies */
	VEC(struct growth_place) places;
};

/* ---- reading ---- */

struct reading {
	struct arena *arena;
	struct growth_template *template;
	struct map seen;           /* paths of values; of a list of its elements */
	struct growth_place place; /* of the value that is read */
};

struct reference {
	const char *start, *end; /* "<name!3>" */
	size_t size;             /* bytes of the name */
	bool identity;
	int width; /* digits; 0: as many as needed */
};

/* The next variable of a text. False: there is none. */
static bool next_reference(const char *text, struct reference *ret)
{
	for (; (text = strchr(text, '<')); text++) {
		char *end = (char *)text + 1;

		while (islower((unsigned char)*end))
			end++;
		*ret = (struct reference){ .start = text, .size = (size_t)(end - text) - 1 };
		if (*end == '!') {
			ret->identity = true;
			ret->width = (int)strtol(end + 1, &end, 10);
			end += *end == '!';
		}
		ret->end = end + 1;
		if (ret->size > 0 && *end == '>')
			return true;
	}
	return false;
}

/* The rows that describe a value. */
struct rows {
	const struct field *at[ROWS_MAX];
	size_t count;
	bool is_element; /* of the list that the rows describe */
};

static bool names_identify(const struct cJSON *json)
{
	const struct cJSON *item;
	struct reference reference;

	cJSON_ArrayForEach(item, json)
	{
		if (item->string && next_reference(item->string, &reference) && reference.identity)
			return true;
	}
	return false;
}

/* Members of a map are elements: by its row, or of a hook by a variable in a name. */
static bool is_map(const struct rows *rows, const struct cJSON *json)
{
	for (size_t i = 0; i < rows->count && !rows->is_element; i++)
		switch (rows->at[i]->kind) {
		case FIELD_KIND_LABELS:
		case FIELD_KIND_NOTES:
		case FIELD_KIND_QUANTITIES:
		case FIELD_KIND_RESOURCES:
		case FIELD_KIND_LIST: /* by a hook */
			return true;
		default:
			break;
		}
	return names_identify(json);
}

static bool holds_texts(const struct rows *rows)
{
	return rows->count > 0 && rows->at[0]->kind == FIELD_KIND_NOTES;
}

static void add_rows(struct rows *rows, const struct field *fields, const char *name)
{
	for (; fields && fields->name; fields++)
		if (strcmp(fields->name, name) == 0 && rows->count < ROWS_MAX)
			rows->at[rows->count++] = fields;
}

/* The rows of a member of an object. The root's devices have a table of their own. */
static struct rows member_rows(const struct rows *rows, const char *path, const char *name)
{
	struct rows ret = { .count = 0 };

	for (size_t i = 0; i < rows->count; i++)
		add_rows(&ret, rows->at[i]->members, name);
	if (*path == '\0' && (ret.count == 0 || ret.at[0]->kind == FIELD_KIND_HOOK))
		add_rows(&ret, device_objects_fields, name);
	return ret;
}

static size_t list_index(struct growth_template *template, struct arena *arena, const char *path)
{
	for (size_t i = 0; i < template->lists.count; i++)
		if (strcmp(template->lists.at[i].path, path) == 0)
			return i;
	VEC_PUSH(arena, &template->lists, (struct growth_list){ .path = path });
	return template->lists.count - 1;
}

static struct growth_variable *find_variable(const struct growth_template *template,
					     const struct reference *reference)
{
	VEC_EACH(struct growth_variable, variable, &template->variables) {
		if (strlen(variable->name) == reference->size &&
		    memcmp(variable->name, reference->start + 1, reference->size) == 0)
			return variable;
	}
	return NULL;
}

/* Records the variables of a text. True: one identifies an element of the innermost list. */
static bool read_variables(struct reading *reading, const char *text)
{
	struct growth_place *place = &reading->place;
	struct reference reference;
	bool identifies = false;

	for (; next_reference(text, &reference); text = reference.end) {
		struct growth_variable *variable = find_variable(reading->template, &reference);

		if (!variable) {
			variable = VEC_ADD(reading->arena, &reading->template->variables);
			variable->name =
				arena_strndup(reading->arena, reference.start + 1, reference.size);
		}
		VEC_PUSH(reading->arena, &variable->places, *place);
		if (reference.identity && place->count > 0) {
			identifies = true;
			VEC_PUSH(reading->arena, &variable->defined_by,
				 place->lists[place->count - 1]);
		}
	}
	return identifies;
}

static struct growth_node *build(struct reading *reading, const struct cJSON *json,
				 const struct rows *rows, const char *path, bool *ret_identified);

/* The members of an object or the elements of a list. */
static bool build_children(struct reading *reading, const struct cJSON *json,
			   const struct rows *rows, const char *path, struct growth_node *node)
{
	struct growth_node **end = &node->first;
	bool is_list = node->list != NO_LIST, any = false, below = false;
	const struct cJSON *item;

	cJSON_ArrayForEach(item, json)
	{
		struct rows child_rows = { .count = 0 };
		bool identified = false;

		if (!is_list)
			child_rows = member_rows(rows, path, item->string);
		else if (node->kind == NODE_ARRAY)
			child_rows = *rows;
		child_rows.is_element = is_list;
		if (item->string)
			identified = read_variables(reading, item->string);
		*end = build(reading, item, &child_rows,
			     is_list    ? path :
			     *path == 0 ? item->string :
					  arena_printf(reading->arena, "%s.%s", path, item->string),
			     &identified);
		(*end)->name = item->string ? arena_strdup(reading->arena, item->string) : NULL;
		(*end)->is_repeated = is_list && identified;
		(*end)->in_text = holds_texts(rows) &&
				  (cJSON_IsArray(item) || cJSON_IsObject(item));
		any = any || (*end)->is_repeated;
		below = below || identified;
		end = &(*end)->next;
	}
	for (struct growth_node *child = node->first; is_list && !any && child; child = child->next)
		child->is_repeated = node->kind == NODE_ARRAY;
	return below;
}

static struct growth_node *build_list(struct reading *reading, const struct cJSON *json,
				      const struct rows *rows, const char *path,
				      struct growth_node *node)
{
	struct growth_place *place = &reading->place;

	path = arena_printf(reading->arena, "%s%s", path, cJSON_IsArray(json) ? "[]" : "{}");
	node->list = list_index(reading->template, reading->arena, path);
	if (json->child)
		map_set(&reading->seen, path, reading);
	CHECK(place->count < NESTED_MAX);
	place->lists[place->count++] = node->list;
	(void)build_children(reading, json, rows, path, node);
	place->count--;
	return node;
}

static enum node_kind kind_of(const struct cJSON *json)
{
	if (cJSON_IsArray(json))
		return NODE_ARRAY;
	if (cJSON_IsString(json))
		return NODE_TEXT;
	if (cJSON_IsNumber(json))
		return NODE_NUMBER;
	if (cJSON_IsBool(json))
		return NODE_BOOLEAN;
	return cJSON_IsNull(json) ? NODE_NULL : NODE_OBJECT;
}

/* *ret_identified becomes true when a variable in it identifies an element of the innermost list. */
static struct growth_node *build(struct reading *reading, const struct cJSON *json,
				 const struct rows *rows, const char *path, bool *ret_identified)
{
	struct growth_node *node = ARENA_NEW(reading->arena, struct growth_node);

	map_set(&reading->seen, path, reading);
	node->list = NO_LIST;
	node->kind = kind_of(json);
	node->number = cJSON_IsBool(json) ? cJSON_IsTrue(json) : json->valuedouble;
	if (node->kind == NODE_TEXT) {
		node->text = arena_strdup(reading->arena, json->valuestring);
		*ret_identified = read_variables(reading, node->text) || *ret_identified;
	}
	if (node->kind == NODE_ARRAY || (node->kind == NODE_OBJECT && is_map(rows, json)))
		return build_list(reading, json, rows, path, node);
	if (node->kind == NODE_OBJECT)
		*ret_identified = build_children(reading, json, rows, path, node) ||
				  *ret_identified;
	return node;
}

/* ---- what the tables have ---- */

static void require(struct reading *reading, struct buf *missing, const char *path)
{
	if (!map_get(&reading->seen, path))
		(void)buf_printf(missing, "%s%s", missing->size > 0 ? ", " : "", path);
}

static void require_all(struct reading *reading, struct buf *missing, const struct field *fields,
			const char *path);

static void require_list(struct reading *reading, struct buf *missing, const struct field *row,
			 const char *path)
{
	const char *array = arena_printf(reading->arena, "%s[]", path);
	const char *map = arena_printf(reading->arena, "%s{}", path);

	if (map_get(&reading->seen, map))
		return;
	require(reading, missing, array);
	if (row->members && map_get(&reading->seen, array))
		require_all(reading, missing, row->members, array);
}

/* Lists whose names are in other tables: of settings, of the memory. */
static bool require_named(struct reading *reading, struct buf *missing, const char *path)
{
	size_t count;
	const struct settings_row *rows = settings_rows(&count);

	if (strcmp(path, "settings") == 0) {
		for (size_t i = 0; i < count; i++)
			if (rows[i].kind == SETTINGS_LIST)
				require(reading, missing,
					arena_printf(reading->arena, "settings.%s[]",
						     rows[i].name));
		return true;
	}
	if (strcmp(path, "memory") != 0)
		return false;
	for (size_t i = 0; i < MARK_KIND_COUNT; i++)
		require(reading, missing,
			arena_printf(reading->arena, "memory.%s[]", mark_rules[i].list));
	for (const struct field *row = memory_fields; row->name; row++)
		if (strcmp(row->name, MEMORY_MARKS) != 0)
			require_list(reading, missing, row,
				     arena_printf(reading->arena, "memory.%s", row->name));
	return true;
}

static void require_hook(struct reading *reading, struct buf *missing, const struct field *row,
			 const char *path)
{
	const struct field *devices = field_find(device_objects_fields, path);
	bool is_array = map_get(&reading->seen, arena_printf(reading->arena, "%s[]", path)) != NULL;

	if (devices)
		require_list(reading, missing, devices, path);
	else if (!row->read || require_named(reading, missing, path))
		return;
	else if (row->members && is_array)
		require_list(reading, missing, row, path);
	else if (row->members)
		require_all(reading, missing, row->members, path);
	else
		require(reading, missing, path);
}

static void require_all(struct reading *reading, struct buf *missing, const struct field *fields,
			const char *path)
{
	for (const struct field *row = fields; row->name; row++) {
		const char *name = *path ? arena_printf(reading->arena, "%s.%s", path, row->name) :
					   row->name;

		if (row->flags & FIELD_CHECKED)
			continue;
		switch (row->kind) {
		case FIELD_KIND_LIST:
		case FIELD_KIND_TEXTS:
			require_list(reading, missing, row, name);
			break;
		case FIELD_KIND_LABELS:
		case FIELD_KIND_NOTES:
		case FIELD_KIND_QUANTITIES:
		case FIELD_KIND_RESOURCES:
			require(reading, missing, arena_printf(reading->arena, "%s{}", name));
			break;
		case FIELD_KIND_POINTER:
		case FIELD_KIND_OBJECT:
			require_all(reading, missing, row->members, name);
			break;
		case FIELD_KIND_HOOK:
			require_hook(reading, missing, row, name);
			break;
		default:
			break;
		}
	}
}

int growth_read(const char *text, size_t size, struct arena *arena,
		struct growth_template *ret_template, struct err *err)
{
	const struct field root = { .members = snapshot_fields };
	const struct rows rows = { .at = { &root }, .count = 1 };
	struct growth_template template = { .root = NULL };
	struct reading reading = { .arena = arena, .template = &template, .seen = MAP_INIT };
	AUTO(buf_done) struct buf missing = BUF_INIT(TEXT_BYTES_MAX);
	AUTO(json_done) struct cJSON *tree = NULL;
	bool identified = false;

	if (golden_parse(text, size, &tree, err))
		return -1;
	template.root = build(&reading, cJSON_GetObjectItemCaseSensitive(tree, "snapshot"), &rows,
			      "", &identified);
	require_all(&reading, &missing, snapshot_fields, "");
	map_done(&reading.seen);

	if (missing.size > 0)
		return err_set(err, ERR_INPUT,
			       "no example element of %.*s: add one to " GROWTH_FILE, 900,
			       buf_string(&missing));
	*ret_template = template;
	return 0;
}

/* ---- writing ---- */

struct writing {
	const struct growth_template *template;
	const struct growth_choice *choice;
	size_t each; /* elements of a multiplied list */
	struct json_writer writer;
	size_t copies[GROWTH_CHOSEN_MAX]; /* index of the copy, of the multiplied lists around */
	size_t depth;
	size_t values;
};

static bool is_chosen(const struct growth_choice *choice, size_t list)
{
	for (size_t i = 0; i < choice->list_count; i++)
		if (choice->lists[i] == list)
			return true;
	return false;
}

/* Multiplied lists around a place, as bits. */
static unsigned chosen_around(const struct growth_choice *choice, const struct growth_place *place)
{
	unsigned bits = 0;

	for (size_t i = 0; i < choice->list_count; i++)
		for (size_t j = 0; j < place->count; j++)
			if (place->lists[j] == choice->lists[i])
				bits |= 1U << i;
	return bits;
}

/* Whether a variable that does not identify its element differs between copies. */
static bool differs(const struct growth_choice *choice, const struct growth_variable *variable)
{
	unsigned all = (1U << choice->list_count) - 1, any = 0;
	bool elsewhere = false;

	if (choice->texts == GROWTH_EQUAL)
		return false;
	VEC_EACH(size_t, list, &variable->defined_by) {
		if (is_chosen(choice, *list))
			return true;
	}
	if (variable->defined_by.count > 0)
		return false;
	VEC_EACH(struct growth_place, place, &variable->places) {
		unsigned around = chosen_around(choice, place);

		any |= around;
		elsewhere = elsewhere || around == 0;
	}
	if (choice->texts == GROWTH_DISTINCT)
		return any != 0;
	return any != 0 && (!elsewhere || (choice->list_count > 1 && any == all));
}

bool growth_is_repeated(const struct growth_template *template, const struct growth_choice *choice)
{
	struct growth_choice fewer = *choice;

	if (choice->texts == GROWTH_EQUAL)
		return false;
	fewer.texts--;
	VEC_EACH(struct growth_variable, variable, &template->variables) {
		bool here = false;

		VEC_EACH(struct growth_place, place, &variable->places) {
			here = here || chosen_around(choice, place) != 0;
		}
		if (here && differs(choice, variable) != differs(&fewer, variable))
			return false;
	}
	return true;
}

static size_t copy_number(const struct writing *writing)
{
	size_t number = 0;

	for (size_t i = 0; i < writing->depth; i++)
		number = number * INNER_MAX + writing->copies[i];
	return number;
}

static size_t value_of(const struct writing *writing, const struct reference *reference)
{
	const struct growth_variable *variable = find_variable(writing->template, reference);

	if (reference->identity)
		return reference->width && writing->depth ? writing->copies[writing->depth - 1] :
							    copy_number(writing);
	if (writing->depth == 0 || !differs(writing->choice, variable))
		return 0;
	if (writing->choice->texts == GROWTH_DISTINCT && variable->defined_by.count == 0)
		return copy_number(writing);
	return writing->copies[writing->depth - 1];
}

/* The text with its variables. */
static void fill(const struct writing *writing, const char *text, struct buf *buf)
{
	struct reference reference;

	for (; next_reference(text, &reference); text = reference.end) {
		(void)buf_add(buf, text, (size_t)(reference.start - text));
		(void)buf_printf(buf, "%0*zu", reference.width, value_of(writing, &reference));
	}
	(void)buf_add_string(buf, text);
}

static void write_text(struct writing *writing, const char *name, const char *text)
{
	AUTO(buf_done) struct buf filled = BUF_INIT(TEXT_BYTES_MAX);
	char *end;
	double number;

	fill(writing, text, &filled);
	text = buf_string(&filled);
	if (*text != '=') {
		json_write_text(&writing->writer, name, text);
		return;
	}
	number = strtod(text + 1, &end);
	if (*end == '+') {
		double factor = strtod(end + 1, &end);

		number += *end == '*' ? factor * strtod(end + 1, NULL) : factor;
	}
	json_write_double(&writing->writer, name, number);
}

static void write_node(struct writing *writing, const struct growth_node *node, const char *name);

static void write_element(struct writing *writing, const struct growth_node *node)
{
	AUTO(buf_done) struct buf name = BUF_INIT(TEXT_BYTES_MAX);

	if (node->name)
		fill(writing, node->name, &name);
	write_node(writing, node, node->name ? buf_string(&name) : NULL);
}

/* The elements as they are, then copies of those that are repeated. */
static void write_list(struct writing *writing, const struct growth_node *list)
{
	size_t count = 0, repeated = 0;

	if (!is_chosen(writing->choice, list->list)) {
		for (const struct growth_node *node = list->first; node; node = node->next)
			write_element(writing, node);
		return;
	}
	CHECK(writing->depth < GROWTH_CHOSEN_MAX);
	writing->copies[writing->depth++] = 0;
	for (const struct growth_node *node = list->first; node; node = node->next) {
		write_element(writing, node);
		count++;
		repeated += node->is_repeated;
	}
	while (repeated > 0 && count < writing->each) {
		writing->copies[writing->depth - 1]++;
		for (const struct growth_node *node = list->first; node; node = node->next) {
			if (!node->is_repeated || count >= writing->each)
				continue;
			write_element(writing, node);
			count++;
		}
	}
	writing->depth--;
}

static void write_container(struct writing *writing, const struct growth_node *node,
			    const char *name)
{
	struct json_writer *writer = &writing->writer;
	bool is_array = node->kind == NODE_ARRAY;

	is_array ? json_write_array(writer, name) : json_write_object(writer, name);
	if (node->list != NO_LIST)
		write_list(writing, node);
	else
		for (const struct growth_node *child = node->first; child; child = child->next)
			write_element(writing, child);
	is_array ? json_write_array_end(writer) : json_write_object_end(writer);
}

static void write_in_text(struct writing *writing, const struct growth_node *node, const char *name)
{
	AUTO(buf_done) struct buf inner = BUF_INIT(SNAPSHOT_BYTES_MAX);
	struct json_writer outer = writing->writer;

	json_write_init(&writing->writer, &inner, JSON_STYLE_LINE);
	write_container(writing, node, NULL);
	writing->writer = outer;
	json_write_text(&writing->writer, name, buf_string(&inner));
}

static void write_node(struct writing *writing, const struct growth_node *node, const char *name)
{
	struct json_writer *writer = &writing->writer;

	if (node->in_text) {
		write_in_text(writing, node, name);
		return;
	}
	if (node->kind == NODE_OBJECT || node->kind == NODE_ARRAY) {
		write_container(writing, node, name);
		return;
	}
	writing->values += writing->depth > 0;
	if (node->kind == NODE_TEXT)
		write_text(writing, name, node->text);
	else if (node->kind == NODE_NUMBER)
		json_write_double(writer, name, node->number);
	else if (node->kind == NODE_BOOLEAN)
		json_write_boolean(writer, name, node->number != 0);
	else
		json_write_null(writer, name);
}

/* One of the chosen lists is within the other one. */
static bool are_nested(const struct growth_template *template, const struct growth_choice *choice)
{
	const char *a, *b;

	if (choice->list_count < 2)
		return false;
	a = template->lists.at[choice->lists[0]].path;
	b = template->lists.at[choice->lists[1]].path;
	return strncmp(a, b, strlen(a)) == 0 || strncmp(a, b, strlen(b)) == 0;
}

void growth_write(const struct growth_template *template, const struct growth_choice *choice,
		  struct buf *buf, size_t *ret_values)
{
	struct writing writing = { .template = template, .choice = choice, .each = choice->count };

	if (are_nested(template, choice))
		writing.each = (size_t)(2 * sqrt((double)choice->count));
	json_write_init(&writing.writer, buf, JSON_STYLE_LINE);
	write_node(&writing, template->root, NULL);
	*ret_values = writing.values;
}
