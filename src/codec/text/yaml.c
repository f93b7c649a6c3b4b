#include "codec/text/yaml.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/text/yaml_scalar.h"

/* Above this number of members names are found by a map. */
#define FEW_MEMBERS 16

#define CORE_TAG "tag:yaml.org,2002:"

/* A few lines of aliases must not expand to a tree that fills the memory: repeated values are
 * bounded by the values that the text spells out. */
#define ALIASED_ELEMENTS_MAX 10000
#define ALIASED_BYTES_MAX (1 << 20)
#define ALIASED_RATIO_MAX 10

/* The size that a node adds for each alias that repeats it. */
struct size {
	size_t elements, bytes, height;
};

struct anchor {
	const struct cJSON *node; /* in the tree in progress */
	struct size size;
};

struct yaml {
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
	struct positions *positions; /* NULL: not recorded */
	yaml_mark_t name;            /* of the member whose value comes next, if has_name */
	bool has_name;
	const struct json_limits *limits;
	size_t depth_max, depth;
	size_t elements, bytes;
	size_t aliased_elements, aliased_bytes; /* the part of them that aliases repeat */
	struct map anchors;                     /* struct anchor, in the arena */
	struct arena arena;
	struct err *err;
};

static int parse_node(struct yaml *yaml, struct cJSON **ret_node, size_t *ret_height);

/* `at`: a character, which is a byte unless text before it is not ASCII. */
static bool is_tab(const struct yaml *yaml, size_t at)
{
	const unsigned char *text = yaml->parser.input.string.start;

	return text + at < yaml->parser.input.string.end && text[at] == '\t';
}

/* ---- causes of errors that the parser cannot name ---- */

struct line {
	const char *at;
	size_t size; /* without its end */
};

static struct line whole_text(const struct yaml *yaml)
{
	const unsigned char *at = yaml->parser.input.string.start;

	return (struct line){ (const char *)at, (size_t)(yaml->parser.input.string.end - at) };
}

/* From 0. */
static struct line line_of(const struct yaml *yaml, size_t number)
{
	struct line rest = whole_text(yaml);
	const char *end;

	for (; (end = memchr(rest.at, '\n', rest.size)) && number > 0; number--) {
		rest.size -= (size_t)(end + 1 - rest.at);
		rest.at = end + 1;
	}
	if (number > 0)
		return (struct line){ "", 0 };
	return (struct line){ rest.at, end ? (size_t)(end - rest.at) : rest.size };
}

static bool line_begins(const struct yaml *yaml, const char *text)
{
	struct line whole = whole_text(yaml);
	char inner[16];
	size_t size = strlen(text);

	snprintf(inner, sizeof(inner), "\n%s", text);
	return (whole.size >= size && memcmp(whole.at, text, size) == 0) ||
	       memmem(whole.at, whole.size, inner, size + 1);
}

/* A line of git's begins with seven of them. */
static bool has_conflict(const struct yaml *yaml, size_t line UNUSED)
{
	return line_begins(yaml, "<<<<<<< ");
}

static bool has_fence(const struct yaml *yaml, size_t line UNUSED)
{
	return line_begins(yaml, "```");
}

/* Of a word processor or a web page: YAML has no such blank. */
static bool has_wide_blank(const struct yaml *yaml, size_t line UNUSED)
{
	return line_begins(yaml, "\xC2\xA0");
}

/* A "{{" in this line or the one before it, as templates of Helm and Go have. */
static bool is_template(const struct yaml *yaml, size_t line)
{
	for (size_t number = line > 0 ? line - 1 : 0; number <= line; number++) {
		struct line one = line_of(yaml, number);

		if (memmem(one.at, one.size, "{{", 2) || memmem(one.at, one.size, "{%", 2))
			return true;
	}
	return false;
}

/* `kubectl get -o json` twice into one file. */
static bool is_second_object(const struct yaml *yaml, size_t line)
{
	struct line first = line_of(yaml, 0), one = line_of(yaml, line);

	return yaml->parser.error == YAML_PARSER_ERROR && line > 0 && first.size > 0 &&
	       *first.at == '{' && one.size > 0 && *one.at == '{';
}

/* The line before is "key:value", which continues in this one. */
static bool lacks_blank(const struct yaml *yaml, size_t line)
{
	struct line one = line_of(yaml, line > 0 ? line - 1 : 0);
	size_t at = 0, key;

	while (at < one.size && (one.at[at] == ' ' || one.at[at] == '-'))
		at++;
	for (key = at; at < one.size &&
		       (isalnum((unsigned char)one.at[at]) || strchr("_.-/", one.at[at]) != NULL);)
		at++;
	return yaml->parser.problem && strstr(yaml->parser.problem, "mapping values") && line > 0 &&
	       at > key && at + 1 < one.size && one.at[at] == ':' &&
	       !strchr(" \r\t/", one.at[at + 1]);
}

static bool begins_with_dash(struct line line)
{
	size_t at = 0;

	while (at < line.size && line.at[at] == ' ')
		at++;
	return at + 1 < line.size && line.at[at] == '-' && isalpha((unsigned char)line.at[at + 1]);
}

/* The line before is "-name: value", of which "-name" is a key. */
static bool lacks_blank_of_dash(const struct yaml *yaml, size_t line)
{
	return yaml->parser.problem && strstr(yaml->parser.problem, "mapping values") && line > 0 &&
	       begins_with_dash(line_of(yaml, line - 1));
}

static const struct {
	bool (*is)(const struct yaml *yaml, size_t line);
	const char *text;
} causes[] = {
	{ has_conflict, "the file has marks of a merge conflict (<<<<<<<): remove them" },
	{ has_fence, "the file has a code block of Markdown (```): remove these lines" },
	{ has_wide_blank, "a line begins with a no-break space: write blanks" },
	{ is_template,
	  "this is a template ({{ }}); give what it renders, as by \"helm template CHART\"" },
	{ is_second_object, "a second JSON object begins here: write a line --- before it" },
	{ lacks_blank_of_dash,
	  "the line before has no blank behind its dash: write \"- key: value\"" },
	{ lacks_blank, "the line before has no blank behind its colon: write \"key: value\"" },
};

static int fail_at(struct yaml *yaml, const yaml_mark_t *mark, enum err_kind kind, const char *what,
		   const char *which)
{
	positions_fail(yaml->positions, mark->line + 1, mark->column + 1);
	if (yaml->parser.error == YAML_SCANNER_ERROR && is_tab(yaml, mark->index))
		which = ": a tab; write blanks";
	for (size_t i = 0; kind == ERR_INPUT && i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].is(yaml, mark->line)) {
			what = causes[i].text;
			which = "";
			break;
		}
	return err_set(yaml->err, kind, "line %zu, column %zu: %s%.100s", mark->line + 1,
		       mark->column + 1, what, which);
}

static int fail(struct yaml *yaml, enum err_kind kind, const char *what)
{
	return fail_at(yaml, &yaml->event.start_mark, kind, what, "");
}

/* A reader error has an offset instead of a mark. */
static int fail_reading(struct yaml *yaml, const char *problem)
{
	const char *text = (const char *)yaml->parser.input.string.start;
	size_t offset = yaml->parser.problem_offset;

	if (yaml->positions)
		yaml->positions->failure = position_of_byte(text, offset);
	return err_set(yaml->err, ERR_INPUT, "byte %zu: %s; write it as UTF-8", offset, problem);
}

static int next_event(struct yaml *yaml)
{
	if (yaml->has_event)
		yaml_event_delete(&yaml->event);
	yaml->has_event = false;
	if (!yaml_parser_parse(&yaml->parser, &yaml->event)) {
		const char *problem = yaml->parser.problem ? yaml->parser.problem : "not YAML";

		if (yaml->parser.error == YAML_READER_ERROR)
			return fail_reading(yaml, problem);
		return fail_at(yaml, &yaml->parser.problem_mark, ERR_INPUT, problem,
			       "; check indentation, colons, brackets and quotes here and above");
	}
	yaml->has_event = true;
	return 0;
}

static int count_size(struct yaml *yaml, size_t elements, size_t bytes)
{
	if (elements > yaml->limits->elements - yaml->elements)
		return fail(yaml, ERR_LIMIT, "too many values");
	if (bytes > yaml->limits->bytes - yaml->bytes)
		return fail(yaml, ERR_LIMIT, "too many bytes of text");
	yaml->elements += elements;
	yaml->bytes += bytes;
	return 0;
}

/* ---- scalars ---- */

static int check_text(struct yaml *yaml)
{
	if (strlen((const char *)yaml->event.data.scalar.value) != yaml->event.data.scalar.length)
		return fail(yaml, ERR_INPUT, "a string must not hold a NUL character");
	return count_size(yaml, 0, yaml->event.data.scalar.length);
}

/* The kind of the tag; -1 for an unknown tag, -2 for none. */
static int tagged_kind(const char *tag)
{
	static const struct {
		const char *tag;
		int kind;
	} tags[] = {
		{ "!", YAML_SCALAR_STRING },
		{ CORE_TAG "str", YAML_SCALAR_STRING },
		{ CORE_TAG "null", YAML_SCALAR_NULL },
		{ CORE_TAG "bool", YAML_SCALAR_BOOLEAN },
		{ CORE_TAG "int", YAML_SCALAR_INTEGER },
		{ CORE_TAG "float", YAML_SCALAR_FLOAT },
	};

	if (!tag)
		return -2;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strcmp(tag, tags[i].tag) == 0)
			return tags[i].kind;
	}
	return -1;
}

static int resolve(struct yaml *yaml, struct yaml_scalar *ret_scalar)
{
	const char *text = (const char *)yaml->event.data.scalar.value;
	bool plain = yaml->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	int kind = tagged_kind((const char *)yaml->event.data.scalar.tag);
	struct yaml_scalar scalar = { .kind = YAML_SCALAR_STRING };

	if (kind == -1)
		return fail(yaml, ERR_INPUT, "this tag is not supported; remove it");
	if (kind != YAML_SCALAR_STRING && (plain || kind >= 0))
		scalar = yaml_scalar_resolve(text);
	if (kind == YAML_SCALAR_FLOAT && scalar.kind == YAML_SCALAR_INTEGER)
		scalar.kind = YAML_SCALAR_FLOAT;
	if (kind >= 0 && scalar.kind != (enum yaml_scalar_kind)kind)
		return fail(yaml, ERR_INPUT, "the value does not fit its tag");
	*ret_scalar = scalar;
	return 0;
}

/* The text of a value that is not a string, for those who show it as it was written. */
static void keep_text(const struct yaml *yaml, struct cJSON *node)
{
	size_t size = yaml->event.data.scalar.length + 1;

	node->valuestring = cJSON_malloc(size);
	CHECK(node->valuestring);
	memcpy(node->valuestring, yaml->event.data.scalar.value, size);
}

static int parse_scalar(struct yaml *yaml, struct cJSON **ret_node)
{
	struct yaml_scalar scalar = { .kind = YAML_SCALAR_NULL };

	if (check_text(yaml) || resolve(yaml, &scalar))
		return -1;
	switch (scalar.kind) {
	case YAML_SCALAR_NULL:
		*ret_node = cJSON_CreateNull();
		break;
	case YAML_SCALAR_BOOLEAN:
		*ret_node = cJSON_CreateBool(scalar.boolean);
		break;
	case YAML_SCALAR_INTEGER:
	case YAML_SCALAR_FLOAT:
		*ret_node = cJSON_CreateNumber(scalar.number);
		break;
	case YAML_SCALAR_STRING:
		*ret_node = cJSON_CreateString((const char *)yaml->event.data.scalar.value);
		break;
	}
	CHECK(*ret_node);
	if (yaml->positions && scalar.kind != YAML_SCALAR_STRING)
		keep_text(yaml, *ret_node);
	return 0;
}

/* ---- sequences and mappings ---- */

static int check_tag(struct yaml *yaml, const yaml_char_t *tag, const char *core)
{
	if (tag && strcmp((const char *)tag, "!") != 0 && strcmp((const char *)tag, core) != 0)
		return fail(yaml, ERR_INPUT, "this tag is not supported; remove it");
	return 0;
}

static int parse_sequence(struct yaml *yaml, struct cJSON *array, size_t *ret_height)
{
	if (check_tag(yaml, yaml->event.data.sequence_start.tag, CORE_TAG "seq") ||
	    next_event(yaml))
		return -1;
	while (yaml->event.type != YAML_SEQUENCE_END_EVENT) {
		struct cJSON *element;
		size_t height;

		if (parse_node(yaml, &element, &height))
			return -1;
		CHECK(cJSON_AddItemToArray(array, element));
		if (height > *ret_height)
			*ret_height = height;
		if (next_event(yaml))
			return -1;
	}
	return 0;
}

/* The names of one mapping so far, and the values of its member "<<", which are merged at its end. */
struct names {
	struct map map;
	size_t count;
	struct cJSON *merged; /* an array */
	yaml_mark_t mark;     /* of the first of them */
};

static bool add_name(struct names *names, const struct cJSON *object, const char *name)
{
	names->count++;
	if (names->count <= FEW_MEMBERS)
		return !cJSON_GetObjectItemCaseSensitive(object, name);
	if (names->count == FEW_MEMBERS + 1) {
		for (const struct cJSON *e = object->child; e; e = e->next)
			map_set(&names->map, e->string, names);
	}
	bool known = map_get(&names->map, name) != NULL;
	map_set(&names->map, name, names);
	return !known;
}

static bool is_merge(const struct yaml *yaml)
{
	return yaml->event.type == YAML_SCALAR_EVENT &&
	       yaml->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       strcmp((const char *)yaml->event.data.scalar.value, "<<") == 0;
}

static bool is_mergeable(const struct cJSON *value)
{
	const struct cJSON *element;

	if (cJSON_IsObject(value))
		return true;
	cJSON_ArrayForEach(element, value) if (!cJSON_IsObject(element)) return false;
	return cJSON_IsArray(value);
}

/* The value of "<<", which becomes no member and has no entry of its own in the positions. */
static int parse_merge(struct yaml *yaml, struct names *names, size_t *ret_height)
{
	size_t entries = yaml->positions ? yaml->positions->list.count : 0;
	yaml_mark_t mark = yaml->event.start_mark;
	struct cJSON *value;
	size_t height;

	if (next_event(yaml) || parse_node(yaml, &value, &height))
		return -1;
	if (!names->merged) {
		names->merged = cJSON_CreateArray();
		names->mark = mark;
	}
	CHECK(names->merged && cJSON_AddItemToArray(names->merged, value));
	if (yaml->positions)
		yaml->positions->list.count = entries;
	if (!is_mergeable(value))
		return fail_at(yaml, &mark, ERR_INPUT,
			       "<< must name a mapping or a list of mappings", "");
	if (height > *ret_height)
		*ret_height = height;
	return next_event(yaml);
}

static void merge_object(struct yaml *yaml, struct cJSON *object, struct cJSON *from,
			 struct names *names)
{
	struct cJSON *member = from->child;

	while (member) {
		struct cJSON *next = member->next;

		if (add_name(names, object, member->string)) {
			CHECK(cJSON_AddItemToArray(object,
						   cJSON_DetachItemViaPointer(from, member)));
			positions_close(yaml->positions,
					positions_open(yaml->positions, names->mark.line + 1,
						       names->mark.column + 1));
		}
		member = next;
	}
}

/* Of two values the first wins, and the mapping's own members win against both. */
static void merge(struct yaml *yaml, struct cJSON *object, struct names *names)
{
	struct cJSON *value, *element;

	cJSON_ArrayForEach(value, names->merged)
	{
		if (cJSON_IsObject(value)) {
			merge_object(yaml, object, value, names);
			continue;
		}
		cJSON_ArrayForEach(element, value)
		{
			merge_object(yaml, object, element, names);
		}
	}
}

static int parse_member(struct yaml *yaml, struct cJSON *object, struct names *names,
			size_t *ret_height)
{
	AUTO(memory_free_string) char *name = NULL;
	struct cJSON *value;
	size_t height;

	if (yaml->event.type != YAML_SCALAR_EVENT)
		return fail(yaml, ERR_INPUT, "a member name must be a plain or quoted text");
	if (check_text(yaml))
		return -1;
	name = memory_strdup((const char *)yaml->event.data.scalar.value);
	if (!add_name(names, object, name)) {
		bool begins = yaml->event.start_mark.column == 0 &&
			      (strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0);

		return fail_at(yaml, &yaml->event.start_mark, ERR_INPUT,
			       begins ? "a second object begins here: write a line --- before it" :
					"this member is there twice; remove one: ",
			       begins ? "" : name);
	}
	yaml->name = yaml->event.start_mark;
	yaml->has_name = true;
	if (next_event(yaml) || parse_node(yaml, &value, &height))
		return -1;
	CHECK(cJSON_AddItemToObject(object, name, value));
	if (height > *ret_height)
		*ret_height = height;
	return next_event(yaml);
}

static int parse_mapping(struct yaml *yaml, struct cJSON *object, size_t *ret_height)
{
	struct names names = { .map = MAP_INIT };
	int failed = check_tag(yaml, yaml->event.data.mapping_start.tag, CORE_TAG "map") ||
		     next_event(yaml);

	while (!failed && yaml->event.type != YAML_MAPPING_END_EVENT)
		failed = is_merge(yaml) ? parse_merge(yaml, &names, ret_height) :
					  parse_member(yaml, object, &names, ret_height);
	if (!failed)
		merge(yaml, object, &names);
	json_free(names.merged);
	map_done(&names.map);
	return failed ? -1 : 0;
}

static int parse_container(struct yaml *yaml, bool mapping, struct cJSON **ret_node,
			   size_t *ret_height)
{
	AUTO(json_done) struct cJSON *node = mapping ? cJSON_CreateObject() : cJSON_CreateArray();
	size_t height = 0;

	CHECK(node);
	if (++yaml->depth > yaml->depth_max)
		return fail(yaml, ERR_LIMIT, "too deeply nested");
	if (mapping ? parse_mapping(yaml, node, &height) : parse_sequence(yaml, node, &height))
		return -1;
	yaml->depth--;
	*ret_height = height + 1;
	*ret_node = steal(&node);
	return 0;
}

/* ---- anchors ---- */

static int count_aliased(struct yaml *yaml, const struct size *size)
{
	size_t spelled = yaml->elements - yaml->aliased_elements;
	size_t spelled_bytes = yaml->bytes - yaml->aliased_bytes;

	yaml->aliased_elements += size->elements;
	yaml->aliased_bytes += size->bytes;
	if (yaml->aliased_elements > ALIASED_ELEMENTS_MAX + ALIASED_RATIO_MAX * spelled ||
	    yaml->aliased_bytes > ALIASED_BYTES_MAX + ALIASED_RATIO_MAX * spelled_bytes)
		return fail(yaml, ERR_LIMIT, "aliases repeat too much; write it out");
	return count_size(yaml, size->elements, size->bytes);
}

static int parse_alias(struct yaml *yaml, struct cJSON **ret_node, size_t *ret_height)
{
	const char *name = (const char *)yaml->event.data.alias.anchor;
	const struct anchor *anchor = map_get(&yaml->anchors, name);

	if (!anchor)
		return fail_at(yaml, &yaml->event.start_mark, ERR_INPUT,
			       "no anchor before this alias has its name: ", name);
	if (yaml->depth + anchor->size.height > yaml->depth_max)
		return fail(yaml, ERR_LIMIT, "too deeply nested");
	if (count_aliased(yaml, &anchor->size))
		return -1;
	*ret_node = cJSON_Duplicate(anchor->node, true);
	CHECK(*ret_node);
	*ret_height = anchor->size.height;
	return 0;
}

static const yaml_char_t *anchor_name(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

static size_t open_entry(struct yaml *yaml)
{
	const yaml_mark_t *mark = yaml->has_name ? &yaml->name : &yaml->event.start_mark;

	yaml->has_name = false;
	return positions_open(yaml->positions, mark->line + 1, mark->column + 1);
}

/* One value; the present event is its first, and after the call its last. An anchor becomes known
 * when its value is complete, so that no value contains itself. */
static int parse_node(struct yaml *yaml, struct cJSON **ret_node, size_t *ret_height)
{
	size_t elements = yaml->elements, bytes = yaml->bytes, entry = open_entry(yaml);
	const char *name = (const char *)anchor_name(&yaml->event);
	struct anchor *anchor;
	int failed;

	*ret_height = 0;
	if (yaml->event.type == YAML_ALIAS_EVENT)
		return parse_alias(yaml, ret_node, ret_height);
	if (count_size(yaml, 1, 0))
		return -1;
	if (name)
		name = arena_strdup(&yaml->arena, name);
	if (yaml->event.type == YAML_SCALAR_EVENT)
		failed = parse_scalar(yaml, ret_node);
	else
		failed = parse_container(yaml, yaml->event.type == YAML_MAPPING_START_EVENT,
					 ret_node, ret_height);
	if (failed)
		return -1;
	positions_close(yaml->positions, entry);
	if (name) {
		anchor = ARENA_NEW(&yaml->arena, struct anchor);
		*anchor = (struct anchor){
			*ret_node, { yaml->elements - elements, yaml->bytes - bytes, *ret_height }
		};
		map_set(&yaml->anchors, name, anchor);
	}
	return 0;
}

/* From one document's start to its end; the present event is its start. */
static int parse_document(struct yaml *yaml, struct cJSON **ret_node)
{
	AUTO(json_done) struct cJSON *node = NULL;
	size_t height;

	if (next_event(yaml) || parse_node(yaml, &node, &height) || next_event(yaml))
		return -1;
	*ret_node = steal(&node);
	return 0;
}

static void yaml_done(struct yaml *yaml)
{
	if (yaml->has_event)
		yaml_event_delete(&yaml->event);
	yaml_parser_delete(&yaml->parser);
	map_done(&yaml->anchors);
	arena_done(&yaml->arena);
}

static int yaml_init(struct yaml *yaml, const char *text, size_t size,
		     const struct json_limits *limits, struct err *err)
{
	*yaml = (struct yaml){
		.limits = limits,
		.depth_max = limits->depth < JSON_DEPTH_MAX ? limits->depth : JSON_DEPTH_MAX,
		.anchors = MAP_INIT,
		.arena = ARENA_INIT,
		.err = err,
	};
	CHECK(yaml_parser_initialize(&yaml->parser));
	if (size > limits->bytes)
		return err_set(err, ERR_LIMIT, "the text has %zu bytes, more than %zu", size,
			       limits->bytes);
	yaml_parser_set_encoding(&yaml->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&yaml->parser, (const unsigned char *)text, size);
	return 0;
}

int yaml_parse(const char *text, size_t size, const struct json_limits *limits,
	       struct cJSON **ret_json, struct err *err)
{
	AUTO(yaml_done) struct yaml yaml;
	AUTO(json_done) struct cJSON *node = NULL;

	if (yaml_init(&yaml, text, size, limits, err) || next_event(&yaml) || next_event(&yaml))
		return -1;
	if (yaml.event.type == YAML_STREAM_END_EVENT)
		return err_set(err, ERR_INPUT, "the text is empty; it must have a document");
	if (parse_document(&yaml, &node) || next_event(&yaml))
		return -1;
	if (yaml.event.type != YAML_STREAM_END_EVENT)
		return fail(&yaml, ERR_INPUT, "a second document begins here, one is expected");
	*ret_json = steal(&node);
	return 0;
}

/* ---- streams ---- */

struct yaml_stream {
	struct yaml yaml;
	struct err first; /* of yaml_init */
	bool begun;
};

struct yaml_stream *yaml_stream_new(const char *text, size_t size, const struct json_limits *limits)
{
	struct yaml_stream *stream = memory_alloc(sizeof(*stream));

	(void)yaml_init(&stream->yaml, text, size, limits, &stream->first);
	return stream;
}

void yaml_stream_free(struct yaml_stream *stream)
{
	if (!stream)
		return;
	yaml_done(&stream->yaml);
	memory_free(stream);
}

/* Anchors and limits belong to one document. */
static void forget_document(struct yaml *yaml)
{
	map_done(&yaml->anchors);
	yaml->anchors = MAP_INIT;
	arena_reset(&yaml->arena);
	yaml->depth = yaml->elements = yaml->bytes = 0;
	yaml->aliased_elements = yaml->aliased_bytes = 0;
}

int yaml_stream_next(struct yaml_stream *stream, struct positions *positions,
		     struct cJSON **ret_json, struct err *err)
{
	struct yaml *yaml = &stream->yaml;

	positions_clear(positions);
	yaml->positions = positions;
	yaml->err = err;
	if (stream->first.kind != ERR_NONE)
		return err_set(err, stream->first.kind, "%s", stream->first.text);
	forget_document(yaml);
	if ((!stream->begun && next_event(yaml)) || next_event(yaml))
		return -1;
	stream->begun = true;
	if (yaml->event.type == YAML_STREAM_END_EVENT)
		return 0;
	return parse_document(yaml, ret_json) ? -1 : 1;
}

int yaml_each(const char *text, size_t size, const struct json_limits *limits,
	      int (*take)(void *context, const struct cJSON *tree, struct err *err), void *context,
	      struct err *err)
{
	struct yaml_stream *stream = yaml_stream_new(text, size, limits);
	int is, failed;

	do {
		AUTO(json_done) struct cJSON *tree = NULL;

		is = yaml_stream_next(stream, NULL, &tree, err);
		failed = is < 0 || (is > 0 && take(context, tree, err));
	} while (is > 0 && !failed);
	yaml_stream_free(stream);
	return failed ? -1 : 0;
}

int yaml_or_json_parse(const char *text, size_t size, const struct json_limits *limits,
		       struct cJSON **ret_json, struct err *err)
{
	size_t start = 0;
	struct err ignored;

	while (start < size && strchr(" \t\r\n", text[start]) && text[start] != '\0')
		start++;
	if (start == size || (text[start] != '{' && text[start] != '[') ||
	    (start + 1 < size && text[start + 1] == '{'))
		return yaml_parse(text, size, limits, ret_json, err);
	if (json_parse(text, size, limits, ret_json, err) == 0)
		return 0;
	/* YAML in flow style begins like JSON; of a text that is neither, the JSON error helps more. */
	return yaml_parse(text, size, limits, ret_json, &ignored);
}
