/* Nodes that are alike for a list. A group of the problem makes its nodes differ by names and labels of its own, so that
 * there may be as many states as groups; a list mentions few of them. States without differences that it reads take
 * the same fill with the same score, but for the traits of their types: they are one candidate, whose nodes and types
 * are chosen in turn. With the types
 *
 *	a {CPU: 4, tool-a: 1}    b {CPU: 4, tool-b: 1}    c {CPU: 8}    d {CPU: 8, tool-d: 1}
 *
 * a list of {CPU: 1} has the candidates {a, b} and {c, d}. Lists that mention the same names and labels share their
 * groups. Names and labels of few types are left out of these: a list of {CPU: 1, tool-a: 1} has the groups of the one
 * before, and type a apart. Nodes that run are not in groups: parts of their states change with each placement. */
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/schedule/schedule_run.h"

/* Lists with other names and labels have groups until their try ends. */
#define KEPT_MAX 16
/* Types with a rare name or label, at most, and at most this part of all types. */
#define FEW 8
#define FEW_PART 4

static void key_add(struct schedule_run *run, uint64_t value)
{
	VEC_PUSH(run->scratch, &run->states.key, value);
}

static void key_add_double(struct schedule_run *run, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	key_add(run, bits);
}

static uint32_t key_id(struct schedule_run *run, struct schedule_intern *ids)
{
	return schedule_intern_add(ids, run->states.key.at,
				   run->states.key.count * sizeof(*run->states.key.at));
}

/* The part of a state that scores read whatever a list mentions, without the traits of its type. */
static uint32_t core_of(struct schedule_run *run, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	uint64_t gpus = state->type == SCHEDULE_ID_NONE ?
				0 :
				(uint64_t)run->problem->types[state->type].gpu_amount;

	while (run->cores.count <= id)
		VEC_ADD(run->scratch, &run->cores);
	if (run->cores.at[id])
		return run->cores.at[id];
	run->states.key.count = 0;
	key_add(run, (uint64_t)state->head << 4 | (uint64_t)state->registered << 3 |
			     (uint64_t)state->resizable << 2 | (uint64_t)state->accelerator << 1 |
			     (uint64_t)state->per_gpu);
	key_add(run, run->policy.shuffle ? state->type : SCHEDULE_ID_NONE);
	key_add(run, gpus);
	key_add(run, (uint64_t)state->rest << 32 | state->counted);
	key_add(run, (uint64_t)state->whole_gpus);
	for (uint32_t i = 0; i < state->open_count; i++) {
		key_add(run, (uint64_t)state->open[i].free);
		key_add(run, (uint64_t)state->open[i].count);
	}
	run->cores.at[id] = key_id(run, &run->core_ids) + 1;
	return run->cores.at[id];
}

/* ---- names and labels of types ---- */

static uint32_t tag_count(const struct schedule_run *run, uint32_t tag)
{
	return run->tags_end[tag] - (tag ? run->tags_end[tag - 1] : 0);
}

static bool is_rare(const struct schedule_run *run, uint32_t tag)
{
	uint32_t count = tag_count(run, tag);

	return count <= FEW && count * FEW_PART <= run->type_order.count;
}

static const uint32_t *labels_of(const struct schedule_run *run, uint32_t set, size_t *ret_count)
{
	const struct schedule_intern_entry *entry = &run->states.label_sets.entries.at[set];

	*ret_count = entry->size / sizeof(uint32_t);
	return entry->bytes;
}

/* Calls `add` for each name and label of a new node of each type. */
static void each_tag(struct schedule_run *run,
		     void (*add)(struct schedule_run *run, uint32_t tag, uint32_t type))
{
	VEC_EACH(const uint32_t, type, &run->type_order) {
		const struct schedule_state *state =
			&run->states.states.at[run->templates[*type].state];
		size_t count;
		const uint32_t *labels = labels_of(run, state->labels, &count);

		for (uint32_t i = 0; i < state->amount_count; i++)
			add(run, state->amounts[i].name, *type);
		for (size_t i = 0; i < count; i++)
			add(run, (uint32_t)run->words.name_count + labels[i], *type);
	}
}

static void count_tag(struct schedule_run *run, uint32_t tag, uint32_t type)
{
	(void)type;
	run->tags_end[tag]++;
}

static void put_tag(struct schedule_run *run, uint32_t tag, uint32_t type)
{
	run->tag_types[--run->tags_end[tag]] = type;
}

/* The types of each tag end where tags_end says, and begin at the end of the tag before. */
void schedule_alike_read_types(struct schedule_run *run)
{
	uint32_t count = (uint32_t)(run->words.name_count + run->words.labels.entries.count);
	uint32_t sum = 0;

	run->tags_end = arena_array(run->scratch, count + 1, sizeof(*run->tags_end));
	run->apart = arena_array(run->scratch, run->problem->type_count, sizeof(*run->apart));
	each_tag(run, count_tag);
	for (uint32_t i = 0; i < count; i++) {
		sum += run->tags_end[i];
		run->tags_end[i] = sum;
	}
	run->tag_types = arena_array(run->scratch, sum + 1, sizeof(*run->tag_types));
	each_tag(run, put_tag);
	for (uint32_t i = 0; i < count; i++)
		run->tags_end[i] = i + 1 < count ? run->tags_end[i + 1] : sum;
}

/* ---- groups ---- */

/* Calls `add` for each label of the list that the set has. */
static void each_label(struct schedule_run *run, const struct schedule_requests *requests,
		       uint32_t set, void (*add)(struct schedule_run *run, uint32_t tag))
{
	size_t count, other = requests->labels.count;
	const uint32_t *labels = labels_of(run, set, &count), *mentioned = requests->labels.at;

	if (other < count) {
		const uint32_t *more = labels;
		size_t more_count = count;

		labels = mentioned;
		count = other;
		mentioned = more;
		other = more_count;
	}
	for (size_t i = 0; i < count; i++)
		if (SORT_FIND(&labels[i], mentioned, other, schedule_compare_ids))
			add(run, (uint32_t)run->words.name_count + labels[i]);
}

static void add_label(struct schedule_run *run, uint32_t tag)
{
	if (!is_rare(run, tag))
		key_add(run, tag);
}

static void add_rare_label(struct schedule_run *run, uint32_t tag)
{
	if (is_rare(run, tag))
		key_add(run, tag);
}

/* The rare names and labels of the list that the state has. A score adds the terms above 0 before a name first. */
static void add_rare(struct schedule_run *run, const struct schedule_requests *requests,
		     uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	struct schedule_part part = schedule_requests_part(requests, run, id);
	uint32_t used = 0;

	for (uint32_t i = 0; i < part.count; i++) {
		const struct schedule_amount *amount = &state->amounts[part.at[i]];

		while (used < state->used_count && state->used[used] < part.at[i])
			used++;
		if (!is_rare(run, amount->name))
			continue;
		key_add(run, (uint64_t)used << 32 | amount->name);
		key_add(run, (uint64_t)amount->total);
		key_add(run, (uint64_t)amount->available);
	}
	each_label(run, requests, state->labels, add_rare_label);
}

/* The amounts that the list reads, and between them the terms above 0 of others, in the order in which a score adds
 * them. */
static void add_amounts(struct schedule_run *run, const struct schedule_requests *requests,
			uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	struct schedule_part part = schedule_requests_part(requests, run, id);
	uint32_t i = 0, used = 0;

	while (i < part.count || used < state->used_count) {
		bool own = i < part.count &&
			   (used == state->used_count || part.at[i] <= state->used[used]);
		uint32_t at = own ? part.at[i++] : state->used[used];
		const struct schedule_amount *amount = &state->amounts[at];

		used += used < state->used_count && state->used[used] == at;
		if (!own || is_rare(run, amount->name)) {
			if (state->terms[at] > 0)
				key_add_double(run, state->terms[at]);
			continue;
		}
		key_add(run, SCHEDULE_ID_NONE);
		key_add(run, amount->name);
		key_add(run, (uint64_t)amount->total);
		key_add(run, (uint64_t)amount->available);
	}
}

uint32_t schedule_alike_group(struct schedule_run *run, struct schedule_alike *alike,
			      const struct schedule_requests *requests, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	uint32_t core = core_of(run, id), group;

	while (alike->group_of.count <= id)
		VEC_ADD(alike->arena, &alike->group_of);
	if (alike->group_of.at[id])
		return alike->group_of.at[id] - 1;
	CHECK(!state->running);
	run->states.key.count = 0;
	key_add(run, core);
	add_amounts(run, requests, id);
	key_add(run, SCHEDULE_ID_NONE);
	each_label(run, requests, state->labels, add_label);
	group = key_id(run, &alike->keys);
	if (group == alike->groups.count)
		VEC_ADD(alike->arena, &alike->groups);
	alike->groups.at[group].states++;
	alike->group_of.at[id] = group + 1;
	return group;
}

/* Of the requests that were placed on a node before: the names that the list mentions, the number of others that count
 * in its score, and the rank of its labels. */
uint32_t schedule_alike_node(struct schedule_run *run, const struct schedule_requests *requests,
			     uint32_t group, uint32_t state, uint32_t node,
			     struct schedule_intern *ids)
{
	const struct schedule_work *work = &run->nodes.at[node];
	const struct schedule_placed *placed = &run->states.placed.at[work->placed];
	uint32_t labels = run->states.states.at[state].labels, others = 0;

	run->states.key.count = 0;
	key_add(run, (uint64_t)group << 32 | work->rest);
	for (uint32_t i = 0; i < placed->name_count; i++) {
		const struct schedule_amount *amount =
			schedule_state_amount(&run->states.states.at[state], placed->names[i]);

		if (SORT_FIND(&placed->names[i], requests->names.at, requests->names.count,
			      schedule_compare_ids))
			key_add(run, placed->names[i]);
		else
			others += amount && amount->total >= 0;
	}
	key_add(run, SCHEDULE_ID_NONE);
	key_add(run, (uint64_t)others << 32 |
			     (uint64_t)schedule_placed_rank(&run->states, labels, work->placed));
	key_add(run, placed->asks_accelerator);
	if (run->mentions_rare)
		add_rare(run, requests, state);
	return key_id(run, ids);
}

static void list_types(struct schedule_run *run, struct schedule_alike *alike,
		       const struct schedule_requests *requests)
{
	VEC_EACH(const uint32_t, type, &run->type_order) {
		uint32_t group =
			schedule_alike_group(run, alike, requests, run->templates[*type].state);
		struct schedule_alike_group *own = &alike->groups.at[group];

		if (!own->types.count)
			VEC_PUSH(alike->arena, &alike->with_types, group);
		VEC_PUSH(alike->arena, &own->types, *type);
	}
}

static struct schedule_alike *alike_new(struct schedule_run *run, struct arena *arena,
					const struct schedule_requests *requests)
{
	struct schedule_alike *alike = ARENA_NEW(arena, struct schedule_alike);

	alike->arena = alike->keys.arena = arena;
	list_types(run, alike, requests);
	return alike;
}

/* Adds a tag of the list to the key, or the types that have it to those apart. */
static void read_tag(struct schedule_run *run, uint32_t tag)
{
	if (!is_rare(run, tag)) {
		key_add(run, tag);
		return;
	}
	run->mentions_rare = true;
	for (uint32_t i = run->tags_end[tag] - tag_count(run, tag); i < run->tags_end[tag]; i++) {
		uint32_t type = run->tag_types[i];

		if (run->apart[type] == run->classes.tries)
			continue;
		run->apart[type] = run->classes.tries;
		VEC_PUSH(run->scratch, &run->apart_types, type);
	}
}

struct schedule_alike *schedule_alike_of(struct schedule_run *run,
					 const struct schedule_requests *requests)
{
	uint32_t id;

	run->states.key.count = run->apart_types.count = 0;
	run->mentions_rare = false;
	for (size_t i = 0; i < requests->names.count; i++)
		read_tag(run, requests->names.at[i]);
	VEC_EACH(const uint32_t, label, &requests->labels)
		read_tag(run, (uint32_t)run->words.name_count + *label);
	if (run->kept_alike.count == KEPT_MAX)
		return alike_new(run, run->attempt, requests);
	id = key_id(run, &run->alike_ids);
	if (id == run->kept_alike.count)
		VEC_PUSH(run->scratch, &run->kept_alike, alike_new(run, run->scratch, requests));
	return run->kept_alike.at[id];
}
