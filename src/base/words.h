/* One copy of each string that occurs often: Kubernetes objects consist of the same words. On the
 * heap; the creator owns the table and the strings in it. Strings are never removed before the
 * table is freed, so it has a size limit, and a string that is seen only once (a name, an address)
 * is not added. A peer that fills it with useless strings makes it ineffective, not large. */
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

/* The copy of the text; NULL: there is none. learn: counts the text as seen; a second time within a
 * short period makes the copy. */
const char *words_find(struct words *words, const char *text, bool learn);
size_t words_count(const struct words *words);

#endif
