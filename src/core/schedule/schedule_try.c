#include "core/schedule/schedule_try.h"

#include <string.h>

#include "core/model/cpu_budget.h"
#include "core/schedule/schedule_candidate.h"
#include "core/schedule/schedule_exact.h"

/* Consecutive nodes with the same fill. */
struct batch {
	uint32_t state, placed; /* before */
	const struct schedule_fill *fill;
	size_t fill_count;
	size_t first, count; /* into chosen */
};

struct attempt {
	struct schedule_run *run;
	const struct schedule_list *list;
	const struct schedule_try_source *source;
	struct schedule_try try;
	VEC(struct batch) batches;
	VEC(uint32_t) chosen;
	struct {
		const struct schedule_entry *entry;
		int64_t left; /* of it */
	} * cursors;          /* by shape: the entry of the next unit */
};

static bool is_like(const struct batch *batch, const struct schedule_candidate *c)
{
	return batch->state == c->state && batch->placed == c->placed &&
	       batch->fill_count == c->fill.count &&
	       !memcmp(batch->fill, c->fill.at, c->fill.count * sizeof(*batch->fill));
}

static void note_chosen(struct attempt *attempt, const struct schedule_candidate *c, uint32_t node)
{
	struct arena *arena = attempt->run->attempt;
	size_t count = attempt->batches.count;
	struct schedule_fill *fill;

	VEC_PUSH(arena, &attempt->chosen, node);
	if (count && is_like(&attempt->batches.at[count - 1], c)) {
		attempt->batches.at[count - 1].count++;
		return;
	}
	fill = arena_array(arena, c->fill.count, sizeof(*fill));
	memcpy(fill, c->fill.at, c->fill.count * sizeof(*fill));
	VEC_PUSH(arena, &attempt->batches,
		 ((struct batch){ .state = c->state,
				  .placed = c->placed,
				  .fill = fill,
				  .fill_count = c->fill.count,
				  .first = attempt->chosen.count - 1,
				  .count = 1 }));
}

/* Fills nodes that are there, best first, until none takes anything. */
static void fill_nodes(struct attempt *attempt)
{
	struct schedule_try *try = &attempt->try;
	struct schedule_candidate *best;

	while ((best = schedule_try_best(try, SCHEDULE_HEAP_NODES))) {
		cpu_budget_step(attempt->run->problem->cpu_budget);
		note_chosen(attempt, best, schedule_class_take(attempt->run, best->state));
		schedule_try_book(try, best);
	}
}

static uint32_t new_node(struct schedule_run *run, size_t type)
{
	VEC_PUSH(run->scratch, &run->new_types, (uint32_t)type);
	return (uint32_t)(run->nodes.count + run->new_types.count - 1);
}

/* Launches the node that Ray would launch next of one type; the other nodes of its replica are
 * filled before the next launch. */
static void launch_best(struct attempt *attempt, struct schedule_candidate *best)
{
	struct schedule_run *run = attempt->run;
	uint32_t state = run->template_state[best->type];
	enum schedule_limit limit;

	if (!schedule_run_permits(run, best->type, &limit)) {
		schedule_try_drop(&attempt->try, best);
		return;
	}
	note_chosen(attempt, best, new_node(run, best->type));
	schedule_run_count(run, best->type, 1);
	for (int64_t i = 1; i < run->problem->types[best->type].hosts; i++)
		schedule_class_add(run, state, new_node(run, best->type));
	schedule_try_book(&attempt->try, best);
	if (run->problem->types[best->type].hosts > 1)
		schedule_try_add_class(&attempt->try, state);
}

static void launch_nodes(struct attempt *attempt)
{
	struct schedule_try *try = &attempt->try;
	struct schedule_candidate *best;
	enum schedule_limit limit;

	for (size_t type = 1; type < attempt->run->problem->type_count; type++)
		if (schedule_run_permits(attempt->run, type, &limit))
			schedule_try_add_type(try, type);
	while ((best = schedule_try_best(try, SCHEDULE_HEAP_TYPES))) {
		cpu_budget_step(attempt->run->problem->cpu_budget);
		launch_best(attempt, best);
		fill_nodes(attempt);
	}
}

static int64_t left_in(const struct schedule_result *result,
		       const struct schedule_try_source *source, size_t index)
{
	switch (source->phase) {
	case SCHEDULE_PHASE_CONSTRAINT:
		return result->constraints[source->list_index][index].count;
	case SCHEDULE_PHASE_GANG:
		return result->gangs[index].count ? INT64_MAX : 0;
	case SCHEDULE_PHASE_DEMAND:
	case SCHEDULE_PHASE_MIN:
		break;
	}
	return result->demands[index].count;
}

/* Units of the shape that policy.served places. */
static int64_t served_units(const struct attempt *attempt, const struct schedule_shape *shape)
{
	int64_t units = shape->count;

	for (size_t i = 0; i < shape->entries.count; i++) {
		int64_t left = left_in(attempt->run->policy.served, attempt->source,
				       shape->entries.at[i].index);

		units = left < units ? units - left : 0;
	}
	return units;
}

/* Places the requests that another packing serves on existing nodes, by backtracking where filling
 * the best node first fails. */
static bool fill_exactly(struct attempt *attempt)
{
	struct schedule_run *run = attempt->run;
	struct schedule_exact exact;
	int64_t *wanted;

	if (!run->policy.exact)
		return false;
	schedule_order_settle(run);
	wanted = arena_array(run->attempt, attempt->list->count + 1, sizeof(*wanted));
	for (size_t i = 0; i < attempt->list->count; i++)
		wanted[i] = served_units(attempt, &attempt->list->shapes[i]);
	if (!schedule_exact_place(run, attempt->list, wanted, &exact))
		return false;
	for (size_t i = 0; i < exact.node_count; i++) {
		const struct schedule_exact_node *node = &exact.nodes[i];
		const struct schedule_work *work = &run->nodes.at[node->node];

		schedule_class_remove(run, run->states_of.at[node->node], node->node);
		VEC_PUSH(run->attempt, &attempt->chosen, node->node);
		VEC_PUSH(run->attempt, &attempt->batches,
			 ((struct batch){ .state = run->states_of.at[node->node],
					  .placed = work->placed,
					  .fill = node->fill,
					  .fill_count = node->fill_count,
					  .first = i,
					  .count = 1 }));
	}
	for (size_t i = 0; i < attempt->list->count; i++)
		attempt->try.left[i] -= wanted[i];
	return true;
}

/* ---- keeping it ---- */

static void emit(struct attempt *attempt, struct schedule_placement *placement,
		 const struct schedule_entry *entry, int64_t count)
{
	*placement = (struct schedule_placement){
		.phase = attempt->source->phase,
		.list = attempt->source->list_index,
		.index = entry->index,
		.bundle = entry->bundle,
		.count = count,
	};
}

/* An upper bound of the placements of a node's fill at this point. */
static size_t placement_bound(const struct attempt *attempt, const struct batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->fill_count; i++) {
		const struct schedule_shape *shape = &attempt->list->shapes[batch->fill[i].shape];
		int64_t units = shape->combined ? INT64_MAX : batch->fill[i].count;
		size_t entries = shape->entries.count;

		count += (int64_t)entries < units ? entries : (size_t)units;
	}
	return count;
}

/* Assigns entries to the units of one node, and of the next `same` nodes if all units come from the
 * same entries. */
static struct schedule_chunk *hand_out(struct attempt *attempt, const struct batch *batch,
				       int64_t same)
{
	struct arena *arena = attempt->run->arena;
	struct schedule_chunk *chunk = ARENA_NEW(attempt->run->scratch, struct schedule_chunk);
	struct schedule_placement *at =
		arena_array(arena, placement_bound(attempt, batch), sizeof(*at));

	chunk->at = at;
	for (size_t i = 0; i < batch->fill_count; i++) {
		uint32_t index = batch->fill[i].shape;
		const struct schedule_shape *shape = &attempt->list->shapes[index];
		int64_t units = batch->fill[i].count;

		if (shape->combined) {
			for (size_t j = 0; j < shape->entries.count; j++)
				emit(attempt, &at[chunk->count++], &shape->entries.at[j],
				     shape->entries.at[j].count);
			continue;
		}
		while (units) {
			int64_t *left = &attempt->cursors[index].left, taken = units;

			if (!*left)
				*left = (++attempt->cursors[index].entry)->count;
			if (taken > *left)
				taken = *left;
			emit(attempt, &at[chunk->count++], attempt->cursors[index].entry, taken);
			*left -= taken * same;
			units -= taken;
		}
	}
	return chunk;
}

/* The number of consecutive nodes whose units come from the current entries. */
static int64_t same_entries(const struct attempt *attempt, const struct batch *batch, int64_t limit)
{
	for (size_t i = 0; i < batch->fill_count; i++) {
		uint32_t shape = batch->fill[i].shape;
		int64_t nodes = attempt->list->shapes[shape].combined ?
					1 :
					attempt->cursors[shape].left / batch->fill[i].count;

		if (nodes < limit)
			limit = nodes;
	}
	return limit > 1 ? limit : 1;
}

/* Commits a batch: nodes of one state with the same fill. The state after the fill is computed once
 * for all of them; consecutive nodes whose units come from the same entries share one chunk of
 * placements. */
static void keep_batch(struct attempt *attempt, const struct batch *batch)
{
	struct schedule_run *run = attempt->run;
	uint32_t placed, state;

	schedule_room_load(&run->room, batch->state);
	for (size_t i = 0; i < batch->fill_count; i++)
		schedule_room_take(&run->room, &attempt->list->shapes[batch->fill[i].shape],
				   batch->fill[i].count);
	placed = schedule_placed_with(&run->room, batch->placed, attempt->list, batch->fill,
				      batch->fill_count);
	state = schedule_room_save(&run->room, placed);
	for (size_t i = 0; i < batch->count;) {
		int64_t same = same_entries(attempt, batch, (int64_t)(batch->count - i));
		struct schedule_chunk *chunk = hand_out(attempt, batch, same);

		for (; same; same--, i++) {
			uint32_t node = attempt->chosen.at[batch->first + i];
			struct schedule_work *work = &run->nodes.at[node];
			struct schedule_chunk *own = chunk;

			if (work->placements) {
				own = ARENA_NEW(run->scratch, struct schedule_chunk);
				*own = *chunk;
				own->before = work->placements;
			}
			work->placements = own;
			run->states_of.at[node] = state;
			work->placed = placed;
			work->labels = run->room.labels;
			if (run->classes.lasting)
				schedule_class_add(run, state, node);
		}
	}
	schedule_room_unload(&run->room);
	schedule_class_rank(run, batch->state);
	schedule_class_rank(run, state);
}

/* Marks the names of the requests: they count in the scores of later ones. */
static void keep_names(struct schedule_run *run, const struct schedule_requests *requests)
{
	struct schedule_classes *classes = &run->classes;

	for (size_t i = 0; i < requests->names.count; i++) {
		uint32_t name = requests->names.at[i];

		classes->placed_name_count += !classes->placed_names[name];
		classes->placed_names[name] = true;
	}
	classes->placed_selectors = classes->placed_selectors || requests->selecting.count;
}

/* The chosen nodes that are there: Ray's list begins with them. */
static void keep_order(struct attempt *attempt, uint32_t first_new)
{
	uint32_t *chosen =
		arena_array(attempt->run->attempt, attempt->chosen.count + 1, sizeof(*chosen));
	size_t count = 0;

	for (size_t i = 0; i < attempt->chosen.count; i++)
		if (attempt->chosen.at[i] < first_new)
			chosen[count++] = attempt->chosen.at[i];
	schedule_order_keep(attempt->run, attempt->try.requests, chosen, count, first_new);
}

static void keep(struct attempt *attempt)
{
	struct schedule_run *run = attempt->run;
	uint32_t first_new = (uint32_t)run->nodes.count;

	attempt->cursors =
		arena_array(run->attempt, attempt->list->count + 1, sizeof(*attempt->cursors));
	for (size_t i = 0; i < attempt->list->count; i++) {
		attempt->cursors[i].entry = attempt->list->shapes[i].entries.at;
		attempt->cursors[i].left = attempt->list->shapes[i].entries.at[0].count;
	}
	for (size_t i = 0; i < run->new_types.count; i++)
		schedule_run_launch(run, run->new_types.at[i], attempt->source->phase);
	keep_order(attempt, first_new);
	keep_names(run, attempt->try.requests);
	for (size_t i = 0; i < attempt->batches.count; i++)
		keep_batch(attempt, &attempt->batches.at[i]);
	for (size_t i = 0; i < run->new_types.count; i++)
		if (!i || run->new_types.at[i] != run->new_types.at[i - 1])
			schedule_class_rank(run, run->template_state[run->new_types.at[i]]);
}

/* Returns the chosen nodes to their classes. */
static void undo(struct attempt *attempt)
{
	struct schedule_run *run = attempt->run;

	if (!run->classes.lasting)
		return;
	for (size_t i = 0; i < run->new_types.count; i++)
		if (!i || run->new_types.at[i] != run->new_types.at[i - 1])
			schedule_class_remove_from(run, run->template_state[run->new_types.at[i]],
						   (uint32_t)run->nodes.count);
	for (size_t i = 0; i < attempt->batches.count; i++)
		for (size_t j = 0; j < attempt->batches.at[i].count; j++) {
			uint32_t node = attempt->chosen.at[attempt->batches.at[i].first + j];

			if (node < run->nodes.count)
				schedule_class_add(run, attempt->batches.at[i].state, node);
		}
}

/* ---- units left over ---- */

static bool serves(struct schedule_run *run, size_t type, const struct schedule_shape *shape)
{
	bool taken;

	schedule_room_load(&run->room, run->template_state[type]);
	taken = schedule_room_take(&run->room, shape, 1) > 0;
	schedule_room_unload(&run->room);
	return taken;
}

/* Rank of a limit for messages: the user sees the one that ends by itself or can be changed by an
 * option. */
static int limit_weight(enum schedule_limit limit)
{
	static const int WEIGHTS[] = {
		[SCHEDULE_LIMIT_NONE] = 0,      [SCHEDULE_LIMIT_MAX_PER_TYPE] = 1,
		[SCHEDULE_LIMIT_MAX_NODES] = 2, [SCHEDULE_LIMIT_GPU_BUDGET] = 3,
		[SCHEDULE_LIMIT_HELD] = 4,
	};

	return WEIGHTS[limit];
}

static void find_limit(struct schedule_run *run, const struct schedule_shape *shape,
		       enum schedule_limit *ret_limit, size_t *ret_type)
{
	for (size_t type = 1; type < run->problem->type_count; type++) {
		enum schedule_limit limit;

		if (!serves(run, type, shape))
			continue;
		schedule_run_permits(run, type, &limit);
		if (*ret_type != SCHEDULE_NO_INDEX &&
		    limit_weight(limit) <= limit_weight(*ret_limit))
			continue;
		*ret_limit = limit;
		*ret_type = type;
	}
}

static struct schedule_try_left find_left(struct attempt *attempt)
{
	size_t count = attempt->list->count;
	struct arena *scratch = attempt->run->scratch;
	struct schedule_try_left left = {
		.counts = arena_array(scratch, count + 1, sizeof(*left.counts)),
		.limits = arena_array(scratch, count + 1, sizeof(*left.limits)),
		.limit_types = arena_array(scratch, count + 1, sizeof(*left.limit_types)),
	};

	for (size_t i = 0; i < count; i++) {
		left.counts[i] = attempt->try.left[i];
		left.limit_types[i] = SCHEDULE_NO_INDEX;
		if (!left.counts[i])
			continue;
		left.any = true;
		cpu_budget_step(attempt->run->problem->cpu_budget);
		find_limit(attempt->run, &attempt->list->shapes[i], &left.limits[i],
			   &left.limit_types[i]);
	}
	for (size_t i = 0; i < count && left.any && attempt->source->atomic; i++)
		left.counts[i] = attempt->list->shapes[i].count;
	return left;
}

/* Places a list: first on existing nodes (exactly, if the policy asks for it), then on new ones.
 * The limits are saved before; an atomic try with units left over restores them and undoes its
 * launches and placements. */
struct schedule_try_left schedule_try(struct schedule_run *run,
				      const struct schedule_requests *requests,
				      const struct schedule_try_source *source)
{
	struct attempt attempt = { .run = run, .list = requests->list, .source = source };
	size_t types = run->problem->type_count;
	int64_t budget = run->budget, list_nodes = run->list_nodes, new_nodes = run->new_nodes;
	int64_t *type_nodes = arena_array(run->attempt, types + 1, sizeof(*type_nodes));
	struct schedule_try_left left;

	cpu_budget_step(run->problem->cpu_budget);
	memcpy(type_nodes, run->type_nodes, types * sizeof(*type_nodes));
	run->new_types.count = 0;
	schedule_try_init(&attempt.try, run, requests);
	if (!fill_exactly(&attempt)) {
		fill_nodes(&attempt);
		if (attempt.try.active_count)
			launch_nodes(&attempt);
	}
	left = find_left(&attempt);
	if (left.any && source->atomic) {
		memcpy(run->type_nodes, type_nodes, types * sizeof(*type_nodes));
		run->budget = budget;
		run->list_nodes = list_nodes;
		run->new_nodes = new_nodes;
		undo(&attempt);
	} else {
		keep(&attempt);
	}
	run->new_types.count = 0;
	for (size_t i = 0; i < requests->names.count; i++)
		run->ratios[requests->names.at[i]].count = 0;
	arena_reset(run->attempt);
	return left;
}
