/* Nodes that are alike. A group of the problem makes its nodes differ by names and labels of its own, so that
 * there may be as many states as groups; a list mentions few of them. A name or label that few types have, or no list mentions, is rare.
 * Classes that differ in what is rare alone, and in the traits of their types, take the same fills with the same scores
 * of each list that mentions nothing rare of theirs: they are a group, whose nodes and types are chosen in turn. With
 * the types
 *
 *	a {CPU: 4, tool-a: 1}    b {CPU: 4, tool-b: 1}    c {CPU: 8}    d {CPU: 8, tool-d: 1}
 *
 * the groups are {a, b} and {c, d}. A list of {CPU: 1, tool-a: 1} has these, and type a and the classes with tool-a
 * apart, which are found in the ranking of tool-a. A group lasts as long as the classes, so a list reads none of its
 * classes but the first. Nodes that run are not alike: parts of their states change with each placement. */
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/schedule/schedule_run.h"

/* Types with a rare name or label, at most, and at most this part of all types. */
#define FEW 8
#define FEW_PART 4

/* ---- names and labels of types ---- */

void schedule_alike_read_types(struct schedule_run *run)
{
	size_t names = run->words.name_count, count;

	run->types_of = arena_array(run->scratch, names + run->words.labels.entries.count + 1,
				    sizeof(*run->types_of));
	run->apart = arena_array(run->scratch, run->problem->type_count, sizeof(*run->apart));
	VEC_EACH(const uint32_t, type, &run->type_order) {
		const struct schedule_state *state =
			&run->states.states.at[run->templates[*type].state];
		const uint32_t *labels = schedule_label_set(&run->states, state->labels, &count);

		for (uint32_t i = 0; i < state->amount_count; i++)
			VEC_PUSH(run->scratch, &run->types_of[state->amounts[i].name], *type);
		for (size_t i = 0; i < count; i++)
			VEC_PUSH(run->scratch, &run->types_of[names + labels[i]], *type);
	}
}

/* ---- groups ---- */

/* Of few types, or mentioned by no list; of several lists not all labels are known. Placed requests may put a label that
 * several lists mention on many nodes. */
static bool find_rare(const struct schedule_run *run, uint32_t tag)
{
	size_t names = run->words.name_count;
	size_t count = run->types_of[tag].count;

	if (!run->classes.lasting)
		return !run->classes.mentioned[tag];
	if (tag < names && !run->classes.mentioned[tag])
		return true;
	if (tag >= names && !count)
		return !(run->words.labels.entries.at[tag - names].marks & SCHEDULE_LABEL_SHARED);
	return count <= FEW && count * FEW_PART <= run->type_order.count;
}

void schedule_alike_begin(struct schedule_run *run)
{
	struct schedule_classes *classes = &run->classes;
	uint32_t tags = (uint32_t)(run->words.name_count + run->words.labels.entries.count);

	run->cores.count = classes->groups.count = classes->with_types.count = 0;
	run->core_ids = classes->group_ids = (struct schedule_intern){ .arena = run->scratch };
	for (uint32_t i = 0; i < tags; i++)
		classes->rare[i] = find_rare(run, i);
	VEC_EACH(const uint32_t, type, &run->type_order) {
		uint32_t id =
			schedule_alike_group(run, run->templates[*type].state, SCHEDULE_NO_INDEX);
		struct schedule_group *group = &classes->groups.at[id];

		if (!group->types.count)
			VEC_PUSH(run->scratch, &classes->with_types, id);
		VEC_PUSH(run->scratch, &group->types, *type);
	}
}

/* The amounts that are not rare, and between them the terms above 0 of others, in the order in which a score adds
 * them; then the labels. */
static void add_common(struct schedule_run *run, const struct schedule_state *state, bool *rare)
{
	size_t count;
	const uint32_t *labels = schedule_label_set(&run->states, state->labels, &count);

	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];

		if (run->classes.rare[amount->name]) {
			*rare = true;
			if (state->terms[i] > 0)
				schedule_id_add_double(&run->states, state->terms[i]);
			continue;
		}
		schedule_id_add(&run->states, SCHEDULE_ID_NONE);
		schedule_id_add(&run->states, amount->name);
		schedule_id_add(&run->states, (uint64_t)amount->total);
		schedule_id_add(&run->states, (uint64_t)amount->available);
	}
	schedule_id_add(&run->states, SCHEDULE_ID_NONE);
	for (size_t i = 0; i < count; i++) {
		if (run->classes.rare[run->words.name_count + labels[i]])
			*rare = true;
		else
			schedule_id_add(&run->states, labels[i]);
	}
}

/* The part of a state that scores of nodes that are alike read, without the traits of its type. */
static const struct schedule_core *core_of(struct schedule_run *run, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	uint64_t gpus = state->type == SCHEDULE_ID_NONE ?
				0 :
				(uint64_t)run->problem->types[state->type].gpu_amount;
	struct schedule_core *core;

	while (run->cores.count <= id)
		VEC_ADD(run->scratch, &run->cores);
	core = &run->cores.at[id];
	if (core->id)
		return core;
	schedule_id_add(&run->states,
			(uint64_t)state->open_count << 5 | (uint64_t)state->head << 4 |
				(uint64_t)state->registered << 3 | (uint64_t)state->resizable << 2 |
				(uint64_t)state->accelerator << 1 | (uint64_t)state->per_gpu);
	schedule_id_add(&run->states, run->policy.shuffle ? state->type : SCHEDULE_ID_NONE);
	schedule_id_add(&run->states, gpus);
	schedule_id_add(&run->states, (uint64_t)state->rest << 32 | state->counted);
	schedule_id_add(&run->states, (uint64_t)state->whole_gpus);
	for (uint32_t i = 0; i < state->open_count; i++) {
		schedule_id_add(&run->states, (uint64_t)state->open[i].free);
		schedule_id_add(&run->states, (uint64_t)state->open[i].count);
	}
	add_common(run, state, &core->rare);
	core->id = schedule_id_of(&run->states, &run->core_ids) + 1;
	return core;
}

bool schedule_alike_is_rare(struct schedule_run *run, uint32_t state)
{
	return core_of(run, state)->rare;
}

static uint32_t group_id(struct schedule_run *run, uint32_t of)
{
	struct schedule_classes *classes = &run->classes;
	uint32_t id = schedule_id_of(&run->states, &classes->group_ids);

	if (id == classes->groups.count)
		VEC_ADD(run->scratch, &classes->groups)->of = of;
	return id;
}

uint32_t schedule_alike_alone(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class = schedule_class_of(run, state);

	if (!class->alone) {
		schedule_id_add(&run->states, state);
		class->alone = group_id(run, state) + 1;
	}
	return class->alone - 1;
}

/* Of the requests that were placed on a node before: the names that are not rare, the number of others that count
 * in its score, and the rank of its labels. */
static void add_placed(struct schedule_run *run, uint32_t id, uint32_t placed_id)
{
	const struct schedule_placed *placed = &run->states.placed.at[placed_id];
	const struct schedule_state *state = &run->states.states.at[id];
	uint32_t others = 0;

	for (uint32_t i = 0; i < placed->name_count; i++) {
		const struct schedule_amount *amount;

		if (!run->classes.rare[placed->names[i]]) {
			schedule_id_add(&run->states, placed->names[i]);
			continue;
		}
		amount = schedule_state_amount(state, placed->names[i]);
		others += amount && amount->total >= 0;
	}
	schedule_id_add(&run->states, SCHEDULE_ID_NONE);
	schedule_id_add(&run->states,
			(uint64_t)others << 32 | (uint64_t)schedule_placed_rank(
							 &run->states, state->labels, placed_id));
	schedule_id_add(&run->states, placed->asks_accelerator);
}

uint32_t schedule_alike_group(struct schedule_run *run, uint32_t state, size_t node)
{
	uint32_t rest = run->states.states.at[state].rest, placed = 0, core;

	if (run->states.states.at[state].running)
		return schedule_alike_alone(run, state);
	core = core_of(run, state)->id;
	if (node != SCHEDULE_NO_INDEX) {
		rest = run->nodes.at[node].rest;
		placed = run->nodes.at[node].placed;
	}
	schedule_id_add(&run->states, (uint64_t)core << 32 | rest);
	add_placed(run, state, placed);
	return group_id(run, SCHEDULE_ID_NONE);
}

/* ---- what is apart for a list ---- */

static void part_tag(struct schedule_run *run, uint32_t tag)
{
	struct schedule_classes *classes = &run->classes;

	VEC_EACH(const uint32_t, type, &run->types_of[tag]) {
		if (run->apart[*type] != classes->tries)
			VEC_PUSH(run->scratch, &run->apart_types, *type);
		run->apart[*type] = classes->tries;
	}
	for (size_t i = 0; i < 2; i++)
		VEC_EACH(const uint32_t, group, &classes->rankings.at[1 + tag].parts[i])
			if (classes->groups.at[*group].of != SCHEDULE_ID_NONE)
				classes->at.at[classes->groups.at[*group].of].apart =
					classes->tries;
}

void schedule_alike_part(struct schedule_run *run, const struct schedule_requests *requests,
			 void *context, void (*add)(void *context, uint32_t tag))
{
	const bool *rare = run->classes.rare;
	uint32_t names = (uint32_t)run->words.name_count;

	run->apart_types.count = 0;
	if (!run->classes.lasting)
		return;
	for (size_t i = 0; i < requests->names.count; i++)
		if (rare[requests->names.at[i]]) {
			part_tag(run, requests->names.at[i]);
			add(context, requests->names.at[i]);
		}
	VEC_EACH(const uint32_t, label, &requests->labels)
		if (rare[names + *label]) {
			part_tag(run, names + *label);
			add(context, names + *label);
		}
}
