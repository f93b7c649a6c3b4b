#include "core/schedule/schedule_words.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
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

/* Fills a new table of slots. */
static void set_slots(struct schedule_intern *intern, size_t count)
{
	intern->slot_count = count;
	intern->slots = arena_array(intern->arena, count, sizeof(*intern->slots));
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
		set_slots(intern, intern->slot_count ? intern->slot_count * 4 : FIRST_SLOTS);
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

static int compare_entries(const void *a, const void *b)
{
	const struct schedule_intern_entry *first = a, *second = b;
	uint32_t common = first->size < second->size ? first->size : second->size;
	int order = memcmp(first->bytes, second->bytes, common);

	return order ? order : (first->size > second->size) - (first->size < second->size);
}

/* Makes the ids the positions in memcmp order, so that they may define an order. Earlier ids are
 * invalid. */
static void intern_sort(struct schedule_intern *intern)
{
	if (!intern->entries.count)
		return;
	sort_stable(intern->entries.at, intern->entries.count, sizeof(*intern->entries.at),
		    compare_entries);
	set_slots(intern, intern->slot_count);
}

/* SCHEDULE_ID_NONE for bytes that were never added. */
static uint32_t intern_find(const struct schedule_intern *intern, const void *bytes, size_t size)
{
	if (!intern->slot_count)
		return SCHEDULE_ID_NONE;
	/* A free slot is 0, which becomes SCHEDULE_ID_NONE. */
	return *slot_of(intern, bytes, size, hash_of(bytes, size)) - 1;
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

	schedule_intern_add(&words->labels, words->text.at, size);
}

uint32_t schedule_label_find(struct schedule_vocabulary *words, const char *key, const char *value)
{
	size_t size;

	if (!words->labels.entries.count)
		return SCHEDULE_ID_NONE;
	size = pair_text(words, key, value);
	return intern_find(&words->labels, words->text.at, size);
}

uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name)
{
	return intern_find(&words->names, name, strlen(name));
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

		schedule_intern_add(&words->names, entry->name, strlen(entry->name));
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
	words->names.arena = words->labels.arena = words->selectors.arena = arena;
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
	intern_sort(&words->names);
	intern_sort(&words->labels);
	words->name_count = words->names.entries.count;
	words->is_accelerator = arena_array(arena, words->name_count + 1, sizeof(bool));
	words->is_implicit = arena_array(arena, words->name_count + 1, sizeof(bool));
	for (size_t i = 0; i < words->name_count; i++) {
		const char *name = words->names.entries.at[i].bytes;

		words->is_accelerator[i] = schedule_is_accelerator(problem, name);
		words->is_implicit[i] = !strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX, prefix);
	}
	words->gpu = schedule_name_find(words, "GPU");
}
