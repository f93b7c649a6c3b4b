/* Limits of a JSON text from elsewhere, and the mark for bytes in it that a C string cannot hold.
 *
 * A C string cannot hold \u0000, and UTF-8 cannot hold half of a surrogate pair. In a foreign tree
 * each byte of such an escape is JSON_MARK, which no UTF-8 text holds: "a\u0000b" never equals "a". */
#ifndef CODEC_TEXT_JSON_LIMITS_H
#define CODEC_TEXT_JSON_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH_MAX 500
#define JSON_MARK '\xFF'

struct json_limits {
	size_t bytes;      /* of the text (YAML: also of all strings, with aliases expanded) */
	size_t depth;      /* nesting; capped at JSON_DEPTH_MAX */
	size_t elements;   /* values in all, member names not counted */
	bool unique_names; /* refuse an object that has a member twice (else the first is read) */
	/* Objects of tenants: a string that holds \u0000, half of a surrogate pair or bytes that
	 * are not UTF-8 becomes a value of type JSON_UNREADABLE; without it such a text is
	 * refused. */
	bool foreign;
};

#endif
