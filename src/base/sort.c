#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#include "base/bounded.h"
#include "base/memory.h"

/* Merges the sorted runs [0, middle) and [middle, count) of `from` into `to`. */
static void merge(const char *from, char *to, size_t middle, size_t count, size_t size,
		  sort_compare *compare)
{
	size_t left = 0, right = middle;

	for (size_t i = 0; i < count; i++) {
		bool take_right =
			left == middle ||
			(right < count && compare(from + right * size, from + left * size) < 0);
		size_t taken = take_right ? right++ : left++;

		memcpy(to + i * size, from + taken * size, size);
	}
}

static bool is_sorted(const char *items, size_t count, size_t size, sort_compare *compare)
{
	for (size_t i = 1; i < count; i++)
		if (compare(items + (i - 1) * size, items + i * size) > 0)
			return false;
	return true;
}

void sort_stable(void *items, size_t count, size_t size, sort_compare *compare)
{
	char *from = items;

	if (is_sorted(items, count, size, compare))
		return; /* the usual case: API objects list their keys in order */
	bounded_hold();
	char *spare = memory_array(count, size);
	char *to = spare;
	for (size_t width = 1; width < count; width *= 2) {
		char *merged = to;

		for (size_t start = 0; start < count; start += 2 * width) {
			size_t left = count - start < width ? count - start : width;
			size_t both = count - start < 2 * width ? count - start : 2 * width;

			merge(from + start * size, to + start * size, left, both, size, compare);
		}
		to = from;
		from = merged;
	}
	if (from != items)
		memcpy(items, from, count * size);
	memory_free(spare);
	bounded_release();
}

void *sort_find(const void *key, const void *items, size_t count, size_t size,
		sort_compare *compare)
{
	char *first = memory_without_const(items);
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(key, first + middle * size) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && compare(key, first + low * size) == 0 ? first + low * size : NULL;
}
