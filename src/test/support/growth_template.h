/* A snapshot whose lists can be multiplied, for `make bench-growth`: src/test/data/growth.yaml, in the form of a
 * golden case. Its lists are found by the field tables of the snapshot, so a list that a table gains is
 * found without an edit here, and one without an example element is reported (growth_read).
 *
 * A list is an array or a map. Multiplied to n elements it repeats its example elements; copy i of an
 * element differs from the example in the variables of its texts, `<name>`:
 *	<pod!>   identifies the element: always i, and only elements (of a map: members) with such a
 *	         variable of this list are repeated, if there is one
 *	<pod!3>  the same with three digits, within its own list alone: of a list within another one the
 *	         numbers begin with 0 in each copy
 *	<pod>    where <pod!> exists, a reference to that element: i when its list is multiplied as well,
 *	         and then not with EQUAL; else the first one
 *	<slot>   i where the choice says so (enum growth_texts), else 0
 *	=1+0.001*<slot>   a number
 * An array below a map of texts is written as JSON in a text (annotations). */
#ifndef TEST_SUPPORT_GROWTH_TEMPLATE_H
#define TEST_SUPPORT_GROWTH_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define GROWTH_FILE "src/test/data/growth.yaml"
#define GROWTH_CHOSEN_MAX 2

/* The common part of the copies of an element. */
enum growth_texts {
	GROWTH_EQUAL = 0, /* everything but their identity */
	GROWTH_MATCHING, /* copy i of one list names copy i of the other, or what no other list has */
	GROWTH_DISTINCT, /* nothing that a variable can change */
	GROWTH_TEXTS_COUNT,
};
extern const char *const growth_texts_names[GROWTH_TEXTS_COUNT];

struct growth_list {
	const char *path; /* "pods[].metadata.labels{}": [] an array, {} a map */
};

struct growth_template {
	VEC(struct growth_list) lists;
	VEC(struct growth_variable) variables;
	struct growth_node *root;
};

/* Lists of the template, multiplied to `count` elements; of a list within the other one both have the
 * square root of that, times two. */
struct growth_choice {
	size_t lists[GROWTH_CHOSEN_MAX]; /* indexes */
	size_t list_count;               /* 0: the example itself */
	enum growth_texts texts;
	size_t count;
};

/* The text of a golden case. ERR_INPUT names every list and every member read by a hook that the tables
 * have and the example has not. Everything is in the arena. */
int growth_read(const char *text, size_t size, struct arena *arena,
		struct growth_template *ret_template, struct err *err);
/* The snapshot as JSON; *ret_values: the values within the multiplied lists. */
void growth_write(const struct growth_template *template, const struct growth_choice *choice,
		  struct buf *buf, size_t *ret_values);
/* The choice with fewer differences gives the same snapshot. */
bool growth_is_repeated(const struct growth_template *template, const struct growth_choice *choice);

#endif
