#include "codec/text/json_scan.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "codec/text/utf8.h"

struct scan {
	const char *start, *at, *end;
	size_t depth, depth_max;
	size_t elements, elements_max;
	struct positions *positions; /* NULL: not recorded */
	struct buf *marked;          /* NULL: strings that C cannot hold are refused */
	const char *known; /* position up to which `line` and `column` have been counted */
	size_t line, column;
	struct err *err;
};

static int scan_value(struct scan *scan, const char *name);

static int fail(struct scan *scan, enum err_kind kind, const char *what)
{
	struct position at = position_of_byte(scan->start, (size_t)(scan->at - scan->start));

	positions_fail(scan->positions, at.line, at.column);
	return err_set(scan->err, kind, "line %u, column %u: %s", at.line, at.column, what);
}

/* Opens the entry of a value whose text, or whose name, begins at `at`. Counts lines from the last
 * entry on. */
static size_t open_entry(struct scan *scan, const char *at)
{
	if (!scan->positions)
		return 0;
	for (; scan->known < at; scan->known++) {
		scan->column += ((unsigned char)*scan->known & 0xC0) != 0x80;
		if (*scan->known == '\n') {
			scan->line++;
			scan->column = 1;
		}
	}
	return positions_open(scan->positions, scan->line, scan->column);
}

static void skip_space(struct scan *scan)
{
	while (scan->at < scan->end &&
	       (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
		scan->at++;
}

static bool is_digit(const struct scan *scan)
{
	return scan->at < scan->end && text_is_digit(*scan->at);
}

static bool take(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static int scan_digits(struct scan *scan)
{
	if (!is_digit(scan))
		return fail(scan, ERR_INPUT, "a digit is missing in a number");
	while (is_digit(scan))
		scan->at++;
	return 0;
}

static int scan_number(struct scan *scan)
{
	const char *number = scan->at;

	take(scan, '-');
	if (take(scan, '0')) {
		if (is_digit(scan))
			return fail(scan, ERR_INPUT, "a number must not begin with 0");
	} else if (scan_digits(scan)) {
		return -1;
	}
	if (take(scan, '.') && scan_digits(scan))
		return -1;
	if (take(scan, 'e') || take(scan, 'E')) {
		if (!take(scan, '+'))
			take(scan, '-');
		if (scan_digits(scan))
			return -1;
	}
	if (scan->at - number > JSON_NUMBER_SIZE_MAX)
		return fail(scan, ERR_INPUT, "a number has more than 60 characters");
	return 0;
}

/* Four hex digits after \u; -1 without them. */
static int hex4(const struct scan *scan, const char *at)
{
	int high = scan->end - at < 4 ? -1 : text_hex_byte(at);
	int low = high < 0 ? -1 : text_hex_byte(at + 2);

	return low < 0 ? -1 : high * 256 + low;
}

/* The `size` bytes at `from` cannot be held by a C string: refuses or marks them. */
static int scan_unreadable(struct scan *scan, const char *from, size_t size, const char *what)
{
	if (!scan->marked)
		return fail(scan, ERR_INPUT, what);
	if (scan->marked->size == 0)
		(void)buf_add(scan->marked, scan->start, (size_t)(scan->end - scan->start));
	memset(scan->marked->data + (from - scan->start), JSON_MARK, size);
	scan->at = from + size;
	return 0;
}

/* At the u of \u. */
static int scan_unicode(struct scan *scan)
{
	const char *from = scan->at - 1;
	int unit = hex4(scan, scan->at + 1);

	if (unit < 0)
		return fail(scan, ERR_INPUT, "\\u needs four hexadecimal digits");
	if (unit == 0)
		return scan_unreadable(scan, from, 6, "a string must not hold a NUL character");
	if (unit >= 0xDC00 && unit <= 0xDFFF)
		return scan_unreadable(scan, from, 6, "half of a surrogate pair");
	scan->at += 5;
	if (unit < 0xD800 || unit > 0xDBFF)
		return 0;
	if (scan->end - scan->at < 6 || scan->at[0] != '\\' || scan->at[1] != 'u')
		return scan_unreadable(scan, from, 6, "half of a surrogate pair");
	unit = hex4(scan, scan->at + 2);
	if (unit < 0xDC00 || unit > 0xDFFF)
		return scan_unreadable(scan, from, 6, "half of a surrogate pair");
	scan->at += 6;
	return 0;
}

static int scan_escape(struct scan *scan)
{
	scan->at++;
	if (scan->at == scan->end)
		return fail(scan, ERR_INPUT, "the text ends in a string");
	if (*scan->at == 'u')
		return scan_unicode(scan);
	if (!strchr("\"\\/bfnrt", *scan->at) || *scan->at == '\0')
		return fail(scan, ERR_INPUT, "unknown escape in a string");
	scan->at++;
	return 0;
}

static int scan_string(struct scan *scan)
{
	scan->at++;
	while (scan->at < scan->end) {
		unsigned char c = (unsigned char)*scan->at;

		if (c == '"') {
			scan->at++;
			return 0;
		}
		if (c == '\\') {
			if (scan_escape(scan))
				return -1;
			continue;
		}
		if (c < 0x20)
			return fail(scan, ERR_INPUT, "a control character in a string");
		size_t length = utf8_length(scan->at, (size_t)(scan->end - scan->at));
		if (length > 0)
			scan->at += length;
		else if (scan_unreadable(scan, scan->at, 1, "a string is not UTF-8"))
			return -1;
	}
	return fail(scan, ERR_INPUT, "the text ends in a string");
}

static int scan_word(struct scan *scan, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
		return fail(scan, ERR_INPUT, "a value is expected");
	scan->at += size;
	return 0;
}

static int scan_member_name(struct scan *scan, const char **ret_name)
{
	skip_space(scan);
	*ret_name = scan->at;
	if (scan->at == scan->end || *scan->at != '"')
		return fail(scan, ERR_INPUT, "a member name in quotes is expected");
	if (scan_string(scan))
		return -1;
	skip_space(scan);
	if (!take(scan, ':'))
		return fail(scan, ERR_INPUT, "\":\" is expected");
	return 0;
}

/* At the opening bracket. */
static int scan_container(struct scan *scan, bool object)
{
	char close = object ? '}' : ']';

	if (++scan->depth > scan->depth_max)
		return fail(scan, ERR_LIMIT, "too deeply nested");
	scan->at++;
	skip_space(scan);
	if (take(scan, close)) {
		scan->depth--;
		return 0;
	}
	do {
		const char *name = NULL;

		if (object && scan_member_name(scan, &name))
			return -1;
		if (scan_value(scan, name))
			return -1;
		skip_space(scan);
	} while (take(scan, ','));
	if (!take(scan, close))
		return fail(scan, ERR_INPUT,
			    object ? "\",\" or \"}\" is expected" : "\",\" or \"]\" is expected");
	scan->depth--;
	return 0;
}

static int scan_any(struct scan *scan)
{
	switch (*scan->at) {
	case '{':
		return scan_container(scan, true);
	case '[':
		return scan_container(scan, false);
	case '"':
		return scan_string(scan);
	case 't':
		return scan_word(scan, "true");
	case 'f':
		return scan_word(scan, "false");
	case 'n':
		return scan_word(scan, "null");
	default:
		if (*scan->at == '-' || is_digit(scan))
			return scan_number(scan);
		return fail(scan, ERR_INPUT, "a value is expected");
	}
}

/* `name`: the start of the member's name, NULL without one. */
static int scan_value(struct scan *scan, const char *name)
{
	skip_space(scan);
	if (scan->at == scan->end)
		return fail(scan, ERR_INPUT, "the text ends where a value is expected");
	if (++scan->elements > scan->elements_max)
		return fail(scan, ERR_LIMIT, "too many values");
	size_t entry = open_entry(scan, name ? name : scan->at);
	if (scan_any(scan))
		return -1;
	positions_close(scan->positions, entry);
	return 0;
}

int json_scan(const char *text, size_t size, const struct json_limits *limits,
	      struct positions *positions, struct buf *ret_marked, struct err *err)
{
	struct scan scan = {
		.start = text,
		.at = text,
		.end = text + size,
		.depth_max = limits->depth < JSON_DEPTH_MAX ? limits->depth : JSON_DEPTH_MAX,
		.elements_max = limits->elements,
		.positions = positions,
		.marked = limits->foreign ? ret_marked : NULL,
		.known = text,
		.line = 1,
		.column = 1,
		.err = err,
	};

	if (scan_value(&scan, NULL))
		return -1;
	skip_space(&scan);
	if (scan.at != scan.end)
		return fail(&scan, ERR_INPUT, "something follows the end of the value");
	return 0;
}
