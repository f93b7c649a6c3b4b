#include "core/decide/packing_state.h"

#include "core/capacity/price.h"
#include "core/decide/backoff.h"
#include "core/decide/limits.h"
#include "core/decide/worker.h"
#include "core/model/in_force.h"

/* It only keeps its place there: its group is in back-off, for another Pod. */
static bool is_left_in_queue(const struct offer *offer, const struct worker *worker)
{
	return offer->health->groups[worker->group].cancels == CANCELS_ALL &&
	       offer->health->workers[worker->index].gate == GATE_WAITS;
}

/* Whether demand can be placed on the worker. It cannot on one that drains or cannot start, nor on
 * one of a group whose capacity is unknown. */
static bool is_capacity(const struct offer *offer, const struct worker *worker)
{
	const struct worker_offer *own = &offer->workers[worker->index];
	if (worker->deleting || worker->disrupted || own->deleted_now || own->incomplete ||
	    own->ends)
		return false;
	if (worker->registered)
		return worker->node->status == RAY_NODE_RUNNING ||
		       worker->node->status == RAY_NODE_IDLE;
	if (worker->group == FACTS_NO_INDEX || offer->groups[worker->group].seen_capacity.problem)
		return false;
	return !offer->health->workers[worker->index].starved && !is_left_in_queue(offer, worker);
}

static bool may_terminate(const struct offer *offer, const struct worker *worker)
{
	const struct worker_offer *own = &offer->workers[worker->index];
	if (own->removal == REMOVAL_DRAIN)
		return true;
	if (own->removal == REMOVAL_DELETE)
		return worker->never_started || offer->health->workers[worker->index].unregistered;
	return in_force_stops_busy(offer->snapshot) && !worker->do_not_disrupt &&
	       !offer->facts->termination_forbidden && worker->pod && !worker->pod->unreadable &&
	       worker->group != FACTS_NO_INDEX && !offer->facts->groups[worker->group].frozen;
}

static void fill_node(const struct offer *offer, size_t index, struct schedule_node *node)
{
	const struct worker *worker = &offer->facts->workers[index];
	*node = (struct schedule_node){
		.type = SCHEDULE_NO_INDEX,
		.worker = index,
		.running = worker->registered,
		.registered = worker->registered,
		.may_terminate = may_terminate(offer, worker),
		.released = worker->release != NULL,
		.replica = worker->replica,
	};
	if (worker->group != FACTS_NO_INDEX) {
		const struct group *group = &offer->facts->groups[worker->group];
		const struct group_offer *own = &offer->groups[group->index];
		node->type = worker->group + 1;
		node->idle_timeout_ms = worker_idle_timeout_ms(offer->health, worker);
		node->total = node->available = own->seen_capacity.resources;
		node->labels = own->seen_capacity.labels;
	}
	if (worker->registered) {
		node->total = worker->node->total;
		node->available = offer->health->workers[worker->index].start_grace ?
					  worker->node->total :
					  worker->node->available;
		node->labels = labels_merge(offer->arena, &worker->node->labels,
					    &worker->node->dynamic_labels);
		if (worker->node->status == RAY_NODE_IDLE) {
			node->idle_ms = worker->node->idle_duration_ms;
			(void)worker_idle_passed(offer->facts, worker, node->idle_timeout_ms);
		}
	}
}

/* The head counts as present even before it runs; it accepts no work only while it drains. */
static bool fill_head(const struct offer *offer, struct schedule_node *node)
{
	const struct ray_node *head = offer->facts->head_node;
	*node = (struct schedule_node){
		.type = 0,
		.worker = offer->facts->worker_count,
		.head = true,
		.total = offer->facts->head_capacity.resources,
		.available = offer->facts->head_capacity.resources,
		.labels = offer->facts->head_capacity.labels,
		.replica = SCHEDULE_NO_INDEX,
	};
	if (!head)
		return true;
	node->running = node->registered = true;
	node->total = head->total;
	node->available = head->available;
	node->labels = labels_merge(offer->arena, &head->labels, &head->dynamic_labels);
	return head->status != RAY_NODE_DRAINING;
}

static void make_nodes(struct offer *offer)
{
	struct schedule_node *nodes =
		arena_array(offer->arena, offer->facts->worker_count + 1, sizeof(*nodes));
	size_t count = fill_head(offer, &nodes[0]) ? 1 : 0;
	for (size_t i = 0; i < offer->facts->worker_count; i++)
		if (is_capacity(offer, &offer->facts->workers[i]))
			fill_node(offer, i, &nodes[count++]);
	offer->problem.nodes = nodes;
	offer->problem.node_count = count;
}

/* Pods of the group that count against maxReplicas without having capacity. */
static int64_t occupied(const struct offer *offer, const struct group *group)
{
	int64_t count = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &offer->facts->workers[group->first_worker + i];

		if ((worker->disrupted || !worker->deleting) &&
		    !offer->workers[worker->index].deleted_now && !is_capacity(offer, worker))
			count++;
	}
	return count;
}

static void make_type(struct offer *offer, const struct group *group, struct schedule_type *type)
{
	struct group_offer *own = &offer->groups[group->index];
	int64_t maximum = group->spec->max_replicas * group->hosts - occupied(offer, group);
	int64_t ceiling = (int64_t)group->worker_count + SCHEDULE_NEW_NODES_MAX;
	int64_t minimum = group->min_replicas * group->hosts;
	maximum = maximum > 0 ? maximum : 0;
	minimum = minimum < ceiling ? minimum : ceiling / group->hosts * group->hosts;
	*type = (struct schedule_type){
		.name = group->spec->name,
		.resources = own->seen_capacity.resources,
		.labels = own->seen_capacity.labels,
		.min_nodes = minimum < maximum ? minimum : maximum,
		.max_nodes = maximum,
		.hosts = group->hosts,
		.priority = group->spec->priority,
		.recoverable_availability = backoff_recoverable(offer->health, group),
		.failure_recency = backoff_recency(offer->health, group),
		.accelerator = own->seen_capacity.accelerator,
		.launch_held = group->frozen || offer->health->groups[group->index].backed_off,
		.gangs_held = offer->health->groups[group->index].gangs_held_until != TIME_NONE,
		.gpu_amount = offer->problem.has_gpu_budget ? limits_gpus_of_launch(offer, group) :
							      own->seen_capacity.gpu_amount,
	};
	type->cost = type->gpu_amount;
}

/* With --packing=cheapest the price of a worker, where one group has a price. A GPU without a price
 * then costs as much as the dearest: a missing row must not attract workers. */
static void price_types(const struct offer *offer, struct schedule_type *types)
{
	const struct facts *facts = offer->facts;
	const struct price_row **rows =
		arena_array(offer->arena, facts->group_count, sizeof(*rows));
	const struct price_row *dearest = NULL;

	if (offer->snapshot->settings.packing != PACKING_CHEAPEST || !offer->snapshot->price_table)
		return;
	for (size_t g = 0; g < facts->group_count; g++) {
		rows[g] = price_find(offer->snapshot->price_table, &offer->snapshot->cluster,
				     facts->groups[g].spec, NULL, offer->arena);
		if (rows[g] && types[g + 1].gpu_amount > 0 &&
		    (!dearest || rows[g]->micros_per_gpu_hour > dearest->micros_per_gpu_hour))
			dearest = rows[g];
	}
	if (!dearest)
		return;
	for (size_t g = 0; g < facts->group_count; g++)
		types[g + 1].cost = price_per_hour(rows[g] ? rows[g] : dearest,
						   offer->groups[g].seen_capacity.gpu_amount);
}

static void make_types(struct offer *offer)
{
	struct schedule_type *types =
		arena_array(offer->arena, offer->facts->group_count + 1, sizeof(*types));
	types[0] = (struct schedule_type){
		.name = HEAD_GROUP_NAME,
		.resources = offer->facts->head_capacity.resources,
		.labels = offer->facts->head_capacity.labels,
		.max_nodes = 1,
		.hosts = 1,
		.recoverable_availability = 1.0,
		.failure_recency = 1.0,
		.accelerator = offer->facts->head_capacity.accelerator,
		.launch_held = true, /* heads are never launched */
		.gpu_amount = offer->facts->head_capacity.gpu_amount,
	};
	for (size_t g = 0; g < offer->facts->group_count; g++)
		make_type(offer, &offer->facts->groups[g], &types[g + 1]);
	price_types(offer, types);
	offer->problem.types = types;
	offer->problem.type_count = offer->facts->group_count + 1;
}

static const struct schedule_demand *
make_demands(struct offer *offer, const struct demand_list *list, struct packed_list *ret_packed)
{
	struct schedule_demand *demands =
		arena_array(offer->arena, list->at.count, sizeof(*demands));
	size_t *index = arena_array(offer->arena, list->at.count, sizeof(*index));
	size_t count = 0;
	for (size_t i = 0; i < list->at.count; i++) {
		const struct demand *demand = &list->at.at[i];
		if (demand->reason)
			continue;
		index[count] = i;
		demands[count].request = demand->request;
		demands[count].count = demand->count;
		count++;
	}
	*ret_packed = (struct packed_list){ index, count };
	return demands;
}

static void make_constraints(struct offer *offer)
{
	struct schedule_constraint *constraints =
		arena_array(offer->arena, offer->facts->constraint_count, sizeof(*constraints));
	offer->packed_constraints = arena_array(offer->arena, offer->facts->constraint_count,
						sizeof(*offer->packed_constraints));
	for (size_t i = 0; i < offer->facts->constraint_count; i++) {
		constraints[i].demands = make_demands(offer, &offer->facts->constraints[i],
						      &offer->packed_constraints[i]);
		constraints[i].count = offer->packed_constraints[i].count;
	}
	offer->problem.constraints = constraints;
	offer->problem.constraint_count = offer->facts->constraint_count;
}

static void make_gangs(struct offer *offer)
{
	struct ray_gang *gangs =
		arena_array(offer->arena, offer->facts->gang_count, sizeof(*gangs));
	size_t *index = arena_array(offer->arena, offer->facts->gang_count, sizeof(*index));
	size_t count = 0;
	for (size_t i = 0; i < offer->facts->gang_count; i++) {
		if (offer->facts->gangs[i].reason)
			continue;
		index[count] = i;
		gangs[count++] = *offer->facts->gangs[i].gang;
	}
	offer->packed_gangs = (struct packed_list){ index, count };
	offer->problem.gangs = gangs;
	offer->problem.gang_count = count;
}

void packing_state(struct offer *offer)
{
	struct schedule_problem *problem = &offer->problem;

	problem->cpu_budget = offer->snapshot->cpu_budget;
	problem->has_gpu_budget = limits_gpu_budget(offer, &problem->gpu_budget);
	offer->gpu_ceiling = limits_gpu_ceiling_text(offer);
	make_types(offer);
	make_nodes(offer);
	make_constraints(offer);
	make_gangs(offer);
	problem->demands = make_demands(offer, &offer->facts->demands, &offer->packed_demands);
	problem->demand_count = offer->packed_demands.count;
	problem->conserve_accelerators = offer->snapshot->settings.conserve_accelerators;
	problem->accelerators = &offer->facts->accelerators;
	problem->terminate_over_max = problem->disruption_takes_nothing = true;
}
