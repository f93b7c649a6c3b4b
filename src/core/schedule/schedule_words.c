#include "core/schedule/schedule_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/model/cpu_budget.h"

#define FIRST_SLOTS 64

/* ---- ids in the order of first use ---- */

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0x9fb21c651e98df25);
	value ^= value >> 29;
	value *= UINT64_C(0xd6e8feb86659fd93);
	return value ^ (value >> 32);
}

static uint32_t hash_of(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = mix(size + 1), word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return (uint32_t)mix(hash ^ word);
}

/* The slot that contains these bytes, or the free slot for them. */
static uint32_t *slot_of(const struct schedule_intern *intern, const void *bytes, size_t size,
			 uint32_t hash)
{
	size_t mask = intern->slot_count - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &intern->slots[i];
		const struct schedule_intern_entry *entry;

		if (!*slot)
			return slot;
		entry = &intern->entries.at[*slot - 1];
		if (entry->hash == hash && entry->size == size &&
		    (!size || !memcmp(entry->bytes, bytes, size)))
			return slot;
	}
}

static void grow(struct schedule_intern *intern)
{
	intern->slot_count = intern->slot_count ? intern->slot_count * 4 : FIRST_SLOTS;
	intern->slots = arena_array(intern->arena, intern->slot_count, sizeof(*intern->slots));
	for (uint32_t id = 0; id < intern->entries.count; id++) {
		const struct schedule_intern_entry *entry = &intern->entries.at[id];

		*slot_of(intern, entry->bytes, entry->size, entry->hash) = id + 1;
	}
}

uint32_t schedule_intern_add(struct schedule_intern *intern, const void *bytes, size_t size)
{
	uint32_t hash = hash_of(bytes, size), *slot;
	void *copy;

	CHECK(size < UINT32_MAX && intern->entries.count < UINT32_MAX - 1);
	if (2 * intern->entries.count >= intern->slot_count)
		grow(intern);
	slot = slot_of(intern, bytes, size, hash);
	if (*slot)
		return *slot - 1;
	copy = arena_alloc(intern->arena, size + 1);
	if (size)
		memcpy(copy, bytes, size);
	VEC_PUSH(intern->arena, &intern->entries,
		 ((struct schedule_intern_entry){ copy, (uint32_t)size, hash }));
	*slot = (uint32_t)intern->entries.count;
	return *slot - 1;
}

/* ---- ids in the order of the bytes ---- */

static int compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
	size_t common = a_size < b_size ? a_size : b_size;
	int order = common ? memcmp(a, b, common) : 0;

	return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_words(const void *a, const void *b, void *context)
{
	const struct schedule_intern_entry *entries = context;
	const struct schedule_intern_entry *first = &entries[*(const uint32_t *)a];
	const struct schedule_intern_entry *second = &entries[*(const uint32_t *)b];

	return compare_bytes(first->bytes, first->size, second->bytes, second->size);
}

static size_t words_sort(struct schedule_words *words)
{
	size_t count = words->intern.entries.count;

	words->places = arena_array(words->intern.arena, count + 1, sizeof(*words->places));
	words->sorted = arena_array(words->intern.arena, count + 1, sizeof(*words->sorted));
	for (size_t i = 0; i < count; i++)
		words->sorted[i] = (uint32_t)i;
	if (count)
		qsort_r(words->sorted, count, sizeof(*words->sorted), compare_words,
			words->intern.entries.at);
	for (size_t i = 0; i < count; i++)
		words->places[words->sorted[i]] = (uint32_t)i;
	return count;
}

/* SCHEDULE_ID_NONE for a word that was never added. */
static uint32_t words_find(const struct schedule_words *words, const void *bytes, size_t size)
{
	uint32_t slot;

	CHECK(words->places);
	if (!words->intern.slot_count)
		return SCHEDULE_ID_NONE;
	slot = *slot_of(&words->intern, bytes, size, hash_of(bytes, size));
	return slot ? words->places[slot - 1] : SCHEDULE_ID_NONE;
}

int schedule_compare_ids(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* ---- the words of a problem ---- */

/* Writes "key\0value" into words->text. */
static size_t pair_text(struct schedule_vocabulary *words, const char *key, const char *value)
{
	words->text.count = 0;
	for (const char *at = key; *at; at++)
		VEC_PUSH(words->arena, &words->text, *at);
	VEC_PUSH(words->arena, &words->text, '\0');
	for (const char *at = value; *at; at++)
		VEC_PUSH(words->arena, &words->text, *at);
	return words->text.count;
}

static void label_add(struct schedule_vocabulary *words, const char *key, const char *value)
{
	size_t size = pair_text(words, key, value);

	schedule_intern_add(&words->labels.intern, words->text.at, size);
}

uint32_t schedule_label_find(struct schedule_vocabulary *words, const char *key, const char *value)
{
	size_t size;

	if (!words->label_count)
		return SCHEDULE_ID_NONE;
	size = pair_text(words, key, value);
	return words_find(&words->labels, words->text.at, size);
}

uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name)
{
	return words_find(&words->names, name, strlen(name));
}

bool schedule_is_accelerator(const struct schedule_problem *problem, const char *name)
{
	return !strcmp(name, "GPU") ||
	       (problem->accelerators &&
		text_is_among(name, problem->accelerators->at, problem->accelerators->count));
}

size_t schedule_gang_choices(const struct ray_gang *gang)
{
	return gang->selector_count ? gang->selector_count : 1;
}

const struct ray_request *schedule_gang_requests(const struct ray_gang *gang, size_t choice,
						 size_t *ret_count)
{
	*ret_count = gang->selector_count ? gang->selectors[choice].count : gang->request_count;
	return gang->selector_count ? gang->selectors[choice].requests : gang->requests;
}

/* Adds the names and labels that a request mentions, and records fractional GPU amounts. */
static void collect_request(struct schedule_vocabulary *words, const struct ray_request *request)
{
	cpu_budget_step(words->problem->cpu_budget);
	for (size_t i = 0; i < request->bundle_count; i++) {
		const struct bundle_entry *entry = &request->bundle[i];

		schedule_intern_add(&words->names.intern, entry->name, strlen(entry->name));
		if (!strcmp(entry->name, "GPU") && entry->amount % RESOURCE_UNIT)
			words->fractions = true;
	}
	for (size_t i = 0; i < request->placement_count; i++) {
		const struct placement_constraint *placement = &request->placements[i];

		if (placement->has_anti_affinity)
			label_add(words, placement->anti_affinity.key,
				  placement->anti_affinity.value);
		if (placement->has_affinity)
			label_add(words, placement->affinity.key, placement->affinity.value);
	}
	for (size_t i = 0; i < request->selector_count; i++)
		for (size_t j = 0; j < request->selectors[i].count; j++) {
			const struct label_constraint *constraint =
				&request->selectors[i].constraints[j];

			for (size_t k = 0; k < constraint->values.count; k++)
				label_add(words, constraint->key, constraint->values.at[k]);
		}
}

static void collect_demands(struct schedule_vocabulary *words,
			    const struct schedule_demand *demands, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		collect_request(words, demands[i].request);
		if (demands[i].place == SCHEDULE_DEMAND_NEW_ONLY)
			words->new_only = true;
	}
}

static void collect_gang(struct schedule_vocabulary *words, const struct ray_gang *gang)
{
	for (size_t i = 0; i < schedule_gang_choices(gang); i++) {
		size_t count;
		const struct ray_request *requests = schedule_gang_requests(gang, i, &count);

		for (size_t j = 0; j < count; j++)
			collect_request(words, &requests[j]);
	}
}

void schedule_vocabulary_init(struct schedule_vocabulary *words,
			      const struct schedule_problem *problem, struct arena *arena)
{
	size_t prefix = strlen(RAY_IMPLICIT_RESOURCE_PREFIX);

	*words = (struct schedule_vocabulary){ .problem = problem, .arena = arena };
	words->names.intern.arena = words->labels.intern.arena = words->selectors.arena = arena;
	schedule_intern_add(&words->selectors, "", 0);
	for (size_t i = 0; i < problem->constraint_count; i++)
		collect_demands(words, problem->constraints[i].demands,
				problem->constraints[i].count);
	for (size_t i = 0; i < problem->gang_count; i++) {
		collect_gang(words, &problem->gangs[i]);
		if (problem->gangs_new_only && problem->gangs_new_only[i])
			words->new_only = true;
	}
	collect_demands(words, problem->demands, problem->demand_count);
	words->name_count = words_sort(&words->names);
	words->label_count = words_sort(&words->labels);
	words->is_accelerator = arena_array(arena, words->name_count + 1, sizeof(bool));
	words->is_implicit = arena_array(arena, words->name_count + 1, sizeof(bool));
	for (size_t i = 0; i < words->name_count; i++) {
		const char *name = words->names.intern.entries.at[words->names.sorted[i]].bytes;

		words->is_accelerator[i] = schedule_is_accelerator(problem, name);
		words->is_implicit[i] = !strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX, prefix);
	}
	words->gpu = schedule_name_find(words, "GPU");
}
