/* Effect of a new version of an object: status and labels change often, and most changes affect no
 * decision. Pure. */
#ifndef CTL_WATCH_OBJECT_CHANGE_H
#define CTL_WATCH_OBJECT_CHANGE_H

#include <stdbool.h>

struct ray_cluster;

/* Has a field changed that a decision reads? old may be NULL: the object is new. */
bool object_change_decides(const struct ray_cluster *old, const struct ray_cluster *new_object);
/* Both may be NULL. */
bool object_change_same_text(const char *a, const char *b);

#endif
