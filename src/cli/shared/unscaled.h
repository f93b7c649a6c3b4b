/* The words for RayClusters that nothing scales now (view_cluster.unscaled): the first line of the answer, and
 * the mark of their figures. Pure. */
#ifndef CLI_SHARED_UNSCALED_H
#define CLI_SHARED_UNSCALED_H

#include "cli/shared/view.h"

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
