#include "net/memory_limit.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define LINE_BYTES 4096
/* cgroup v1 says "none" as the largest number of whole pages. */
#define NONE_BYTES ((uint64_t)1 << 60)

static void take_less(struct memory_limit *limit, uint64_t bytes, const char *source)
{
	if (bytes == 0 || bytes >= NONE_BYTES || (limit->bytes > 0 && bytes >= limit->bytes))
		return;
	*limit = (struct memory_limit){ .bytes = (size_t)bytes, .source = source };
}

/* "max" is not a number: no limit. */
static void take_file(struct memory_limit *limit, const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t bytes = 0;

	if (!file)
		return;
	if (fscanf(file, "%" SCNu64, &bytes) == 1)
		take_less(limit, bytes, path);
	(void)fclose(file);
}

/* The cgroup's own limit and those of all above it. Inside a container the path of /proc/self/cgroup may
 * be the host's, which is not mounted there; the mount's root is then the container's cgroup. */
static void take_path(struct memory_limit *limit, const char *mount, char *path, const char *file,
		      struct arena *arena)
{
	for (;;) {
		char *slash = strrchr(path, '/');

		take_file(limit, arena_printf(arena, "%s%s/%s", mount,
					      strcmp(path, "/") != 0 ? path : "", file));
		if (!slash || strcmp(path, "/") == 0 || *path == '\0')
			return;
		*slash = '\0';
	}
}

/* A line is "0::/path" (v2), or "4:memory:/path", maybe with other controllers "cpu,memory". */
static void take_line(struct memory_limit *limit, const char *root, char *line, struct arena *arena)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return;
	*controllers++ = '\0';
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (*controllers == '\0') {
		take_path(limit, arena_printf(arena, "%s/sys/fs/cgroup", root), path, "memory.max",
			  arena);
		return;
	}
	for (char *rest = controllers, *name; (name = strsep(&rest, ","));)
		if (strcmp(name, "memory") == 0)
			take_path(limit, arena_printf(arena, "%s/sys/fs/cgroup/memory", root), path,
				  "memory.limit_in_bytes", arena);
}

struct memory_limit memory_limit_read(const char *root, struct arena *arena)
{
	FILE *file = fopen(arena_printf(arena, "%s/proc/self/cgroup", root), "re");
	struct memory_limit limit = { .source = "" };
	struct rlimit data = { .rlim_cur = RLIM_INFINITY };
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file))
		take_line(&limit, root, line, arena);
	if (file)
		(void)fclose(file);
	if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY)
		take_less(&limit, data.rlim_cur, "RLIMIT_DATA");
	return limit;
}
