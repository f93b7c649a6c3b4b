/* A set of names for look-ups, made once: the Pods of a snapshot, the names in workersToDelete.
 * Borrows the strings; lives in the arena. Must not be changed after it was made. */
#ifndef CORE_MODEL_NAME_SET_H
#define CORE_MODEL_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct name_set {
	const char **at; /* sorted */
	size_t count;
};

struct name_set name_set_of_strings(struct arena *arena, const struct strings *names);
struct name_set name_set_of_pods(struct arena *arena, const struct pod *const *pods, size_t count);
bool name_set_contains(const struct name_set *set, const char *name);

#endif
