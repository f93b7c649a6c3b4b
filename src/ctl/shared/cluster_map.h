/* The structs that a module keeps for each RayCluster, by namespace and name: on the heap, zeroed when
 * they are made. Their first member is a struct cluster_entry. The map owns them. All of it may be lost. */
#ifndef CTL_SHARED_CLUSTER_MAP_H
#define CTL_SHARED_CLUSTER_MAP_H

#include "base/map.h"

struct cluster_entry {
	/* key: "namespace/name", the name in messages. In the memory of the struct and of the map. */
	const char *namespace_, *name, *key;
};

struct cluster_map {
	struct map map; /* by key; count and entries may be read */
	size_t size;    /* of one struct */
	/* Frees all that the struct owns but the entry, while it is still in the map; NULL: nothing. */
	void (*done)(void *one);
};

#define CLUSTER_MAP_INIT(type, free_members)                                                       \
	((struct cluster_map){ .size = sizeof(type), .done = (free_members) })

void cluster_map_done(struct cluster_map *map);
/* NULL: none. */
void *cluster_map_get(const struct cluster_map *map, const char *namespace_, const char *name);
/* The one that is there, else a new one. */
void *cluster_map_make(struct cluster_map *map, const char *namespace_, const char *name);
void cluster_map_remove(struct cluster_map *map, const char *namespace_, const char *name);

#endif
