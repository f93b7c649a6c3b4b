#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/schedule/schedule_run.h"

/* Exceeds any rounding error of a score. */
#define SLACK (1 + 1e-13)

/* ---- members ---- */

static bool member_before(struct schedule_run *run, uint32_t a, uint32_t b)
{
	if (run->states.states.at[run->nodes.at[a].state].running) {
		double first = schedule_rest_at(&run->states, run->nodes.at[a].rest)->sum;
		double second = schedule_rest_at(&run->states, run->nodes.at[b].rest)->sum;

		/* With the same fill, the larger sum of the rest results in the larger average. */
		if (first > second || first < second)
			return first > second;
	}
	return schedule_order_before(run, a, b);
}

static int compare_members(const void *a, const void *b, void *run)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return member_before(run, second, first) ? -1 : 1;
}

static struct schedule_class *class_of(struct schedule_run *run, uint32_t state)
{
	while (run->classes.at.count <= state)
		VEC_ADD(run->scratch, &run->classes.at);
	return &run->classes.at.at[state];
}

void schedule_class_add(struct schedule_run *run, uint32_t state, uint32_t node)
{
	struct schedule_class *class = class_of(run, state);
	size_t low = 0, high = class->members.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (member_before(run, node, class->members.at[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	VEC_PUSH(run->scratch, &class->members, node);
	memmove(&class->members.at[low + 1], &class->members.at[low],
		(class->members.count - 1 - low) * sizeof(node));
	class->members.at[low] = node;
}

uint32_t schedule_class_best(const struct schedule_run *run, uint32_t state)
{
	const struct schedule_class *class = &run->classes.at.at[state];

	CHECK(class->members.count);
	return class->members.at[class->members.count - 1];
}

uint32_t schedule_class_take(struct schedule_run *run, uint32_t state)
{
	uint32_t best = schedule_class_best(run, state);

	run->classes.at.at[state].members.count--;
	return best;
}

void schedule_class_remove(struct schedule_run *run, uint32_t state, uint32_t first, uint32_t last)
{
	struct schedule_class *class = class_of(run, state);
	size_t kept = 0;

	for (size_t i = 0; i < class->members.count; i++)
		if (class->members.at[i] < first || class->members.at[i] > last)
			class->members.at[kept++] = class->members.at[i];
	class->members.count = kept;
}

/* ---- the ranking ---- */

static bool ranks_before(const struct schedule_run *run, uint32_t a, uint32_t b)
{
	const struct schedule_class *first = &run->classes.at.at[a];
	const struct schedule_class *second = &run->classes.at.at[b];

	if (first->minimum > second->minimum || first->minimum < second->minimum)
		return first->minimum > second->minimum;
	if (first->average > second->average || first->average < second->average)
		return first->average > second->average;
	return a < b;
}

static int compare_classes(const void *a, const void *b, void *context)
{
	return ranks_before(context, *(const uint32_t *)a, *(const uint32_t *)b) ? -1 : 1;
}

/* The number of classes that rank before it. */
static size_t ranking_place(const struct schedule_run *run, uint32_t state)
{
	size_t low = 0, high = run->classes.ranking.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranks_before(run, run->classes.ranking.at[middle], state))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bounds the scores of the class: assumes that it takes the maximum that any list of the gangs
 * needs, name by name. */
static void find_bound(struct schedule_run *run, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	struct schedule_class *class = &run->classes.at.at[id];
	uint32_t rest = run->nodes.at[schedule_class_best(run, id)].rest;
	bool known = state->running; /* the others may have several rests */
	double *terms = run->numbers;
	union schedule_key key;

	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];
		int64_t most = run->classes.most[amount->name];

		/* The used part of an implicit resource counts after the first use. */
		known = known && (amount->available >= 0 || amount->total <= 0);
		terms[i] = state->terms[i];
		if (most && terms[i] >= 0)
			terms[i] = schedule_term(amount->total, amount->available > most ?
									amount->available - most :
									0);
	}
	schedule_key_rest(&run->states, state, terms, rest, &key);
	class->minimum = known ? key.minimum * SLACK : INFINITY;
	class->average = known ? key.average * SLACK : INFINITY;
}

/* Whether no shape of the gangs fits, by the needs that all of them have. */
static bool is_spent(struct schedule_run *run, uint32_t id)
{
	bool spent = false;

	schedule_room_load(&run->room, id);
	VEC_EACH(const struct schedule_need, need, &run->classes.common)
		spent = spent || schedule_room_available(&run->room, need->name) < need->amount;
	schedule_room_unload(&run->room);
	return spent;
}

void schedule_class_rank(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class;
	size_t at;

	if (!run->classes.lasting)
		return;
	class = class_of(run, state);
	if (class->ranked) {
		at = ranking_place(run, state);
		CHECK(run->classes.ranking.at[at] == state);
		memmove(&run->classes.ranking.at[at], &run->classes.ranking.at[at + 1],
			(--run->classes.ranking.count - at) * sizeof(state));
	}
	class->ranked = class->members.count && !is_spent(run, state);
	if (!class->ranked)
		return;
	find_bound(run, state);
	at = ranking_place(run, state);
	VEC_PUSH(run->scratch, &run->classes.ranking, state);
	memmove(&run->classes.ranking.at[at + 1], &run->classes.ranking.at[at],
		(run->classes.ranking.count - 1 - at) * sizeof(state));
	run->classes.ranking.at[at] = state;
}

/* ---- making them ---- */

/* By name, over all shapes. */
struct needs {
	int64_t least, sum; /* sum: of one list */
	size_t shapes;      /* that need it */
};

static void add_needs(struct needs *needs, const struct schedule_shape *shape)
{
	for (uint32_t i = 0; i < shape->need_count; i++) {
		int64_t amount = shape->needs[i].amount, units;
		struct needs *own = &needs[shape->needs[i].name];

		if (!own->shapes++ || amount < own->least)
			own->least = amount;
		if (__builtin_mul_overflow(amount, shape->count, &units) ||
		    __builtin_add_overflow(own->sum, units, &own->sum))
			own->sum = INT64_MAX;
	}
}

/* Finds the resources that every shape needs at least (common), and the most that a list needs by name (most). */
static void find_needs(struct schedule_run *run, struct schedule_requests *const *requests,
		       size_t count)
{
	struct schedule_classes *classes = &run->classes;
	size_t names = run->words.name_count, shapes = 0;
	struct needs *needs = arena_array(run->scratch, names + 1, sizeof(*needs));

	classes->most = arena_array(run->scratch, names + 1, sizeof(*classes->most));
	for (size_t i = 0; i < count; i++) {
		const struct schedule_list *list = &requests[i]->list;

		for (size_t j = 0; j < list->count; j++) {
			if (list->shapes[j].impossible)
				continue;
			shapes++;
			add_needs(needs, &list->shapes[j]);
		}
		for (size_t j = 0; j < requests[i]->names.count; j++) {
			uint32_t name = requests[i]->names.at[j];

			if (needs[name].sum > classes->most[name])
				classes->most[name] = needs[name].sum;
			needs[name].sum = 0;
		}
	}
	for (uint32_t i = 0; i < names; i++) {
		if (needs[i].shapes && needs[i].shapes == shapes)
			VEC_PUSH(run->scratch, &classes->common,
				 ((struct schedule_need){ i, needs[i].least }));
	}
}

/* Groups the nodes of the run by state and ranks the groups. With several lists, the ranking uses
 * the best score that any list could reach, so that it stays valid from gang to gang. Classes into
 * which no shape fits are left out. */
void schedule_classes_make(struct schedule_run *run, struct schedule_requests *const *requests,
			   size_t count)
{
	struct schedule_classes *classes = &run->classes;

	classes->at.count = classes->ranking.count = 0;
	classes->common.count = 0;
	classes->lasting = count > 1;
	find_needs(run, requests, count);
	for (size_t i = 0; i < run->order.count; i++)
		VEC_PUSH(run->scratch,
			 &class_of(run, run->nodes.at[run->order.at[i]].state)->members,
			 run->order.at[i]);
	for (uint32_t i = 0; i < classes->at.count; i++) {
		struct schedule_class *class = &classes->at.at[i];

		if (!class->members.count)
			continue;
		qsort_r(class->members.at, class->members.count, sizeof(uint32_t), compare_members,
			run);
		if (is_spent(run, i))
			continue;
		class->ranked = true;
		VEC_PUSH(run->scratch, &classes->ranking, i);
		if (classes->lasting)
			find_bound(run, i);
	}
	if (classes->lasting && classes->ranking.count)
		qsort_r(classes->ranking.at, classes->ranking.count, sizeof(*classes->ranking.at),
			compare_classes, run);
}
