#include "core/schedule/schedule_state.h"

#include <math.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"

void schedule_id_add(struct schedule_states *states, uint64_t value)
{
	VEC_PUSH(states->arena, &states->key, value);
}

void schedule_id_add_double(struct schedule_states *states, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	schedule_id_add(states, bits);
}

uint32_t schedule_id_of(struct schedule_states *states, struct schedule_intern *ids)
{
	size_t size = states->key.count * sizeof(*states->key.at);

	states->key.count = 0;
	return schedule_intern_add(ids, states->key.at, size);
}

double schedule_share(int64_t total, int64_t used)
{
	if (total % RESOURCE_UNIT == 0 && used % RESOURCE_UNIT == 0)
		return (double)(used / RESOURCE_UNIT) / (double)(total / RESOURCE_UNIT);
	return (double)used / (double)total;
}

double schedule_term(int64_t total, int64_t available)
{
	if (total <= 0 || available < 0)
		return -1;
	if (total <= available)
		return 0;
	return (double)total / (double)RESOURCE_UNIT *
	       pow(schedule_share(total, total - available), 3);
}

static void *copy_array(struct arena *arena, const void *items, size_t count, size_t size)
{
	void *copy = arena_array(arena, count + 1, size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

/* Interns a state; `state`'s arrays are copied when it is new. */
static uint32_t state_add(struct schedule_states *states, const struct schedule_state *state)
{
	uint32_t id;

	schedule_id_add(states, (uint64_t)state->type << 32 | state->labels);
	schedule_id_add(states, (uint64_t)state->placed << 32 | (uint64_t)state->resizable << 5 |
					(uint64_t)state->running << 4 | (uint64_t)state->head << 3 |
					(uint64_t)state->registered << 2 |
					(uint64_t)state->accelerator << 1 |
					(uint64_t)state->per_gpu);
	schedule_id_add(states, (uint64_t)state->rest_count << 32 | state->amount_count);
	schedule_id_add_double(states, state->rest_minimum);
	schedule_id_add(states, (uint64_t)state->whole_gpus);
	schedule_id_add(states, state->rest);
	for (uint32_t i = 0; i < state->amount_count; i++) {
		schedule_id_add(states, state->amounts[i].name);
		schedule_id_add(states, (uint64_t)state->amounts[i].total);
		schedule_id_add(states, (uint64_t)state->amounts[i].available);
	}
	for (uint32_t i = 0; i < state->open_count; i++) {
		schedule_id_add(states, (uint64_t)state->open[i].free);
		schedule_id_add(states, (uint64_t)state->open[i].count);
	}
	id = schedule_id_of(states, &states->keys);
	if (id == states->states.count) {
		struct schedule_state copy = *state;
		double *terms = arena_array(states->arena, state->amount_count + 1, sizeof(*terms));
		uint32_t *used;

		copy.amounts = copy_array(states->arena, state->amounts, state->amount_count,
					  sizeof(*state->amounts));
		copy.open = copy_array(states->arena, state->open, state->open_count,
				       sizeof(*state->open));
		copy.counted = copy.used_count = 0;
		for (uint32_t i = 0; i < state->amount_count; i++) {
			terms[i] =
				schedule_term(state->amounts[i].total, state->amounts[i].available);
			copy.counted += terms[i] >= 0;
			copy.used_count += terms[i] > 0;
		}
		copy.terms = terms;
		copy.used = used = arena_array(states->arena, copy.used_count + 1, sizeof(*used));
		for (uint32_t i = 0; i < state->amount_count; i++)
			if (terms[i] > 0)
				*used++ = i;
		VEC_PUSH(states->arena, &states->states, copy);
	}
	return id;
}

const struct schedule_amount *schedule_state_amount(const struct schedule_state *state,
						    uint32_t name)
{
	uint32_t low = 0, high = state->amount_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (state->amounts[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low < state->amount_count && state->amounts[low].name == name ?
		       &state->amounts[low] :
		       NULL;
}

/* ---- a node ---- */

static int compare_amounts(const void *a, const void *b)
{
	uint32_t first = ((const struct schedule_amount *)a)->name;
	uint32_t second = ((const struct schedule_amount *)b)->name;

	return (first > second) - (first < second);
}

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
		int64_t most = total > available ? total : available;

		if (most > states->most[id])
			states->most[id] = most;
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
	ARRAY_EACH(const struct schedule_amount, amount, state->amounts, state->amount_count) {
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

static void set_rest(const struct schedule_states *states, struct schedule_state *state,
		     uint32_t rest)
{
	if (state->running) {
		state->rest_count = (uint32_t)schedule_rest_at(states, rest)->count;
		state->rest_minimum = schedule_rest_at(states, rest)->minimum;
	} else {
		state->rest = rest;
	}
}

void schedule_states_read_types(struct schedule_states *states, bool by_type)
{
	const struct schedule_problem *problem = states->words->problem;
	struct schedule_intern ids = { .arena = states->arena };
	uint32_t *first = arena_array(states->arena, problem->type_count + 1, sizeof(*first));

	states->alike = arena_array(states->arena, problem->type_count + 1, sizeof(*states->alike));
	for (uint32_t i = 0; i < problem->type_count; i++) {
		const struct schedule_type *type = &problem->types[i];
		uint32_t id;

		schedule_id_add(states, by_type ? i : UINT64_MAX);
		schedule_id_add(states, type->accelerator);
		schedule_id_add(states, (uint64_t)type->priority);
		schedule_id_add(states, (uint64_t)type->gpu_amount);
		schedule_id_add_double(states, type->recoverable_availability);
		schedule_id_add_double(states, type->failure_recency);
		id = schedule_id_of(states, &ids);
		if (id + 1 == ids.entries.count && !first[id])
			first[id] = i + 1;
		states->alike[i] = first[id] - 1;
	}
}

/* `own`: the type of the node. */
static void set_type(const struct schedule_states *states, struct schedule_state *state,
		     uint32_t own)
{
	bool used = states->words->needless;

	ARRAY_EACH(const struct schedule_amount, amount, state->amounts, state->amount_count)
		used = used || amount->total != amount->available;
	state->type = own == SCHEDULE_ID_NONE || (used && !state->running) ? own :
									     states->alike[own];
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
	set_type(states, &state, state.type);
	*ret_rest = schedule_intern_add(&states->rests, &reading.rest, sizeof(reading.rest));
	set_rest(states, &state, *ret_rest);
	return state_add(states, &state);
}

/* ---- placed names and selectors ---- */

/* Interns the names and selectors; its arrays are copied when it is new. */
static uint32_t placed_add(struct schedule_states *states, const struct schedule_placed *placed)
{
	struct schedule_placed copy = *placed;
	uint32_t id;

	schedule_id_add(states, (uint64_t)placed->name_count << 1 | placed->asks_accelerator);
	for (uint32_t i = 0; i < placed->name_count; i++)
		schedule_id_add(states, placed->names[i]);
	for (uint32_t i = 0; i < placed->selector_count; i++)
		schedule_id_add(states, placed->selectors[i]);
	id = schedule_id_of(states, &states->placed_keys);
	if (id == states->placed.count) {
		copy.names = copy_array(states->arena, placed->names, placed->name_count,
					sizeof(*placed->names));
		copy.selectors = copy_array(states->arena, placed->selectors,
					    placed->selector_count, sizeof(*placed->selectors));
		VEC_PUSH(states->arena, &states->placed, copy);
	}
	return id;
}

void schedule_states_init(struct schedule_states *states, struct schedule_vocabulary *words)
{
	struct arena *arena = words->arena;

	*states = (struct schedule_states){ .words = words, .arena = arena };
	states->most = arena_array(arena, words->name_count + 1, sizeof(*states->most));
	states->keys.arena = states->label_sets.arena = arena;
	states->rests.arena = states->placed_keys.arena = arena;
	schedule_intern_add(&states->label_sets, NULL, 0);
	placed_add(states, &(struct schedule_placed){ .names = NULL });
}

/* ---- labels ---- */

uint32_t schedule_label_set_of(struct schedule_states *states, const struct labels *labels)
{
	VEC(uint32_t) found = { .at = NULL };

	if (!states->words->labels.entries.count)
		return 0;
	for (size_t i = 0; i < labels->count; i++) {
		uint32_t label =
			schedule_label_find(states->words, labels->at[i].key, labels->at[i].value);

		if (label == SCHEDULE_ID_NONE)
			continue;
		states->words->labels.entries.at[label].marks |= SCHEDULE_LABEL_GIVEN;
		VEC_PUSH(states->arena, &found, label);
	}
	sort_stable(found.at, found.count, sizeof(*found.at), schedule_compare_ids);
	return schedule_intern_add(&states->label_sets, found.at, found.count * sizeof(*found.at));
}

static bool label_set_has(const struct schedule_states *states, uint32_t set, uint32_t label)
{
	size_t count;
	const uint32_t *labels = schedule_label_set(states, set, &count);

	return SORT_FIND(&label, labels, count, schedule_compare_ids);
}

/* The set with more labels, ascending. */
static uint32_t label_set_with(struct schedule_states *states, uint32_t set, const uint32_t *more,
			       size_t more_count)
{
	size_t count, kept = 0;
	const uint32_t *labels = schedule_label_set(states, set, &count);

	states->labels.count = 0;
	for (size_t i = 0; i < more_count; i++) {
		for (; kept < count && labels[kept] <= more[i]; kept++)
			VEC_PUSH(states->arena, &states->labels, labels[kept]);
		if (!kept || labels[kept - 1] != more[i])
			VEC_PUSH(states->arena, &states->labels, more[i]);
	}
	for (; kept < count; kept++)
		VEC_PUSH(states->arena, &states->labels, labels[kept]);
	return schedule_intern_add(&states->label_sets, states->labels.at,
				   states->labels.count * sizeof(*states->labels.at));
}

bool schedule_selector_holds(const struct schedule_states *states, uint32_t set,
			     const uint32_t **at)
{
	const uint32_t *next = *at;
	bool holds = true;

	for (uint32_t constraints = *next++; constraints; constraints--) {
		uint32_t operation = *next++, count = *next++;
		bool has = false;

		for (uint32_t i = 0; i < count; i++, next++)
			has = has || label_set_has(states, set, *next);
		holds &= operation == LABEL_OPERATOR_IN ?
				 has :
				 operation == LABEL_OPERATOR_NOT_IN && !has;
	}
	*at = next;
	return holds;
}

/* Ray's rank of the first selector that the labels satisfy: number of selectors - its place; 0 when
 * none is, or for selector list 0. */
static int label_rank(const struct schedule_states *states, uint32_t set, uint32_t selector)
{
	const struct schedule_intern_entry *entry = &states->words->selectors.entries.at[selector];
	const uint32_t *at = entry->bytes;
	uint32_t count = selector ? *at++ : 0; /* the encoding is in schedule_shape.c */

	for (uint32_t place = 0; place < count; place++)
		if (schedule_selector_holds(states, set, &at))
			return (int)(count - place);
	return 0;
}

int schedule_placed_rank(const struct schedule_states *states, uint32_t set, uint32_t placed)
{
	const struct schedule_placed *own = &states->placed.at[placed];

	for (uint32_t i = 0; i < own->selector_count; i++) {
		int rank = label_rank(states, set, own->selectors[i]);

		if (rank)
			return rank;
	}
	return 0;
}

/* ---- filling one node ---- */

void schedule_room_init(struct schedule_room *room, struct schedule_states *states)
{
	size_t count = states->words->name_count + 1;

	*room = (struct schedule_room){ .states = states };
	room->total = arena_array(states->arena, count, sizeof(*room->total));
	room->available = arena_array(states->arena, count, sizeof(*room->available));
	room->free = arena_array(states->arena, count, sizeof(*room->free));
	room->start = arena_array(states->arena, count, sizeof(*room->start));
	room->end = arena_array(states->arena, count, sizeof(*room->end));
	room->seen = arena_array(states->arena, count, sizeof(*room->seen));
	for (size_t i = 0; i < count; i++)
		room->total[i] = room->available[i] = -1;
}

struct schedule_part schedule_room_whole(struct schedule_room *room, uint32_t count)
{
	while (room->all.count < count)
		VEC_PUSH(room->states->arena, &room->all, (uint32_t)room->all.count);
	return (struct schedule_part){ room->all.at, count };
}

void schedule_room_load(struct schedule_room *room, uint32_t id)
{
	uint32_t count = room->states->states.at[id].amount_count;

	schedule_room_load_part(room, id, schedule_room_whole(room, count));
}

void schedule_room_load_part(struct schedule_room *room, uint32_t id, struct schedule_part part)
{
	const struct schedule_state *state = &room->state;

	CHECK(!room->loaded);
	room->loaded = true;
	room->state = room->states->states.at[id];
	room->part = part;
	for (uint32_t i = 0; i < part.count; i++) {
		const struct schedule_amount *amount = &state->amounts[part.at[i]];

		room->total[amount->name] = amount->total;
		room->available[amount->name] = amount->available;
	}
	room->labels = state->labels;
	room->whole_gpus = state->whole_gpus;
	room->open.count = 0;
	for (uint32_t i = 0; i < state->open_count; i++)
		VEC_PUSH(room->states->arena, &room->open, state->open[i]);
	room->added.count = 0;
}

void schedule_room_unload(struct schedule_room *room)
{
	for (uint32_t i = 0; i < room->part.count; i++) {
		uint32_t name = room->state.amounts[room->part.at[i]].name;

		room->total[name] = room->available[name] = -1;
	}
	for (size_t i = 0; i < room->added.count; i++)
		room->total[room->added.at[i]] = room->available[room->added.at[i]] = -1;
	room->loaded = false;
}

/* ---- parts of GPUs ---- */

/* The number of parts of `amount`, below one GPU, that fit the open and the whole GPUs. */
static int64_t parts_room(const struct schedule_room *room, int64_t amount)
{
	int64_t count = room->whole_gpus * (RESOURCE_UNIT / amount);

	for (size_t i = 0; i < room->open.count; i++)
		count += room->open.at[i].count * (room->open.at[i].free / amount);
	return count;
}

/* Adds `count` GPUs with `left` free to the list of open GPUs, sorted by free amount. */
static void open_add(struct schedule_room *room, int64_t left, int64_t count)
{
	size_t at = 0;

	if (!left || !count)
		return;
	while (at < room->open.count && room->open.at[at].free < left)
		at++;
	if (at < room->open.count && room->open.at[at].free == left) {
		room->open.at[at].count += count;
		return;
	}
	VEC_ADD(room->states->arena, &room->open);
	memmove(&room->open.at[at + 1], &room->open.at[at],
		(room->open.count - 1 - at) * sizeof(*room->open.at));
	room->open.at[at] = (struct schedule_open_gpus){ left, count };
}

/* Puts parts on up to `gpus` GPUs that have `left` free each; returns how many GPUs were begun. */
static int64_t parts_put(struct schedule_room *room, int64_t left, int64_t gpus, int64_t amount,
			 int64_t *count)
{
	int64_t each = left / amount, full = *count / each, last;

	if (full > gpus)
		full = gpus;
	*count -= full * each;
	open_add(room, left - each * amount, full);
	if (full == gpus || !*count)
		return full;
	last = *count;
	*count = 0;
	open_add(room, left - last * amount, 1);
	return full + 1;
}

/* Takes parts of GPUs as Ray's raylet does: from the GPU with the smallest sufficient free part.
 * The caller ensures capacity for `count`. */
static void parts_take(struct schedule_room *room, int64_t amount, int64_t count)
{
	while (count > 0) {
		size_t at = 0;
		struct schedule_open_gpus from;
		int64_t begun;

		while (at < room->open.count && room->open.at[at].free < amount)
			at++;
		if (at == room->open.count) {
			room->whole_gpus -=
				parts_put(room, RESOURCE_UNIT, room->whole_gpus, amount, &count);
			CHECK(!count);
			return;
		}
		from = room->open.at[at];
		memmove(&room->open.at[at], &room->open.at[at + 1],
			(room->open.count - at - 1) * sizeof(*room->open.at));
		room->open.count--;
		begun = parts_put(room, from.free, from.count, amount, &count);
		open_add(room, from.free, from.count - begun);
	}
}

/* The number of units of one piece that fit by whole GPUs and parts. */
static int64_t piece_room(const struct schedule_room *room, int64_t amount)
{
	int64_t whole = amount / RESOURCE_UNIT, part = amount % RESOURCE_UNIT;

	if (!whole)
		return parts_room(room, amount);
	if (!part)
		return room->whole_gpus / whole;
	/* Whole GPUs and a part: Ray refuses such a bundle; one by one is enough. */
	if (room->whole_gpus < whole)
		return 0;
	if (room->whole_gpus > whole)
		return 1;
	return room->open.count && room->open.at[room->open.count - 1].free >= part;
}

static void piece_take(struct schedule_room *room, int64_t amount, int64_t count)
{
	room->whole_gpus -= amount / RESOURCE_UNIT * count;
	if (amount % RESOURCE_UNIT)
		parts_take(room, amount % RESOURCE_UNIT, count);
}

/* Takes all bundles of a combined shape, in their order; changes nothing when one of them does not
 * fit. */
static bool pieces_take(struct schedule_room *room, const struct schedule_shape *shape)
{
	int64_t whole = room->whole_gpus;

	room->tried.count = 0;
	for (size_t i = 0; i < room->open.count; i++)
		VEC_PUSH(room->states->arena, &room->tried, room->open.at[i]);
	for (uint32_t i = 0; i < shape->piece_count; i++) {
		if (piece_room(room, shape->pieces[i]) > 0) {
			piece_take(room, shape->pieces[i], 1);
			continue;
		}
		room->whole_gpus = whole;
		room->open.count = 0;
		for (size_t j = 0; j < room->tried.count; j++)
			VEC_PUSH(room->states->arena, &room->open, room->tried.at[j]);
		return false;
	}
	return true;
}

/* ---- one kind of request ---- */

bool schedule_room_has_anti_label(const struct schedule_room *room,
				  const struct schedule_shape *shape)
{
	for (uint32_t i = 0; i < shape->anti_label_count; i++)
		if (label_set_has(room->states, room->labels, shape->anti_labels[i]))
			return true;
	return false;
}

bool schedule_room_refuses(const struct schedule_room *room, const struct schedule_shape *shape)
{
	return shape->impossible || (shape->new_only && room->state.registered) ||
	       (!shape->few_labels && schedule_room_has_anti_label(room, shape));
}

/* The number of units that fit by the sums. */
static int64_t room_of(const struct schedule_room *room, const struct schedule_shape *shape,
		       int64_t want)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		if (schedule_room_available(room, shape->needs[i].name) < shape->needs[i].amount)
			return 0;
	for (uint32_t i = 0; i < shape->need_count && want > 1; i++) {
		int64_t available = schedule_room_available(room, shape->needs[i].name);
		int64_t fit = available / shape->needs[i].amount;

		if (fit < want)
			want = fit;
	}
	return want;
}

void schedule_room_use(struct schedule_room *room, uint32_t name, int64_t amount)
{
	if (room->available[name] < 0) {
		room->available[name] = RESOURCE_UNIT;
		if (room->total[name] < 0)
			VEC_PUSH(room->states->arena, &room->added, name);
	}
	room->available[name] -= amount;
}

int64_t schedule_room_take(struct schedule_room *room, const struct schedule_shape *shape,
			   int64_t want)
{
	if (schedule_room_refuses(room, shape) ||
	    (shape->selector && !label_rank(room->states, room->labels, shape->selector)))
		return 0;
	return schedule_room_put(room, shape, want);
}

int64_t schedule_room_put(struct schedule_room *room, const struct schedule_shape *shape,
			  int64_t want)
{
	int64_t count;

	if (shape->few_labels && schedule_room_has_anti_label(room, shape))
		return 0;
	if (shape->anti_label_count && want > 1)
		want = 1;
	count = room_of(room, shape, want);
	if (!count)
		return 0;
	if (shape->piece_count && room->state.per_gpu) {
		int64_t pieces = shape->combined ? 1 : piece_room(room, shape->pieces[0]);

		if (pieces < count)
			count = pieces;
		if (!count || (shape->combined && !pieces_take(room, shape)))
			return 0;
		if (!shape->combined)
			piece_take(room, shape->pieces[0], count);
	}
	for (uint32_t i = 0; i < shape->need_count; i++)
		schedule_room_use(room, shape->needs[i].name, shape->needs[i].amount * count);
	if (shape->anti_label_count)
		room->labels = label_set_with(room->states, room->labels, shape->anti_labels,
					      shape->anti_label_count);
	return count;
}

/* ---- the resulting state ---- */

void schedule_room_terms(const struct schedule_room *room, double *ret_terms)
{
	const struct schedule_state *state = &room->state;

	for (uint32_t i = 0; i < room->part.count; i++) {
		uint32_t at = room->part.at[i];
		const struct schedule_amount *amount = &state->amounts[at];
		int64_t available = room->available[amount->name];

		ret_terms[i] = available == amount->available ?
				       state->terms[at] :
				       schedule_term(amount->total, available);
	}
}

static struct schedule_amount room_amount(const struct schedule_room *room, uint32_t name)
{
	return (struct schedule_amount){ name, room->total[name], room->available[name] };
}

/* Amounts are sorted by name, so that equal states get the same id. */
uint32_t schedule_room_save(struct schedule_room *room, uint32_t placed)
{
	struct schedule_state state = room->state;
	struct schedule_states *states = room->states;

	CHECK(room->part.count == state.amount_count);
	states->amounts.count = 0;
	for (uint32_t i = 0; i < state.amount_count; i++)
		VEC_PUSH(states->arena, &states->amounts, room_amount(room, state.amounts[i].name));
	for (size_t i = 0; i < room->added.count; i++)
		VEC_PUSH(states->arena, &states->amounts, room_amount(room, room->added.at[i]));
	if (room->added.count)
		sort_stable(states->amounts.at, states->amounts.count, sizeof(*states->amounts.at),
			    compare_amounts);
	state.amounts = states->amounts.at;
	state.amount_count = (uint32_t)states->amounts.count;
	state.labels = room->labels;
	state.whole_gpus = room->whole_gpus;
	state.open = room->open.at;
	state.open_count = (uint32_t)room->open.count;
	state.placed = state.running ? placed : 0;
	return state_add(states, &state);
}

/* The part of it in use stays in use. */
static void set_total(struct schedule_room *room, const char *name, int64_t total)
{
	uint32_t id = schedule_name_find(room->states->words, name);
	int64_t used;

	if (id == SCHEDULE_ID_NONE)
		return;
	if (room->total[id] < 0 && room->available[id] < 0)
		VEC_PUSH(room->states->arena, &room->added, id);
	used = (room->total[id] > 0 ? room->total[id] : 0) -
	       (room->available[id] > 0 ? room->available[id] : 0);
	room->available[id] = total > used ? total - used : 0;
	room->total[id] = total;
}

uint32_t schedule_state_resized(struct schedule_room *room, uint32_t id,
				const struct schedule_size *size, uint32_t rest)
{
	schedule_room_load(room, id);
	set_total(room, "CPU", size->cpu);
	set_total(room, "memory", size->memory);
	room->state.resizable = false;
	set_rest(room->states, &room->state, rest);
	id = schedule_room_save(room, room->state.placed);
	schedule_room_unload(room);
	return id;
}

/* ---- the score ---- */

/* True for the first call with this name since the stamp changed. */
static bool first_seen(struct schedule_room *room, uint32_t name)
{
	if (room->seen[name] == room->stamp)
		return false;
	room->seen[name] = room->stamp;
	return true;
}

/* The set of names and selectors placed on a node after `fill`. */
static uint32_t placed_with(struct schedule_room *room, uint32_t placed,
			    const struct schedule_list *list, const struct schedule_fill *fill,
			    size_t fill_count)
{
	struct schedule_states *states = room->states;
	struct schedule_placed before = states->placed.at[placed], after = before;

	room->stamp++;
	states->names.count = states->selectors.count = 0;
	for (uint32_t i = 0; i < before.name_count; i++)
		if (first_seen(room, before.names[i]))
			VEC_PUSH(states->arena, &states->names, before.names[i]);
	for (uint32_t i = 0; i < before.selector_count; i++)
		VEC_PUSH(states->arena, &states->selectors, before.selectors[i]);
	for (size_t i = 0; i < fill_count; i++) {
		const struct schedule_shape *shape = &list->shapes[fill[i].shape];
		bool known = !shape->selector;

		after.asks_accelerator = after.asks_accelerator || shape->asks_accelerator;
		for (uint32_t j = 0; j < shape->need_count; j++)
			if (first_seen(room, shape->needs[j].name))
				VEC_PUSH(states->arena, &states->names, shape->needs[j].name);
		for (size_t j = 0; j < states->selectors.count; j++)
			known = known || states->selectors.at[j] == shape->selector;
		if (!known)
			VEC_PUSH(states->arena, &states->selectors, shape->selector);
	}
	sort_stable(states->names.at, states->names.count, sizeof(uint32_t), schedule_compare_ids);
	after.names = states->names.at;
	after.name_count = (uint32_t)states->names.count;
	after.selectors = states->selectors.at;
	after.selector_count = (uint32_t)states->selectors.count;
	return placed_add(states, &after);
}

uint32_t schedule_state_filled(struct schedule_room *room, uint32_t id, size_t type,
			       const struct schedule_list *list, const struct schedule_fill *fill,
			       size_t fill_count, uint32_t *placed)
{
	uint32_t filled;

	schedule_room_load(room, id);
	if (!room->state.running && type != SCHEDULE_NO_INDEX)
		room->state.type = (uint32_t)type;
	for (size_t i = 0; i < fill_count; i++)
		schedule_room_take(room, &list->shapes[fill[i].shape], fill[i].count);
	*placed = placed_with(room, *placed, list, fill, fill_count);
	filled = schedule_room_save(room, *placed);
	schedule_room_unload(room);
	return filled;
}

void schedule_key_type(const struct schedule_problem *problem, const struct schedule_state *state,
		       union schedule_key *key)
{
	*key = (union schedule_key){ .recoverable = 1, .recency = 1 };
	if (state->type == SCHEDULE_ID_NONE)
		return;
	key->recoverable = problem->types[state->type].recoverable_availability;
	key->priority = (double)problem->types[state->type].priority;
	key->recency = problem->types[state->type].failure_recency;
}

/* Ray's rank by the selectors placed before, then by those of the fill. */
static int rank_of(const struct schedule_room *room, uint32_t placed,
		   const struct schedule_list *list, const struct schedule_fill *fill,
		   size_t fill_count)
{
	int rank = schedule_placed_rank(room->states, room->labels, placed);

	for (size_t i = 0; i < fill_count; i++) {
		if (rank)
			break;
		rank = label_rank(room->states, room->labels, list->shapes[fill[i].shape].selector);
	}
	return rank;
}

static bool has_total(const struct schedule_state *state, uint32_t name)
{
	const struct schedule_amount *amount = schedule_state_amount(state, name);

	return amount && amount->total >= 0;
}

void schedule_key_filled(struct schedule_room *room, uint32_t placed_id,
			 const struct schedule_list *list, const struct schedule_fill *fill,
			 size_t fill_count, union schedule_key *key)
{
	const struct schedule_problem *problem = room->states->words->problem;
	const struct schedule_placed *placed = &room->states->placed.at[placed_id];
	bool asks_accelerator = placed->asks_accelerator;

	schedule_key_type(problem, &room->state, key);
	room->stamp++;
	for (uint32_t i = 0; i < placed->name_count; i++)
		key->types += first_seen(room, placed->names[i]) &&
			      has_total(&room->state, placed->names[i]);
	for (size_t i = 0; i < fill_count; i++) {
		const struct schedule_shape *shape = &list->shapes[fill[i].shape];

		asks_accelerator = asks_accelerator || shape->asks_accelerator;
		for (uint32_t j = 0; j < shape->need_count; j++)
			key->types += first_seen(room, shape->needs[j].name) &&
				      room->total[shape->needs[j].name] >= 0;
	}
	key->labels = rank_of(room, placed_id, list, fill, fill_count);
	key->accelerator_ok = !problem->conserve_accelerators || !room->state.accelerator ||
			      asks_accelerator;
}

/* The sum is Ray's, in the order of the names, without the terms of 0. */
void schedule_key_rest(const struct schedule_states *states, const struct schedule_state *state,
		       struct schedule_part part, const double *terms, uint32_t rest_id,
		       union schedule_key *key)
{
	const struct schedule_rest *rest = schedule_rest_at(states, rest_id);
	double minimum = rest->minimum, sum = rest->sum;
	uint64_t counted = state->counted, above = 0;
	uint32_t i = 0, used = 0;

	while (i < part.count || used < state->used_count) {
		bool own = i < part.count &&
			   (used == state->used_count || part.at[i] <= state->used[used]);
		uint32_t at = own ? part.at[i] : state->used[used];
		double term = own ? terms[i++] : state->terms[at];

		used += used < state->used_count && state->used[used] == at;
		counted += own && term >= 0;
		counted -= own && state->terms[at] >= 0;
		if (term <= 0)
			continue;
		above++;
		sum += term;
		if (term < minimum)
			minimum = term;
	}
	if (above < counted && minimum > 0)
		minimum = 0;
	counted += rest->count;
	key->minimum = counted ? minimum : 0;
	key->average = counted ? sum / (double)counted : 0;
}
