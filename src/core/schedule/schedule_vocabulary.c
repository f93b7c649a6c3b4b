#include "core/schedule/schedule_vocabulary.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/cpu_budget.h"

static void text_add(struct schedule_vocabulary *words, const char *text)
{
	for (;; text++) {
		VEC_PUSH(words->arena, &words->text, *text);
		if (!*text)
			return;
	}
}

/* "key\0value" without the last NUL. */
static size_t pair_text(struct schedule_vocabulary *words, const char *key, const char *value)
{
	words->text.count = 0;
	text_add(words, key);
	text_add(words, value);
	return words->text.count - 1;
}

static void pair_add(struct schedule_vocabulary *words, struct schedule_words *pairs,
		     const char *key, const char *value)
{
	size_t size = pair_text(words, key, value);

	schedule_words_add(pairs, words->text.at, size);
}

static uint32_t pair_find(struct schedule_vocabulary *words, const struct schedule_words *pairs,
			  const char *key, const char *value)
{
	size_t size = pair_text(words, key, value);

	return schedule_words_find(pairs, words->text.at, size);
}

uint32_t schedule_label_find(struct schedule_vocabulary *words, const struct label *label)
{
	if (!schedule_words_count(&words->labels))
		return SCHEDULE_ID_NONE;
	return pair_find(words, &words->labels, label->key, label->value);
}

uint32_t schedule_name_find(const struct schedule_vocabulary *words, const char *name)
{
	return schedule_words_find(&words->names, name, strlen(name));
}

bool schedule_is_accelerator(const struct schedule_problem *problem, const char *name)
{
	if (!strcmp(name, "GPU"))
		return true;
	if (!problem->accelerators)
		return false;
	for (size_t i = 0; i < problem->accelerators->count; i++)
		if (!strcmp(name, problem->accelerators->at[i]))
			return true;
	return false;
}

/* Adds the names and labels that a request mentions, and records fractional GPU amounts. */
static void collect_request(struct schedule_vocabulary *words, const struct ray_request *request)
{
	cpu_budget_step(words->problem->cpu_budget);
	for (size_t i = 0; i < request->bundle_count; i++) {
		const struct bundle_entry *entry = &request->bundle[i];

		schedule_words_add(&words->names, entry->name, strlen(entry->name));
		if (!strcmp(entry->name, "GPU") && entry->amount % RESOURCE_UNIT)
			words->fractions = true;
	}
	for (size_t i = 0; i < request->placement_count; i++) {
		const struct placement_constraint *placement = &request->placements[i];

		if (placement->has_anti_affinity)
			pair_add(words, &words->labels, placement->anti_affinity.key,
				 placement->anti_affinity.value);
		if (placement->has_affinity)
			pair_add(words, &words->affinities, placement->affinity.key,
				 placement->affinity.value);
	}
	for (size_t i = 0; i < request->selector_count; i++)
		for (size_t j = 0; j < request->selectors[i].count; j++) {
			const struct label_constraint *constraint =
				&request->selectors[i].constraints[j];

			for (size_t k = 0; k < constraint->values.count; k++)
				pair_add(words, &words->labels, constraint->key,
					 constraint->values.at[k]);
		}
}

size_t schedule_gang_choices(const struct ray_gang *gang)
{
	return gang->selector_count ? gang->selector_count : 1;
}

const struct ray_request *schedule_gang_requests(const struct ray_gang *gang, size_t choice,
						 size_t *ret_count)
{
	if (gang->selector_count) {
		*ret_count = gang->selectors[choice].count;
		return gang->selectors[choice].requests;
	}
	*ret_count = gang->request_count;
	return gang->requests;
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

static void collect_problem(struct schedule_vocabulary *words)
{
	const struct schedule_problem *problem = words->problem;

	for (size_t i = 0; i < problem->constraint_count; i++)
		collect_demands(words, problem->constraints[i].demands,
				problem->constraints[i].count);
	for (size_t i = 0; i < problem->gang_count; i++) {
		collect_gang(words, &problem->gangs[i]);
		if (problem->gangs_new_only && problem->gangs_new_only[i])
			words->new_only = true;
	}
	collect_demands(words, problem->demands, problem->demand_count);
}

/* A word's bytes end with a NUL that is not counted (schedule_intern_add copies into zeroed
 * memory of one byte more). */
static void describe_names(struct schedule_vocabulary *words)
{
	size_t count = schedule_words_count(&words->names);
	size_t prefix = strlen(RAY_IMPLICIT_RESOURCE_PREFIX);

	words->is_accelerator = arena_array(words->arena, count + 1, sizeof(bool));
	words->is_implicit = arena_array(words->arena, count + 1, sizeof(bool));
	for (size_t i = 0; i < count; i++) {
		const char *name = words->names.intern.entries.at[words->names.sorted[i]].bytes;

		words->is_accelerator[i] = schedule_is_accelerator(words->problem, name);
		words->is_implicit[i] = !strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX, prefix);
	}
	words->gpu = schedule_name_find(words, "GPU");
}

void schedule_vocabulary_init(struct schedule_vocabulary *words,
			      const struct schedule_problem *problem, struct arena *arena)
{
	*words = (struct schedule_vocabulary){ .problem = problem, .arena = arena };
	schedule_words_init(&words->names, arena);
	schedule_words_init(&words->labels, arena);
	schedule_words_init(&words->affinities, arena);
	schedule_intern_init(&words->selectors, arena);
	schedule_intern_add(&words->selectors, NULL, 0);
	collect_problem(words);
	schedule_words_sort(&words->names);
	schedule_words_sort(&words->labels);
	schedule_words_sort(&words->affinities);
	describe_names(words);
}

void schedule_encode(struct schedule_vocabulary *words, uint32_t value)
{
	VEC_PUSH(words->arena, &words->encoded, value);
}

void schedule_encode_affinity(struct schedule_vocabulary *words, const struct label *affinity)
{
	schedule_encode(words,
			pair_find(words, &words->affinities, affinity->key, affinity->value));
}

void schedule_encode_placements(struct schedule_vocabulary *words,
				const struct ray_request *request)
{
	schedule_encode(words, (uint32_t)request->placement_count);
	for (size_t i = 0; i < request->placement_count; i++) {
		const struct placement_constraint *placement = &request->placements[i];

		schedule_encode(words, placement->has_anti_affinity ?
					       1 + pair_find(words, &words->labels,
							     placement->anti_affinity.key,
							     placement->anti_affinity.value) :
					       0);
		schedule_encode(words, placement->has_affinity ?
					       1 + pair_find(words, &words->affinities,
							     placement->affinity.key,
							     placement->affinity.value) :
					       0);
	}
}

static int compare_words(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

static void encode_values(struct schedule_vocabulary *words,
			  const struct label_constraint *constraint)
{
	size_t at = words->encoded.count, kept = 0;
	uint32_t *values;

	schedule_encode(words, 0);
	for (size_t i = 0; i < constraint->values.count; i++)
		schedule_encode(words, pair_find(words, &words->labels, constraint->key,
						 constraint->values.at[i]));
	values = &words->encoded.at[at + 1];
	sort_stable(values, constraint->values.count, sizeof(*values), compare_words);
	for (size_t i = 0; i < constraint->values.count; i++)
		if (!kept || values[i] != values[kept - 1])
			values[kept++] = values[i];
	words->encoded.at[at] = (uint32_t)kept;
	words->encoded.count = at + 1 + kept;
}

/* The list of selectors as numbers: of each the number of constraints, of each constraint the
 * operator, the number of values and the labels in order. */
void schedule_encode_selectors(struct schedule_vocabulary *words, const struct ray_request *request)
{
	schedule_encode(words, (uint32_t)request->selector_count);
	for (size_t i = 0; i < request->selector_count; i++) {
		const struct label_selector *selector = &request->selectors[i];

		schedule_encode(words, (uint32_t)selector->count);
		for (size_t j = 0; j < selector->count; j++) {
			int32_t operation = selector->constraints[j].operation;
			bool known = operation == LABEL_OPERATOR_IN ||
				     operation == LABEL_OPERATOR_NOT_IN;

			schedule_encode(words, known ? (uint32_t)operation : 0);
			encode_values(words, &selector->constraints[j]);
		}
	}
}
