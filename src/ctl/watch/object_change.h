/* What a new version of an object changes: status and labels change often, and most of it decides nothing. Pure. */
#ifndef CTL_WATCH_OBJECT_CHANGE_H
#define CTL_WATCH_OBJECT_CHANGE_H

#include <stdbool.h>

struct pod;
struct ray_cluster;

/* Does a decision read something of the RayCluster that is another now? old may be NULL: there was none. */
bool object_change_decides(const struct ray_cluster *old, const struct ray_cluster *new_object);
/* Does it change what the Pod counts for under a GPU quota? NULL: there was none, or is none any more. */
bool object_change_counts(const struct pod *old, const struct pod *new_object);
/* Both may be NULL. */
bool object_change_same_text(const char *a, const char *b);

#endif
