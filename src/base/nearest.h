/* "Did you mean": the known word that a misspelt one most likely meant. Words are offered one by
 * one, so that a caller needs no list of a certain form. Letters of both cases are equal; longer
 * words than NEAREST_BYTES_MAX match nothing. Costs NEAREST_BYTES_MAX^2 steps for each word. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_BYTES_MAX 64
/* Of nearest_hint: "; did you mean WORD?" and the zero byte. */
#define NEAREST_HINT_SIZE (NEAREST_BYTES_MAX + 24)

struct nearest {
	const char *typed;
	const char *word; /* the best so far; NULL: none is near */
	size_t distance;  /* of `word` */
};

/* Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) that make
 * `a` from `b`; more than NEAREST_BYTES_MAX when either is longer than that. */
size_t nearest_distance(const char *a, const char *b);
/* The same in a pass over both, where only near ones matter: 0, 1, or 2 for all above. */
size_t nearest_errors(const char *a, const char *b);

/* `typed` and the offered words are referenced. A word is near with one error for each three bytes
 * that were typed, at most 3 errors, or when three bytes or more of its beginning were typed. The
 * first of the nearest words is kept. */
struct nearest nearest_start(const char *typed);
void nearest_offer(struct nearest *nearest, const char *word);
/* "; did you mean WORD?", or "" when no word is near; in `text`. */
const char *nearest_hint(const struct nearest *nearest, char text[static NEAREST_HINT_SIZE]);

#endif
