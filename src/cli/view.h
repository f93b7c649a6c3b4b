/* The RayClusters that a command looks at, each with a decision that was made here: from the
 * controller's /snapshot where one was reached, so that it is the controller's own decision (where
 * rayscaler is the sidecar of the head Pod: from the sidecar's); else from the API objects alone, as
 * if Ray were unreachable and with the default flags.
 * Keeps live copies of RayClusters, Pods and RayClusterAutoscalers (kube_informer), so that a
 * command that goes on survives failures of the API server. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/last_word.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

struct view;

struct view_cluster {
	const char *namespace_, *name;
	struct snapshot snapshot;
	const struct plan *plan;
	/* The snapshot as the controller, or the cluster's own sidecar, gave it; NULL: none, then
	 * `problem` says why. */
	const char *from_controller;
	const char *where;   /* "Pod ray/demo-head": the sidecar that gave it; "": the controller */
	const char *problem; /* "" when it came from the controller */
	/* Else: what the controller last wrote into the RayClusterAutoscaler; NULL: nothing. */
	const struct last_word *last_word;
};

struct view_clusters {
	const struct view_cluster *at; /* by namespace and name */
	size_t count;
	size_t unreadable;    /* of them, RayClusters that cannot be read */
	const char *outdated; /* "" or why the API server's view is not the newest */
};

/* namespace_ NULL: all; name NULL: all of it. */
struct view *view_new(struct session *session, const char *namespace_, const char *name);
void view_free(struct view *view); /* NULL is fine */

/* Until all lists are there. With `patient` failures are tried again until a signal comes, and told
 * on standard error; else the first one is returned. ERR_NOT_FOUND when the one RayCluster is not
 * there. */
int view_wait(struct view *view, bool patient, struct err *err);

/* What there is now. Asks the controller for each cluster that it may know (`remote` found). All in
 * the arena, and pointing into the view's copies: valid until the loop turns again. */
void view_look(struct view *view, const struct remote *remote, struct arena *arena,
	       struct view_clusters *ret_clusters);

/* "ray.io/v1": the version that the API server serves RayClusters in. */
const char *view_api_version(const struct view *view);

/* One RayCluster, for the commands that take one: connects, waits, finds the controller and looks.
 * view_one_done is needed either way. */
struct view_one {
	struct session *session;
	struct view *view;
	struct remote remote;
	const struct view_cluster *cluster;
};
int view_one_open(const struct session_flags *flags, const char *name, struct arena *arena,
		  struct view_one *ret_one, struct err *err);
void view_one_done(struct view_one *one);

#endif
