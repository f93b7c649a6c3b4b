/* Nodes with GPUs, as the places of core/share in tests: a unit is a number of equal Pods, each on
 * the first Node with room. */
#ifndef TEST_SUPPORT_SHARE_NODES_H
#define TEST_SUPPORT_SHARE_NODES_H

#include "test/support/share_scene.h"

#define NODES_MAX 16
#define NODES_MARKS_MAX 4096
#define NODES_UNITS_MAX 64

struct share_nodes {
	struct share_places places;
	const struct scene *scene;
	size_t count;
	int64_t now[NODES_MAX], soon[NODES_MAX];
	int64_t pods[NODES_UNITS_MAX];   /* of each unit; 0: one */
	size_t node_of[NODES_MARKS_MAX]; /* of each worker */
	int64_t marked[NODES_MARKS_MAX][2][NODES_MAX];
	size_t mark_count;
};

__attribute__((unused)) static bool share_nodes_take(void *context, size_t unit, bool soon)
{
	struct share_nodes *nodes = context;
	int64_t pods = nodes->pods[unit] ? nodes->pods[unit] : 1;
	int64_t amount = nodes->scene->units.at[unit].amount / pods;
	int64_t before[2][NODES_MAX];
	size_t node = 0;

	memcpy(before[0], nodes->now, sizeof(nodes->now));
	memcpy(before[1], nodes->soon, sizeof(nodes->soon));
	while (pods > 0 && node < nodes->count) {
		int64_t *room = soon ? &nodes->soon[node] : &nodes->now[node];

		if (*room < amount || nodes->soon[node] < amount) {
			node++;
			continue;
		}
		nodes->soon[node] -= amount;
		nodes->now[node] -= soon ? 0 : amount;
		if (nodes->now[node] > nodes->soon[node])
			nodes->now[node] = nodes->soon[node];
		pods--;
	}
	if (pods > 0) {
		memcpy(nodes->now, before[0], sizeof(nodes->now));
		memcpy(nodes->soon, before[1], sizeof(nodes->soon));
	}
	return pods == 0;
}

__attribute__((unused)) static void share_nodes_leave(void *context, size_t worker)
{
	struct share_nodes *nodes = context;

	nodes->soon[nodes->node_of[worker]] += nodes->scene->workers.at[worker].amount;
}

__attribute__((unused)) static size_t share_nodes_mark(void *context)
{
	struct share_nodes *nodes = context;

	if (nodes->mark_count == NODES_MARKS_MAX)
		abort();
	memcpy(nodes->marked[nodes->mark_count][0], nodes->now, sizeof(nodes->now));
	memcpy(nodes->marked[nodes->mark_count][1], nodes->soon, sizeof(nodes->soon));
	return nodes->mark_count++;
}

__attribute__((unused)) static void share_nodes_rollback(void *context, size_t mark)
{
	struct share_nodes *nodes = context;

	memcpy(nodes->now, nodes->marked[mark][0], sizeof(nodes->now));
	memcpy(nodes->soon, nodes->marked[mark][1], sizeof(nodes->soon));
}

/* Nodes with these GPUs each, all free; later scene_hold of workers takes nothing from them. */
__attribute__((unused)) static void
share_nodes_start(struct share_nodes *nodes, struct scene *scene, size_t count, int64_t gpus)
{
	*nodes = (struct share_nodes){ .scene = scene, .count = count };
	for (size_t i = 0; i < count; i++)
		nodes->now[i] = nodes->soon[i] = gpus * GPU;
	nodes->places = (struct share_places){ nodes, share_nodes_take, share_nodes_leave,
					       share_nodes_mark, share_nodes_rollback };
	scene->pool.places = &nodes->places;
}

/* The worker is on the Node. */
__attribute__((unused)) static void share_nodes_put(struct share_nodes *nodes, size_t worker,
						    size_t node)
{
	int64_t amount = nodes->scene->workers.at[worker].amount;

	nodes->node_of[worker] = node;
	nodes->now[node] -= amount;
	if (nodes->scene->workers.at[worker].state != SHARE_LEAVING)
		nodes->soon[node] -= amount;
}

#endif
