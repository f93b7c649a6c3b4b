/* The size of a step of kube-scheduler, which places the Pods of one PodGroup (KEP-4671) together: what the free Nodes hold,
 * where they hold some of it; the next one begins when its Pods have Nodes. feature/queue has the wait of a step. Pure. */
#include "core/decide/capacity_check.h"
#include "core/decide/feature.h"
#include "core/nodes/node_sample.h"

static bool is_of_gang(const struct pod_spec *spec)
{
	return node_sample_gang(spec)[0] != '\0';
}

/* By group: of its template, the head, or one of its workers. */
static bool *find_gangs(const struct facts *facts)
{
	bool *in_gang = arena_array(facts->arena, facts->group_count, sizeof(*in_gang));

	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count)
		in_gang[group->index] = is_of_gang(&group->spec->template.spec) ||
					(facts->head_pod && is_of_gang(&facts->head_pod->spec));
	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count)
		if (worker->group != FACTS_NO_INDEX && worker->pod &&
		    is_of_gang(&worker->pod->spec))
			in_gang[worker->group] = true;
	return in_gang;
}

/* Pods that wait, and replicas without one. False: no Node holds them, or they were not placed in the time of a Node. */
static bool take_waiting(const struct packing *packing, const bool *in_gang, bool *ret_any)
{
	ARRAY_EACH(const struct worker, worker, packing->facts->workers,
		   packing->facts->worker_count) {
		if (worker->group == FACTS_NO_INDEX || !in_gang[worker->group] ||
		    worker->deleting || (worker->pod && worker->pod->spec.node_name[0] != '\0'))
			continue;
		*ret_any = true;
		if (packing->health->workers[worker->index].obstacle >= OBSTACLE_GATED ||
		    !capacity_check_take(packing->health->capacity_check, &worker->group, 1))
			return false;
	}
	return true;
}

#define NO_GANG SIZE_MAX

/* New workers of groups in a gang, in the order of the packing: their groups, the first one behind the unit, which is
 * the replica and the placement groups that it shares with others, and one of these placement groups. */
struct fresh {
	VEC(size_t) groups, ends, gangs;
};

static struct fresh find_fresh(const struct packing *packing, const bool *in_gang)
{
	struct fresh fresh = { .groups = { .at = NULL } };
	size_t *first = arena_array(packing->arena, packing->problem.gang_count, sizeof(*first));
	int64_t hosts = 0;

	ARRAY_EACH(const struct schedule_node_result, node, packing->result->nodes,
		   packing->result->node_count) {
		size_t at = fresh.groups.count, group = node->type - 1;

		if (node->status != SCHEDULE_LAUNCH || !in_gang[group])
			continue;
		if (at == 0 || fresh.groups.at[at - 1] != group)
			hosts = 0;
		VEC_PUSH(packing->arena, &fresh.groups, group);
		VEC_PUSH(packing->arena, &fresh.ends, at + 1);
		VEC_PUSH(packing->arena, &fresh.gangs, NO_GANG);
		if (hosts++ % packing->facts->groups[group].hosts != 0)
			fresh.ends.at[at - 1] = at + 1;
		for (size_t i = 0; i < node->placement_count; i++) {
			size_t gang = node->placements[i].index;

			if (node->placements[i].phase != SCHEDULE_PHASE_GANG)
				continue;
			if (first[gang] == 0)
				first[gang] = at + 1;
			fresh.gangs.at[at] = gang;
			fresh.ends.at[first[gang] - 1] = at + 1;
		}
	}
	return fresh;
}

/* Workers that exist and are empty but for a placement group that waits for others: other work has them meanwhile. */
static void add_spare(const struct packing *packing, size_t gang, size_t *spare)
{
	const struct schedule_problem *problem = &packing->problem;

	for (size_t i = 0; i < problem->node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];
		bool alone = node->placement_count > 0 && !problem->nodes[i].head &&
			     node->type != SCHEDULE_NO_INDEX &&
			     (!problem->nodes[i].running || problem->nodes[i].idle_ms > 0);

		for (size_t p = 0; p < node->placement_count; p++)
			alone = alone && node->placements[p].phase == SCHEDULE_PHASE_GANG &&
				node->placements[p].index == gang;
		if (alone)
			spare[node->type - 1]++;
	}
}

/* The unit of these fresh Pods is asked for in a later step. */
static void put_off(struct packing *packing, const struct fresh *fresh, size_t first, size_t end,
		    size_t *spare)
{
	for (size_t j = first; j < end; j++) {
		packing->groups[fresh->groups.at[j]].later++;
		if (fresh->gangs.at[j] != NO_GANG &&
		    (j == first || fresh->gangs.at[j] != fresh->gangs.at[j - 1]))
			add_spare(packing, fresh->gangs.at[j], spare);
	}
}

/* One Pod that no Node holds would hold back all others of its step, so the first one has what the free Nodes hold; where
 * they hold nothing, all is asked for, and a node autoscaler sees it. Of the units, gangs first, those are taken that fit.
 * Costs as capacity_check_take(). */
static void keep(struct packing *packing)
{
	const struct facts *facts = packing->facts;
	const bool *in_gang = find_gangs(facts);
	struct fresh fresh = find_fresh(packing, in_gang);
	size_t *spare = arena_array(packing->arena, facts->group_count, sizeof(*spare));
	bool any = false;

	if (fresh.groups.count == 0 || !take_waiting(packing, in_gang, &any))
		return;
	for (size_t i = 0, end; i < fresh.groups.count; i = end) {
		size_t group = fresh.groups.at[i];

		end = i + 1;
		for (size_t j = i; j < end; j++)
			end = fresh.ends.at[j] > end ? fresh.ends.at[j] : end;
		if (end == i + 1 && fresh.gangs.at[i] == NO_GANG && spare[group] > 0) {
			spare[group]--;
			packing->groups[group].later++;
			continue;
		}
		if (capacity_check_take(packing->health->capacity_check, &fresh.groups.at[i],
					end - i)) {
			any = true;
			continue;
		}
		put_off(packing, &fresh, i, end, spare);
	}
	if (any)
		return;
	for (size_t g = 0; g < facts->group_count; g++)
		packing->groups[g].later = 0;
}

const struct decision_feature native_gangs_decisions = { .keep = keep };
