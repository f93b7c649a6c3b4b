#include "feature/device_claims/core/cel.h"

#include <string.h>

#include "base/text.h"

#define NANO INT64_C(1000000000)
#define NANO_MAX ((__int128)INT64_MAX * NANO)
#define PATTERN_SIZE 256
#define LOWER_SIZE 1024 /* bytes of all results of lowerAscii in one judgement */

enum kind {
	ERROR = 0,
	UNKNOWN,
	NOTHING, /* an optional without a value */
	NULL_VALUE,
	BOOL,
	INT,
	DOUBLE,
	STRING,
	QUANTITY,
	VERSION,
	DEVICE,
	DOMAINS, /* device.attributes, device.capacity */
	ENTRIES, /* of one domain */
};

struct version {
	int64_t parts[3];
};

struct value {
	enum kind kind;
	bool optional;
	bool capacity; /* of DOMAINS and ENTRIES: else attributes */
	union {
		int64_t number; /* BOOL, INT */
		__int128 nano;  /* DOUBLE, QUANTITY: in 1/10^9, so that nothing is rounded */
		const char *text;
		struct version version;
	};
};

enum op {
	OP_UNKNOWN = 0,
	OP_VALUE,
	OP_VARIABLE,
	OP_LIST,
	OP_AND,
	OP_OR,
	OP_CHOICE, /* ?: */
	OP_NOT,
	OP_EQUAL,
	OP_UNEQUAL,
	OP_LESS,
	OP_AT_MOST,
	OP_GREATER,
	OP_AT_LEAST,
	OP_IN,
	OP_SELECT, /* a.b and a['b'] */
	OP_SELECT_OPTIONAL,
	OP_HAS,
	/* Functions */
	OP_QUANTITY,
	OP_SEMVER,
	/* Methods */
	OP_COMPARE_TO,
	OP_IS_GREATER,
	OP_IS_LESS,
	OP_MAJOR,
	OP_MINOR,
	OP_PATCH,
	OP_STARTS_WITH,
	OP_ENDS_WITH,
	OP_CONTAINS,
	OP_MATCHES,
	OP_LOWER,
	OP_OR_VALUE,
	OP_HAS_VALUE,
	OP_GET_VALUE,
};

struct syntax_node {
	enum op op;
	int height;
	size_t slot; /* of OP_VARIABLE, whose only child is the bound expression */
	struct value value;
	struct syntax_node *first, *last, *next; /* children, sibling */
};

struct cel {
	const struct syntax_node *root;
	const char *problem;
	size_t bind_count;
};

struct parser {
	struct arena *arena;
	struct cel *cel;
	const char *at;
	size_t nodes;
	int depth;
	bool failed; /* nothing is read any more */
	struct {
		const char *name;
		struct syntax_node *bound;
		size_t slot;
	} scope[CEL_BINDS_MAX];
	size_t scope_count;
};

struct run {
	const struct cel_device *device;
	size_t steps;
	struct value bound[CEL_BINDS_MAX];
	bool is_bound[CEL_BINDS_MAX];
	char lower[LOWER_SIZE];
	size_t lower_used;
};

static struct value of_kind(enum kind kind)
{
	return (struct value){ .kind = kind };
}

static struct value of_bool(bool flag)
{
	return (struct value){ .kind = BOOL, .number = flag };
}

static struct value of_text(enum kind kind, const char *text)
{
	return (struct value){ .kind = kind, .text = text };
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
	return is_letter(c) || text_is_digit(c) || c == '_';
}

/* ---- quantities and versions ---- */

/* Digits with at most one point, as an integer and a power of ten; at most 18 digits. Returns the
 * rest, NULL: not such a number. */
static const char *read_digits(const char *text, __int128 *ret_number, int *ret_exponent)
{
	const char *start = text, *point = NULL;

	*ret_number = 0;
	for (; text_is_digit(*text) || (*text == '.' && !point); text++) {
		if (*text == '.')
			point = text;
		else
			*ret_number = *ret_number * 10 + (*text - '0');
		if (text - start > 18)
			return NULL;
	}
	*ret_exponent = point ? -(int)(text - point - 1) : 0;
	return text - start > (point != NULL) ? text : NULL;
}

/* False for what is not a quantity, and for what is not judged: a sign, more than 18 digits, parts of
 * 10^-9, an exponent. */
static bool read_quantity(const char *text, __int128 *ret_nano)
{
	static const char letters[] = "num_kMGTPE"; /* 10^-9 to 10^18 */
	__int128 number;
	int exponent, binary;

	text = read_digits(text, &number, &exponent);
	if (!text)
		return false;
	const char *letter = *text && *text != '_' ? strchr(letters, *text) : NULL;
	int step = letter ? (int)(letter - letters) - 3 : 0;

	binary = *text == 'K' ? 1 : step;
	if (binary > 0 && strcmp(text + 1, "i") == 0 && *text != 'k') {
		for (; binary > 0; binary--)
			number *= 1024;
	} else if (*text == '\0' || (letter && text[1] == '\0')) {
		exponent += 3 * step;
	} else {
		return false;
	}
	for (exponent += 9; exponent > 0 && number < NANO_MAX; exponent--)
		number *= 10;
	*ret_nano = number;
	return exponent == 0 && number <= NANO_MAX;
}

static bool read_version(const char *text, struct version *ret_version)
{
	for (int i = 0; i < 3; i++) {
		const char *start = text;

		ret_version->parts[i] = 0;
		for (; text_is_digit(*text) && text - start < 18; text++)
			ret_version->parts[i] = ret_version->parts[i] * 10 + (*text - '0');
		if (text == start || (*start == '0' && text - start > 1) ||
		    (i < 2 && *text++ != '.'))
			return false;
	}
	return *text == '\0';
}

static int sign_of(int64_t number)
{
	return (number > 0) - (number < 0);
}

static int version_compare(const struct version *a, const struct version *b)
{
	for (int i = 0; i < 3; i++) {
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i] ? -1 : 1;
	}
	return 0;
}

/* ---- the syntax tree ---- */

static void fail(struct parser *parser, const char *problem)
{
	parser->failed = true;
	if (!parser->cel->problem)
		parser->cel->problem = problem;
}

static struct syntax_node *new_node(struct parser *parser, enum op op)
{
	if (++parser->nodes > CEL_NODES_MAX)
		fail(parser, "its length");
	return ARENA_PUT(parser->arena, (struct syntax_node){ .op = op, .height = 1 });
}

static void add_child(struct parser *parser, struct syntax_node *node, struct syntax_node *child)
{
	if (node->last)
		node->last->next = child;
	else
		node->first = child;
	node->last = child;
	if (child->height >= node->height)
		node->height = child->height + 1;
	if (node->height > CEL_DEPTH_MAX)
		fail(parser, "its depth");
}

/* With b, where there is one. */
static struct syntax_node *with(struct parser *parser, enum op op, struct syntax_node *a,
				struct syntax_node *b)
{
	struct syntax_node *node = new_node(parser, op);

	add_child(parser, node, a);
	if (b)
		add_child(parser, node, b);
	return node;
}

static struct syntax_node *of_value(struct parser *parser, struct value value)
{
	struct syntax_node *node = new_node(parser, OP_VALUE);

	node->value = value;
	return node;
}

/* A part that is read and not judged. */
static struct syntax_node *unjudged(struct parser *parser, const char *what, const char *name)
{
	if (!parser->cel->problem)
		parser->cel->problem =
			arena_printf(parser->arena, "%s%s%.64s", what, *name ? " " : "", name);
	return new_node(parser, OP_UNKNOWN);
}

static void skip(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\r\n\f");
	while (strncmp(parser->at, "//", 2) == 0) {
		parser->at += strcspn(parser->at, "\n");
		parser->at += strspn(parser->at, " \t\r\n\f");
	}
}

static bool accept(struct parser *parser, const char *sign)
{
	size_t size = strlen(sign);

	if (parser->failed)
		return false;
	skip(parser);
	if (strncmp(parser->at, sign, size) != 0)
		return false;
	parser->at += size;
	return true;
}

static void expect(struct parser *parser, const char *sign)
{
	if (!accept(parser, sign))
		fail(parser, "its syntax");
}

/* "": none. */
static const char *read_name(struct parser *parser)
{
	const char *start;

	skip(parser);
	start = parser->at;
	if (text_is_digit(*start))
		return "";
	while (is_name(*parser->at))
		parser->at++;
	return arena_strndup(parser->arena, start, (size_t)(parser->at - start));
}

static struct syntax_node *read_expression(struct parser *parser);

static struct syntax_node *read_string(struct parser *parser, bool raw)
{
	static const char escapes[] = "\\'\"`?abfnrtv";
	static const char escaped[] = "\\'\"`?\a\b\f\n\r\t\v";
	char quote = *parser->at++;
	char *text = arena_alloc(parser->arena, strcspn(parser->at, "\n") + 1);
	size_t size = 0;

	for (; *parser->at != quote; parser->at++) {
		char c = *parser->at;

		if (c == '\0' || c == '\n') {
			fail(parser, "its syntax");
			break;
		}
		if (c == '\\' && !raw) {
			const char *escape = *++parser->at ? strchr(escapes, *parser->at) : NULL;

			if (!escape) {
				fail(parser, "an escape sequence");
				break;
			}
			c = escaped[escape - escapes];
		}
		text[size++] = c;
	}
	parser->at += !parser->failed;
	return of_value(parser, of_text(STRING, text));
}

static struct syntax_node *read_number(struct parser *parser, bool negative)
{
	const char *start = parser->at, *end;
	struct value value = { .kind = INT };
	__int128 number;
	int exponent;

	/* A name is part of it: 0x1F, 1u and 1e3 are not judged. */
	while (is_name(*parser->at) ||
	       (*parser->at == '.' && (text_is_digit(parser->at[1]) || parser->at == start)))
		parser->at++;
	end = read_digits(start, &number, &exponent);
	if (end != parser->at || number > INT64_MAX || exponent < -9)
		return unjudged(parser, "number", arena_strndup(parser->arena, start, 32));
	number = negative ? -number : number;
	if (memchr(start, '.', (size_t)(end - start))) {
		value.kind = DOUBLE;
		for (value.nano = number, exponent += 9; exponent > 0; exponent--)
			value.nano *= 10;
	} else {
		value.number = (int64_t)number;
	}
	return of_value(parser, value);
}

static struct syntax_node *read_list(struct parser *parser, struct syntax_node *list,
				     const char *end)
{
	bool empty = accept(parser, end);

	while (!parser->failed && !empty) {
		add_child(parser, list, read_expression(parser));
		if (accept(parser, end))
			break;
		expect(parser, ",");
		empty = accept(parser, end);
	}
	return list;
}

/* cel.bind(name, expression, body): the body, in which the name is an OP_VARIABLE. */
static struct syntax_node *read_bind(struct parser *parser)
{
	size_t index = parser->scope_count;
	struct syntax_node *bound, *body;
	const char *name;

	expect(parser, "(");
	name = read_name(parser);
	expect(parser, ",");
	bound = read_expression(parser);
	expect(parser, ",");
	if (parser->cel->bind_count == CEL_BINDS_MAX)
		fail(parser, "its variables");
	if (parser->failed || !*name)
		return unjudged(parser, "its syntax", "");
	parser->scope[index].name = name;
	parser->scope[index].bound = bound;
	parser->scope[index].slot = parser->cel->bind_count++;
	parser->scope_count++;
	body = read_expression(parser);
	parser->scope_count--;
	expect(parser, ")");
	return body;
}

struct function {
	const char *name;
	enum op op;
	size_t children; /* with the object of a method */
};

static const struct function functions[] = {
	{ "quantity", OP_QUANTITY, 1 },
	{ "semver", OP_SEMVER, 1 },
	{ .name = NULL },
};

static const struct function methods[] = {
	{ "compareTo", OP_COMPARE_TO, 2 },
	{ "isGreaterThan", OP_IS_GREATER, 2 },
	{ "isLessThan", OP_IS_LESS, 2 },
	{ "major", OP_MAJOR, 1 },
	{ "minor", OP_MINOR, 1 },
	{ "patch", OP_PATCH, 1 },
	{ "startsWith", OP_STARTS_WITH, 2 },
	{ "endsWith", OP_ENDS_WITH, 2 },
	{ "contains", OP_CONTAINS, 2 },
	{ "matches", OP_MATCHES, 2 },
	{ "lowerAscii", OP_LOWER, 1 },
	{ "orValue", OP_OR_VALUE, 2 },
	{ "hasValue", OP_HAS_VALUE, 1 },
	{ "value", OP_GET_VALUE, 1 },
	{ .name = NULL },
};

/* After "name(". */
static struct syntax_node *read_call(struct parser *parser, const struct function *row,
				     const char *name, struct syntax_node *object)
{
	struct syntax_node *node = new_node(parser, OP_UNKNOWN);
	size_t count = 0;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	if (!row->name)
		unjudged(parser, "function", name);
	if (object)
		add_child(parser, node, object);
	read_list(parser, node, ")");
	for (const struct syntax_node *child = node->first; child; child = child->next)
		count++;
	if (!row->name || count != row->children)
		return unjudged(parser, "function", name);
	node->op = row->op;
	return node;
}

static struct syntax_node *read_has(struct parser *parser)
{
	struct syntax_node *node = read_expression(parser);

	expect(parser, ")");
	if (node->op != OP_SELECT)
		return unjudged(parser, "function", "has");
	node->op = OP_HAS;
	return node;
}

static struct syntax_node *read_named(struct parser *parser)
{
	const char *name = read_name(parser);

	if (!*name) {
		fail(parser, "its syntax");
		return new_node(parser, OP_UNKNOWN);
	}
	if (strchr("rR", *name) && name[1] == '\0' && *parser->at && strchr("'\"", *parser->at))
		return read_string(parser, true);
	if (strcmp(name, "cel") == 0 && accept(parser, ".bind"))
		return read_bind(parser);
	if (accept(parser, "("))
		return strcmp(name, "has") == 0 ? read_has(parser) :
						  read_call(parser, functions, name, NULL);
	for (size_t i = parser->scope_count; i > 0; i--) {
		if (strcmp(parser->scope[i - 1].name, name) != 0)
			continue;
		struct syntax_node *node = new_node(parser, OP_VARIABLE);

		/* Several variables share the bound node: it has no siblings. */
		node->first = parser->scope[i - 1].bound;
		node->height = node->first->height + 1;
		node->slot = parser->scope[i - 1].slot;
		return node;
	}
	if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
		return of_value(parser, of_bool(*name == 't'));
	if (strcmp(name, "null") == 0)
		return of_value(parser, of_kind(NULL_VALUE));
	if (strcmp(name, "device") == 0)
		return of_value(parser, of_kind(DEVICE));
	return unjudged(parser, "name", name);
}

static struct syntax_node *read_primary(struct parser *parser)
{
	struct syntax_node *node;

	if (accept(parser, "(")) {
		node = read_expression(parser);
		expect(parser, ")");
		return node;
	}
	if (accept(parser, "["))
		return read_list(parser, new_node(parser, OP_LIST), "]");
	skip(parser);
	if (*parser->at == '\'' || *parser->at == '"')
		return read_string(parser, false);
	if (text_is_digit(*parser->at) || (*parser->at == '.' && text_is_digit(parser->at[1])))
		return read_number(parser, false);
	return read_named(parser);
}

static struct syntax_node *read_index(struct parser *parser, enum op op, struct syntax_node *object)
{
	struct syntax_node *node = with(parser, op, object, read_expression(parser));

	expect(parser, "]");
	return node;
}

static struct syntax_node *read_member(struct parser *parser)
{
	struct syntax_node *node = read_primary(parser);

	while (!parser->failed) {
		enum op op = OP_SELECT;
		const char *name;

		if (accept(parser, "[?")) {
			node = read_index(parser, OP_SELECT_OPTIONAL, node);
			continue;
		}
		if (accept(parser, "[")) {
			node = read_index(parser, OP_SELECT, node);
			continue;
		}
		if (accept(parser, ".?"))
			op = OP_SELECT_OPTIONAL;
		else if (!accept(parser, "."))
			break;
		name = read_name(parser);
		if (!*name)
			fail(parser, "its syntax");
		else if (op == OP_SELECT && accept(parser, "("))
			node = read_call(parser, methods, name, node);
		else
			node = with(parser, op, node, of_value(parser, of_text(STRING, name)));
	}
	return node;
}

/* As CEL does, two signs in a row are none. */
static struct syntax_node *read_unary(struct parser *parser)
{
	bool is_not = false, negative = false, odd = false;
	struct syntax_node *node;

	while (!negative && accept(parser, "!")) {
		is_not = true;
		odd = !odd;
	}
	while (!is_not && accept(parser, "-")) {
		negative = true;
		odd = !odd;
	}
	skip(parser);
	if (negative && odd && text_is_digit(*parser->at))
		return read_number(parser, true);
	node = read_member(parser);
	if (negative)
		return unjudged(parser, "arithmetic", "");
	return is_not && odd ? with(parser, OP_NOT, node, NULL) : node;
}

static struct syntax_node *read_sum(struct parser *parser)
{
	struct syntax_node *node = read_unary(parser);

	while (accept(parser, "+") || accept(parser, "-") || accept(parser, "*") ||
	       accept(parser, "/") || accept(parser, "%")) {
		read_unary(parser);
		node = unjudged(parser, "arithmetic", "");
	}
	return node;
}

static enum op read_relation(struct parser *parser)
{
	static const struct {
		const char *sign;
		enum op op;
	} relations[] = {
		{ "==", OP_EQUAL },    { "!=", OP_UNEQUAL }, { "<=", OP_AT_MOST },
		{ ">=", OP_AT_LEAST }, { "<", OP_LESS },     { ">", OP_GREATER },
	};

	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++) {
		if (accept(parser, relations[i].sign))
			return relations[i].op;
	}
	if (strncmp(parser->at, "in", 2) == 0 && !is_name(parser->at[2]) && accept(parser, "in"))
		return OP_IN;
	return OP_UNKNOWN;
}

static struct syntax_node *read_comparison(struct parser *parser)
{
	struct syntax_node *node = read_sum(parser);

	while (!parser->failed) {
		enum op op = read_relation(parser);

		if (op == OP_UNKNOWN)
			break;
		node = with(parser, op, node, read_sum(parser));
	}
	return node;
}

/* a && b && c as one node, so that its height does not grow. */
static struct syntax_node *read_chain(struct parser *parser, const char *sign, enum op op,
				      struct syntax_node *(*next)(struct parser *parser))
{
	struct syntax_node *first = next(parser);
	struct syntax_node *node = NULL;

	while (accept(parser, sign)) {
		if (!node)
			node = with(parser, op, first, NULL);
		add_child(parser, node, next(parser));
	}
	return node ? node : first;
}

static struct syntax_node *read_and(struct parser *parser)
{
	return read_chain(parser, "&&", OP_AND, read_comparison);
}

static struct syntax_node *read_expression(struct parser *parser)
{
	struct syntax_node *node;

	if (parser->failed || parser->depth == CEL_DEPTH_MAX) {
		fail(parser, "its depth");
		return new_node(parser, OP_UNKNOWN);
	}
	parser->depth++;
	node = read_chain(parser, "||", OP_OR, read_and);
	if (accept(parser, "?")) {
		node = with(parser, OP_CHOICE, node, read_expression(parser));
		expect(parser, ":");
		add_child(parser, node, read_expression(parser));
	}
	parser->depth--;
	return node;
}

const struct cel *cel_compile(const char *text, struct arena *arena)
{
	struct cel *cel = ARENA_NEW(arena, struct cel);
	struct parser parser = { .arena = arena, .cel = cel, .at = text };

	if (strnlen(text, CEL_TEXT_MAX + 1) > CEL_TEXT_MAX)
		fail(&parser, "its length");
	else
		cel->root = read_expression(&parser);
	skip(&parser);
	if (!parser.failed && *parser.at != '\0')
		fail(&parser, "its syntax");
	if (parser.failed)
		cel->root = NULL;
	return cel;
}

const char *cel_problem(const struct cel *cel)
{
	return cel->problem;
}

/* ---- values ---- */

static bool is_number(const struct value *value)
{
	return value->kind == INT || value->kind == DOUBLE;
}

static __int128 nano_of(const struct value *value)
{
	return value->kind == INT ? (__int128)value->number * NANO : value->nano;
}

/* False: there is no order between them. */
static bool compare(const struct value *a, const struct value *b, int *ret_order)
{
	if (is_number(a) && is_number(b)) {
		*ret_order = (nano_of(a) > nano_of(b)) - (nano_of(a) < nano_of(b));
		return true;
	}
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case BOOL:
		*ret_order = (a->number > b->number) - (a->number < b->number);
		return true;
	case STRING:
		*ret_order = sign_of(strcmp(a->text, b->text));
		return true;
	case QUANTITY:
		*ret_order = (a->nano > b->nano) - (a->nano < b->nano);
		return true;
	case VERSION:
		*ret_order = version_compare(&a->version, &b->version);
		return true;
	default:
		return false;
	}
}

static struct value equal(const struct value *a, const struct value *b)
{
	int order = 1;

	if (a->kind == ERROR || b->kind == ERROR)
		return of_kind(ERROR);
	if (a->kind == UNKNOWN || b->kind == UNKNOWN || a->optional || b->optional ||
	    (a->kind >= DEVICE && a->kind == b->kind))
		return of_kind(UNKNOWN);
	if (a->kind == NULL_VALUE || b->kind == NULL_VALUE)
		return of_bool(a->kind == b->kind);
	/* These two refuse to be compared with another type; the others are unequal to it. */
	if (!compare(a, b, &order))
		return a->kind == QUANTITY || a->kind == VERSION ? of_kind(ERROR) : of_bool(false);
	return of_bool(order == 0);
}

/* Whether the full name is of the domain; *ret_id is the rest. A name without a domain has that of
 * the driver. */
static bool in_domain(const struct run *run, const char *full, const char *domain,
		      const char **ret_id)
{
	const char *slash = strchr(full, '/');

	*ret_id = slash ? slash + 1 : full;
	if (!slash)
		return strcmp(domain, run->device->driver) == 0;
	return strncmp(full, domain, (size_t)(slash - full)) == 0 && domain[slash - full] == '\0';
}

/* A text that cannot be read may still be one for Kubernetes. */
static struct value quantity_value(const char *text)
{
	struct value value = { .kind = QUANTITY };

	return read_quantity(text, &value.nano) ? value : of_kind(UNKNOWN);
}

static struct value version_value(const char *text)
{
	struct value value = { .kind = VERSION };

	return read_version(text, &value.version) ? value : of_kind(UNKNOWN);
}

static struct value attribute_value(const struct device_attribute *attribute)
{
	struct value value = { .kind = INT, .number = attribute->number };

	switch (attribute->kind) {
	case ATTRIBUTE_STRING:
		return of_text(STRING, attribute->text);
	case ATTRIBUTE_BOOL:
		return of_bool(attribute->number != 0);
	case ATTRIBUTE_VERSION:
		return version_value(attribute->text);
	case ATTRIBUTE_OTHER:
		return of_kind(UNKNOWN);
	case ATTRIBUTE_INT:
	default:
		return value;
	}
}

/* The entry; id NULL: of any name in the domain. NOTHING: there is none. */
static struct value find_entry(struct run *run, bool capacity, const char *domain, const char *id)
{
	const struct device *device = run->device->device;
	const char *name;

	run->steps += capacity ? device->capacity.count : device->attribute_count;
	ARRAY_EACH(const struct quantity, e, device->capacity.at, device->capacity.count) {
		if (capacity && in_domain(run, e->name, domain, &name) &&
		    (!id || strcmp(name, id) == 0))
			return quantity_value(e->text);
	}
	ARRAY_EACH(const struct device_attribute, e, device->attributes, device->attribute_count) {
		if (!capacity && in_domain(run, e->name, domain, &name) &&
		    (!id || strcmp(name, id) == 0))
			return attribute_value(e);
	}
	return of_kind(NOTHING);
}

static struct value device_field(const struct run *run, const char *name)
{
	if (strcmp(name, "driver") == 0)
		return of_text(STRING, run->device->driver);
	if (strcmp(name, "attributes") == 0)
		return of_kind(DOMAINS);
	if (strcmp(name, "capacity") == 0)
		return (struct value){ .kind = DOMAINS, .capacity = true };
	if (strcmp(name, "allowMultipleAllocations") == 0)
		return of_bool(run->device->device->allow_multiple);
	return of_kind(UNKNOWN);
}

/* object.key without the rules of optional values; NOTHING: absent. */
static struct value find(struct run *run, const struct value *object, const struct value *key)
{
	struct value entries = { .kind = ENTRIES, .capacity = object->capacity };

	if (object->kind == NOTHING)
		return of_kind(NOTHING);
	/* A domain without entries is empty, not an error; no name has this one. */
	entries.text = key->kind == STRING ? key->text : "/";
	if (object->kind == DOMAINS)
		return entries;
	if (key->kind != STRING)
		return of_kind(ERROR);
	switch (object->kind) {
	case DEVICE:
		return device_field(run, key->text);
	case ENTRIES:
		return find_entry(run, object->capacity, object->text, key->text);
	default:
		return of_kind(ERROR);
	}
}

static struct value select_value(struct run *run, enum op op, const struct value *object,
				 const struct value *key)
{
	struct value value = find(run, object, key);

	if (op == OP_HAS && object->optional)
		return of_kind(UNKNOWN);
	if (value.kind == ERROR || value.kind == UNKNOWN)
		return value;
	if (op == OP_HAS)
		return of_bool(value.kind != NOTHING);
	value.optional = object->optional || op == OP_SELECT_OPTIONAL;
	if (value.kind == NOTHING && !value.optional)
		value.kind = ERROR;
	return value;
}

static struct value is_in(struct run *run, const struct value *key, const struct value *map)
{
	struct value value;

	if (map->kind != DOMAINS && map->kind != ENTRIES)
		return of_kind(ERROR);
	if (key->kind != STRING)
		return of_bool(false);
	value = map->kind == DOMAINS ? find_entry(run, map->capacity, key->text, NULL) :
				       find(run, map, key);
	return of_bool(value.kind != NOTHING);
}

/* Of patterns without operators but ^ and $ at the ends; "\\." is a point. */
static struct value matches(const char *text, const char *pattern)
{
	char part[PATTERN_SIZE];
	size_t length = strlen(text), size = 0;
	bool start = *pattern == '^', end = false;

	for (pattern += start; *pattern; pattern++) {
		end = strcmp(pattern, "$") == 0;
		if (end)
			break;
		if (*pattern == '\\' && strchr(".-+", pattern[1]) && pattern[1] != '\0')
			pattern++;
		else if (strchr("\\.+*?()[]{}|^$", *pattern))
			return of_kind(UNKNOWN);
		if (size == PATTERN_SIZE - 1)
			return of_kind(UNKNOWN);
		part[size++] = *pattern;
	}
	part[size] = '\0';
	if (start && end)
		return of_bool(strcmp(text, part) == 0);
	if (start)
		return of_bool(strncmp(text, part, size) == 0);
	if (end)
		return of_bool(size <= length && strcmp(text + length - size, part) == 0);
	return of_bool(strstr(text, part) != NULL);
}

/* ---- evaluation ---- */

static struct value evaluate(struct run *run, const struct syntax_node *node);

/* As CEL: one operand that decides is enough, also beside an error or an unknown one. */
static struct value both_or_either(struct run *run, const struct syntax_node *node)
{
	bool decides = node->op == OP_OR;
	enum kind kind = BOOL;

	for (const struct syntax_node *child = node->first; child; child = child->next) {
		struct value value = evaluate(run, child);

		if (value.optional)
			value.kind = UNKNOWN;
		if (value.kind == BOOL && value.number == decides)
			return of_bool(decides);
		if (value.kind == UNKNOWN || kind == UNKNOWN)
			kind = UNKNOWN;
		else if (value.kind != BOOL)
			kind = ERROR;
	}
	return kind == BOOL ? of_bool(!decides) : of_kind(kind);
}

/* All elements count: one that is an error makes the list one. CEL decides `x in []` before. */
static struct value in_list(struct run *run, const struct value *value,
			    const struct syntax_node *list)
{
	bool unknown = false, error = false, found = false;

	for (const struct syntax_node *child = list->first; child; child = child->next) {
		struct value element = evaluate(run, child);
		struct value same = equal(&element, value);

		if (element.kind == ERROR)
			return element;
		unknown = unknown || same.kind == UNKNOWN;
		error = error || same.kind == ERROR;
		found = found || (same.kind == BOOL && same.number);
	}
	if (unknown)
		return of_kind(UNKNOWN);
	return error && !found ? of_kind(ERROR) : of_bool(found);
}

static struct value choice(struct run *run, const struct syntax_node *node)
{
	struct value value = evaluate(run, node->first);

	if (value.optional)
		return of_kind(UNKNOWN);
	if (value.kind != BOOL)
		return of_kind(value.kind == UNKNOWN ? UNKNOWN : ERROR);
	return evaluate(run, value.number ? node->first->next : node->last);
}

static struct value lower(struct run *run, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = run->lower + run->lower_used;

	if (size > LOWER_SIZE - run->lower_used)
		return of_kind(UNKNOWN);
	run->lower_used += size;
	for (size_t i = 0; i < size; i++)
		copy[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
	return of_text(STRING, copy);
}

static struct value of_string(struct run *run, enum op op, const struct value *a,
			      const struct value *b)
{
	if (a->kind != STRING || (b && b->kind != STRING))
		return of_kind(ERROR);
	size_t size = strlen(a->text), part = b ? strlen(b->text) : 0;

	switch (op) {
	case OP_QUANTITY:
		return quantity_value(a->text);
	case OP_SEMVER:
		return version_value(a->text);
	case OP_STARTS_WITH:
		return of_bool(b && strncmp(a->text, b->text, part) == 0);
	case OP_ENDS_WITH:
		return of_bool(b && part <= size && strcmp(a->text + size - part, b->text) == 0);
	case OP_CONTAINS:
		return of_bool(b && strstr(a->text, b->text));
	case OP_MATCHES:
		return b ? matches(a->text, b->text) : of_kind(ERROR);
	case OP_LOWER:
	default:
		return lower(run, a->text);
	}
}

static struct value ordered(enum op op, const struct value *a, const struct value *b)
{
	bool method = op == OP_COMPARE_TO || op == OP_IS_GREATER || op == OP_IS_LESS;
	bool amounts = a->kind == QUANTITY || a->kind == VERSION;
	int order;

	/* Quantities and versions have methods and no operators; the others have operators. */
	if (method != amounts || !compare(a, b, &order))
		return of_kind(ERROR);
	switch (op) {
	case OP_COMPARE_TO:
		return (struct value){ .kind = INT, .number = order };
	case OP_IS_LESS:
	case OP_LESS:
		return of_bool(order < 0);
	case OP_AT_MOST:
		return of_bool(order <= 0);
	case OP_AT_LEAST:
		return of_bool(order >= 0);
	case OP_IS_GREATER:
	case OP_GREATER:
	default:
		return of_bool(order > 0);
	}
}

static struct value version_part(enum op op, const struct value *a)
{
	if (a->kind != VERSION)
		return of_kind(ERROR);
	return (struct value){ .kind = INT, .number = (int64_t)a->version.parts[op - OP_MAJOR] };
}

static struct value of_optional(enum op op, const struct value *a)
{
	struct value value = *a;

	if (!a->optional)
		return of_kind(UNKNOWN);
	if (op == OP_HAS_VALUE)
		return of_bool(a->kind != NOTHING);
	value.optional = false;
	return a->kind == NOTHING ? of_kind(ERROR) : value;
}

static struct value negated(const struct value *a)
{
	if (a->kind == BOOL && !a->optional)
		return of_bool(!a->number);
	return of_kind(a->optional ? UNKNOWN : ERROR);
}

/* An error of the comparison counts as unequal. */
static struct value unequal(const struct value *a, const struct value *b)
{
	struct value same = equal(a, b);

	if (same.kind == UNKNOWN)
		return same;
	return of_bool(same.kind != BOOL || !same.number);
}

static struct value of_two(struct run *run, enum op op, const struct value *a,
			   const struct value *b)
{
	switch (op) {
	case OP_EQUAL:
		return equal(a, b);
	case OP_UNEQUAL:
		return unequal(a, b);
	case OP_IN:
		return is_in(run, a, b);
	case OP_LESS:
	case OP_AT_MOST:
	case OP_GREATER:
	case OP_AT_LEAST:
	case OP_COMPARE_TO:
	case OP_IS_GREATER:
	case OP_IS_LESS:
		return ordered(op, a, b);
	default:
		return of_string(run, op, a, b);
	}
}

/* Of operands that are neither an error nor unknown; b NULL: there is one. */
static struct value apply(struct run *run, enum op op, const struct value *a, const struct value *b)
{
	bool selects = op == OP_SELECT || op == OP_SELECT_OPTIONAL || op == OP_HAS;

	if (op == OP_HAS_VALUE || op == OP_GET_VALUE)
		return of_optional(op, a);
	if (op == OP_NOT)
		return negated(a);
	if (b && b->optional)
		return of_kind(UNKNOWN);
	if (b && selects)
		return select_value(run, op, a, b);
	if (a->optional)
		return of_kind(UNKNOWN);
	if (op >= OP_MAJOR && op <= OP_PATCH)
		return version_part(op, a);
	return b ? of_two(run, op, a, b) : of_string(run, op, a, NULL);
}

static struct value or_value(struct run *run, const struct syntax_node *node)
{
	struct value value = evaluate(run, node->first);

	if (value.kind == ERROR || value.kind == UNKNOWN)
		return value;
	if (!value.optional)
		return of_kind(UNKNOWN);
	value.optional = false;
	return value.kind == NOTHING ? evaluate(run, node->last) : value;
}

static struct value strict(struct run *run, const struct syntax_node *node)
{
	const struct syntax_node *second = node->first->next;
	bool list = second && second->op == OP_LIST && node->op == OP_IN;
	struct value a = evaluate(run, node->first), b = of_bool(false);

	if (list && !second->first)
		return of_bool(false);
	if (a.kind == ERROR)
		return a;
	if (list)
		return in_list(run, &a, second);
	if (second)
		b = evaluate(run, second);
	if (b.kind == ERROR)
		return b;
	if (a.kind == UNKNOWN || b.kind == UNKNOWN)
		return of_kind(UNKNOWN);
	return apply(run, node->op, &a, second ? &b : NULL);
}

static struct value variable(struct run *run, const struct syntax_node *node)
{
	if (!run->is_bound[node->slot]) {
		run->bound[node->slot] = evaluate(run, node->first);
		run->is_bound[node->slot] = true;
	}
	return run->bound[node->slot];
}

/* Recursion: the height of the tree. Steps: each node is evaluated at most once. */
static struct value evaluate(struct run *run, const struct syntax_node *node)
{
	if (++run->steps > CEL_STEPS_MAX)
		return of_kind(UNKNOWN);
	switch (node->op) {
	case OP_VALUE:
		return node->value;
	case OP_UNKNOWN:
	case OP_LIST:
		return of_kind(UNKNOWN);
	case OP_VARIABLE:
		return variable(run, node);
	case OP_AND:
	case OP_OR:
		return both_or_either(run, node);
	case OP_CHOICE:
		return choice(run, node);
	case OP_OR_VALUE:
		return or_value(run, node);
	default:
		return strict(run, node);
	}
}

enum cel_verdict cel_judge(const struct cel *cel, const struct cel_device *device, size_t *steps)
{
	struct run run = { .device = device };
	struct value value;

	if (!cel->root)
		return CEL_UNKNOWN;
	value = evaluate(&run, cel->root);
	*steps += run.steps;
	if (value.kind == UNKNOWN || value.optional || run.steps > CEL_STEPS_MAX)
		return CEL_UNKNOWN;
	return value.kind == BOOL && value.number ? CEL_YES : CEL_NO;
}
