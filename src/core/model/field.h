/* The members of a struct, written once: a table with one row per member, which has its name in JSON, its
 * kind and its offset. This header copies and compares structs by their tables; codec/schema/field.h
 * reads and writes them. Tables are in the file of their object and end with FIELD_END.
 *
 *	static const struct field taint_fields[] = {
 *		FIELD_TEXT(struct taint, key, "key"),
 *		FIELD_TEXT(struct taint, value, "value"),
 *		FIELD_END,
 *	};
 *	FIELD_LIST(struct node, taints, taint_count, taint_fields, "taints", .flags = FIELD_LINE),
 *
 * A table that ends with FIELD_NAMES (NULL: none) instead is closed: lint reports other members. A
 * HOOK with `members` is checked for such names alone.
 *
 * After the name a row may have flags, `has` or hooks. A macro compiles only for a member of its
 * type. The order of the rows is that of the bytes of the file and of the checks. */
#ifndef CORE_MODEL_FIELD_H
#define CORE_MODEL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/time.h"
#include "core/model/reason.h"

struct json_at;
struct json_writer;

enum field_kind {
	FIELD_KIND_TEXT,
	FIELD_KIND_SHOWN,   /* a text that is only displayed or compared: json_shown */
	FIELD_KIND_NAME,    /* a text of at most 253 bytes */
	FIELD_KIND_BOOLEAN, /* bool */
	FIELD_KIND_INTEGER, /* int64_t */
	FIELD_KIND_TIME,    /* time_ms; one that does not parse is a problem */
	FIELD_KIND_TEXTS,   /* struct strings */
	FIELD_KIND_LABELS,  /* struct labels; in JSON an object of strings */
	FIELD_KIND_NOTES,   /* as LABELS; annotations: values are shown, only known ones written */
	FIELD_KIND_QUANTITIES, /* struct quantities */
	FIELD_KIND_RESOURCES,  /* struct resources; a value that is not an amount is an error */
	FIELD_KIND_AMOUNT,     /* int64_t in 1/10000, in JSON a number; too large: the maximum */
	FIELD_KIND_COUNT,      /* size_t; only written */
	FIELD_KIND_WORD,       /* an enum; `word` gives the text of each value below `limit` */
	FIELD_KIND_REASON,     /* enum reason of the table `limit`, as its word */
	FIELD_KIND_FIXED,      /* the text `initial`; read only with FIELD_REQUIRED or NULLABLE */
	FIELD_KIND_POINTER,    /* as OBJECT, to a struct of its own; NULL: not given */
	FIELD_KIND_OBJECT, /* JSON object whose `members` are in the same struct, or in a part */
	FIELD_KIND_LIST,   /* array of structs */
	FIELD_KIND_HOOK,   /* read and write by hooks alone; NULL: neither */
};

#define FIELD_AMOUNT_UNLIMITED INT64_MAX /* of AMOUNT: null; a null is not read */

#define FIELD_ALWAYS 1U    /* written also with the zero value */
#define FIELD_LINE 2U      /* written on one line; of a LIST each element */
#define FIELD_UNWRITTEN 4U /* never written */
#define FIELD_REQUIRED                                                                             \
	8U /* of NAME, WORD and FIXED: must be given and not empty; else only in the CRD */
/* of TEXT: NULL instead of ""; of FIXED: may be missing or ""; of LIST: null instead of [] */
/* of a quoted AMOUNT: null instead of FIELD_AMOUNT_UNLIMITED, else at most RESOURCE_AMOUNT_MAX */
#define FIELD_NULLABLE 16U
#define FIELD_CHECKED 32U /* only its type is checked: there is no member; never written */
#define FIELD_STRINGS 64U /* of QUANTITIES: the API server accepts only strings */
/* of INTEGER: written as a string, as proto3 does with int64; of AMOUNT: a string, and one that
 * does not parse keeps the value */
#define FIELD_QUOTED 256U
#define FIELD_PROTO 512U        /* of POINTER: in the proto3 JSON mapping */
#define FIELD_GIVEN 1024U       /* must be there and have its type */
#define FIELD_LEFT_OUT 2048U    /* of TEXT: a copy has NULL instead */
#define FIELD_START_PARAMS 128U /* of LABELS: lint has a rule of its own for the values */

struct field {
	const char *name;
	enum field_kind kind;
	unsigned flags;
	size_t offset;
	size_t has;      /* offset of a bool: the member is there and not null; 0: none */
	size_t count;    /* of a LIST: offset of the size_t */
	size_t capacity; /* of a LIST in a VEC: offset of the size_t; 0: none */
	/* Bytes: of a LIST of an element, of a POINTER of the struct, of a HOOK of a plain value. */
	size_t size;
	/* of a LIST: greatest number of elements, 0: none; of a WORD, REASON: see there; else for hooks */
	size_t limit;
	int64_t most;    /* of INTEGER: 0 to this, else it is an error; 0: any */
	size_t problems; /* of PART, POINTER, LIST: offset of struct strings for its own problems */
	const char *strict; /* of PART, POINTER, LIST: other members are an error; "a pool" */
	const struct field *members; /* of OBJECT, POINTER and LIST; of a HOOK: for lint */
	const void *initial;         /* an element, or the struct of a POINTER, before it is read */
	const char *(*word)(unsigned value);
	/* For the CRD and its document: a sentence, and further keywords of the schema. */
	const char *description, *schema, *element_schema;
	const char *const *others; /* of the end of a closed table: members without a row */
	/* After a member was read that is not missing and not null. */
	int (*check)(const struct json_at *member, const struct field *field, void *object);
	int (*read)(const struct json_at *member, const struct field *field, void *object);
	void (*write)(struct json_writer *writer, const struct field *field, const void *object);
};

/* The value of the row in a struct. */
static inline void *field_value(const struct field *field, void *object)
{
	return (char *)object + field->offset;
}
static inline const void *field_value_read(const struct field *field, const void *object)
{
	return (const char *)object + field->offset;
}

/* The offset of a member, which must have the type. */
#define FIELD_OFFSET(T, member, type)                                                              \
	(offsetof(T, member) +                                                                     \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((T *)0)->member), type) ? 1 :    \
											    -1]))
/* For `has`: the offset of a bool that is not the first member of the struct. */
#define FIELD_HAS(T, member)                                                                       \
	(FIELD_OFFSET(T, member, bool) + 0 * sizeof(char[offsetof(T, member) > 0 ? 1 : -1]))
#define FIELD_ROW(k, T, member, type, ...)                                                         \
	{                                                                                          \
		.kind = (k), .offset = FIELD_OFFSET(T, member, type), .name = __VA_ARGS__          \
	}
#define FIELD_TEXT(T, m, ...) FIELD_ROW(FIELD_KIND_TEXT, T, m, const char *, __VA_ARGS__)
#define FIELD_SHOWN(T, m, ...) FIELD_ROW(FIELD_KIND_SHOWN, T, m, const char *, __VA_ARGS__)
#define FIELD_NAME(T, m, ...) FIELD_ROW(FIELD_KIND_NAME, T, m, const char *, __VA_ARGS__)
#define FIELD_BOOLEAN(T, m, ...) FIELD_ROW(FIELD_KIND_BOOLEAN, T, m, bool, __VA_ARGS__)
#define FIELD_INTEGER(T, m, ...) FIELD_ROW(FIELD_KIND_INTEGER, T, m, int64_t, __VA_ARGS__)
#define FIELD_TIME(T, m, ...) FIELD_ROW(FIELD_KIND_TIME, T, m, time_ms, __VA_ARGS__)
#define FIELD_TEXTS(T, m, ...) FIELD_ROW(FIELD_KIND_TEXTS, T, m, struct strings, __VA_ARGS__)
#define FIELD_LABELS(T, m, ...) FIELD_ROW(FIELD_KIND_LABELS, T, m, struct labels, __VA_ARGS__)
#define FIELD_NOTES(T, m, ...) FIELD_ROW(FIELD_KIND_NOTES, T, m, struct labels, __VA_ARGS__)
#define FIELD_QUANTITIES(T, m, ...)                                                                \
	FIELD_ROW(FIELD_KIND_QUANTITIES, T, m, struct quantities, __VA_ARGS__)
#define FIELD_RESOURCES(T, m, ...)                                                                 \
	FIELD_ROW(FIELD_KIND_RESOURCES, T, m, struct resources, __VA_ARGS__)
#define FIELD_AMOUNT(T, m, ...) FIELD_ROW(FIELD_KIND_AMOUNT, T, m, int64_t, __VA_ARGS__)
#define FIELD_COUNT(T, m, ...) FIELD_ROW(FIELD_KIND_COUNT, T, m, size_t, __VA_ARGS__)
#define FIELD_WORD(T, m, type, words, ...)                                                         \
	FIELD_ROW(FIELD_KIND_WORD, T, m, type, __VA_ARGS__, .word = (words))
#define FIELD_REASON(T, m, table, ...)                                                             \
	FIELD_ROW(FIELD_KIND_REASON, T, m, enum reason, __VA_ARGS__, .limit = (table))
/* The function of a WORD, from the function NAME_name of an enum. */
#define FIELD_WORDS(name, type)                                                                    \
	static const char *name##_word(unsigned value)                                             \
	{                                                                                          \
		return name##_name((type)value);                                                   \
	}
#define FIELD_POINTER(T, m, fields, ...)                                                           \
	{                                                                                          \
		.kind = FIELD_KIND_POINTER, .offset = offsetof(T, m),                              \
		.size = sizeof(*((T *)0)->m), .members = (fields), .name = __VA_ARGS__             \
	}
#define FIELD_FIXED(n, text, ...)                                                                  \
	{                                                                                          \
		.kind = FIELD_KIND_FIXED, .name = (n), .initial = (text), __VA_ARGS__              \
	}
#define FIELD_LIST(T, m, number, fields, ...)                                                      \
	{                                                                                          \
		.kind = FIELD_KIND_LIST, .offset = offsetof(T, m),                                 \
		.count = FIELD_OFFSET(T, number, size_t), .size = sizeof(*((T *)0)->m),            \
		.members = (fields), .name = __VA_ARGS__                                           \
	}
#define FIELD_VEC(T, m, fields, ...)                                                               \
	FIELD_LIST(T, m.at, m.count, fields, __VA_ARGS__, .capacity = offsetof(T, m.capacity))
#define FIELD_OBJECT(fields, ...)                                                                  \
	{                                                                                          \
		.kind = FIELD_KIND_OBJECT, .members = (fields), .name = __VA_ARGS__                \
	}
#define FIELD_PART(T, m, fields, ...) FIELD_OBJECT(fields, __VA_ARGS__, .offset = offsetof(T, m))
#define FIELD_HOOK(...)                                                                            \
	{                                                                                          \
		.kind = FIELD_KIND_HOOK, .name = __VA_ARGS__                                       \
	}
#define FIELD_CHECK(k, n)                                                                          \
	{                                                                                          \
		.kind = (k), .flags = FIELD_CHECKED, .name = (n)                                   \
	}
#define FIELD_NAMES(...)                                                                           \
	{                                                                                          \
		.others = (const char *const[])                                                    \
		{                                                                                  \
			__VA_ARGS__, NULL                                                          \
		}                                                                                  \
	}
#define FIELD_END                                                                                  \
	{                                                                                          \
		.name = NULL                                                                       \
	}

/* A copy of a struct of `size` bytes with all that its rows point to. Members without a row and HOOKs
 * are copied as they are: pointers among them are shared with the original. */
void *field_copy(const struct field *fields, const void *from, size_t size, struct arena *arena);
#define FIELD_COPY(fields, from, arena)                                                            \
	((__typeof__(*(from)) *)field_copy((fields), (from), sizeof(*(from)), (arena)))
/* The same for a copy by assignment: what its rows point to is replaced by copies. */
void field_own(const struct field *fields, void *object, struct arena *arena);
/* Replaces the content of `arena` by a copy in one block of its size, to keep it. NULL above
 * `bytes_max`. */
void *field_keep(const struct field *fields, const void *from, size_t size, size_t bytes_max,
		 struct arena *arena);
/* All members with a row are equal; of a HOOK `size` bytes. A NULL text is not "". */
bool field_equal(const struct field *fields, const void *a, const void *b);

#endif
