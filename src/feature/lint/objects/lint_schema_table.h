/* The fields of KubeRay's definitions, as tables. The source is made from them (e2e/rayscaler_e2e/lint_schema.py). */
#ifndef FEATURE_LINT_OBJECTS_LINT_SCHEMA_TABLE_H
#define FEATURE_LINT_OBJECTS_LINT_SCHEMA_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum lint_schema_type {
	SCHEMA_ANY = 0,
	SCHEMA_TEXT,
	SCHEMA_INTEGER,
	SCHEMA_INTEGER_32, /* of 32 bits */
	SCHEMA_NUMBER,
	SCHEMA_BOOLEAN,
	SCHEMA_SCALAR, /* an integer or a string */
	SCHEMA_MAP,    /* of strings */
	SCHEMA_TEXTS,
	SCHEMA_OBJECT,
	SCHEMA_LIST, /* of objects */
	SCHEMA_OBJECT_OF_ANY,
	SCHEMA_LIST_OF_ANY,
};

struct lint_schema_field {
	const char *name;
	const char *words; /* of a text, separated by "|"; "": any */
	unsigned short
		members; /* of an object or of each object of a list: a number of lint_schema_lists */
	enum lint_schema_type type;
	bool required;
};

/* Lists of fields, each with an end without a name; the first field of each list; the list of each kind's spec. */
extern const struct lint_schema_field lint_schema_fields[];
extern const unsigned short lint_schema_lists[];
extern const size_t lint_schema_list_count;
extern const struct lint_schema_kind {
	const char *kind;
	unsigned short members;
} lint_schema_kinds[];

#endif
