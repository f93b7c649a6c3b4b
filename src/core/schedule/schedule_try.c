#include "core/schedule/schedule_try.h"

#include <string.h>

#include "core/model/cpu_budget.h"

void schedule_try_choose(struct schedule_try *try, uint32_t node, uint32_t state, uint32_t placed,
			 const struct schedule_fill *fill, size_t fill_count)
{
	struct arena *arena = try->run->attempt;
	struct schedule_fill *copy = arena_array(arena, fill_count, sizeof(*copy));

	memcpy(copy, fill, fill_count * sizeof(*copy));
	VEC_PUSH(arena, &try->chosen,
		 ((struct schedule_chosen){ node, state, placed, copy, fill_count }));
}

static uint32_t new_node(struct schedule_run *run, size_t type)
{
	VEC_PUSH(run->scratch, &run->new_types, (uint32_t)type);
	return (uint32_t)(run->nodes.count + run->new_types.count - 1);
}

/* Takes the best candidate until none takes a unit: a node that is there, or a node to launch. The
 * other nodes of its replica are then there: they are filled before the next launch. */
static void place(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	struct schedule_candidate *best;
	enum schedule_limit limit;

	for (size_t type = 1; type < run->problem->type_count; type++)
		if (schedule_run_permits(run, type, false, &limit))
			schedule_try_add_type(try, type);
	while ((best = schedule_try_best(try))) {
		size_t type = best->type;
		uint32_t node, state = best->state;

		cpu_budget_step(run->problem->cpu_budget);
		if (type != SCHEDULE_NO_INDEX && !schedule_run_permits(run, type, false, &limit)) {
			schedule_try_drop(try, best);
			continue;
		}
		if (type == SCHEDULE_NO_INDEX) {
			node = schedule_class_take(run, state);
		} else {
			node = new_node(run, type);
			schedule_run_count(run, type, 1);
		}
		schedule_try_choose(try, node, state, best->placed, best->fill.at,
				    best->fill.count);
		if (type != SCHEDULE_NO_INDEX)
			for (int64_t i = 1; i < run->problem->types[type].hosts; i++)
				schedule_class_add(run, state, new_node(run, type));
		schedule_try_book(try, best);
		if (type != SCHEDULE_NO_INDEX && run->problem->types[type].hosts > 1)
			schedule_try_add_class(try, state);
	}
}

/* ---- keeping it ---- */

/* The entry of the next unit of a shape. */
struct cursor {
	const struct schedule_entry *entry;
	int64_t left; /* of it */
};

/* Assigns entries to the units of one node. A combined shape has one unit, of all its entries. */
static void hand_out(struct schedule_try *try, const struct schedule_chosen *chosen,
		     struct cursor *cursors)
{
	struct schedule_work *work = &try->run->nodes.at[chosen->node];
	size_t most = work->placement_count;
	struct schedule_placement *at;

	for (size_t i = 0; i < chosen->fill_count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[chosen->fill[i].shape];
		size_t units = (size_t)chosen->fill[i].count, entries = shape->entries.count;

		most += shape->combined || entries < units ? entries : units;
	}
	at = arena_array(try->run->arena, most, sizeof(*at));
	if (work->placement_count)
		memcpy(at, work->placements, work->placement_count * sizeof(*at));
	work->placements = at;
	for (size_t i = 0; i < chosen->fill_count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[chosen->fill[i].shape];
		const struct schedule_entry *end = shape->entries.at + shape->entries.count;
		struct cursor *cursor = &cursors[chosen->fill[i].shape];
		int64_t units = shape->combined ? INT64_MAX : chosen->fill[i].count;

		while (units > 0 && cursor->entry < end) {
			int64_t taken = units < cursor->left ? units : cursor->left;

			at[work->placement_count++] = (struct schedule_placement){
				.phase = try->source->phase,
				.list = try->source->list_index,
				.index = cursor->entry->index,
				.bundle = cursor->entry->bundle,
				.count = taken,
			};
			units -= taken;
			cursor->left -= taken;
			if (!cursor->left && ++cursor->entry < end)
				cursor->left = cursor->entry->count;
		}
	}
}

static void keep_chosen(struct schedule_try *try, const struct schedule_chosen *chosen,
			struct cursor *cursors)
{
	struct schedule_run *run = try->run;
	struct schedule_work *work = &run->nodes.at[chosen->node];
	uint32_t state;

	schedule_room_load(&run->room, chosen->state);
	for (size_t i = 0; i < chosen->fill_count; i++)
		schedule_room_take(&run->room, &try->list->shapes[chosen->fill[i].shape],
				   chosen->fill[i].count);
	work->placed = schedule_placed_with(&run->room, chosen->placed, try->list, chosen->fill,
					    chosen->fill_count);
	work->labels = run->room.labels;
	state = schedule_room_save(&run->room, work->placed);
	schedule_room_unload(&run->room);
	run->states_of.at[chosen->node] = state;
	hand_out(try, chosen, cursors);
	if (!run->classes.lasting)
		return;
	schedule_class_add(run, state, chosen->node);
	schedule_class_rank(run, chosen->state);
	schedule_class_rank(run, state);
}

static void keep(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	struct schedule_classes *classes = &run->classes;
	uint32_t first_new = (uint32_t)run->nodes.count;
	uint32_t *chosen = arena_array(run->attempt, try->chosen.count + 1, sizeof(*chosen));
	struct cursor *cursors = arena_array(run->attempt, try->list->count + 1, sizeof(*cursors));
	size_t count = 0;

	for (size_t i = 0; i < try->list->count; i++) {
		cursors[i].entry = try->list->shapes[i].entries.at;
		cursors[i].left = cursors[i].entry->count;
	}
	for (size_t i = 0; i < run->new_types.count; i++)
		schedule_run_launch(run, run->new_types.at[i], try->source->phase);
	/* Ray's list begins with the chosen nodes that are there. */
	for (size_t i = 0; i < try->chosen.count; i++)
		if (try->chosen.at[i].node < first_new)
			chosen[count++] = try->chosen.at[i].node;
	schedule_order_keep(run, try->requests, chosen, count);
	/* The names of the requests count in the scores of later ones. */
	for (size_t i = 0; i < try->requests->names.count; i++) {
		uint32_t name = try->requests->names.at[i];

		classes->placed_name_count += !classes->placed_names[name];
		classes->placed_names[name] = true;
	}
	classes->placed_selectors = classes->placed_selectors || try->requests->selects;
	for (size_t i = 0; i < try->chosen.count; i++)
		keep_chosen(try, &try->chosen.at[i], cursors);
	for (size_t i = 0; i < run->new_types.count; i++)
		if (!i || run->new_types.at[i] != run->new_types.at[i - 1])
			schedule_class_rank(run, run->template_state[run->new_types.at[i]]);
}

/* Returns the chosen nodes to their classes. */
static void undo(struct schedule_try *try)
{
	struct schedule_run *run = try->run;

	if (!run->classes.lasting)
		return;
	for (size_t i = 0; i < run->new_types.count; i++)
		if (!i || run->new_types.at[i] != run->new_types.at[i - 1])
			schedule_class_remove(run, run->template_state[run->new_types.at[i]],
					      (uint32_t)run->nodes.count, UINT32_MAX);
	for (size_t i = 0; i < try->chosen.count; i++)
		if (try->chosen.at[i].node < run->nodes.count)
			schedule_class_add(run, try->chosen.at[i].state, try->chosen.at[i].node);
}

/* ---- units left over ---- */

/* Sets the limit that prevents a new node for the shape, see enum schedule_limit. */
static void find_limit(struct schedule_run *run, const struct schedule_shape *shape,
		       struct schedule_leftover *left)
{
	for (size_t type = 1; type < run->problem->type_count; type++) {
		enum schedule_limit limit;
		bool serves;

		schedule_room_load(&run->room, run->template_state[type]);
		serves = schedule_room_take(&run->room, shape, 1);
		schedule_room_unload(&run->room);
		if (!serves)
			continue;
		schedule_run_permits(run, type, false, &limit);
		if (left->limit_type != SCHEDULE_NO_INDEX && limit <= left->limit)
			continue;
		left->limit = limit;
		left->limit_type = type;
	}
}

static const struct schedule_leftover *find_left(struct schedule_try *try)
{
	size_t count = try->list->count;
	struct schedule_leftover *left = arena_array(try->run->scratch, count + 1, sizeof(*left));
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[i];

		left[i].count = try->source->atomic ? shape->count : try->left[i];
		left[i].limit_type = SCHEDULE_NO_INDEX;
		if (!try->left[i])
			continue;
		any = true;
		cpu_budget_step(try->run->problem->cpu_budget);
		find_limit(try->run, shape, &left[i]);
	}
	return any ? left : NULL;
}

/* The limits are saved before; an atomic try with units left over restores them and undoes its
 * launches and placements. */
const struct schedule_leftover *schedule_try(struct schedule_run *run,
					     struct schedule_requests *requests,
					     const struct schedule_try_source *source)
{
	struct schedule_try try = {
		.run = run, .requests = requests, .list = requests->list, .source = source
	};
	size_t types = run->problem->type_count;
	int64_t budget = run->budget, list_nodes = run->list_nodes, new_nodes = run->new_nodes;
	int64_t *type_nodes = arena_array(run->attempt, types + 1, sizeof(*type_nodes));
	const struct schedule_leftover *left;

	cpu_budget_step(run->problem->cpu_budget);
	memcpy(type_nodes, run->type_nodes, types * sizeof(*type_nodes));
	run->new_types.count = 0;
	schedule_try_init(&try);
	if (!schedule_try_exactly(&try))
		place(&try);
	left = find_left(&try);
	schedule_requests_reset(requests);
	if (left && source->atomic) {
		memcpy(run->type_nodes, type_nodes, types * sizeof(*type_nodes));
		run->budget = budget;
		run->list_nodes = list_nodes;
		run->new_nodes = new_nodes;
		undo(&try);
	} else {
		keep(&try);
	}
	run->new_types.count = 0;
	arena_reset(run->attempt);
	return left;
}
