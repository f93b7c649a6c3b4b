/* Reads Ray's GCS without a controller, for `record`: its lists of work and its state. The head, its
 * token and its certificates are found as the controller does (ctl/pass/ray_access); with one of Ray's
 * own variables (RAY_AUTH_MODE, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, RAY_USE_TLS) credentials are those
 * of the environment, as for Ray's own commands. Owned by the caller; writes nothing. */
#ifndef FEATURE_RECORD_CLI_RAY_DIRECT_H
#define FEATURE_RECORD_CLI_RAY_DIRECT_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/snapshot.h"
#include "feature/record/core/ray_work.h"

struct connection;
struct ray_direct;

#define RAY_DIRECT_HEAD "head" /* the address of the head Pod */

/* RAY_DIRECT_HEAD, "10.0.0.1:6379" or "[::1]:6379"; ERR_INPUT for another text. */
int ray_direct_check(const char *address, struct err *err);

/* For a valid address. */
struct ray_direct *ray_direct_new(struct connection *connection, const char *address);
void ray_direct_free(struct ray_direct *direct); /* NULL is fine; before its connection is freed */

/* The work of the RayCluster of a snapshot that was made from its objects, into the arena, and
 * snapshot->ray_state, which lives until the next call. Lists that cannot be read are named in the
 * page. -1: Ray cannot be reached, or the time is over. */
int ray_direct_read(struct ray_direct *direct, struct snapshot *snapshot, struct arena *arena,
		    struct ray_work_page *ret_page, struct err *err);

#endif
