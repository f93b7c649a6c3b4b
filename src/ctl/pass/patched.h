/* A RayCluster as our last patch left it, until the cache has caught up: the next decision must not
 * be made on the state before the patch. Owned by struct cluster. */
#ifndef CTL_PASS_PATCHED_H
#define CTL_PASS_PATCHED_H

#include "base/arena.h"

struct patched {
	struct loop *loop; /* set by the owner; the others are 0 at first */
	struct arena arena;
	struct ray_cluster *object; /* NULL: none */
};

/* The RayCluster as the API server answered, whose arena is taken over. NULL: it is not known. */
void patched_keep(struct patched *patched, struct ray_cluster *object, struct arena *arena);
/* The newer one of the cache's object (NULL: none) and the kept one, which is dropped when the
 * cache has it. It lives until the decisions in progress have been made. */
const struct ray_cluster *patched_current(struct patched *patched,
					  const struct ray_cluster *cached);
void patched_done(struct patched *patched);

#endif
