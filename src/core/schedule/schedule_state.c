#include "core/schedule/schedule_state.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

void schedule_states_init(struct schedule_states *states, struct schedule_vocabulary *words)
{
	struct arena *arena = words->arena;

	*states = (struct schedule_states){ .words = words, .arena = arena };
	states->keys.arena = states->label_sets.arena = arena;
	states->rests.arena = states->placed_keys.arena = arena;
	schedule_intern_add(&states->label_sets, NULL, 0);
	schedule_placed_add(states, &(struct schedule_placed){ .names = NULL });
}

static void key_add(struct schedule_states *states, uint64_t value)
{
	VEC_PUSH(states->arena, &states->key, value);
}

static void key_add_double(struct schedule_states *states, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	key_add(states, bits);
}

/* Divides whole units as such, which is exact where Ray's doubles are. */
double schedule_term(int64_t total, int64_t available)
{
	int64_t used;
	double share;

	if (total <= 0 || available < 0)
		return -1;
	used = total > available ? total - available : 0;
	if (!used)
		return 0;
	if (total % RESOURCE_UNIT == 0 && used % RESOURCE_UNIT == 0)
		share = (double)(used / RESOURCE_UNIT) / (double)(total / RESOURCE_UNIT);
	else
		share = (double)used / (double)total;
	return (double)total / (double)RESOURCE_UNIT * pow(share, 3);
}

static void *copy_array(struct arena *arena, const void *items, size_t count, size_t size)
{
	void *copy = arena_array(arena, count + 1, size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

uint32_t schedule_state_add(struct schedule_states *states, const struct schedule_state *state)
{
	uint32_t id;

	states->key.count = 0;
	key_add(states, (uint64_t)state->type << 32 | state->labels);
	key_add(states, (uint64_t)state->placed << 32 | (uint64_t)state->running << 4 |
				(uint64_t)state->head << 3 | (uint64_t)state->registered << 2 |
				(uint64_t)state->accelerator << 1 | (uint64_t)state->per_gpu);
	key_add(states, (uint64_t)state->rest_count << 32 | state->amount_count);
	key_add_double(states, state->rest_minimum);
	key_add(states, (uint64_t)state->whole_gpus);
	for (uint32_t i = 0; i < state->amount_count; i++) {
		key_add(states, state->amounts[i].name);
		key_add(states, (uint64_t)state->amounts[i].total);
		key_add(states, (uint64_t)state->amounts[i].available);
	}
	for (uint32_t i = 0; i < state->open_count; i++) {
		key_add(states, (uint64_t)state->open[i].free);
		key_add(states, (uint64_t)state->open[i].count);
	}
	id = schedule_intern_add(&states->keys, states->key.at,
				 states->key.count * sizeof(*states->key.at));
	if (id == states->states.count) {
		struct schedule_state copy = *state;
		double *terms = arena_array(states->arena, state->amount_count + 1, sizeof(*terms));

		copy.amounts = copy_array(states->arena, state->amounts, state->amount_count,
					  sizeof(*state->amounts));
		copy.open = copy_array(states->arena, state->open, state->open_count,
				       sizeof(*state->open));
		for (uint32_t i = 0; i < state->amount_count; i++)
			terms[i] =
				schedule_term(state->amounts[i].total, state->amounts[i].available);
		copy.terms = terms;
		VEC_PUSH(states->arena, &states->states, copy);
	}
	return id;
}

bool schedule_state_has(const struct schedule_states *states, const struct schedule_state *state,
			const struct schedule_need *needs, size_t count)
{
	uint32_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t name = needs[i].name;
		int64_t available = -1;

		while (at < state->amount_count && state->amounts[at].name < name)
			at++;
		if (at < state->amount_count && state->amounts[at].name == name)
			available = state->amounts[at].available;
		if (available < 0)
			available = states->words->is_implicit[name] ? RESOURCE_UNIT : 0;
		if (available < needs[i].amount)
			return false;
	}
	return true;
}

/* ---- a node ---- */

struct reading {
	struct schedule_states *states;
	struct schedule_rest rest;
	bool accelerator;
};

static void read_resource(struct reading *reading, const char *name, int64_t total,
			  int64_t available)
{
	struct schedule_states *states = reading->states;
	uint32_t id = schedule_name_find(states->words, name);
	double term;

	if (total > 0 &&
	    (id == SCHEDULE_ID_NONE ? schedule_is_accelerator(states->words->problem, name) :
				      states->words->is_accelerator[id]))
		reading->accelerator = true;
	if (id != SCHEDULE_ID_NONE) {
		VEC_PUSH(states->arena, &states->amounts,
			 ((struct schedule_amount){ id, total, available }));
		return;
	}
	term = schedule_term(total, available);
	if (term < 0)
		return;
	reading->rest.count++;
	reading->rest.sum += term;
	if (term < reading->rest.minimum)
		reading->rest.minimum = term;
}

/* Both maps are sorted by name. */
static void read_resources(struct reading *reading, const struct resources *total,
			   const struct resources *available)
{
	size_t i = 0, j = 0;

	while (i < total->count || j < available->count) {
		int order = i == total->count ? 1 :
			    j == available->count ?
						-1 :
						strcmp(total->at[i].name, available->at[j].name);

		if (order < 0) {
			read_resource(reading, total->at[i].name, total->at[i].amount, -1);
			i++;
		} else if (order > 0) {
			read_resource(reading, available->at[j].name, -1, available->at[j].amount);
			j++;
		} else {
			read_resource(reading, total->at[i].name, total->at[i].amount,
				      available->at[j].amount);
			i++;
			j++;
		}
	}
}

/* A worker whose GPUs are all free assigns parts GPU by GPU; of others only the sum is known. */
static void set_gpus(struct schedule_states *states, struct schedule_state *state,
		     struct schedule_open_gpus *open)
{
	if (!states->words->fractions)
		return;
	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];

		if (amount->name != states->words->gpu || amount->total <= 0 ||
		    amount->available != amount->total)
			continue;
		state->per_gpu = true;
		state->whole_gpus = amount->total / RESOURCE_UNIT;
		*open = (struct schedule_open_gpus){ amount->total % RESOURCE_UNIT, 1 };
		state->open = open;
		state->open_count = open->free > 0 ? 1 : 0;
	}
}

uint32_t schedule_state_of(struct schedule_states *states, struct schedule_state state,
			   const struct resources *total, const struct resources *available,
			   uint32_t *ret_rest)
{
	struct reading reading = { .states = states, .rest = { .minimum = INFINITY } };
	struct schedule_open_gpus open = { 0 };

	states->amounts.count = 0;
	read_resources(&reading, total, available);
	state.registered = state.registered && states->words->new_only;
	state.accelerator = reading.accelerator ||
			    (state.type != SCHEDULE_ID_NONE &&
			     states->words->problem->types[state.type].accelerator);
	state.amounts = states->amounts.at;
	state.amount_count = (uint32_t)states->amounts.count;
	set_gpus(states, &state, &open);
	if (state.running) {
		state.rest_count = (uint32_t)reading.rest.count;
		state.rest_minimum = reading.rest.minimum;
	}
	*ret_rest = schedule_intern_add(&states->rests, &reading.rest, sizeof(reading.rest));
	return schedule_state_add(states, &state);
}

/* ---- placed names and selectors ---- */

uint32_t schedule_placed_add(struct schedule_states *states, const struct schedule_placed *placed)
{
	struct schedule_placed copy = *placed;
	uint32_t id;

	states->key.count = 0;
	key_add(states, (uint64_t)placed->name_count << 1 | placed->asks_accelerator);
	for (uint32_t i = 0; i < placed->name_count; i++)
		key_add(states, placed->names[i]);
	for (uint32_t i = 0; i < placed->selector_count; i++)
		key_add(states, placed->selectors[i]);
	id = schedule_intern_add(&states->placed_keys, states->key.at,
				 states->key.count * sizeof(*states->key.at));
	if (id == states->placed.count) {
		copy.names = copy_array(states->arena, placed->names, placed->name_count,
					sizeof(*placed->names));
		copy.selectors = copy_array(states->arena, placed->selectors,
					    placed->selector_count, sizeof(*placed->selectors));
		VEC_PUSH(states->arena, &states->placed, copy);
	}
	return id;
}

/* ---- labels ---- */

/* Its labels, ascending. */
static const uint32_t *label_set_all(const struct schedule_states *states, uint32_t set,
				     size_t *ret_count)
{
	const struct schedule_intern_entry *entry = &states->label_sets.entries.at[set];

	*ret_count = entry->size / sizeof(uint32_t);
	return entry->bytes;
}

uint32_t schedule_label_set_of(struct schedule_states *states, const struct labels *labels)
{
	VEC(uint32_t) found = { .at = NULL };

	if (!states->words->labels.entries.count)
		return 0;
	for (size_t i = 0; i < labels->count; i++) {
		uint32_t label =
			schedule_label_find(states->words, labels->at[i].key, labels->at[i].value);

		if (label != SCHEDULE_ID_NONE)
			VEC_PUSH(states->arena, &found, label);
	}
	sort_stable(found.at, found.count, sizeof(*found.at), schedule_compare_ids);
	return schedule_intern_add(&states->label_sets, found.at, found.count * sizeof(*found.at));
}

bool schedule_label_set_has(const struct schedule_states *states, uint32_t set, uint32_t label)
{
	size_t count;
	const uint32_t *labels = label_set_all(states, set, &count);

	for (size_t i = 0; i < count; i++)
		if (labels[i] == label)
			return true;
	return false;
}

uint32_t schedule_label_set_with(struct schedule_states *states, uint32_t set, uint32_t label)
{
	size_t count;
	const uint32_t *labels = label_set_all(states, set, &count);
	uint32_t *with;

	if (schedule_label_set_has(states, set, label))
		return set;
	with = arena_array(states->arena, count + 1, sizeof(*with));
	if (count)
		memcpy(with, labels, count * sizeof(*with));
	with[count++] = label;
	sort_stable(with, count, sizeof(*with), schedule_compare_ids);
	return schedule_intern_add(&states->label_sets, with, count * sizeof(*with));
}

int schedule_label_rank(const struct schedule_states *states, uint32_t set, uint32_t selector)
{
	const struct schedule_intern_entry *entry = &states->words->selectors.entries.at[selector];
	const uint32_t *at = entry->bytes, *end = at + entry->size / sizeof(*at);
	int place = 0, found = -1;

	at++; /* the number of selectors; the encoding is in schedule_shape.c */
	for (; at < end; place++) {
		bool holds = true;

		for (uint32_t constraints = *at++; constraints; constraints--) {
			uint32_t operation = *at++, count = *at++;
			bool has = false;

			for (uint32_t i = 0; i < count; i++)
				has |= schedule_label_set_has(states, set, *at++);
			holds &= operation == LABEL_OPERATOR_IN ?
					 has :
					 operation == LABEL_OPERATOR_NOT_IN && !has;
		}
		if (holds && found < 0)
			found = place;
	}
	return found < 0 ? 0 : place - found;
}
