/* The RayClusters of a command, each with a decision that was made here: from the controller's
 * /snapshot where it was reached, so that the decision equals the controller's own (where rayscaler
 * is the sidecar of the head Pod: from the sidecar's); else from the API objects alone, as if Ray
 * were unreachable and with the default flags. Keeps live copies of RayClusters, Pods and
 * RayClusterAutoscalers (kube_informer), so that a command that keeps running survives failures of
 * the API server. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/api_connection.h"
#include "cli/controller_client.h"
#include "cli/last_word.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"

struct view;

struct view_cluster {
	const char *namespace_, *name;
	struct snapshot snapshot;
	const struct plan *plan;
	const struct summary *summary;
	/* The snapshot from the controller, or the cluster's own sidecar; NULL: none, then
	 * `problem` says why. */
	const char *from_controller;
	const char *where;   /* "Pod ray/demo-head": the sidecar it is from; "": the controller */
	const char *problem; /* "" when it is from the controller */
	/* Else: the status that the controller wrote last into the RayClusterAutoscaler; NULL:
	 * none. */
	const struct last_word *last_word;
};

struct view_clusters {
	const struct view_cluster *at; /* by namespace and name */
	size_t count;
	size_t unreadable;    /* of them, RayClusters that cannot be read */
	const char *outdated; /* "" or why the API server's view may be outdated */
};

/* namespace_ NULL: all; name NULL: all RayClusters. */
struct view *view_new(struct connection *connection, const char *namespace_, const char *name);
void view_free(struct view *view); /* NULL is fine */

/* Waits until all lists are complete. With `patient` failures are retried until a signal arrives,
 * and printed on standard error; else the first one is returned. ERR_NOT_FOUND when the one
 * RayCluster does not exist. */
int view_wait(struct view *view, bool patient, struct err *err);

/* Decides for the present RayClusters. Requests the snapshot of each cluster that the controller
 * may know (`remote` found). Results live in the arena and point into the view's copies: valid
 * until the loop turns again. */
void view_look(struct view *view, const struct controller *controller, struct arena *arena,
	       struct view_clusters *ret_clusters);

/* "ray.io/v1": the version that the API server serves RayClusters in. */
const char *view_api_version(const struct view *view);

/* One RayCluster, for the commands that take one: connects, waits, finds the controller and
 * decides. Call view_one_done in any case. */
struct view_one {
	struct connection *connection;
	struct view *view;
	struct controller controller;
	const struct view_cluster *cluster;
};
int view_one_open(const struct api_connection_flags *flags, const char *name, struct arena *arena,
		  struct view_one *ret_one, struct err *err);
void view_one_done(struct view_one *one);

#endif
