#include "core/report/placement.h"

#include "base/check.h"

/* Received entries of equal requests are used up in the order of the received list. */
struct cursor {
	size_t entry;
	int64_t used;
};

struct writer {
	const struct choice *choice;
	struct plan *plan;
	struct cursor *demands;      /* per demand */
	struct cursor **constraints; /* per constraint and demand */
	int64_t *made;               /* per group: new workers named so far */
};

static const char *head_name(const struct choice *choice)
{
	if (choice->facts->head_pod)
		return choice->facts->head_pod->name;
	if (choice->facts->head_node && choice->facts->head_node->instance_id[0] != '\0')
		return choice->facts->head_node->instance_id;
	return HEAD_GROUP_NAME;
}

static const char *new_name(struct writer *w, size_t group)
{
	return arena_printf(w->choice->arena, "new-%s-%lld",
			    w->choice->facts->groups[group].spec->name,
			    (long long)++w->made[group]);
}

static void name_worker(struct writer *w, const struct schedule_node_result *node,
			const char **ret_worker, const char **ret_group)
{
	const struct choice *choice = w->choice;
	if (node->worker == SCHEDULE_NO_INDEX) {
		size_t group = node->type - 1;

		CHECK(group < choice->facts->group_count);
		*ret_worker = new_name(w, group);
		*ret_group = choice->facts->groups[group].spec->name;
	} else if (node->worker >= choice->facts->worker_count) {
		*ret_worker = head_name(choice);
		*ret_group = HEAD_GROUP_NAME;
	} else {
		const struct worker *worker = &choice->facts->workers[node->worker];
		*ret_worker = worker->pod ? worker->pod_name : new_name(w, worker->group);
		*ret_group = worker->group_name;
	}
}

static void add_placed(struct writer *w, struct plan_placement *placement,
		       struct plan_placed placed)
{
	VEC_PUSH(w->choice->arena, &placement->placed, placed);
}

static void add_requests(struct writer *w, struct plan_placement *placement,
			 const struct demand *demand, struct cursor *cursor, enum demand_kind kind,
			 int64_t count)
{
	while (count > 0 && cursor->entry < demand->received_count) {
		int64_t left = demand->received_counts[cursor->entry] - cursor->used;
		int64_t take = count < left ? count : left;

		CHECK(take >= 0);
		add_placed(w, placement,
			   (struct plan_placed){ .kind = kind,
						 .source = demand->source,
						 .schedule = demand->schedule,
						 .index = demand->received[cursor->entry],
						 .bundle = demand->request,
						 .count = take });
		count -= take;
		cursor->used += take;
		if (cursor->used == demand->received_counts[cursor->entry])
			*cursor = (struct cursor){ .entry = cursor->entry + 1 };
	}
}

static void add_one(struct writer *w, struct plan_placement *placement,
		    const struct schedule_placement *item)
{
	const struct choice *choice = w->choice;
	if (item->phase == SCHEDULE_PHASE_CONSTRAINT) {
		size_t index;

		CHECK(item->list < choice->facts->constraint_count);
		index = choice->offer->packed_constraints[item->list].index[item->index];
		CHECK(index < choice->facts->constraints[item->list].at.count);
		add_requests(w, placement, &choice->facts->constraints[item->list].at.at[index],
			     &w->constraints[item->list][index], DEMAND_CONSTRAINT, item->count);
	} else if (item->phase == SCHEDULE_PHASE_GANG) {
		const struct gang *gang =
			&choice->facts->gangs[choice->offer->packed_gangs.index[item->index]];

		CHECK(gang < choice->facts->gangs + choice->facts->gang_count);
		add_placed(w, placement,
			   (struct plan_placed){ .kind = DEMAND_GANG,
						 .source = SOURCE_RAY,
						 .index = gang->received,
						 .bundle = item->bundle,
						 .count = item->count });
	} else if (item->phase == SCHEDULE_PHASE_DEMAND) {
		size_t index = choice->packing->packed_demands.index[item->index];

		CHECK(index < choice->facts->demands.at.count);
		add_requests(w, placement, &choice->facts->demands.at.at[index], &w->demands[index],
			     DEMAND_REQUEST, item->count);
	}
}

static void write_phase(struct writer *w, const struct schedule_node_result *node,
			const char *worker, const char *group, bool constraints)
{
	size_t count = 0;
	for (size_t i = 0; i < node->placement_count; i++)
		if ((node->placements[i].phase == SCHEDULE_PHASE_CONSTRAINT) == constraints)
			count++;
	if (count == 0)
		return;
	struct plan_placement *placement = VEC_ADD(w->choice->arena, &w->plan->placements);
	*placement = (struct plan_placement){ .worker = worker,
					      .group = group,
					      .constraint_phase = constraints };
	for (size_t i = 0; i < node->placement_count; i++)
		if ((node->placements[i].phase == SCHEDULE_PHASE_CONSTRAINT) == constraints)
			add_one(w, placement, &node->placements[i]);
}

static struct writer writer_make(const struct choice *choice, struct plan *plan)
{
	struct writer w = { .choice = choice, .plan = plan };
	w.demands = arena_array(choice->arena, choice->facts->demands.at.count, sizeof(*w.demands));
	w.constraints =
		arena_array(choice->arena, choice->facts->constraint_count, sizeof(*w.constraints));
	for (size_t i = 0; i < choice->facts->constraint_count; i++)
		w.constraints[i] = arena_array(choice->arena,
					       choice->facts->constraints[i].at.count,
					       sizeof(*w.constraints[i]));
	w.made = arena_array(choice->arena, choice->facts->group_count, sizeof(*w.made));
	return w;
}

void placement_write(const struct choice *choice, struct plan *plan)
{
	struct writer w = writer_make(choice, plan);
	ARRAY_EACH(const struct schedule_node_result, node, choice->packing->result->nodes,
		   choice->packing->result->node_count) {
		if (node->worker == SCHEDULE_NO_INDEX && node->type == 0)
			continue;
		const char *worker, *group;
		name_worker(&w, node, &worker, &group);
		write_phase(&w, node, worker, group, true);
		write_phase(&w, node, worker, group, false);
	}
}
