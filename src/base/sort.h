/* A stable sort: equal elements keep their order, which qsort does not guarantee. The caller owns
 * the array; the sort allocates heap memory of the same size while it runs. Linear where
 * the array is sorted already. Not needed where it rarely is and no two elements compare equal: qsort
 * does it without the memory. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/* Negative, 0 or positive as a is before, equal to or after b; a total order. */
typedef int sort_compare(const void *a, const void *b);

/* O(count log count) in every case; `size` is of one element, in bytes. items may be NULL for 0. */
void sort_stable(void *items, size_t count, size_t size, sort_compare *compare);

/* The first element of a sorted array for which compare(key, element) is 0, or NULL; O(log count). Unlike
 * bsearch, items may be NULL for 0, and several elements may be equal. */
void *sort_find(const void *key, const void *items, size_t count, size_t size,
		sort_compare *compare);
#define SORT_FIND(key, items, count, compare)                                                      \
	sort_find((key), (items), (count), sizeof(*(items)), (compare))

#endif
