/* Label sets of nodes and how selectors rank them: the second half of schedule_state.h. */
#include <string.h>

#include "base/sort.h"
#include "core/schedule/schedule_state.h"

const uint32_t *schedule_label_set_all(const struct schedule_states *states, uint32_t set,
				       size_t *ret_count)
{
	const struct schedule_intern_entry *entry = &states->label_sets.entries.at[set];

	*ret_count = entry->size / sizeof(uint32_t);
	return entry->bytes;
}

static int compare_labels(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

uint32_t schedule_label_set_of(struct schedule_states *states, const struct labels *labels)
{
	VEC(uint32_t) found = { .at = NULL };

	if (!schedule_words_count(&states->words->labels))
		return 0;
	for (size_t i = 0; i < labels->count; i++) {
		uint32_t label = schedule_label_find(states->words, &labels->at[i]);

		if (label != SCHEDULE_ID_NONE)
			VEC_PUSH(states->arena, &found, label);
	}
	sort_stable(found.at, found.count, sizeof(*found.at), compare_labels);
	return schedule_intern_add(&states->label_sets, found.at, found.count * sizeof(*found.at));
}

bool schedule_label_set_has(const struct schedule_states *states, uint32_t set, uint32_t label)
{
	size_t count, low = 0;
	const uint32_t *labels = schedule_label_set_all(states, set, &count);

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (labels[middle] == label)
			return true;
		if (labels[middle] < label)
			low = middle + 1;
		else
			count = middle;
	}
	return false;
}

uint32_t schedule_label_set_with(struct schedule_states *states, uint32_t set, uint32_t label)
{
	size_t count;
	const uint32_t *labels = schedule_label_set_all(states, set, &count);
	uint32_t *with;

	if (schedule_label_set_has(states, set, label))
		return set;
	with = arena_array(states->arena, count + 1, sizeof(*with));
	if (count)
		memcpy(with, labels, count * sizeof(*with));
	with[count++] = label;
	sort_stable(with, count, sizeof(*with), compare_labels);
	return schedule_intern_add(&states->label_sets, with, count * sizeof(*with));
}

/* Reads one encoded constraint at *at and moves behind it. */
static bool constraint_holds(const struct schedule_states *states, uint32_t set,
			     const uint32_t **at)
{
	uint32_t operation = *(*at)++, count = *(*at)++;
	bool has = false;

	for (uint32_t i = 0; i < count; i++)
		if (schedule_label_set_has(states, set, *(*at)++))
			has = true;
	if (operation == LABEL_OPERATOR_IN)
		return has;
	return operation == LABEL_OPERATOR_NOT_IN && !has;
}

int schedule_label_rank(const struct schedule_states *states, uint32_t set, uint32_t selector)
{
	const struct schedule_intern_entry *entry = &states->words->selectors.entries.at[selector];
	const uint32_t *at = entry->bytes, *end = at + entry->size / sizeof(*at);
	int place = 0, found = -1;

	at++; /* the number of selectors */
	for (; at < end; place++) {
		bool holds = true;

		for (uint32_t left = *at++; left; left--)
			if (!constraint_holds(states, set, &at))
				holds = false;
		if (holds && found < 0)
			found = place;
	}
	return found < 0 ? 0 : place - found;
}
