/* One copy of each string that is seen again and again: objects of Kubernetes are made of the same words.
 * On the heap; owned by who made it, and so are the strings in it. They live as long as it does: nothing
 * is ever taken out, so what it may hold has a ceiling, and a string that is seen only once (a name, an
 * address) does not get in. Who fills it with junk makes it useless, not large. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define WORDS_MAX ((size_t)1 << 16)
#define WORDS_BYTES_MAX ((size_t)4 << 20)
#define WORDS_LENGTH_MAX ((size_t)256) /* of one string */

struct words;

struct words *words_new(void);
void words_free(struct words *words); /* NULL is fine */

/* The copy of the text; NULL: there is none. learn: this is one more time that it was seen; the second
 * time in a while makes the copy. */
const char *words_find(struct words *words, const char *text, bool learn);
size_t words_count(const struct words *words);

#endif
