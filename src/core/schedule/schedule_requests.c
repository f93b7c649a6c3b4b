#include "core/schedule/schedule_requests.h"

#include <string.h>

#include "core/schedule/schedule_run.h"

/* Shorter lists are scanned completely. */
#define LONG_LIST 16
/* A name is rare when fewer than one in so many shapes need it. */
#define RARE 8

static void set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / 64] |= UINT64_C(1) << (at % 64);
}

/* Counts the names into run->name_counts. */
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

		VEC_PUSH(run->scratch, &requests->counts, (uint32_t)run->name_counts[name]);
		if (run->name_counts[name] <= most)
			continue;
		most = run->name_counts[name];
		requests->pivot = name;
	}
}

/* The needed name that the fewest shapes need; NONE: no name is rare. */
static uint32_t rare_name(const struct schedule_requests *requests, const struct schedule_run *run,
			  const struct schedule_shape *shape)
{
	uint32_t rare = SCHEDULE_ID_NONE;
	size_t count = requests->list->count / RARE;

	for (uint32_t i = 0; i < shape->need_count; i++) {
		uint32_t name = shape->needs[i].name;

		if (run->words.is_implicit[name] || run->name_counts[name] >= count)
			continue;
		count = run->name_counts[name];
		rare = name;
	}
	return rare;
}

struct anchor {
	uint32_t anchor, shape;
};

struct found {
	struct anchor *at;
	size_t count, capacity;
};

/* The labels of which a node needs one for any of these selectors: of each those of its first IN.
 * False when one of the selectors has no IN. Encoded by schedule_encode_selectors. */
static bool add_labels(const struct schedule_run *run, uint32_t selector, uint32_t shape,
		       struct found *found)
{
	const uint32_t *at = run->words.selectors.entries.at[selector].bytes;
	size_t before = found->count;

	for (uint32_t selectors = *at++; selectors; selectors--) {
		bool has_in = false;

		for (uint32_t constraints = *at++; constraints; constraints--) {
			uint32_t operation = *at++, values = *at++;

			if (operation == LABEL_OPERATOR_IN && !has_in)
				for (uint32_t i = 0; i < values; i++)
					VEC_PUSH(run->scratch, found,
						 ((struct anchor){ at[i], shape }));
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

static void sort_anchors(struct schedule_anchors *anchors, const struct found *found,
			 size_t anchor_count, struct arena *arena)
{
	uint32_t *next = arena_array(arena, anchor_count + 1, sizeof(*next));

	anchors->first = arena_array(arena, anchor_count + 1, sizeof(*anchors->first));
	anchors->at = arena_array(arena, found->count + 1, sizeof(*anchors->at));
	for (size_t i = 0; i < found->count; i++)
		anchors->first[found->at[i].anchor + 1]++;
	for (size_t i = 0; i < anchor_count; i++)
		next[i + 1] = anchors->first[i + 1] += anchors->first[i];
	for (size_t i = 0; i < found->count; i++)
		anchors->at[next[found->at[i].anchor]++] = found->at[i].shape;
}

static void find_anchors(struct schedule_requests *requests, struct schedule_run *run)
{
	const struct schedule_list *list = requests->list;
	struct found names = { .at = NULL }, labels = { .at = NULL };

	for (uint32_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];
		uint32_t rare = SCHEDULE_ID_NONE;

		if (requests->anchored)
			rare = rare_name(requests, run, shape);
		if (rare != SCHEDULE_ID_NONE) {
			VEC_PUSH(run->scratch, &names, ((struct anchor){ rare, i }));
			continue;
		}
		set_bit(requests->common, i);
		if (!requests->anchored || !shape->selector ||
		    !add_labels(run, shape->selector, i, &labels))
			set_bit(requests->free, i);
	}
	if (!requests->anchored)
		return;
	sort_anchors(&requests->by_name, &names, schedule_words_count(&run->words.names),
		     run->scratch);
	sort_anchors(&requests->by_label, &labels, schedule_words_count(&run->words.labels),
		     run->scratch);
}

static uint32_t needs_of(struct schedule_run *run, const struct schedule_list *list)
{
	VEC(uint64_t) key = { .at = NULL };

	for (size_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];

		VEC_PUSH(run->attempt, &key, (uint64_t)shape->need_count << 1 | shape->impossible);
		for (uint32_t j = 0; j < shape->need_count; j++) {
			VEC_PUSH(run->attempt, &key, shape->needs[j].name);
			VEC_PUSH(run->attempt, &key, (uint64_t)shape->needs[j].amount);
		}
	}
	return schedule_intern_add(&run->needs, key.at, key.count * sizeof(*key.at));
}

/* Indexes a list of shapes: the names and labels that it needs, and in a long list an anchor for
 * each shape that has one (see schedule_requests.h). The counters of the run that find_names used
 * are reset. */
const struct schedule_requests *schedule_requests_new(struct schedule_run *run,
						      const struct schedule_list *list)
{
	struct schedule_requests *requests = ARENA_NEW(run->scratch, struct schedule_requests);

	*requests = (struct schedule_requests){
		.list = list,
		.needs = SCHEDULE_ID_NONE,
		.word_count = (list->count + 63) / 64,
		.anchored = list->count > LONG_LIST,
	};
	requests->free = arena_array(run->scratch, requests->word_count + 1, sizeof(uint64_t));
	requests->common = arena_array(run->scratch, requests->word_count + 1, sizeof(uint64_t));
	requests->accelerated =
		arena_array(run->scratch, requests->word_count + 1, sizeof(uint64_t));
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
	if (!requests->anchored)
		requests->needs = needs_of(run, list);
	return requests;
}

static bool shape_fits(const struct schedule_run *run, const struct schedule_state *state,
		       const struct schedule_shape *shape)
{
	return !shape->impossible &&
	       schedule_state_has(&run->states, state, shape->needs, shape->need_count);
}

bool schedule_requests_fit(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	const struct schedule_shape *shapes = requests->list->shapes;
	const struct schedule_anchors *anchors = &requests->by_name;

	for (size_t word = 0; word < requests->word_count; word++)
		for (uint64_t bits = requests->common[word]; bits; bits &= bits - 1)
			if (shape_fits(run, state,
				       &shapes[word * 64 + (size_t)__builtin_ctzll(bits)]))
				return true;
	for (uint32_t i = 0; i < state->amount_count && requests->anchored; i++) {
		uint32_t name = state->amounts[i].name;

		for (uint32_t j = anchors->first[name]; j < anchors->first[name + 1]; j++)
			if (shape_fits(run, state, &shapes[anchors->at[j]]))
				return true;
	}
	return false;
}

static void set_anchored(const struct schedule_anchors *anchors, uint32_t anchor, uint64_t *bits)
{
	for (uint32_t i = anchors->first[anchor]; i < anchors->first[anchor + 1]; i++)
		set_bit(bits, anchors->at[i]);
}

void schedule_requests_may(const struct schedule_requests *requests, const struct schedule_run *run,
			   uint32_t id, uint64_t *ret_bits)
{
	const struct schedule_state *state = &run->states.states.at[id];

	memcpy(ret_bits, requests->free, requests->word_count * sizeof(*ret_bits));
	if (requests->anchored) {
		size_t count;
		const uint32_t *labels =
			schedule_label_set_all(&run->states, state->labels, &count);

		for (uint32_t i = 0; i < state->amount_count; i++)
			set_anchored(&requests->by_name, state->amounts[i].name, ret_bits);
		for (size_t i = 0; i < count; i++)
			set_anchored(&requests->by_label, labels[i], ret_bits);
	}
	for (size_t word = 0; word < requests->word_count; word++)
		for (uint64_t bits = ret_bits[word]; bits; bits &= bits - 1)
			if (!shape_fits(run, state,
					&requests->list->shapes[word * 64 +
								(size_t)__builtin_ctzll(bits)]))
				ret_bits[word] &= ~(bits & -bits);
}
