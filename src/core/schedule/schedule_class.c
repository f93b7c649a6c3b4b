#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/schedule/schedule_run.h"

/* Exceeds any rounding error of a score. */
#define SLACK (1 + 1e-13)
/* Of others only the list that adds a label to nodes mentions it. */
#define FOUND (SCHEDULE_LABEL_SELECTED | SCHEDULE_LABEL_GIVEN | SCHEDULE_LABEL_SHARED)

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

/* Most are in this order, as they were listed. */
static void sort_members(struct schedule_run *run, struct schedule_class *class)
{
	const uint32_t *members = class->members.at;

	for (size_t i = 1; i < class->members.count; i++)
		if (!member_before(run, members[i], members[i - 1])) {
			qsort_r(class->members.at, class->members.count, sizeof(uint32_t),
				compare_members, run);
			return;
		}
}

struct schedule_class *schedule_class_of(struct schedule_run *run, uint32_t state)
{
	while (run->classes.at.count <= state)
		VEC_ADD(run->scratch, &run->classes.at);
	return &run->classes.at.at[state];
}

/* The number of members that come after the node, which is its index. */
static size_t member_place(struct schedule_run *run, const struct schedule_class *class,
			   uint32_t node)
{
	size_t low = 0, high = class->members.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (member_before(run, node, class->members.at[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t schedule_class_best(const struct schedule_run *run, uint32_t state)
{
	const struct schedule_class *class = &run->classes.at.at[state];

	CHECK(class->members.count);
	return class->members.at[class->members.count - 1];
}

/* ---- the heap of a group ---- */

static bool class_before(struct schedule_run *run, uint32_t a, uint32_t b)
{
	uint32_t first = schedule_trait_of(run, a), second = schedule_trait_of(run, b);

	if (first != second)
		return first < second;
	return schedule_order_before(run, schedule_class_best(run, a), schedule_class_best(run, b));
}

/* Moves the class from the place `at` to its own. */
static void heap_move(struct schedule_run *run, uint32_t state, size_t at)
{
	struct schedule_class *classes = run->classes.at.at;
	struct schedule_group *group = &run->classes.groups.at[classes[state].group];
	uint32_t *heap = group->states.at;

	for (; at && class_before(run, state, heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
		classes[heap[at]].group_at = at + 1;
	}
	for (size_t child = 2 * at + 1; child < group->states.count; child = 2 * at + 1) {
		if (child + 1 < group->states.count &&
		    class_before(run, heap[child + 1], heap[child]))
			child++;
		if (!class_before(run, heap[child], state))
			break;
		heap[at] = heap[child];
		classes[heap[at]].group_at = at + 1;
		at = child;
	}
	heap[at] = state;
	classes[state].group_at = at + 1;
}

void schedule_class_hide(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class = &run->classes.at.at[state];
	size_t at = class->group_at;
	struct schedule_group *group;
	uint32_t last;

	if (!at)
		return;
	class->group_at = 0;
	group = &run->classes.groups.at[class->group];
	last = group->states.at[--group->states.count];
	if (last != state)
		heap_move(run, last, at - 1);
}

void schedule_class_show(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class = &run->classes.at.at[state];
	struct schedule_group *group = &run->classes.groups.at[class->group];

	if (class->group_at || !class->members.count)
		return;
	VEC_PUSH(run->scratch, &group->states, state);
	heap_move(run, state, group->states.count - 1);
}

/* After a change of its members: the group is that of the first. */
static void regroup(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class = &run->classes.at.at[state];

	schedule_class_hide(run, state);
	if (!class->members.count)
		return;
	class->group = schedule_alike_group(run, state, schedule_class_best(run, state));
	schedule_class_show(run, state);
}

void schedule_class_add(struct schedule_run *run, uint32_t state, uint32_t node)
{
	struct schedule_class *class = schedule_class_of(run, state);
	size_t at = member_place(run, class, node);

	VEC_PUSH(run->scratch, &class->members, node);
	memmove(&class->members.at[at + 1], &class->members.at[at],
		(class->members.count - 1 - at) * sizeof(node));
	class->members.at[at] = node;
	regroup(run, state);
}

uint32_t schedule_class_take(struct schedule_run *run, uint32_t state)
{
	uint32_t best = schedule_class_best(run, state);

	run->classes.at.at[state].members.count--;
	regroup(run, state);
	return best;
}

size_t schedule_class_remove(struct schedule_run *run, uint32_t state, uint32_t first,
			     uint32_t last)
{
	struct schedule_class *class = schedule_class_of(run, state);
	size_t kept = 0, count = class->members.count;

	for (size_t i = 0; i < class->members.count; i++)
		if (class->members.at[i] < first || class->members.at[i] > last)
			class->members.at[kept++] = class->members.at[i];
	class->members.count = kept;
	regroup(run, state);
	return count - kept;
}

/* ---- the ranking ---- */

static bool ranks_before(const struct schedule_run *run, uint32_t a, uint32_t b)
{
	const struct schedule_group *first = &run->classes.groups.at[a];
	const struct schedule_group *second = &run->classes.groups.at[b];

	if (first->labels != second->labels)
		return first->labels > second->labels;
	if (first->minimum > second->minimum || first->minimum < second->minimum)
		return first->minimum > second->minimum;
	if (first->average > second->average || first->average < second->average)
		return first->average > second->average;
	return a < b;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	return ranks_before(context, *(const uint32_t *)a, *(const uint32_t *)b) ? -1 : 1;
}

static bool is_part(const struct schedule_run *run, uint32_t group)
{
	return run->classes.groups.at[group].labels > 0;
}

/* Calls `change` for each ranking that has the class: of its group when no other class of that is ranked, and where it
 * is alone. */
static void each_ranking(struct schedule_run *run, uint32_t state,
			 void (*change)(struct schedule_run *run, size_t ranking, uint32_t group))
{
	const struct schedule_state *own = &run->states.states.at[state];
	size_t count;
	const uint32_t *labels = schedule_label_set(&run->states, own->labels, &count);
	uint32_t group = run->classes.at.at[state].ranked_in,
		 names = (uint32_t)run->words.name_count;
	bool first = run->classes.groups.at[group].ranked == 0;

	if (first)
		change(run, 0, group);
	if (!run->classes.lasting)
		return;
	for (size_t i = 0; i < count; i++) {
		if (!(run->words.labels.entries.at[labels[i]].marks & FOUND))
			continue;
		if (!own->running && run->classes.rare[names + labels[i]])
			change(run, 1 + names + labels[i], schedule_alike_alone(run, state));
		else if (first)
			change(run, 1 + names + labels[i], group);
	}
	if (own->running || !schedule_alike_is_rare(run, state))
		return;
	for (uint32_t i = 0; i < own->amount_count; i++)
		if (run->classes.rare[own->amounts[i].name])
			change(run, 1 + own->amounts[i].name, schedule_alike_alone(run, state));
}

/* The number of groups that rank before it. */
static size_t ranking_place(const struct schedule_run *run, size_t ranking, uint32_t group)
{
	const struct schedule_ranking *own = &run->classes.rankings.at[ranking];
	bool part = is_part(run, group);
	size_t low = 0, high = own->parts[part].count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranks_before(run, own->parts[part].at[middle], group))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void ranking_append(struct schedule_run *run, size_t ranking, uint32_t group)
{
	VEC_PUSH(run->scratch, &run->classes.rankings.at[ranking].parts[is_part(run, group)],
		 group);
}

static void ranking_add(struct schedule_run *run, size_t ranking, uint32_t group)
{
	bool part = is_part(run, group);
	size_t at = ranking_place(run, ranking, group), count;
	uint32_t *groups;

	ranking_append(run, ranking, group);
	count = run->classes.rankings.at[ranking].parts[part].count;
	groups = run->classes.rankings.at[ranking].parts[part].at;
	memmove(&groups[at + 1], &groups[at], (count - 1 - at) * sizeof(group));
	groups[at] = group;
}

static void ranking_remove(struct schedule_run *run, size_t ranking, uint32_t group)
{
	bool part = is_part(run, group);
	size_t at = ranking_place(run, ranking, group);
	uint32_t *groups = run->classes.rankings.at[ranking].parts[part].at;
	size_t count = --run->classes.rankings.at[ranking].parts[part].count;

	CHECK(groups[at] == group);
	memmove(&groups[at], &groups[at + 1], (count - at) * sizeof(group));
}

/* Bounds the scores of the first member: assumes that it takes the maximum that any list of the gangs
 * needs, name by name; with others that are alike, nothing of what is rare. */
static void find_bound(struct schedule_run *run, uint32_t id, uint32_t group_id)
{
	const struct schedule_state *state = &run->states.states.at[id];
	struct schedule_group *group = &run->classes.groups.at[group_id];
	uint32_t best = schedule_class_best(run, id);
	uint32_t rest = run->nodes.at[best].rest, placed = run->nodes.at[best].placed;
	double *terms = run->numbers;
	union schedule_key key;
	bool known = true;

	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];
		int64_t most = run->classes.most[amount->name];

		terms[i] = state->terms[i];
		if (group->of == SCHEDULE_ID_NONE && run->classes.rare[amount->name])
			continue;
		/* The used part of an implicit resource counts after the first use. */
		known = known && (amount->available >= 0 || amount->total <= 0);
		if (most && terms[i] >= 0)
			terms[i] = schedule_term(amount->total, amount->available > most ?
									amount->available - most :
									0);
	}
	schedule_key_rest(&run->states, state, schedule_room_whole(&run->room, state->amount_count),
			  terms, rest, &key);
	group->labels = known ? schedule_placed_rank(&run->states, state->labels, placed) : INT_MAX;
	group->minimum = known ? key.minimum * SLACK : INFINITY;
	group->average = known ? key.average * SLACK : INFINITY;
	group->bounded = true;
}

/* Whether no shape of the gangs fits, by the needs that all of them have. */
static bool is_spent(const struct schedule_run *run, uint32_t id)
{
	const struct schedule_state *state = &run->states.states.at[id];

	VEC_EACH(const struct schedule_need, need, &run->classes.common) {
		const struct schedule_amount *amount = schedule_state_amount(state, need->name);
		int64_t implicit = run->words.is_implicit[need->name] ? RESOURCE_UNIT : 0;

		if ((amount && amount->available >= 0 ? amount->available : implicit) <
		    need->amount)
			return true;
	}
	return false;
}

static void rank(struct schedule_run *run, uint32_t state,
		 void (*change)(struct schedule_run *run, size_t ranking, uint32_t group))
{
	struct schedule_class *class = &run->classes.at.at[state];
	uint32_t group = class->group;

	class->ranked = class->members.count && !is_spent(run, state);
	if (!class->ranked)
		return;
	class->ranked_in = group;
	if (run->classes.lasting) {
		if (run->states.states.at[state].running || !run->classes.groups.at[group].bounded)
			find_bound(run, state, group);
		if (!run->states.states.at[state].running && schedule_alike_is_rare(run, state))
			find_bound(run, state, schedule_alike_alone(run, state));
	}
	each_ranking(run, state, change);
	run->classes.groups.at[group].ranked++;
}

void schedule_class_rank(struct schedule_run *run, uint32_t state)
{
	struct schedule_class *class;

	if (!run->classes.lasting)
		return;
	class = schedule_class_of(run, state);
	if (class->ranked) {
		run->classes.groups.at[class->ranked_in].ranked--;
		each_ranking(run, state, ranking_remove);
	}
	rank(run, state, ranking_add);
}

void schedule_classes_restore(struct schedule_run *run)
{
	memset(run->classes.placed_names, 0, run->words.name_count);
	run->classes.placed_name_count = 0;
	VEC_EACH(const uint32_t, node, &run->touched) {
		uint32_t before = run->nodes.at[*node].state;
		struct schedule_class *class = schedule_class_of(run, before);
		size_t at = member_place(run, class, *node);

		CHECK(at < class->members.count && class->members.at[at] == *node);
		class->members.count--;
		memmove(&class->members.at[at], &class->members.at[at + 1],
			(class->members.count - at) * sizeof(*node));
		regroup(run, before);
		schedule_run_read_whole(run, *node);
		schedule_class_add(run, run->nodes.at[*node].state, *node);
		schedule_class_rank(run, before);
		schedule_class_rank(run, run->nodes.at[*node].state);
	}
	run->touched.count = 0;
}

/* ---- making them ---- */

/* By name, over all shapes. */
struct schedule_needs {
	int64_t least, sum; /* sum: of one list */
	size_t shapes;      /* that need it */
};

static void add_needs(struct schedule_run *run, const struct schedule_shape *shape)
{
	for (uint32_t i = 0; i < shape->need_count; i++) {
		int64_t amount = shape->needs[i].amount, units;
		struct schedule_needs *own = &run->classes.needs[shape->needs[i].name];

		if (!own->shapes)
			VEC_PUSH(run->scratch, &run->classes.names, shape->needs[i].name);
		if (!own->shapes++ || amount < own->least)
			own->least = amount;
		if (__builtin_mul_overflow(amount, shape->count, &units) ||
		    __builtin_add_overflow(own->sum, units, &own->sum))
			own->sum = INT64_MAX;
	}
}

void schedule_classes_begin(struct schedule_run *run, bool lasting)
{
	struct schedule_classes *classes = &run->classes;
	size_t names = run->words.name_count + 1;

	classes->lasting = lasting;
	classes->shapes = 0;
	memset(classes->mentioned, 0, run->words.name_count + run->words.labels.entries.count);
	if (!classes->needs) {
		classes->needs = arena_array(run->scratch, names, sizeof(*classes->needs));
		classes->most = arena_array(run->scratch, names, sizeof(*classes->most));
	}
	VEC_EACH(const uint32_t, name, &classes->names) {
		classes->needs[*name] = (struct schedule_needs){ .shapes = 0 };
		classes->most[*name] = 0;
	}
	classes->names.count = 0;
}

void schedule_classes_need(struct schedule_run *run, const struct schedule_requests *requests)
{
	struct schedule_classes *classes = &run->classes;

	ARRAY_EACH(const struct schedule_shape, shape, requests->list.shapes,
		   requests->list.count) {
		if (shape->impossible)
			continue;
		classes->shapes++;
		add_needs(run, shape);
	}
	VEC_EACH(const uint32_t, label, &requests->labels)
		classes->mentioned[run->words.name_count + *label] = true;
	for (size_t j = 0; j < requests->names.count; j++) {
		uint32_t name = requests->names.at[j];
		struct schedule_needs *own = &classes->needs[name];

		classes->mentioned[name] = true;
		if (own->sum > classes->most[name])
			classes->most[name] = own->sum;
		own->sum = 0;
	}
}

/* Finds the resources that every shape needs, at least. */
static void find_common(struct schedule_run *run)
{
	struct schedule_classes *classes = &run->classes;

	classes->common.count = 0;
	VEC_EACH(const uint32_t, name, &classes->names) {
		const struct schedule_needs *own = &classes->needs[*name];

		if (own->shapes == classes->shapes)
			VEC_PUSH(run->scratch, &classes->common,
				 ((struct schedule_need){ *name, own->least }));
	}
}

/* Whether no node that may be tried has the label, nor has a new one, nor gets one it. */
static bool is_nowhere(struct schedule_run *run, const char *key, const char *value)
{
	uint32_t label = schedule_label_find(&run->words, key, value);
	const struct schedule_ranking *ranking;

	CHECK(label != SCHEDULE_ID_NONE); /* the request selects it */
	ranking = &run->classes.rankings.at[1 + run->words.name_count + label];
	return !(run->words.labels.entries.at[label].marks &
		 (SCHEDULE_LABEL_ADDED | SCHEDULE_LABEL_OF_TYPE)) &&
	       !ranking->parts[0].count && !ranking->parts[1].count;
}

static bool selects_nothing(struct schedule_run *run, const struct label_selector *selector)
{
	ARRAY_EACH(const struct label_constraint, constraint, selector->constraints,
		   selector->count) {
		size_t nowhere = 0;

		if (constraint->operation != LABEL_OPERATOR_IN)
			continue;
		for (size_t i = 0; i < constraint->values.count; i++)
			nowhere += is_nowhere(run, constraint->key, constraint->values.at[i]);
		if (nowhere == constraint->values.count)
			return true;
	}
	return false;
}

bool schedule_classes_refuse(struct schedule_run *run, const struct ray_request *request)
{
	if (!run->classes.lasting)
		return false;
	ARRAY_EACH(const struct label_selector, selector, request->selectors,
		   request->selector_count) {
		if (!selects_nothing(run, selector))
			return false;
	}
	return request->selector_count > 0;
}

/* Groups the nodes of the run by state, and ranks the groups of these. For several lists, the ranking uses
 * the best score that any list could reach, so that it stays valid from gang to gang. Classes into
 * which no shape fits are left out. */
void schedule_classes_make(struct schedule_run *run)
{
	struct schedule_classes *classes = &run->classes;
	size_t tags = run->words.name_count + run->words.labels.entries.count;

	classes->at.count = classes->rankings.count = 0;
	/* None by tag for one list, as there may be many such lists. */
	for (size_t i = 0; i < 1 + (classes->lasting ? tags : 0); i++)
		VEC_ADD(run->scratch, &classes->rankings);
	find_common(run);
	schedule_alike_begin(run);
	for (size_t i = run->order.count; i > 0; i--) {
		uint32_t node = run->order.at[i - 1];

		VEC_PUSH(run->scratch, &schedule_class_of(run, run->nodes.at[node].state)->members,
			 node);
	}
	for (uint32_t i = 0; i < classes->at.count; i++) {
		sort_members(run, &classes->at.at[i]);
		regroup(run, i);
		rank(run, i, ranking_append);
	}
	if (!classes->lasting)
		return;
	VEC_EACH(struct schedule_ranking, ranking, &classes->rankings)
		for (size_t i = 0; i < 2; i++)
			if (ranking->parts[i].count)
				qsort_r(ranking->parts[i].at, ranking->parts[i].count,
					sizeof(uint32_t), compare_groups, run);
}
