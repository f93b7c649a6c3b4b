#include "core/decide/invariants.h"

#include <string.h>

#include "base/check.h"
#include "core/decide/relay.h"
#include "core/model/in_force.h"

/* --- facts --- */

static void check_worker(const struct facts *facts, const struct worker *worker)
{
	CHECK(worker->pod_name && worker->group_name);
	CHECK(worker->group == FACTS_NO_INDEX || worker->group < facts->group_count);
	CHECK(worker->state != WORKER_NONE);
	CHECK(!(worker->registered && worker->raylet_gone));
	CHECK(!(worker->never_started && worker->finished));
	CHECK(worker->disrupted == (worker->disruption_why != NULL));
	CHECK(!worker->disrupted || !facts->termination_forbidden);
	CHECK(!worker->planned || worker->disrupted);
	CHECK(!worker->node || facts->ray_reachable);
	if (worker->registered)
		CHECK(worker->node && worker->node->status != RAY_NODE_DEAD);
	if (worker->raylet_gone)
		CHECK(worker->node && worker->node->status == RAY_NODE_DEAD);
	if (!worker->pod) { /* requested, and does not exist */
		CHECK(worker->group != FACTS_NO_INDEX && !worker->node);
		CHECK(worker->never_started && worker->state == WORKER_PENDING);
		CHECK(!worker->deleting && !worker->disrupted);
	}
}

/* The slices of the groups follow each other and contain their workers only. */
static void check_slice(const struct facts *facts, const struct group *group, size_t begin)
{
	int64_t pods = 0, kept = 0, registered = 0;

	CHECK(group->first_worker == begin);
	CHECK(group->worker_count <= facts->worker_count - begin);
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &facts->workers[begin + i];

		CHECK(worker->group == group->index);
		pods += worker->pod != NULL;
		kept += worker->pod && !worker->deleting && !worker->disrupted;
		registered += !worker->deleting && !worker->disrupted && worker->registered;
	}
	CHECK(group->kept == kept);
	CHECK(group->registered == registered);
	CHECK(group->missing >= (int64_t)group->worker_count - pods);
	CHECK(group->disrupted >= 0 && group->disrupted <= pods);
	CHECK(group->uncounted >= 0 && group->uncounted <= group->disrupted);
}

static void check_demand(const struct facts *facts)
{
	CHECK(facts->ray_reachable || facts->demands.at.count == 0);
	VEC_EACH(const struct demand, demand, &facts->demands.at) {
		CHECK(demand->count > 0);
		CHECK(demand->received_count > 0);
		CHECK((!demand->reason) == (!demand->message));
	}
	CHECK(facts->ray_reachable || facts->gang_count == 0);
	for (size_t i = 0; i < facts->gang_count; i++) {
		const struct gang *gang = &facts->gangs[i];

		CHECK(facts->gangs_by_content[i] < facts->gang_count);
		CHECK(gang->received < facts->snapshot->ray_state->gang_count);
		CHECK(gang->message);
	}
}

void invariants_of_facts(const struct facts *facts)
{
	size_t at = 0;

	CHECK(facts->ray_reachable == (facts->head_node != NULL));
	CHECK(!facts->ray_reachable || facts->snapshot->ray_state);
	CHECK(facts->ray_reachable || facts->termination_forbidden);
	CHECK(!facts->view_problem || facts->termination_forbidden);
	CHECK(!facts->head_problem || facts->termination_forbidden);
	CHECK(facts->group_count == facts->snapshot->cluster.group_count);
	for (size_t g = 0; g < facts->group_count; g++) {
		const struct group *group = &facts->groups[g];

		CHECK(group->index == g && group->hosts > 0);
		CHECK(group->frozen == (group->spec->suspend || group->problem));
		CHECK(group->frozen || group->spec->min_replicas <= group->spec->max_replicas);
		CHECK(group->frozen || group->min_replicas <= group->spec->max_replicas);
		CHECK(group->min_replicas == group->spec->min_replicas ||
		      (group->schedule && group->min_replicas > group->spec->min_replicas));
		check_slice(facts, group, at);
		at += group->worker_count;
	}
	for (size_t i = 0; i < facts->worker_count; i++) {
		CHECK(facts->workers[i].index == i);
		CHECK(i < at || facts->workers[i].group == FACTS_NO_INDEX);
		check_worker(facts, &facts->workers[i]);
	}
	check_demand(facts);
}

/* --- health --- */

static void check_worker_health(const struct health *health, const struct worker *worker)
{
	const struct worker_health *own = &health->workers[worker->index];

	CHECK(own->obstacle_message);
	if (worker->deleting || worker->registered || worker->raylet_gone)
		CHECK(own->obstacle == OBSTACLE_NONE);
	CHECK(own->obstacle != OBSTACLE_START_TIMEOUT || health->facts->ray_reachable);
	CHECK(!own->raylet_expired || worker->raylet_gone);
	CHECK(!own->start_grace || worker->registered);
	CHECK(!(own->unsure || own->unregistered) || !worker->node);
	CHECK(!own->unregistered || !worker->never_started);
	if (own->starved) {
		CHECK(!worker->registered && !worker->deleting);
		CHECK(health->groups[worker->group].cancels != CANCELS_NOTHING);
	}
}

void invariants_of_health(const struct health *health)
{
	const struct facts *facts = health->facts;

	for (size_t g = 0; g < facts->group_count; g++) {
		const struct group_health *group = &health->groups[g];

		CHECK(!group->backed_off || group->backoff);
		CHECK(group->backed_off ==
		      (group->cancels != CANCELS_NOTHING || group->raises_held));
		CHECK(group->cancels == CANCELS_NOTHING || !group->raises_held);
		CHECK(group->idle_timeout_ms >= facts->groups[g].idle_timeout_ms);
		CHECK(group->reverts >= 0);
		CHECK(!facts->groups[g].frozen || group->reverts == 0);
		CHECK(!facts->groups[g].frozen || !group->lowers_held);
	}
	for (size_t i = 0; i < facts->worker_count; i++)
		check_worker_health(health, &facts->workers[i]);
}

/* --- offer --- */

static void check_worker_offer(const struct offer *offer, const struct worker *worker)
{
	const struct worker_offer *own = &offer->workers[worker->index];

	CHECK(!(own->deleted_now && own->incomplete));
	CHECK(!own->deleted_now || own->removal == REMOVAL_DELETE);
	if (own->removal == REMOVAL_FORBIDDEN)
		return;
	CHECK(!offer->facts->termination_forbidden);
	CHECK(worker->pod && !worker->deleting && !worker->pod->unreadable);
	CHECK(!offer->facts->groups[worker->group].frozen);
	if (own->removal == REMOVAL_DRAIN)
		CHECK(worker->registered && worker->node->status == RAY_NODE_IDLE);
	else if (worker->registered)
		CHECK(worker->node->status == RAY_NODE_DRAINING);
}

static void check_packed(const struct packed_list *packed, size_t count)
{
	CHECK(packed->count <= count);
	for (size_t i = 0; i < packed->count; i++)
		CHECK(packed->index[i] < count);
}

static void check_type(const struct offer *offer, const struct group *group)
{
	const struct schedule_type *type = &offer->problem.types[group->index + 1];
	const struct group_offer *own = &offer->groups[group->index];

	CHECK(type->hosts == group->hosts);
	CHECK(type->min_nodes >= 0 && type->min_nodes <= type->max_nodes);
	CHECK(type->launch_held || !group->frozen);
	CHECK(type->launch_held || !offer->health->groups[group->index].backed_off);
	CHECK(own->ours >= 0);
	CHECK(own->seen_capacity.gpu_amount >= 0 && type->gpu_amount >= 0);
	CHECK(type->recoverable_availability >= 0.0 && type->recoverable_availability <= 1.0);
	for (size_t i = 0; i < own->lack_count; i++)
		CHECK(own->lacks[i].seen < own->lacks[i].promised);
}

void invariants_of_offer(const struct offer *offer)
{
	const struct facts *facts = offer->facts;
	const struct schedule_problem *problem = &offer->problem;

	for (size_t i = 0; i < facts->worker_count; i++)
		check_worker_offer(offer, &facts->workers[i]);
	CHECK(problem->type_count == facts->group_count + 1);
	CHECK(problem->types[0].launch_held); /* heads are never launched */
	for (size_t g = 0; g < facts->group_count; g++)
		check_type(offer, &facts->groups[g]);
	CHECK(problem->node_count <= facts->worker_count + 1);
	ARRAY_EACH(const struct schedule_node, node, problem->nodes, problem->node_count) {
		CHECK(node->worker <= facts->worker_count);
		CHECK(node->head == (node->worker == facts->worker_count));
		CHECK(!node->head || !node->may_terminate);
		CHECK(node->type == SCHEDULE_NO_INDEX || node->type < problem->type_count);
		CHECK(node->running == node->registered);
		CHECK(node->idle_ms == 0 || node->registered);
	}
	CHECK(problem->demand_count == offer->packed_demands.count);
	CHECK(problem->gang_count == offer->packed_gangs.count);
	CHECK(problem->constraint_count == facts->constraint_count);
	check_packed(&offer->packed_demands, facts->demands.at.count);
	check_packed(&offer->packed_gangs, facts->gang_count);
	for (size_t c = 0; c < facts->constraint_count; c++)
		check_packed(&offer->packed_constraints[c], facts->constraints[c].at.count);
	CHECK(!problem->has_gpu_budget || problem->gpu_budget >= 0);
}

/* --- packing --- */

static void check_placement(const struct packing *packing, const struct schedule_placement *item)
{
	const struct schedule_problem *problem = &packing->problem;

	CHECK(item->count > 0);
	switch (item->phase) {
	case SCHEDULE_PHASE_CONSTRAINT:
		CHECK(item->list < problem->constraint_count);
		CHECK(item->index < problem->constraints[item->list].count);
		break;
	case SCHEDULE_PHASE_GANG:
		CHECK(item->index < problem->gang_count);
		break;
	case SCHEDULE_PHASE_DEMAND:
		CHECK(item->index < problem->demand_count);
		break;
	case SCHEDULE_PHASE_MIN:
		break;
	}
}

static void check_group_packing(const struct packing *packing, const struct group *group)
{
	const struct group_packing *own = &packing->groups[group->index];
	const struct schedule_type *type = &packing->problem.types[group->index + 1];

	CHECK(own->launches >= 0 && own->launches <= type->max_nodes);
	CHECK(!type->has_pool || own->launches <= type->pool_nodes);
	CHECK(!type->launch_held || own->launches == 0);
	CHECK(!type->launch_held || own->launches_for_disruption == 0);
	CHECK(own->whole >= 0 && own->whole <= own->launches);
	CHECK(own->later >= 0 && own->later <= own->launches);
	CHECK(own->launches_for_disruption >= 0 && own->replacements_waiting >= 0);
	CHECK(own->launches_for_warm >= 0 && own->launches_for_warm <= own->warm);
	CHECK(!type->launch_held || own->launches_for_warm == 0);
}

void invariants_of_packing(const struct packing *packing)
{
	const struct facts *facts = packing->facts;
	const struct schedule_result *result = packing->result;

	CHECK(result->launches[0] == 0);
	for (size_t g = 0; g < facts->group_count; g++)
		check_group_packing(packing, &facts->groups[g]);
	ARRAY_EACH(const struct schedule_node_result, node, result->nodes, result->node_count) {
		CHECK(node->worker == SCHEDULE_NO_INDEX || node->worker <= facts->worker_count);
		CHECK(node->worker != SCHEDULE_NO_INDEX ||
		      node->type < packing->problem.type_count);
		for (size_t p = 0; p < node->placement_count; p++)
			check_placement(packing, &node->placements[p]);
	}
	for (size_t i = 0; i < facts->worker_count; i++) {
		const struct worker_packing *worker = &packing->workers[i];

		CHECK(!worker->chosen || !worker->kept_reason);
		CHECK(!worker->chosen || !facts->workers[i].deleting);
	}
	CHECK(packing->starved_bundles >= 0 && packing_starved_seconds(packing) >= 0);
	CHECK(packing->packed_demands.count == packing->problem.demand_count);
	for (size_t i = 0; i < packing->packed_demands.count; i++)
		CHECK(packing->packed_demands.index[i] < facts->demands.at.count);
}

/* --- choice --- */

static bool has_deadline(const struct worker *worker)
{
	return worker->release && worker->release->deadline != TIME_NONE;
}

/* Busy work is never terminated: only idle, drained, dead and never started workers are, except
 * with enforce-max: now, and those that a pool releases or a planned end stops with a deadline. */
static void check_worker_choice(const struct choice *choice, const struct worker *worker)
{
	const struct worker_choice *own = &choice->workers[worker->index];

	if (own->action == TERMINATE_NONE)
		return;
	if (relay_is_notified(choice, worker)) {
		CHECK(own->action == TERMINATE_DRAIN && own->busy);
		CHECK(!choice->facts->termination_forbidden);
		CHECK(worker->announced && relay_is_in_use(worker));
		return;
	}
	CHECK(!choice->packing->termination_forbidden);
	CHECK(worker->pod && !worker->deleting);
	CHECK(!choice->facts->groups[worker->group].frozen);
	CHECK(own->reason && own->message);
	switch (own->action) {
	case TERMINATE_DRAIN:
		CHECK(choice->offer->workers[worker->index].removal == REMOVAL_DRAIN ||
		      (own->busy && worker->registered &&
		       (!worker->do_not_disrupt || has_deadline(worker))));
		break;
	case TERMINATE_DELETE:
		CHECK(choice->offer->workers[worker->index].removal == REMOVAL_DELETE);
		break;
	case TERMINATE_STOP:
		CHECK(in_force_stops_busy(choice->snapshot) ||
		      (worker->planned && worker->planned->stops &&
		       worker->ends <= choice->snapshot->now) ||
		      (has_deadline(worker) && worker->release->deadline <= choice->snapshot->now &&
		       worker->state == WORKER_DRAINING));
		CHECK(!worker->do_not_disrupt || has_deadline(worker));
		break;
	case TERMINATE_NONE:
		break;
	}
}

static void check_group_choice(const struct group_choice *own)
{
	const struct worker_group *spec = own->group->spec;

	CHECK(own->to_launch >= 0);
	CHECK(own->missing_taken >= 0 && own->backed_off_taken >= 0 && own->unneeded >= 0);
	CHECK(own->unneeded == 0 || own->unneeded_since != TIME_NONE);
	CHECK(own->allowed_replicas >= 0 && own->allowed_replicas <= own->launch_replicas);
	CHECK(own->drained >= 0 && own->recycled >= 0 && own->cancelled >= 0);
	CHECK(own->removed_pods >= 0 && own->removed_pods <= own->group->kept);
	CHECK(own->removed_missing >= 0 && own->removed_missing <= own->group->missing);
	CHECK(own->disruption_named >= 0 && own->disruption_named <= own->group->disrupted);
	if (own->group->frozen) {
		CHECK(own->patch_replicas == spec->replicas);
		CHECK(own->target_replicas == spec->replicas);
		CHECK(own->to_launch == 0 && own->drained == 0 && own->removed_pods == 0);
		return;
	}
	CHECK(!own->health->raises_held || own->patch_replicas <= spec->replicas);
	if (own->patch_replicas != spec->replicas) {
		CHECK(own->patch_replicas >= spec->min_replicas);
		CHECK(own->patch_replicas <= spec->max_replicas);
	}
}

void invariants_of_choice(const struct choice *choice)
{
	for (size_t i = 0; i < choice->facts->worker_count; i++)
		check_worker_choice(choice, &choice->facts->workers[i]);
	for (size_t g = 0; g < choice->facts->group_count; g++)
		check_group_choice(&choice->groups[g]);
}

/* --- plan --- */

/* One entry per group at most, and one mark per Pod or group that was judged. */
static void check_memory(const struct choice *choice, const struct memory_state *memory)
{
	size_t groups = choice->facts->group_count;

	CHECK(memory->templates.count <= groups);
	CHECK(memory->backoffs.count <= groups);
	CHECK(memory->launches.count <= groups);
	for (size_t i = 0; i < memory->marks.count; i++) {
		CHECK(memory->marks.at[i].kind < MARK_KIND_COUNT);
		CHECK(memory->marks.at[i].key && memory->marks.at[i].count >= 0);
	}
	VEC_EACH(const struct memory_launch, launch, &memory->launches)
		CHECK(launch->replicas >= 0 && launch->not_registered >= 0);
}

/* The name of a group is tested before each change of its fields. */
void invariants_of_patch(const struct plan *plan)
{
	for (size_t i = 0; i < plan->patch.count; i++) {
		const struct patch_op *op = &plan->patch.at[i];
		bool adds = strcmp(op->op, "add") == 0 || strcmp(op->op, "replace") == 0 ||
			    strcmp(op->op, "remove") == 0;

		CHECK(adds || strcmp(op->op, "test") == 0);
		CHECK(op->string && op->path[0] == '/');
		CHECK(!adds || i > 0);
	}
}

/* A worker that this plan terminates has a reason, and only with terminations allowed. */
static void check_terminations(const struct choice *choice, const struct plan_group *group)
{
	VEC_EACH(const struct plan_termination, item, &group->terminate) {
		CHECK(item->busy ? !choice->facts->termination_forbidden :
				   !choice->packing->termination_forbidden);
		CHECK(item->action != TERMINATE_NONE);
		CHECK(item->pod && item->reason && item->message);
	}
}

void invariants_of_gated_plan(const struct facts *facts, const struct plan *plan)
{
	CHECK(plan->patch.count == 0);
	CHECK(plan->unserved.count == 0 && plan->infeasible.count == 0);
	CHECK(plan->conditions.count > 0);
	CHECK(plan->groups.count == facts->group_count);
	CHECK(plan->workers.count <= facts->worker_count);
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		CHECK(group->terminate.count == 0 && group->to_launch == 0);
		CHECK(group->target_replicas == group->replicas);
		CHECK(group->patch_replicas == group->replicas);
	}
	for (size_t i = 0; i < plan->workers.count; i++)
		CHECK(plan->workers.at[i].reason && plan->workers.at[i].message);
}

void invariants_of_plan(const struct choice *choice, const struct plan *plan)
{
	CHECK(plan->groups.count == choice->facts->group_count);
	CHECK(plan->workers.count <= choice->facts->worker_count);
	CHECK(plan->conditions.count > 0);
	check_memory(choice, &plan->memory);
	for (size_t g = 0; g < plan->groups.count; g++) {
		CHECK(strcmp(plan->groups.at[g].name, choice->facts->groups[g].spec->name) == 0);
		CHECK(plan->groups.at[g].terminate.count <= choice->facts->groups[g].worker_count);
		check_terminations(choice, &plan->groups.at[g]);
		CHECK(plan->groups.at[g].patch_replicas == plan->groups.at[g].replicas ||
		      plan->patch.count > 0);
		CHECK(plan->groups.at[g].message);
		CHECK((plan->groups.at[g].backoff != NULL) == choice->health->groups[g].backed_off);
	}
	for (size_t i = 0; i < plan->workers.count; i++)
		CHECK(plan->workers.at[i].reason && plan->workers.at[i].message);
	invariants_of_patch(plan);
	for (size_t i = 0; i < plan->unserved.count; i++)
		CHECK(plan->unserved.at[i].count > 0 && plan->unserved.at[i].reason);
	for (size_t i = 0; i < plan->infeasible.count; i++)
		CHECK(plan->infeasible.at[i].count > 0 && plan->infeasible.at[i].reason);
}
