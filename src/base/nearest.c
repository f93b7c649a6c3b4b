#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ERRORS_MAX 3
#define BYTES_PER_ERROR 3
#define PREFIX_MIN 3

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* rows[i % 3][j] is the distance of the first i bytes of `a` and the first j of `b`; three rows are
 * kept, because a swap looks two rows back. */
size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_BYTES_MAX + 1];
	size_t a_size = strnlen(a, NEAREST_BYTES_MAX + 1);
	size_t b_size = strnlen(b, NEAREST_BYTES_MAX + 1);

	if (a_size > NEAREST_BYTES_MAX || b_size > NEAREST_BYTES_MAX)
		return NEAREST_BYTES_MAX + 1;
	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			bool same = text_lower(a[i - 1]) == text_lower(b[j - 1]);

			row[j] = least(above[j - 1] + (same ? 0 : 1),
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && text_lower(a[i - 1]) == text_lower(b[j - 2]) &&
			    text_lower(a[i - 2]) == text_lower(b[j - 1]))
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

/* Of words that differ at once. */
static bool is_swapped(const char *a, const char *b)
{
	return text_lower(a[0]) == text_lower(b[1]) && text_lower(a[1]) == text_lower(b[0]);
}

/* One error leaves what is before and behind it equal. */
size_t nearest_errors(const char *a, const char *b)
{
	size_t a_size = strnlen(a, NEAREST_BYTES_MAX + 1);
	size_t b_size = strnlen(b, NEAREST_BYTES_MAX + 1);

	if (a_size > b_size)
		return nearest_errors(b, a);
	if (b_size > NEAREST_BYTES_MAX || b_size - a_size > 1)
		return 2;
	while (*a != '\0' && text_lower(*a) == text_lower(*b)) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (a_size < b_size)
		return text_equal_ignoring_case(a, b + 1) ? 1 : 2;
	if (text_equal_ignoring_case(a + 1, b + 1))
		return 1;
	return is_swapped(a, b) && text_equal_ignoring_case(a + 2, b + 2) ? 1 : 2;
}

static bool continues(const char *word, const char *start)
{
	while (*start != '\0' && text_lower(*word) == text_lower(*start)) {
		word++;
		start++;
	}
	return *start == '\0';
}

struct nearest nearest_start(const char *typed)
{
	return (struct nearest){ .typed = typed, .distance = NEAREST_BYTES_MAX };
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t size = strnlen(nearest->typed, NEAREST_BYTES_MAX + 1);
	size_t errors_max = least(size / BYTES_PER_ERROR, ERRORS_MAX);
	size_t other = strnlen(word, NEAREST_BYTES_MAX + 1), distance;
	bool prefix = size >= PREFIX_MIN && continues(word, nearest->typed);

	/* The difference of their lengths is the least that their distance can be. */
	if (!prefix && (other > size ? other - size : size - other) > errors_max)
		return;
	distance = nearest_distance(nearest->typed, word);
	if (distance > errors_max) {
		/* Words that continue the typed one are behind all that are near by errors. */
		if (!prefix || distance > NEAREST_BYTES_MAX)
			return;
		distance += ERRORS_MAX;
	}
	if (nearest->word && distance >= nearest->distance)
		return;
	nearest->word = word;
	nearest->distance = distance;
}

const char *nearest_hint(const struct nearest *nearest, char text[static NEAREST_HINT_SIZE])
{
	text[0] = '\0';
	if (nearest->word)
		snprintf(text, NEAREST_HINT_SIZE, "; did you mean %s?", nearest->word);
	return text;
}
