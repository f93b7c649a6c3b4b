/* The message about a RayCluster or a namespace that does not exist: which name was meant, which
 * exist, and where it looked, because the answer is often another namespace or another cluster. Asks
 * for the RayClusters of all namespaces; without that right, for those of the one. */
#ifndef CLI_SHARED_MISSING_H
#define CLI_SHARED_MISSING_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/shared/api_connection.h"

/* Sets ERR_NOT_FOUND for the RayCluster `name` of the namespace; -1. */
int missing_cluster(struct connection *connection, const char *namespace_, const char *name,
		    struct err *err);
/* The API server has no RayClusters in the namespace (NULL: at all): a sentence, 0; or ERR_NOT_FOUND
 * where the namespace or the kind does not exist. */
int missing_any(struct connection *connection, const char *namespace_, struct arena *arena,
		const char **ret_sentence, struct err *err);

#endif
