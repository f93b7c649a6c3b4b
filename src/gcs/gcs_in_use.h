/* The use of a cluster, by the lists of its GCS: for idle termination. Each list
 * is one call; a list that is not complete is a doubt. */
#ifndef GCS_GCS_IN_USE_H
#define GCS_GCS_IN_USE_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "gcs/gcs_reply.h"

struct gcs_client;

/* Ray shows no more either. Rows of ended work count. */
#define GCS_IN_USE_ROWS_MAX 10000
#define GCS_IN_USE_REPLY_MAX_BYTES ((size_t)32 << 20)

struct ray_in_use {
	const char *user; /* "", or the first that uses the cluster: "actor Counter 0a01 is alive" */
	time_ms ended;    /* the last end of the others; TIME_NONE: none */
	int64_t missing;  /* rows that the GCS has and did not send */
};

/* Of actors, placement groups and jobs, which are drivers. Those of the dashboard do not count:
 * Ray's own namespaces begin with "_ray_internal_". */
extern const struct gcs_list_use gcs_in_use;

/* The submitted Ray jobs that have not ended, also those without a driver yet: `in_use`. A call of gcs_client. */
struct gcs_call *gcs_in_use_get_submitted(struct gcs_client *client, int64_t timeout_ms,
					  struct arena *arena, gcs_done *done, void *context);

#endif
