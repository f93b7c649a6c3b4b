/* The RayClusters of a command, each with the answer of the controller (where rayscaler is the
 * sidecar of the head Pod: of the sidecar): its status, or the snapshot of its next decision. Where
 * none answers, the status is the last one in the RayClusterAutoscaler, and the snapshot is made
 * from the API objects alone, as if Ray were unreachable and with the default flags. Keeps live
 * copies of RayClusters, RayClusterAutoscalers and Pods (for a status: of heads) in informers, so
 * that a command that keeps running survives failures of the API server. */
#ifndef CLI_SHARED_VIEW_H
#define CLI_SHARED_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/controller_client.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"

struct view;

/* The page of the controller that a command reads. */
enum view_page {
	VIEW_STATUS,
	VIEW_SNAPSHOT,
	VIEW_OBJECTS, /* none: a snapshot from the API objects alone, as without an answer */
};

struct view_cluster {
	const char *namespace_, *name;
	/* With VIEW_STATUS; the explanation is lines of text. */
	const struct summary *summary;
	const char *explanation;  /* of the answer */
	struct snapshot snapshot; /* with the other pages */
	/* The answer of the controller, or of the cluster's own sidecar; NULL: none, then
	 * `problem` says why. */
	const char *answer;
	size_t answer_size;
	const char *where; /* "Pod ray/demo-head": the sidecar it is from; "": the controller */
	const struct controller *from; /* of the answer; NULL: none */
	const char *problem;           /* "" when there is an answer */
	/* With VIEW_STATUS and without an answer: the one that `summary` is made of; NULL: none. */
	const struct summary *status;
	int64_t age_ms; /* of its last decision; VIEW_AGE_UNKNOWN: without one */
	bool unscaled;  /* no controller decides for it now */
};

#define VIEW_AGE_UNKNOWN INT64_C(-1)

struct view_clusters {
	const struct view_cluster *at; /* by namespace and name */
	size_t count;
	size_t unreadable;    /* of them, RayClusters that cannot be read */
	size_t unscaled;      /* of them, those that nothing scales now */
	const char *outdated; /* "" or why the API server's view may be outdated */
};

/* namespace_ NULL: all; name NULL: all RayClusters. */
struct view *view_new(struct connection *connection, const char *namespace_, const char *name,
		      enum view_page page);
void view_free(struct view *view); /* NULL is fine */

/* Waits until all lists are complete. With `patient` failures are retried until a signal arrives,
 * and printed on standard error; else the first one is returned. ERR_NOT_FOUND when the one
 * RayCluster does not exist. */
int view_wait(struct view *view, bool patient, struct err *err);

/* Requests the page of each present RayCluster; with VIEW_OBJECTS controller is not used. Results live in the arena and point into the view's
 * copies: valid until the loop turns again. */
void view_look(struct view *view, const struct controller *controller, struct arena *arena,
	       struct view_clusters *ret_clusters);

/* The RayClusters that can be read, in no order, each with its RayClusterAutoscaler (NULL: none); *at
 * begins with 0. NULL behind the last. Valid until the loop turns. */
const struct ray_cluster *view_next(struct view *view, size_t *at,
				    const struct autoscaler_object **ret_autoscaler);

/* "ray.io/v1": the version that the API server serves RayClusters in. */
const char *view_api_version(const struct view *view);

/* One RayCluster, for the commands that take one: connects, waits, finds the controller and
 * requests the page. Call view_one_done in any case. */
struct view_one {
	struct connection *connection;
	struct view *view;
	struct controller controller;
	struct view_clusters clusters; /* the one */
	const struct view_cluster *cluster;
};
int view_one_open(const struct api_connection_flags *flags, const char *name, enum view_page page,
		  struct arena *arena, struct view_one *ret_one, struct err *err);
void view_one_done(struct view_one *one);

#endif
