#include "core/decide/packing.h"

#include "core/decide/backoff.h"
#include "core/decide/leaving.h"
#include "core/decide/limits.h"
#include "core/decide/stuck.h"

/* Whether demand can be placed on the worker. It cannot on one that drains or cannot start, nor on
 * one of a group whose capacity is unknown. */
static bool is_capacity(const struct situation *s, const struct worker *worker)
{
	if (worker->deleting || worker->leaving || worker->goes || worker->dissolves)
		return false;
	if (worker->joined)
		return worker->node->status == RAY_NODE_RUNNING ||
		       worker->node->status == RAY_NODE_IDLE;
	if (worker->group == SITUATION_NO_INDEX ||
	    s->groups[worker->group].capacity.problem != NULL)
		return false;
	return !worker->stuck;
}

static bool may_terminate(const struct situation *s, const struct worker *worker)
{
	if (worker->removal == REMOVAL_DRAIN)
		return true;
	if (worker->removal == REMOVAL_DELETE)
		return worker->never_started || worker->unregistered;
	return s->snapshot->settings.enforce_max == ENFORCE_MAX_NOW && !s->termination_forbidden &&
	       worker->pod != NULL && worker->pod->unreadable == NULL &&
	       worker->group != SITUATION_NO_INDEX && !s->groups[worker->group].frozen;
}

static void fill_node(const struct situation *s, size_t index, struct schedule_node *node)
{
	const struct worker *worker = &s->workers[index];
	*node = (struct schedule_node){
		.type = SCHEDULE_NO_INDEX,
		.worker = index,
		.running = worker->joined,
		.joined = worker->joined,
		.may_terminate = may_terminate(s, worker),
		.replica = worker->replica,
	};
	if (worker->group != SITUATION_NO_INDEX) {
		const struct group *group = &s->groups[worker->group];
		node->type = worker->group + 1;
		node->idle_timeout_ms = group->idle_timeout_ms;
		node->total = node->available = group->capacity.resources;
		node->labels = group->capacity.labels;
	}
	if (worker->joined) {
		node->total = worker->node->total;
		node->available = worker->settling ? worker->node->total : worker->node->available;
		node->labels = labels_merge(s->arena, &worker->node->labels,
					    &worker->node->dynamic_labels);
		if (worker->node->status == RAY_NODE_IDLE)
			node->idle_ms = worker->node->idle_duration_ms;
	}
}

/* The head counts as present even before it runs; it accepts no work only while it drains. */
static bool fill_head(const struct situation *s, struct schedule_node *node)
{
	const struct ray_node *head = s->head_node;
	*node = (struct schedule_node){
		.type = 0,
		.worker = s->worker_count,
		.head = true,
		.total = s->head_capacity.resources,
		.available = s->head_capacity.resources,
		.labels = s->head_capacity.labels,
		.replica = SCHEDULE_NO_INDEX,
	};
	if (head == NULL)
		return true;
	node->running = node->joined = true;
	node->total = head->total;
	node->available = head->available;
	node->labels = labels_merge(s->arena, &head->labels, &head->dynamic_labels);
	return head->status != RAY_NODE_DRAINING;
}

static void make_nodes(struct situation *s)
{
	struct schedule_node *nodes = arena_array(s->arena, s->worker_count + 1, sizeof(*nodes));
	size_t count = fill_head(s, &nodes[0]) ? 1 : 0;
	for (size_t i = 0; i < s->worker_count; i++)
		if (is_capacity(s, &s->workers[i]))
			fill_node(s, i, &nodes[count++]);
	s->problem.nodes = nodes;
	s->problem.node_count = count;
}

/* Pods of the group that count against maxReplicas without having capacity. */
static int64_t occupied(const struct situation *s, const struct group *group)
{
	int64_t count = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &s->workers[group->first_worker + i];

		if ((worker->leaving || !worker->deleting) && !worker->goes &&
		    !is_capacity(s, worker))
			count++;
	}
	return count;
}

static void make_type(struct situation *s, const struct group *group, struct schedule_type *type)
{
	int64_t maximum = group->spec->max_replicas * group->hosts - occupied(s, group);
	int64_t ceiling = (int64_t)group->worker_count + SCHEDULE_NEW_NODES_MAX;
	int64_t minimum = group->spec->min_replicas * group->hosts;
	maximum = maximum > 0 ? maximum : 0;
	minimum = minimum < ceiling ? minimum : ceiling / group->hosts * group->hosts;
	*type = (struct schedule_type){
		.name = group->spec->name,
		.resources = group->capacity.resources,
		.labels = group->capacity.labels,
		.min_nodes = minimum < maximum ? minimum : maximum,
		.max_nodes = maximum,
		.hosts = group->hosts,
		.priority = group->spec->priority,
		.recoverable_availability = backoff_recoverable(s, group),
		.failure_recency = backoff_recency(s, group),
		.accelerator = group->capacity.accelerator,
		.launch_held = group->frozen || group->backed_off,
		.gpu_amount = s->problem.has_gpu_budget ? limits_gpus_of_launch(s, group) :
							  group->capacity.gpu_amount,
	};
}

static void make_types(struct situation *s)
{
	struct schedule_type *types = arena_array(s->arena, s->group_count + 1, sizeof(*types));
	types[0] = (struct schedule_type){
		.name = HEAD_GROUP_NAME,
		.resources = s->head_capacity.resources,
		.labels = s->head_capacity.labels,
		.max_nodes = 1,
		.hosts = 1,
		.recoverable_availability = 1.0,
		.failure_recency = 1.0,
		.accelerator = s->head_capacity.accelerator,
		.launch_held = true, /* heads are never launched */
		.gpu_amount = s->head_capacity.gpu_amount,
	};
	for (size_t g = 0; g < s->group_count; g++)
		make_type(s, &s->groups[g], &types[g + 1]);
	s->problem.types = types;
	s->problem.type_count = s->group_count + 1;
}

static const struct schedule_demand *
make_demands(struct situation *s, const struct demand_list *list, struct packed_list *ret_packed)
{
	struct schedule_demand *demands = arena_array(s->arena, list->at.count, sizeof(*demands));
	size_t *index = arena_array(s->arena, list->at.count, sizeof(*index));
	size_t count = 0;
	for (size_t i = 0; i < list->at.count; i++) {
		const struct demand *demand = &list->at.at[i];
		if (demand->reason != NULL)
			continue;
		index[count] = i;
		demands[count].request = demand->request;
		demands[count].count = demand->count;
		count++;
	}
	*ret_packed = (struct packed_list){ index, count };
	return demands;
}

static void make_constraints(struct situation *s)
{
	struct schedule_constraint *constraints =
		arena_array(s->arena, s->constraint_count, sizeof(*constraints));
	s->packed_constraints =
		arena_array(s->arena, s->constraint_count, sizeof(*s->packed_constraints));
	for (size_t i = 0; i < s->constraint_count; i++) {
		constraints[i].demands =
			make_demands(s, &s->constraints[i], &s->packed_constraints[i]);
		constraints[i].count = s->packed_constraints[i].count;
	}
	s->problem.constraints = constraints;
	s->problem.constraint_count = s->constraint_count;
}

static void make_gangs(struct situation *s)
{
	struct ray_gang *gangs = arena_array(s->arena, s->gang_count, sizeof(*gangs));
	size_t *index = arena_array(s->arena, s->gang_count, sizeof(*index));
	size_t count = 0;
	for (size_t i = 0; i < s->gang_count; i++) {
		if (s->gangs[i].reason != NULL)
			continue;
		index[count] = i;
		gangs[count++] = *s->gangs[i].gang;
	}
	s->packed_gangs = (struct packed_list){ index, count };
	s->problem.gangs = gangs;
	s->problem.gang_count = count;
}

static void note_placements(struct worker *worker, const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++) {
		if (node->placements[i].phase == SCHEDULE_PHASE_CONSTRAINT)
			worker->needed_by_request = true;
		else
			worker->needed_by_demand = true;
	}
}

static void note_launch(struct group *group, enum schedule_phase phase)
{
	switch (phase) {
	case SCHEDULE_PHASE_MIN:
		group->launches_for_min = true;
		break;
	case SCHEDULE_PHASE_CONSTRAINT:
		group->packed_whole++;
		group->launches_for_request = true;
		break;
	case SCHEDULE_PHASE_GANG:
		group->packed_whole++;
		group->launches_for_demand = true;
		break;
	case SCHEDULE_PHASE_DEMAND:
		group->launches_for_demand = true;
		break;
	}
}

static void note_result(struct situation *s)
{
	for (size_t i = 0; i < s->result->node_count; i++) {
		const struct schedule_node_result *node = &s->result->nodes[i];
		if (node->worker == SCHEDULE_NO_INDEX) {
			if (node->status == SCHEDULE_LAUNCH && node->type > 0)
				note_launch(&s->groups[node->type - 1], node->launch_phase);
			continue;
		}
		if (node->worker >= s->worker_count)
			continue; /* the head */
		struct worker *worker = &s->workers[node->worker];
		note_placements(worker, node);
		worker->chosen = node->status == SCHEDULE_TERMINATE;
		worker->cause = node->cause;
	}
	for (size_t g = 0; g < s->group_count; g++)
		s->groups[g].packed_launches = s->result->launches[g + 1];
}

void packing_run(struct situation *s)
{
	const struct settings *settings = &s->snapshot->settings;
	s->problem.cpu_budget = s->snapshot->cpu_budget;
	s->problem.has_gpu_budget = limits_gpu_budget(s, &s->problem.gpu_budget);
	s->gpu_ceiling = limits_gpu_ceiling_text(s);
	make_types(s);
	make_nodes(s);
	make_constraints(s);
	make_gangs(s);
	s->problem.demands = make_demands(s, &s->demands, &s->packed_demands);
	s->problem.demand_count = s->packed_demands.count;
	s->problem.conserve_accelerators = settings->conserve_accelerators;
	s->problem.accelerators = &s->accelerators;
	s->problem.terminate_over_max = s->problem.leaving_takes_nothing = true;
	/* Ray's order decides what fits on registered workers, and so which demand may be starved.
	 * Both packings then solve the same problem. */
	s->result = schedule(&s->problem, s->arena);
	s->problem.fewest_gpus = settings->packing == PACKING_FEWEST_GPUS;
	if (stuck_split(s) || s->problem.fewest_gpus)
		s->result = schedule(&s->problem, s->arena);
	note_result(s);
	leaving_replace(s);
}
