#include "ctl/shared/cluster_map.h"

#include "base/arena.h"
#include "base/memory.h"

static void free_one(const struct cluster_map *map, void *one)
{
	struct cluster_entry *entry = one;

	if (!one)
		return;
	map->done(one);
	memory_free(entry->namespace_);
	memory_free(entry->name);
	memory_free(entry->key);
	memory_free(one);
}

void cluster_map_done(struct cluster_map *map)
{
	for (size_t i = 0; i < map->map.count; i++)
		free_one(map, map->map.entries[i].value);
	map_done(&map->map);
}

void *cluster_map_get(const struct cluster_map *map, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (map->map.count == 0)
		return NULL;
	return map_get(&map->map, arena_printf(&scratch, "%s/%s", namespace_, name));
}

void *cluster_map_make(struct cluster_map *map, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct cluster_entry *entry = cluster_map_get(map, namespace_, name);

	if (entry)
		return entry;
	entry = memory_alloc(map->size);
	entry->namespace_ = memory_strdup(namespace_);
	entry->name = memory_strdup(name);
	entry->key = memory_strdup(arena_printf(&scratch, "%s/%s", namespace_, name));
	map_set(&map->map, entry->key, entry);
	return entry;
}

void cluster_map_remove(struct cluster_map *map, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	free_one(map, map_remove(&map->map, arena_printf(&scratch, "%s/%s", namespace_, name)));
}
