/* The memory that this process may use, as its environment limits it: the cgroup (v2 memory.max, v1
 * memory.limit_in_bytes) or one above it, and RLIMIT_DATA. Read once at start. No state. */
#ifndef NET_MEMORY_LIMIT_H
#define NET_MEMORY_LIMIT_H

#include <stddef.h>

#include "base/arena.h"

struct memory_limit {
	size_t bytes;       /* the least of them; 0: none is set */
	const char *source; /* "/sys/fs/cgroup/memory.max"; "" without one; in the arena */
};

/* root: "" for the system's /proc and /sys; a test has files of its own below it. */
struct memory_limit memory_limit_read(const char *root, struct arena *arena);

#endif
