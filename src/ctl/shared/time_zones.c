#include "ctl/shared/time_zones.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/text/tzif.h"

#define DIRECTORY "/usr/share/zoneinfo"
#define NAME_SIZE_MAX 64
#define MS_PER_DAY (86400 * MS_PER_SECOND)

/* A zone that was read. One that could not be is not kept: its name may be any. */
struct entry {
	const char *name;
	time_ms read_for;
	struct arena arena;
	const struct time_zone *zone; /* without name and problem */
};

struct time_zones {
	struct map entries; /* by name */
};

struct time_zones *time_zones_new(void)
{
	return memory_alloc(sizeof(struct time_zones));
}

static void entry_done(void *value)
{
	arena_done(&((struct entry *)value)->arena);
}

void time_zones_free(struct time_zones *zones)
{
	if (!zones)
		return;
	map_drop_all(&zones->entries, entry_done);
	memory_free(zones);
}

/* Without dots, a name cannot leave the directory. */
static bool is_name(const char *name)
{
	size_t size = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "_+-/");

	return name[0] != '/' && size > 0 && size <= NAME_SIZE_MAX && name[size] == '\0';
}

/* 0, or -1 with errno. */
static int read_bytes(const char *path, unsigned char *bytes, size_t room, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), cause;
	ssize_t size = 1;

	if (fd < 0)
		return -1;
	for (*ret_size = 0; size > 0 && *ret_size<room; *ret_size += size> 0 ? (size_t)size : 0)
		size = read(fd, bytes + *ret_size, room - *ret_size);
	cause = errno;
	(void)close(fd);
	errno = cause;
	return size < 0 ? -1 : 0;
}

static const char *read_zone(const char *name, time_ms now, struct arena *arena,
			     struct time_zone *ret_zone)
{
	size_t room = TZIF_BYTES_MAX + 1, size;
	unsigned char *bytes;
	const char *path, *problem;

	if (!is_name(name))
		return "is not a name like Europe/Berlin";
	path = arena_printf(arena, DIRECTORY "/%s", name);
	bytes = arena_array(arena, room, 1);
	if (read_bytes(path, bytes, room, &size))
		return errno == ENOENT || errno == ENOTDIR ?
			       "is not in " DIRECTORY
			       " (package tzdata): write a name such as Europe/Berlin" :
			       arena_printf(arena, "cannot be read from %s: %s", path,
					    strerror(errno));
	if (tzif_read(bytes, size, now - TIME_ZONE_PAST_DAYS * MS_PER_DAY,
		      now + TIME_ZONE_FUTURE_DAYS * MS_PER_DAY, arena, ret_zone, &problem))
		return arena_printf(arena, "cannot be used: %s %s", path, problem);
	return NULL;
}

/* The kept zone, or NULL and why there is none. */
static const struct time_zone *find(struct time_zones *zones, const char *name, time_ms now,
				    struct arena *arena, const char **ret_problem)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct entry *entry = map_get(&zones->entries, name);
	struct time_zone zone;
	const char *problem;

	*ret_problem = NULL;
	if (entry && now >= entry->read_for && now - entry->read_for < MS_PER_DAY)
		return entry->zone;
	problem = read_zone(name, now, &scratch, &zone);
	if (problem) {
		map_drop(&zones->entries, name, entry_done);
		*ret_problem = arena_strdup(arena, problem);
		return NULL;
	}
	entry = map_make(&zones->entries, name, sizeof(*entry));
	entry->read_for = now;
	entry->zone = field_keep(time_zone_fields, &zone, sizeof(zone), SIZE_MAX, &entry->arena);
	return entry->zone;
}

static void copy_zone(struct time_zones *zones, const char *name, time_ms now, struct arena *arena,
		      struct time_zone *ret_zone)
{
	const char *problem;
	const struct time_zone *zone = find(zones, name, now, arena, &problem);

	*ret_zone = zone ? *zone : (struct time_zone){ .problem = problem };
	ret_zone->name = name;
	field_own(time_zone_fields, ret_zone, arena);
}

const struct time_zone *time_zones_of(struct time_zones *zones,
				      const struct autoscaler_object *object, time_ms now,
				      struct arena *arena, size_t *ret_count)
{
	struct time_zone *list;

	*ret_count = 0;
	if (!object || object->schedule_count == 0)
		return NULL;
	list = arena_array(arena, object->schedule_count, sizeof(*list));
	for (size_t i = 0; i < object->schedule_count; i++) {
		const char *name = object->schedules[i].time_zone;

		if (name[0] && strcmp(name, "UTC") != 0 &&
		    !ARRAY_FIND(list, *ret_count, name, name))
			copy_zone(zones, name, now, arena, &list[(*ret_count)++]);
	}
	return list;
}
