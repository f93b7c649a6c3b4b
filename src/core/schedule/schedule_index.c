#include "core/schedule/schedule_index.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

struct words {
	uint32_t *at;
	size_t count, capacity;
};

struct popular {
	uint32_t name;
	size_t count; /* of shapes that need it */
};

static int compare_popular(const void *a, const void *b)
{
	const struct popular *first = a, *second = b;

	if (first->count != second->count)
		return first->count < second->count ? 1 : -1;
	return (first->name > second->name) - (first->name < second->name);
}

static int compare_amounts(const void *a, const void *b)
{
	int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

	return (first > second) - (first < second);
}

static int compare_ratios(const void *a, const void *b)
{
	double first = ((const struct schedule_ratio *)a)->ratio,
	       second = ((const struct schedule_ratio *)b)->ratio;

	return (first < second) - (first > second);
}

static int64_t need_of(const struct schedule_shape *shape, uint32_t name)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		if (shape->needs[i].name == name)
			return shape->needs[i].amount;
	return 0;
}

/* At most LEVELS of the different needs, spread evenly, the largest among them. */
static void choose_levels(struct schedule_index_name *entry, int64_t *needs, size_t count,
			  struct arena *arena)
{
	int64_t *levels = arena_array(arena, SCHEDULE_INDEX_LEVELS, sizeof(*levels));
	size_t kept = 0, chosen;

	sort_stable(needs, count, sizeof(*needs), compare_amounts);
	for (size_t i = 0; i < count; i++)
		if (!kept || needs[i] != needs[kept - 1])
			needs[kept++] = needs[i];
	chosen = kept < SCHEDULE_INDEX_LEVELS ? kept : SCHEDULE_INDEX_LEVELS;
	for (size_t i = 1; i <= chosen; i++)
		levels[i - 1] = needs[kept * i / chosen - 1];
	entry->levels = levels;
	entry->level_count = (uint32_t)chosen;
	entry->exact = chosen == kept;
}

static void add_name(struct schedule_index *index, const struct schedule_list *list, uint32_t name,
		     struct arena *arena)
{
	struct schedule_index_name *entry = &index->names[index->name_count++];
	int64_t *needs = arena_array(arena, list->count, sizeof(*needs));
	uint64_t *rows;

	for (size_t i = 0; i < list->count; i++)
		needs[i] = need_of(&list->shapes[i], name);
	entry->name = name;
	choose_levels(entry, needs, list->count, arena);
	rows = arena_array(arena, (entry->level_count + 1) * index->word_count, sizeof(*rows));
	for (size_t i = 0; i < list->count; i++) {
		int64_t need = need_of(&list->shapes[i], name);

		for (uint32_t level = 0; level < entry->level_count; level++)
			if (need <= entry->levels[level])
				rows[(level + 1) * index->word_count + i / 64] |= UINT64_C(1)
										  << (i % 64);
	}
	entry->rows = rows;
}

static void add_ratios(struct schedule_index_name *entry, const struct schedule_list *list,
		       uint32_t pivot, struct arena *arena)
{
	struct schedule_ratio *ratios = arena_array(arena, list->count, sizeof(*ratios));

	for (size_t i = 0; i < list->count; i++) {
		int64_t need = need_of(&list->shapes[i], entry->name);
		int64_t of_pivot = need_of(&list->shapes[i], pivot);

		if (need)
			ratios[entry->ratio_count++] = (struct schedule_ratio){
				of_pivot ? (double)need / (double)of_pivot : INFINITY, (uint32_t)i
			};
	}
	sort_stable(ratios, entry->ratio_count, sizeof(*ratios), compare_ratios);
	entry->ratios = ratios;
}

static void read_flags(struct schedule_index *index, const struct schedule_list *list,
		       struct arena *arena)
{
	uint64_t *asks = arena_array(arena, index->word_count + 1, sizeof(*asks));

	for (size_t i = 0; i < list->count; i++) {
		if (list->shapes[i].asks_accelerator)
			asks[i / 64] |= UINT64_C(1) << (i % 64);
		index->has_selectors = index->has_selectors || list->shapes[i].selector;
	}
	index->asks_accelerator = asks;
}

void schedule_index_scratch_init(struct schedule_index_scratch *scratch, size_t name_count,
				 struct arena *arena)
{
	*scratch = (struct schedule_index_scratch){
		.counts = arena_array(arena, name_count + 1, sizeof(*scratch->counts)),
		.slots = arena_array(arena, name_count + 1, sizeof(*scratch->slots)),
	};
}

/* The names that the list asks for, the most popular first. */
static struct popular *find_popular(const struct schedule_list *list,
				    struct schedule_index_scratch *scratch,
				    struct arena *scratch_arena, struct arena *arena)
{
	struct popular *popular;

	for (size_t i = 0; i < scratch->asked.count; i++)
		scratch->slots[scratch->asked.at[i]] = SCHEDULE_SLOT_UNASKED;
	scratch->asked.count = 0;
	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->shapes[i].need_count; j++)
			if (!scratch->counts[list->shapes[i].needs[j].name]++)
				VEC_PUSH(scratch_arena, &scratch->asked,
					 list->shapes[i].needs[j].name);
	popular = arena_array(arena, scratch->asked.count + 1, sizeof(*popular));
	for (size_t i = 0; i < scratch->asked.count; i++) {
		uint32_t name = scratch->asked.at[i];

		popular[i] = (struct popular){ name, scratch->counts[name] };
		scratch->counts[name] = 0;
		scratch->slots[name] = SCHEDULE_SLOT_OTHER;
	}
	sort_stable(popular, scratch->asked.count, sizeof(*popular), compare_popular);
	return popular;
}

/* ---- anchors ---- */

/* Shorter lists are tried as they are. */
#define ANCHORS_FROM 8

/* The needed name that the fewest shapes need, of those without a row; NONE: there is none. */
static uint32_t rare_name(const struct schedule_vocabulary *words, const uint8_t *slots,
			  const size_t *counts, const struct schedule_shape *shape)
{
	uint32_t rare = SCHEDULE_ID_NONE;

	for (uint32_t i = 0; i < shape->need_count; i++) {
		uint32_t name = shape->needs[i].name;

		if (slots[name] == SCHEDULE_SLOT_OTHER && !words->is_implicit[name] &&
		    (rare == SCHEDULE_ID_NONE || counts[name] < counts[rare]))
			rare = name;
	}
	return rare;
}

/* The labels of which a node needs one for any of these selectors: of each those of its first IN.
 * False when one of the selectors has no IN. Encoded by schedule_encode_selectors. */
static bool wanted_labels(const struct schedule_vocabulary *words, uint32_t selector,
			  struct arena *arena, struct words *ret_labels)
{
	const struct schedule_intern_entry *entry = &words->selectors.entries.at[selector];
	const uint32_t *at = entry->bytes;

	ret_labels->count = 0;
	for (uint32_t selectors = *at++; selectors; selectors--) {
		bool found = false;

		for (uint32_t constraints = *at++; constraints; constraints--) {
			uint32_t operation = *at++, values = *at++;

			if (operation == LABEL_OPERATOR_IN && !found)
				for (uint32_t i = 0; i < values; i++)
					VEC_PUSH(arena, ret_labels, at[i]);
			found = found || operation == LABEL_OPERATOR_IN;
			at += values;
		}
		if (!found)
			return false;
	}
	return true;
}

struct anchor {
	uint32_t anchor, shape;
};

static void anchors_sort(struct schedule_anchors *anchors, const struct anchor *pairs, size_t count,
			 size_t anchor_count, struct arena *arena)
{
	uint32_t *next = arena_array(arena, anchor_count + 1, sizeof(*next));

	anchors->first = arena_array(arena, anchor_count + 1, sizeof(*anchors->first));
	anchors->at = arena_array(arena, count + 1, sizeof(*anchors->at));
	for (size_t i = 0; i < count; i++)
		anchors->first[pairs[i].anchor + 1]++;
	for (size_t i = 0; i < anchor_count; i++)
		next[i + 1] = anchors->first[i + 1] += anchors->first[i];
	next[0] = 0;
	for (size_t i = 0; i < count; i++)
		anchors->at[next[pairs[i].anchor]++] = pairs[i].shape;
}

static void find_anchors(struct schedule_index *index, const struct schedule_list *list,
			 const struct schedule_vocabulary *words, const size_t *counts,
			 struct arena *arena)
{
	uint64_t *free = arena_array(arena, index->word_count, sizeof(*free));
	uint64_t *free_labels = arena_array(arena, index->word_count, sizeof(*free_labels));
	VEC(struct anchor) names = { .at = NULL };
	VEC(struct anchor) labels = { .at = NULL };
	struct words wanted = { .at = NULL };

	for (uint32_t i = 0; i < list->count; i++) {
		const struct schedule_shape *shape = &list->shapes[i];
		uint64_t bit = UINT64_C(1) << (i % 64);
		uint32_t rare = rare_name(words, index->slots, counts, shape);

		if (rare != SCHEDULE_ID_NONE) {
			VEC_PUSH(arena, &names, ((struct anchor){ rare, i }));
			continue;
		}
		free_labels[i / 64] |= bit;
		if (!shape->selector || !wanted_labels(words, shape->selector, arena, &wanted)) {
			free[i / 64] |= bit;
			continue;
		}
		for (size_t j = 0; j < wanted.count; j++)
			VEC_PUSH(arena, &labels, ((struct anchor){ wanted.at[j], i }));
	}
	index->free = free;
	index->free_labels = free_labels;
	anchors_sort(&index->by_name, names.at, names.count, schedule_words_count(&words->names),
		     arena);
	anchors_sort(&index->by_label, labels.at, labels.count,
		     schedule_words_count(&words->labels), arena);
}

static void set_bits(const struct schedule_anchors *anchors, uint32_t anchor, uint64_t *bits)
{
	for (uint32_t i = anchors->first[anchor]; i < anchors->first[anchor + 1]; i++)
		bits[anchors->at[i] / 64] |= UINT64_C(1) << (anchors->at[i] % 64);
}

void schedule_index_anchor(const struct schedule_index *index, const struct schedule_states *states,
			   const struct schedule_state *state, bool labels, uint64_t *bits,
			   uint64_t *scratch)
{
	if (!index->anchored)
		return;
	memcpy(scratch, labels ? index->free : index->free_labels,
	       index->word_count * sizeof(*scratch));
	for (uint32_t i = 0; i < state->amount_count; i++)
		set_bits(&index->by_name, state->amounts[i].name, scratch);
	if (labels) {
		size_t count;
		const uint32_t *of_node = schedule_label_set_all(states, state->labels, &count);

		for (size_t i = 0; i < count; i++)
			set_bits(&index->by_label, of_node[i], scratch);
	}
	for (size_t word = 0; word < index->word_count; word++)
		bits[word] &= scratch[word];
}

void schedule_index_init(struct schedule_index *index, const struct schedule_list *list,
			 const struct schedule_vocabulary *words,
			 struct schedule_index_scratch *scratch, struct arena *scratch_arena,
			 struct arena *arena)
{
	const struct popular *popular = find_popular(list, scratch, scratch_arena, arena);

	*index = (struct schedule_index){ .word_count = (list->count + 63) / 64,
					  .slots = scratch->slots };
	for (size_t i = 0; i < scratch->asked.count && i < SCHEDULE_INDEX_NAMES; i++) {
		add_name(index, list, popular[i].name, arena);
		add_ratios(&index->names[i], list, popular[0].name, arena);
		scratch->slots[popular[i].name] = (uint8_t)(i + 1);
	}
	read_flags(index, list, arena);
	index->anchored = list->count > ANCHORS_FROM;
	if (!index->anchored)
		return;
	for (size_t i = 0; i < scratch->asked.count; i++)
		scratch->counts[popular[i].name] = popular[i].count;
	find_anchors(index, list, words, scratch->counts, arena);
	for (size_t i = 0; i < scratch->asked.count; i++)
		scratch->counts[popular[i].name] = 0;
}

/* How many levels are below `limit`. */
static uint32_t levels_below(const struct schedule_index_name *entry, int64_t limit)
{
	uint32_t low = 0, high = entry->level_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (entry->levels[middle] < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Between two levels there may be needs, unless every need is a level. */
static uint32_t row_of(const struct schedule_index_name *entry, int64_t available)
{
	uint32_t row;

	if (entry->exact)
		return levels_below(entry, available + 1);
	row = levels_below(entry, available) + 1;
	return row < entry->level_count ? row : entry->level_count;
}

void schedule_index_set(struct schedule_index *index, const struct schedule_room *room)
{
	for (uint32_t i = 0; i < index->name_count; i++) {
		const struct schedule_index_name *entry = &index->names[i];
		uint32_t row = row_of(entry, schedule_room_available(room, entry->name));

		index->rows[i] = &entry->rows[row * index->word_count];
	}
}

uint64_t schedule_index_word(const struct schedule_index *index, size_t word)
{
	uint64_t bits = UINT64_MAX;

	for (uint32_t i = 0; i < index->name_count; i++)
		bits &= index->rows[i][word];
	return bits;
}
