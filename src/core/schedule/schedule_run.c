#include "core/schedule/schedule_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"

/* At least the size that it may have after a resize. */
static struct resources launched_amounts(const struct schedule_run *run,
					 const struct schedule_type *type)
{
	const struct resources *own = &type->resources;
	struct schedule_size size;

	if (!type->resizable)
		return *own;
	size = *type->resizable;
	if (size.cpu < resources_amount(own, "CPU", 0))
		size.cpu = resources_amount(own, "CPU", 0);
	if (size.memory < resources_amount(own, "memory", 0))
		size.memory = resources_amount(own, "memory", 0);
	return schedule_resized(run->scratch, own, own, &size);
}

static void resize(const struct schedule_run *run, const struct schedule_size *size,
		   struct resources *total, struct resources *available)
{
	*available = schedule_resized(run->scratch, available, total, size);
	*total = schedule_resized(run->scratch, total, total, size);
}

void schedule_run_amounts(const struct schedule_run *run, uint32_t node, bool resized,
			  struct resources *ret_total, struct resources *ret_available)
{
	const struct schedule_node_result *result = &run->nodes.at[node].result;
	const struct schedule_node *given = schedule_run_given(run, node);

	if (!given) {
		*ret_total = result->launch_phase == SCHEDULE_PHASE_MIN ?
				     run->problem->types[result->type].resources :
				     run->templates[result->type].amounts;
		*ret_available = *ret_total;
		return;
	}
	*ret_total = given->total;
	if (run->totals && (given->released || (given->unused && run->within_use)))
		*ret_total = (struct resources){ .count = 0 };
	*ret_available = run->totals ? *ret_total : given->available;
	if (given->resizing)
		resize(run, given->resizing, ret_total, ret_available);
	if (!resized)
		return;
	CHECK(given->resizable);
	resize(run, given->resizable, ret_total, ret_available);
}

/* Of new nodes, and of those that may be resized: with its new size a node may take what no class takes. */
static void mark_labels(struct schedule_vocabulary *words, const struct labels *labels)
{
	ARRAY_EACH(const struct label, label, labels->at, labels->count) {
		uint32_t id = schedule_label_find(words, label->key, label->value);

		if (id != SCHEDULE_ID_NONE)
			words->labels.entries.at[id].marks |= SCHEDULE_LABEL_OF_TYPE;
	}
}

void schedule_run_init(struct schedule_run *run, const struct schedule_problem *problem,
		       struct arena *arena, struct arena *scratch, struct arena *attempt)
{
	size_t types = problem->type_count + 1, names;

	*run = (struct schedule_run){
		.problem = problem,
		.arena = arena,
		.scratch = scratch,
		.attempt = attempt,
		.budget = problem->has_gpu_budget ? problem->gpu_budget : INT64_MAX,
		.use_budget = problem->use_budget,
		.list_nodes = (int64_t)problem->node_count,
	};
	schedule_vocabulary_init(&run->words, problem, scratch);
	schedule_states_init(&run->states, &run->words);
	schedule_room_init(&run->room, &run->states);
	names = run->words.name_count + 1;
	run->classes.rare = arena_array(scratch, names + run->words.labels.entries.count,
					sizeof(*run->classes.rare));
	run->classes.mentioned = arena_array(scratch, names + run->words.labels.entries.count,
					     sizeof(*run->classes.mentioned));
	run->name_counts = arena_array(scratch, names, sizeof(*run->name_counts));
	run->label_counts = arena_array(scratch, run->words.labels.entries.count + 1,
					sizeof(*run->label_counts));
	run->numbers = arena_array(scratch, names, sizeof(*run->numbers));
	run->classes.placed_names = arena_array(scratch, names, sizeof(*run->classes.placed_names));
	run->templates = arena_array(scratch, types, sizeof(*run->templates));
	run->type_nodes = arena_array(scratch, types, sizeof(*run->type_nodes));
	run->launches = arena_array(arena, types, sizeof(*run->launches));
	for (size_t i = 0; i < problem->type_count; i++) {
		run->templates[i].labels =
			schedule_label_set_of(&run->states, &problem->types[i].labels);
		mark_labels(&run->words, &problem->types[i].labels);
		run->templates[i].amounts = launched_amounts(run, &problem->types[i]);
	}
	/* For as many launches as nodes; growth leaves the smaller arrays in the arena. */
	VEC_RESERVE(scratch, &run->nodes, 2 * problem->node_count + 1);
	for (size_t i = 0; i < problem->node_count; i++) {
		const struct schedule_node *node = &problem->nodes[i];

		if (node->resizable) {
			run->resizable = true;
			mark_labels(&run->words, &node->labels);
		}
		VEC_PUSH(scratch, &run->nodes,
			 ((struct schedule_work){
				 .result = { .type = node->type,
					     .worker = node->worker,
					     .status = node->disrupted ? SCHEDULE_TERMINATE :
									 SCHEDULE_KEEP },
				 .labels = schedule_label_set_of(&run->states, &node->labels),
			 }));
		VEC_PUSH(scratch, &run->order, (uint32_t)i);
		if (node->type != SCHEDULE_NO_INDEX)
			run->type_nodes[node->type]++;
	}
}

/* Traits of types, the better first; without a type nodes have those of a key that was cleared. */
static int compare_traits(const void *a, const void *b, void *context)
{
	const struct schedule_problem *problem = context;
	union schedule_key keys[2];
	const uint32_t *types[] = { a, b };

	for (size_t i = 0; i < 2; i++)
		schedule_key_type(
			problem,
			&(struct schedule_state){ .type = *types[i] == problem->type_count ?
								  SCHEDULE_ID_NONE :
								  *types[i] },
			&keys[i]);
	return schedule_key_compare(&keys[1], &keys[0]);
}

static int compare_types(const void *a, const void *b, void *context)
{
	int order = compare_traits(a, b, context);

	return order ? order : schedule_compare_ids(a, b);
}

static void order_types(struct schedule_run *run)
{
	const struct schedule_problem *problem = run->problem;
	uint32_t count = (uint32_t)problem->type_count, place = 0;
	VEC(uint32_t) types = { .at = NULL };
	void *context = memory_without_const(problem);

	run->traits = arena_array(run->scratch, count + 1, sizeof(*run->traits));
	for (uint32_t i = 0; i <= count; i++)
		VEC_PUSH(run->scratch, &types, i);
	qsort_r(types.at, types.count, sizeof(*types.at), compare_types, context);
	for (uint32_t i = 0; i <= count; i++) {
		uint32_t type = types.at[i];

		place += i && compare_traits(&types.at[i - 1], &type, context);
		run->traits[type] = place;
		if (type && type < count)
			VEC_PUSH(run->scratch, &run->type_order, type);
	}
}

/* New nodes are the same in each source. */
static void read_templates(struct schedule_run *run)
{
	schedule_states_read_types(&run->states, run->policy.shuffle);
	order_types(run);
	for (size_t i = 0; i < run->problem->type_count; i++) {
		struct schedule_template *own = &run->templates[i];

		own->state = schedule_state_of(&run->states,
					       (struct schedule_state){ .type = (uint32_t)i,
									.labels = own->labels },
					       &own->amounts, &own->amounts, &own->rest);
	}
	schedule_alike_read_types(run);
}

static bool is_same_list(const struct resources *a, const struct resources *b)
{
	return a->at == b->at && a->count == b->count;
}

/* Whether the node before was read from the same amounts: starting workers of a group have those of its type. */
static bool is_read(const struct schedule_reading *last, const struct schedule_reading *own)
{
	return last->known && is_same_list(&last->total, &own->total) &&
	       is_same_list(&last->available, &own->available) &&
	       last->state.type == own->state.type && last->state.labels == own->state.labels &&
	       last->state.running == own->state.running && last->state.head == own->state.head &&
	       last->state.registered == own->state.registered &&
	       last->state.resizable == own->state.resizable;
}

/* Its state and rest in the source, without placements. */
static void read_node(struct schedule_run *run, uint32_t index)
{
	struct schedule_work *work = &run->nodes.at[index];
	const struct schedule_node *node = schedule_run_given(run, index);
	struct schedule_reading own = {
		.known = true,
		.state = { .type = SCHEDULE_ID_NONE, .labels = work->labels },
	};

	if (work->result.type != SCHEDULE_NO_INDEX)
		own.state.type = (uint32_t)work->result.type;
	if (node) {
		own.state.running = node->running;
		own.state.head = node->head;
		own.state.registered = node->registered;
		own.state.resizable = node->resizable && !work->result.resized;
	}
	schedule_run_amounts(run, index, work->result.resized, &own.total, &own.available);
	if (!is_read(&run->last_reading, &own)) {
		own.id = schedule_state_of(&run->states, own.state, &own.total, &own.available,
					   &own.rest);
		run->last_reading = own;
	}
	work->state = run->last_reading.id;
	work->rest = run->last_reading.rest;
}

void schedule_run_read_whole(struct schedule_run *run, uint32_t index)
{
	struct schedule_work *work = &run->nodes.at[index];
	const struct schedule_node *node = schedule_run_given(run, index);
	const struct schedule_whole *whole = &work->whole;
	bool unused = node && node->unused && run->within_use;

	if (!whole->known || whole->labels != work->labels ||
	    whole->resized != work->result.resized || whole->unused != unused) {
		read_node(run, index);
		work->whole = (struct schedule_whole){ .known = true,
						       .resized = work->result.resized,
						       .unused = unused,
						       .labels = work->labels,
						       .state = work->state,
						       .rest = work->rest };
	}
	work->state = whole->state;
	work->rest = whole->rest;
	work->placed = 0;
}

void schedule_run_set_source(struct schedule_run *run, bool totals)
{
	struct schedule_classes *classes = &run->classes;

	memset(classes->placed_names, 0, run->words.name_count);
	classes->placed_name_count = 0;
	run->totals = totals;
	run->resized.count = run->touched.count = 0;
	if (!run->states.alike)
		read_templates(run);
	for (uint32_t i = 0; i < run->nodes.count; i++) {
		run->nodes.at[i].placed = 0;
		run->nodes.at[i].resized = 0;
		if (totals)
			schedule_run_read_whole(run, i);
		else
			read_node(run, i);
	}
}

static void bound(int64_t *permits, int64_t room, int64_t each, enum schedule_limit limit,
		  enum schedule_limit *ret_limit)
{
	int64_t count = room > 0 ? room / each : 0;

	if (count >= *permits)
		return;
	*permits = count;
	*ret_limit = limit;
}

/* Rounded up. */
static int64_t replicas_within_use(const struct schedule_run *run, const struct schedule_type *type)
{
	int64_t each = resource_product(type->accelerator_amount, type->hosts);

	return run->use_budget > 0 ? run->use_budget / each + (run->use_budget % each > 0) : 0;
}

static bool is_held(const struct schedule_type *type, enum schedule_phase phase)
{
	return type->launch_held ||
	       (type->gangs_held && (phase == SCHEDULE_PHASE_GANG ||
				     (phase == SCHEDULE_PHASE_DEMAND && type->hosts > 1)));
}

int64_t schedule_run_permits(const struct schedule_run *run, size_t index,
			     enum schedule_phase phase, enum schedule_limit *ret_limit)
{
	const struct schedule_problem *problem = run->problem;
	const struct schedule_type *type = &problem->types[index];
	bool minimum = phase == SCHEDULE_PHASE_MIN;
	int64_t permits = INT64_MAX;

	*ret_limit = SCHEDULE_LIMIT_NONE;
	if (index == 0)
		return 0; /* heads are never launched */
	if (!minimum)
		bound(&permits, type->max_nodes - run->type_nodes[index], type->hosts,
		      SCHEDULE_LIMIT_MAX_PER_TYPE, ret_limit);
	bound(&permits, SCHEDULE_NEW_NODES_MAX - run->new_nodes, type->hosts,
	      SCHEDULE_LIMIT_MAX_NODES, ret_limit);
	if (problem->has_max_nodes && !minimum)
		bound(&permits, problem->max_nodes - run->list_nodes, type->hosts,
		      SCHEDULE_LIMIT_MAX_NODES, ret_limit);
	if (problem->has_gpu_budget && type->gpu_amount > 0)
		bound(&permits, run->budget / type->gpu_amount, type->hosts,
		      SCHEDULE_LIMIT_GPU_BUDGET, ret_limit);
	if (is_held(type, phase))
		bound(&permits, 0, 1, SCHEDULE_LIMIT_HELD, ret_limit);
	if (type->has_pool)
		bound(&permits, type->pool_nodes - run->type_nodes[index], type->hosts,
		      SCHEDULE_LIMIT_POOL, ret_limit);
	if (run->within_use && type->accelerator_amount > 0)
		bound(&permits, replicas_within_use(run, type), 1, SCHEDULE_LIMIT_USE, ret_limit);
	return permits;
}

void schedule_run_count(struct schedule_run *run, size_t type, int64_t nodes)
{
	run->launches[type] += nodes;
	run->type_nodes[type] += nodes;
	run->list_nodes += nodes;
	run->new_nodes += nodes;
	if (run->within_use)
		run->use_budget -= nodes * run->problem->types[type].accelerator_amount;
	if (run->problem->has_gpu_budget)
		run->budget -= nodes * run->problem->types[type].gpu_amount;
}

uint32_t schedule_run_launch(struct schedule_run *run, size_t type, enum schedule_phase phase)
{
	VEC_PUSH(run->scratch, &run->nodes,
		 ((struct schedule_work){
			 .result = { .type = type,
				     .worker = SCHEDULE_NO_INDEX,
				     .status = SCHEDULE_LAUNCH,
				     .launch_phase = phase },
			 .labels = run->templates[type].labels,
			 .state = run->templates[type].state,
			 .rest = run->templates[type].rest,
			 .whole = { .known = phase != SCHEDULE_PHASE_MIN,
				    .labels = run->templates[type].labels,
				    .state = run->templates[type].state,
				    .rest = run->templates[type].rest },
		 }));
	schedule_run_count(run, type, 1);
	return (uint32_t)(run->nodes.count - 1);
}

/* ---- Ray's list of nodes ---- */

void schedule_order_number(struct schedule_run *run)
{
	while (run->places.count < run->nodes.count)
		VEC_ADD(run->scratch, &run->places);
	for (size_t i = 0; i < run->order.count; i++) {
		const struct schedule_node *given = schedule_run_given(run, run->order.at[i]);

		run->places.at[run->order.at[i]].number = (int64_t)i;
		if (given && given->resizable)
			VEC_PUSH(run->scratch, &run->resizables, run->order.at[i]);
	}
	run->last_number = (int64_t)run->order.count;
}

void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, const uint32_t *resized,
			 size_t resized_count)
{
	uint32_t since;

	VEC_PUSH(run->scratch, &run->kept, requests);
	since = (uint32_t)run->kept.count;
	run->first_number -= (int64_t)chosen_count;
	for (size_t i = 0; i < chosen_count; i++)
		run->places.at[chosen[i]] =
			(struct schedule_place){ run->first_number + (int64_t)i, since };
	for (size_t i = 0; i < resized_count; i++)
		run->places.at[resized[i]] = (struct schedule_place){ run->last_number++, since };
	for (uint32_t node = (uint32_t)run->places.count; node < run->nodes.count; node++) {
		VEC_PUSH(run->scratch, &run->order, node);
		VEC_PUSH(run->scratch, &run->places,
			 ((struct schedule_place){ run->last_number++, since }));
	}
}

/* Bit i: the kept list 64 * word + i puts nodes in this state behind the others. */
static uint64_t exhausted_word(struct schedule_run *run, uint32_t state, size_t word)
{
	struct schedule_exhausted *exhausted;

	if (!run->states.states.at[state].running)
		return 0;
	while (run->exhausted.count <= state)
		VEC_ADD(run->scratch, &run->exhausted);
	exhausted = &run->exhausted.at[state];
	while (exhausted->words.count <= word)
		VEC_ADD(run->scratch, &exhausted->words);
	for (; exhausted->known < run->kept.count && exhausted->known / 64 <= word;
	     exhausted->known++) {
		size_t i = exhausted->known;

		if (!schedule_requests_fit(run->kept.at[i], run, state))
			exhausted->words.at[i / 64] |= UINT64_C(1) << (i % 64);
	}
	return exhausted->words.at[word];
}

static bool is_running(const struct schedule_run *run, uint32_t node)
{
	return run->states.states.at[run->nodes.at[node].state].running;
}

static bool is_resizable(const struct schedule_run *run, uint32_t node)
{
	return run->states.states.at[run->nodes.at[node].state].resizable;
}

/* Launched for the last list that put nodes behind others. */
static bool is_behind(const struct schedule_run *run, uint32_t node)
{
	return node >= run->problem->node_count && run->places.at[node].number >= 0 &&
	       run->places.at[node].since == run->parted;
}

/* Of the lists kept from number `from` on, the last one that exhausts exactly one of the nodes: above 0 if that is b,
 * below 0 if it is a; 0: none does. */
static int compare_exhausted(struct schedule_run *run, uint32_t a, uint32_t b, size_t from)
{
	size_t end = is_running(run, a) || is_running(run, b) ? run->kept.count : 0;

	while (end > from && run->nodes.at[a].state != run->nodes.at[b].state) {
		size_t word = (end - 1) / 64;
		uint64_t bits = exhausted_word(run, run->nodes.at[a].state, word);
		uint64_t differ = bits ^ exhausted_word(run, run->nodes.at[b].state, word);

		if (from > word * 64)
			differ &= UINT64_MAX << (from - word * 64);
		if (differ)
			return bits >> (63 - __builtin_clzll(differ)) & 1 ? -1 : 1;
		end = word * 64;
	}
	return 0;
}

bool schedule_order_before(struct schedule_run *run, uint32_t a, uint32_t b)
{
	const struct schedule_place *first, *second;
	bool parts;
	uint32_t since;
	int order;

	if (a >= run->places.count || b >= run->places.count)
		return a < b;
	first = &run->places.at[a];
	second = &run->places.at[b];
	since = first->since > second->since ? first->since : second->since;
	parts = run->parted && since <= run->parted && is_resizable(run, a) != is_resizable(run, b);
	order = compare_exhausted(run, a, b, parts ? run->parted : since);
	if (order)
		return order > 0;
	if (parts)
		return is_resizable(run, a) ? is_behind(run, b) : !is_behind(run, a);
	return first->number < second->number;
}

static int compare_nodes(const void *a, const void *b, void *run)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return schedule_order_before(run, first, second) ? -1 : first != second;
}

static bool is_ordered(struct schedule_run *run, const uint32_t *nodes, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!schedule_order_before(run, nodes[i - 1], nodes[i]))
			return false;
	return true;
}

void schedule_order_sort(struct schedule_run *run, uint32_t *nodes, size_t count)
{
	if (run->kept.count && !is_ordered(run, nodes, count))
		qsort_r(nodes, count, sizeof(*nodes), compare_nodes, run);
}
