#include "ctl/shared/cluster_map.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

void cluster_map_done(struct cluster_map *map)
{
	map_drop_all(&map->map, map->done);
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
	size_t size = strlen(namespace_) + 1;

	if (entry)
		return entry;
	entry = memory_alloc(map->size + size);
	entry->namespace_ = memcpy((char *)entry + map->size, namespace_, size);
	map_set(&map->map, arena_printf(&scratch, "%s/%s", namespace_, name), entry);
	entry->key = map->map.entries[map->map.count - 1].key;
	entry->name = entry->key + size;
	return entry;
}

void cluster_map_remove(struct cluster_map *map, const char *namespace_, const char *name)
{
	const struct cluster_entry *entry = cluster_map_get(map, namespace_, name);

	if (entry)
		map_drop(&map->map, entry->key, map->done);
}
