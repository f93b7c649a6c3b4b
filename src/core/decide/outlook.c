#include "core/decide/outlook.h"

#include <string.h>

#include "core/nodes/node_fit.h"

/* The Pods of this cluster are in `pods`; the sums of the controller have them as well. */
static bool is_ours(const struct snapshot *snapshot, const struct pod *pod)
{
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

	return cluster != NULL && strcmp(cluster, snapshot->cluster.name) == 0 &&
	       strcmp(pod->namespace_, snapshot->cluster.namespace_) == 0;
}

static const struct node_rooms *make_rooms(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	struct node_rooms *rooms = ARENA_NEW(facts->arena, struct node_rooms);

	node_rooms_init(rooms, snapshot->nodes, snapshot->node_count, snapshot->device_table,
			facts->arena);
	for (size_t i = 0; rooms->count > 0 && i < snapshot->pod_count; i++)
		node_rooms_add(rooms, &snapshot->pods[i]);
	for (size_t i = 0; rooms->count > 0 && i < snapshot->other_pod_count; i++)
		if (!is_ours(snapshot, &snapshot->other_pods[i]))
			node_rooms_add(rooms, &snapshot->other_pods[i]);
	node_rooms_finish(rooms);
	rooms->partial = !snapshot->other_pods_known;
	return rooms;
}

struct outlook *outlook_new(const struct facts *facts)
{
	struct outlook *outlook = ARENA_NEW(facts->arena, struct outlook);

	outlook->facts = facts;
	outlook->groups = arena_array(facts->arena, facts->group_count, sizeof(*outlook->groups));
	return outlook;
}

static void look(struct outlook *outlook, const struct pod_spec *spec, bool template_only,
		 struct outlook_group *group)
{
	struct arena *arena = outlook->facts->arena;
	struct node_demand demand;
	struct node_fit fit;

	group->text = "";
	if (outlook->rooms == NULL)
		outlook->rooms = make_rooms(outlook->facts);
	if (outlook->rooms->count == 0)
		return;
	node_demand_init(&demand, spec, template_only, outlook->rooms->devices, arena);
	node_fit_best(&demand, outlook->rooms, arena, &fit);
	group->fits_now = fit.level == NODE_FIT_NOW;
	group->text = node_fit_text(&demand, outlook->rooms, &fit, arena);
}

const char *outlook_of_pod(struct outlook *outlook, size_t group, const struct pod *pod)
{
	if (outlook->groups[group].text == NULL)
		look(outlook, &pod->spec, false, &outlook->groups[group]);
	return outlook->groups[group].text;
}

const struct outlook_group *outlook_of_launch(struct outlook *outlook, size_t group)
{
	const struct worker_group *spec = outlook->facts->groups[group].spec;

	if (outlook->groups[group].text == NULL)
		look(outlook, &spec->template.spec, true, &outlook->groups[group]);
	return &outlook->groups[group];
}
