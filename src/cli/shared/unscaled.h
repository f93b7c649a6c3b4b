/* Whether nothing scales a RayCluster now, because no controller decides for it, and the first line
 * of the answer, which says so. A controller that is not reached may run all the same (no right to
 * pods/proxy, another namespace): its Lease and the age of its last decision tell. Pure. */
#ifndef CLI_SHARED_UNSCALED_H
#define CLI_SHARED_UNSCALED_H

#include "cli/shared/view.h"

/* Of a cluster without an answer; its age must be set. */
bool unscaled_is(const struct view_cluster *cluster, const struct controller *controller);
/* "12m6s ago: TEXT", without a text "12m6s ago"; the age must be known. */
const char *unscaled_mark(const struct view_cluster *cluster, const char *text,
			  struct arena *arena);
/* "namespace/name", with old figures "namespace/name 12m6s ago". */
const char *unscaled_key(const struct view_cluster *cluster, struct arena *arena);
/* A line that ends with "\n" when clusters are unscaled; else nothing. `marked`: their figures have
 * unscaled_mark. */
void unscaled_write(const struct view_clusters *clusters, bool marked, size_t width,
		    struct arena *arena, struct buf *buf);

#endif
