/* The needs of a list of shapes: which of them could fit into a node. See schedule_run.h. */
#include <string.h>

#include "core/schedule/schedule_run.h"

/* Shorter lists are scanned completely. */
#define LONG_LIST 16
static void set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / 64] |= UINT64_C(1) << (at % 64);
}

/* Counts the shapes by name into run->name_counts. */
static void find_names(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = requests->list;
	size_t most = 0;

	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->shapes[i].need_count; j++) {
			uint32_t name = list->shapes[i].needs[j].name;

			if (!run->name_counts[name]++)
				VEC_PUSH(run->scratch, &requests->names, name);
		}
	requests->pivot = SCHEDULE_ID_NONE;
	for (size_t i = 0; i < requests->names.count; i++) {
		uint32_t name = requests->names.at[i];

		if (run->name_counts[name] <= most)
			continue;
		most = run->name_counts[name];
		requests->pivot = name;
	}
}

struct found {
	struct {
		uint32_t label, shape;
	} * at;
	size_t count, capacity;
};

/* The labels of which a node needs one for any of these selectors: of each those of its first IN.
 * False when one of the selectors has no IN. Encoded by schedule_shape.c. */
static bool add_labels(struct schedule_run *run, uint32_t selector, uint32_t shape,
		       struct found *found)
{
	const uint32_t *at = run->words.selectors.entries.at[selector].bytes;
	size_t before = found->count;

	for (uint32_t selectors = *at++; selectors; selectors--) {
		bool has_in = false;

		for (uint32_t constraints = *at++; constraints; constraints--) {
			uint32_t operation = *at++, values = *at++;

			for (uint32_t i = 0; i < values; i++) {
				if (operation != LABEL_OPERATOR_IN || has_in)
					continue;
				VEC_ADD(run->scratch, found);
				found->at[found->count - 1].label = at[i];
				found->at[found->count - 1].shape = shape;
			}
			has_in = has_in || operation == LABEL_OPERATOR_IN;
			at += values;
		}
		if (!has_in) {
			found->count = before;
			return false;
		}
	}
	return true;
}

/* By label, the shapes of which a selector needs it. */
static void find_anchors(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = requests->list;
	size_t labels = run->words.label_count;
	struct found found = { .at = NULL };
	uint32_t *next;

	for (uint32_t i = 0; i < list->count; i++)
		if (!requests->anchored || !list->shapes[i].selector ||
		    !add_labels(run, list->shapes[i].selector, i, &found))
			set_bit(requests->free, i);
	if (!requests->anchored)
		return;
	next = arena_array(run->scratch, labels + 1, sizeof(*next));
	requests->first = arena_array(run->scratch, labels + 1, sizeof(*requests->first));
	requests->at = arena_array(run->scratch, found.count + 1, sizeof(*requests->at));
	for (size_t i = 0; i < found.count; i++)
		requests->first[found.at[i].label + 1]++;
	for (size_t i = 0; i < labels; i++)
		next[i + 1] = requests->first[i + 1] += requests->first[i];
	for (size_t i = 0; i < found.count; i++)
		requests->at[next[found.at[i].label]++] = found.at[i].shape;
}

const struct schedule_requests *schedule_requests_new(struct schedule_run *run,
						      const struct schedule_list *list)
{
	struct schedule_requests *requests = ARENA_NEW(run->scratch, struct schedule_requests);
	size_t words = (list->count + 63) / 64;

	*requests = (struct schedule_requests){
		.list = list,
		.word_count = words,
		.anchored = list->count > LONG_LIST,
	};
	requests->free = arena_array(run->scratch, words + 1, sizeof(uint64_t));
	requests->accelerated = arena_array(run->scratch, words + 1, sizeof(uint64_t));
	find_names(requests, run);
	find_anchors(requests, run);
	for (size_t i = 0; i < requests->names.count; i++)
		run->name_counts[requests->names.at[i]] = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];

		if (shape->asks_accelerator)
			set_bit(requests->accelerated, i);
		if (!shape->selector)
			continue;
		VEC_PUSH(run->scratch, &requests->selecting, i);
		if (shape->request->selector_count > (size_t)requests->labels_max)
			requests->labels_max = (int)shape->request->selector_count;
	}
	return requests;
}

static bool fits(const struct schedule_run *run, const struct schedule_state *state,
		 const struct schedule_shape *shape)
{
	return !shape->impossible &&
	       schedule_state_has(&run->states, state, shape->needs, shape->need_count);
}

bool schedule_requests_fit(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id)
{
	for (size_t i = 0; i < requests->list->count; i++)
		if (fits(run, &run->states.states.at[id], &requests->list->shapes[i]))
			return true;
	return false;
}

void schedule_requests_may(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id, uint64_t *ret_bits)
{
	const struct schedule_state *state = &run->states.states.at[id];
	size_t count;
	const uint32_t *labels = schedule_label_set_all(&run->states, state->labels, &count);

	memcpy(ret_bits, requests->free, requests->word_count * sizeof(*ret_bits));
	for (size_t i = 0; i < count && requests->anchored; i++)
		for (uint32_t at = requests->first[labels[i]]; at < requests->first[labels[i] + 1];
		     at++)
			set_bit(ret_bits, requests->at[at]);
	for (size_t word = 0; word < requests->word_count; word++)
		for (uint64_t left = ret_bits[word]; left; left &= left - 1)
			if (!fits(run, state,
				  &requests->list
					   ->shapes[word * 64 + (size_t)__builtin_ctzll(left)]))
				ret_bits[word] &= ~(left & -left);
}
