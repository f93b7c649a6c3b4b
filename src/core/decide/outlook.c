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

static struct node_rooms *make_rooms(struct situation *s)
{
	const struct snapshot *snapshot = s->snapshot;
	struct node_rooms *rooms = ARENA_NEW(s->arena, struct node_rooms);

	node_rooms_init(rooms, snapshot->nodes, snapshot->node_count, snapshot->device_table,
			s->arena);
	for (size_t i = 0; rooms->count > 0 && i < snapshot->pod_count; i++)
		node_rooms_add(rooms, &snapshot->pods[i]);
	for (size_t i = 0; rooms->count > 0 && i < snapshot->other_pod_count; i++)
		if (!is_ours(snapshot, &snapshot->other_pods[i]))
			node_rooms_add(rooms, &snapshot->other_pods[i]);
	node_rooms_finish(rooms);
	rooms->partial = !snapshot->other_pods_known;
	return rooms;
}

static const char *look(struct situation *s, const struct pod_spec *spec, bool template_only,
			bool *ret_fits)
{
	struct node_demand demand;
	struct node_fit fit;

	if (s->rooms == NULL)
		s->rooms = make_rooms(s);
	if (s->rooms->count == 0)
		return "";
	node_demand_init(&demand, spec, template_only, s->rooms->devices, s->arena);
	node_fit_best(&demand, s->rooms, s->arena, &fit);
	*ret_fits = fit.level == NODE_FIT_NOW;
	return node_fit_text(&demand, s->rooms, &fit, s->arena);
}

const char *outlook_of_pod(struct situation *s, struct group *group, const struct pod *pod)
{
	if (group->outlook == NULL)
		group->outlook = look(s, &pod->spec, false, &group->outlook_fits);
	return group->outlook;
}

const char *outlook_of_launch(struct situation *s, struct group *group)
{
	if (group->outlook == NULL)
		group->outlook = look(s, &group->spec->template.spec, true, &group->outlook_fits);
	return group->outlook;
}
