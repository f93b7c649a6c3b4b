#include "core/model/resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "base/text.h"

#define FRACTION_DIGITS 4 /* of RESOURCE_UNIT */

int64_t resource_sum(int64_t a, int64_t b)
{
	CHECK(a >= 0 && a <= RESOURCE_AMOUNT_MAX);
	CHECK(b >= 0 && b <= RESOURCE_AMOUNT_MAX);
	return a + b > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : a + b;
}

int64_t resource_product(int64_t amount, int64_t count)
{
	__int128 product = (__int128)amount * count;

	return product > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)product;
}

/* The index of the first item whose name is not before `name`. */
static size_t lower_bound(const struct resources *resources, const char *name)
{
	size_t low = 0, high = resources->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(resources->at[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct resource *resources_find(const struct resources *resources, const char *name)
{
	size_t index = lower_bound(resources, name);

	if (index == resources->count || strcmp(resources->at[index].name, name) != 0)
		return NULL;
	return &resources->at[index];
}

int64_t resources_amount(const struct resources *resources, const char *name, int64_t missing)
{
	const struct resource *found = resources_find(resources, name);

	return found ? found->amount : missing;
}

struct resources resources_with(struct arena *arena, const struct resources *resources,
				const char *name, int64_t amount)
{
	size_t index = lower_bound(resources, name);
	bool replaces = index < resources->count && strcmp(resources->at[index].name, name) == 0;
	size_t after = index + (replaces ? 1 : 0);
	size_t count = resources->count + (replaces ? 0 : 1);
	struct resource *copy = arena_array(arena, count, sizeof(*copy));

	for (size_t i = 0; i < index; i++)
		copy[i] = resources->at[i];
	copy[index] = (struct resource){ .name = name, .amount = amount };
	for (size_t i = after; i < resources->count; i++)
		copy[index + 1 + i - after] = resources->at[i];
	return (struct resources){ .at = copy, .count = count };
}

static int compare_resources(const void *a, const void *b)
{
	return strcmp(((const struct resource *)a)->name, ((const struct resource *)b)->name);
}

struct resources resources_sort(struct resource *items, size_t count)
{
	size_t kept = 0;

	sort_stable(items, count, sizeof(*items), compare_resources);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(items[kept - 1].name, items[i].name) == 0)
			kept--;
		items[kept++] = items[i];
		CHECK(kept < 2 || strcmp(items[kept - 2].name, items[kept - 1].name) < 0);
	}
	return (struct resources){ .at = items, .count = kept };
}

bool resources_equal(const struct resources *a, const struct resources *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->at[i].amount != b->at[i].amount || strcmp(a->at[i].name, b->at[i].name) != 0)
			return false;
	return true;
}

/* Without printf: a decision writes several amounts for each busy worker. */
size_t resource_amount_print(int64_t amount, char ret_text[static RESOURCE_AMOUNT_TEXT_SIZE])
{
	uint64_t rest = amount < 0 ? -(uint64_t)amount : (uint64_t)amount;
	uint64_t fraction = rest % RESOURCE_UNIT, units = rest / RESOURCE_UNIT;
	char digits[RESOURCE_AMOUNT_TEXT_SIZE];
	size_t start = sizeof(digits), size = 0;

	for (int place = 0; place < FRACTION_DIGITS; place++, fraction /= 10)
		if (fraction % 10 != 0 || start < sizeof(digits))
			digits[--start] = (char)('0' + fraction % 10);
	if (start < sizeof(digits))
		digits[--start] = '.';
	do
		digits[--start] = (char)('0' + units % 10);
	while ((units /= 10) > 0);
	if (amount < 0)
		ret_text[size++] = '-';
	memcpy(ret_text + size, digits + start, sizeof(digits) - start);
	size += sizeof(digits) - start;
	ret_text[size] = '\0';
	return size;
}

const char *resource_amount_text(struct arena *arena, int64_t amount)
{
	char text[RESOURCE_AMOUNT_TEXT_SIZE];

	resource_amount_print(amount, text);
	return arena_strdup(arena, text);
}

static char *append(char *end, const char *text, size_t size)
{
	memcpy(end, text, size);
	return end + size;
}

const char *resource_name_text(struct arena *arena, const char *name)
{
	size_t size = text_fit(name, RESOURCE_NAME_SHOWN_MAX);

	return name[size] == '\0' ? name : arena_printf(arena, "%.*s...", (int)size, name);
}

const char *resources_text(struct arena *arena, const struct resources *resources)
{
	size_t bytes = sizeof("{}");
	char amount[RESOURCE_AMOUNT_TEXT_SIZE];
	char *text, *end;

	for (size_t i = 0; i < resources->count; i++)
		bytes += text_fit(resources->at[i].name, RESOURCE_NAME_SHOWN_MAX) +
			 sizeof(", ...: ") + RESOURCE_AMOUNT_TEXT_SIZE;
	text = arena_alloc(arena, bytes);
	end = append(text, "{", 1);
	for (size_t i = 0; i < resources->count; i++) {
		const struct resource *item = &resources->at[i];
		size_t size = text_fit(item->name, RESOURCE_NAME_SHOWN_MAX);

		if (i > 0)
			end = append(end, ", ", 2);
		end = append(end, item->name, size);
		if (item->name[size] != '\0')
			end = append(end, "...", 3);
		end = append(end, ": ", 2);
		end = append(end, amount, resource_amount_print(item->amount, amount));
	}
	end = append(end, "}", 1);
	CHECK(end < text + bytes);
	return text;
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int compare_key_with_label(const void *key, const void *label)
{
	return strcmp(key, ((const struct label *)label)->key);
}

const char *labels_value(const struct labels *labels, const char *key)
{
	const struct label *found = NULL;

	if (labels->count > 0)
		found = bsearch(key, labels->at, labels->count, sizeof(*found),
				compare_key_with_label);
	return found ? found->value : NULL;
}

struct labels labels_sort(struct label *items, size_t count)
{
	size_t kept = 0;

	sort_stable(items, count, sizeof(*items), compare_labels);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(items[kept - 1].key, items[i].key) == 0)
			kept--;
		items[kept++] = items[i];
		CHECK(kept < 2 || strcmp(items[kept - 2].key, items[kept - 1].key) < 0);
	}
	return (struct labels){ .at = items, .count = kept };
}

struct labels labels_merge(struct arena *arena, const struct labels *base,
			   const struct labels *over)
{
	return labels_sort(ARENA_JOIN(arena, base->at, base->count, over->at, over->count),
			   base->count + over->count);
}
