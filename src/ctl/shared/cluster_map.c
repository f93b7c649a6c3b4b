#include "ctl/shared/cluster_map.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

void cluster_map_done(struct cluster_map *map)
{
	for (size_t i = 0; i < map->map.count; i++) {
		if (map->done)
			map->done(map->map.entries[i].value);
		memory_free(map->map.entries[i].value);
	}
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
	struct cluster_entry *entry = cluster_map_get(map, namespace_, name);

	if (!entry)
		return;
	if (map->done)
		map->done(entry);
	(void)map_remove(&map->map, entry->key);
	memory_free(entry);
}
