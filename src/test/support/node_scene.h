/* Nodes and Pods for tests of node capacity and inventory, from short texts: "cpu=4
 * nvidia.com/gpu=2". All in the arena of the scene. Header only. */
#ifndef TEST_SUPPORT_NODE_SCENE_H
#define TEST_SUPPORT_NODE_SCENE_H

#include <stdio.h>
#include <string.h>

#include "core/nodes/node_capacity.h"
#include "test/support/support.h"

#define SCENE_MAX 64

struct node_scene {
	struct arena arena;
	struct node nodes[SCENE_MAX];
	size_t node_count;
	struct pod pods[SCENE_MAX];
	size_t pod_count;
};

__attribute__((unused)) static struct quantities scene_quantities(struct arena *arena,
								  const char *text)
{
	VEC(struct quantity) list = { .at = NULL };
	char name[64];
	long long units;
	int size;

	while (sscanf(text, " %63[^=]=%lld%n", name, &units, &size) == 2) {
		VEC_PUSH(arena, &list,
			 ((struct quantity){ .name = arena_strdup(arena, name),
					     .text = "",
					     .valid = true,
					     .amount = units * RESOURCE_UNIT }));
		text += size;
	}
	return (struct quantities){ list.at, list.count };
}

/* "a=b c=d" */
__attribute__((unused)) static struct labels scene_labels(struct arena *arena, const char *text)
{
	VEC(struct label) list = { .at = NULL };
	char key[64], value[64];
	int size;

	while (sscanf(text, " %63[^=]=%63s%n", key, value, &size) == 2) {
		VEC_PUSH(arena, &list,
			 ((struct label){ arena_strdup(arena, key), arena_strdup(arena, value) }));
		text += size;
	}
	return labels_sort(list.at, list.count);
}

__attribute__((unused)) static struct node *scene_node(struct node_scene *s, const char *name,
						       const char *amounts, const char *labels)
{
	struct node *node = &s->nodes[s->node_count++];

	*node = (struct node){ .name = name,
			       .resource_version = "",
			       .address = "",
			       .labels = scene_labels(&s->arena, labels),
			       .capacity = scene_quantities(&s->arena, amounts) };
	node->allocatable = node->capacity;
	return node;
}

/* node "": it waits for one. */
__attribute__((unused)) static struct pod *scene_pod(struct node_scene *s, const char *name,
						     const char *node, const char *limits)
{
	struct pod *pod = &s->pods[s->pod_count++];
	struct container *container = ARENA_NEW(&s->arena, struct container);

	*pod = pod_empty;
	pod->namespace_ = "default";
	pod->name = name;
	pod->phase = *node != '\0' ? "Running" : "Pending";
	container->name = container->image = "";
	container->limits = scene_quantities(&s->arena, limits);
	pod->spec.containers = container;
	pod->spec.container_count = 1;
	pod->spec.node_name = node;
	return pod;
}

/* The scheduler of gpushare chose this device. */
__attribute__((unused)) static void scene_on(struct node_scene *s, struct pod *pod, int64_t device)
{
	struct device_use *use = ARENA_NEW(&s->arena, struct device_use);

	use->device = device;
	pod->device_uses = use;
	pod->device_use_count = 1;
}

__attribute__((unused)) static void scene_capacities(struct node_scene *s,
						     struct node_capacities *ret_rooms)
{
	node_capacities_init(ret_rooms, s->nodes, s->node_count, device_table_builtin(), &s->arena);
	for (size_t i = 0; i < s->pod_count; i++)
		node_capacities_count(ret_rooms, &s->pods[i], 1);
	node_capacities_settle(ret_rooms);
}

#endif
