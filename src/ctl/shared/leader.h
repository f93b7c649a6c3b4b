/* Leader election between replicas with --leader-elect: the replica that holds the Lease acts
 * (kube/kube_lease). The others keep their caches filled and do nothing else: no pass, no patch,
 * drain, report, event or status. Owned by ctl/controller.
 *
 * Every writer checks leader_is_leading first; as a second guard the kube_client of struct control
 * refuses every write of a process that does not lead. Without --leader-elect, and always in a
 * sidecar, the leader is NULL, which leads.
 *
 * The Lease is renewed on a thread with a loop, a connection and credentials of its own, so that no
 * callback of the main loop delays a renewal. The threads share one number, the time until which
 * the Lease is held, and send messages otherwise. All functions and callbacks are of the main loop.
 * The liveness probe restarts a process whose main loop hangs. */
#ifndef CTL_SHARED_LEADER_H
#define CTL_SHARED_LEADER_H

#include <stdbool.h>

#include "base/err.h"
#include "ctl/shared/control.h"

struct kube_config;
struct leader;

struct leader_callbacks {
	void *context;
	void (*begin)(void *context); /* once: this process leads */
	/* The Lease is lost, for good: stop at once and end the process. err says why. */
	void (*lost)(void *context, const struct err *err);
};

/* Tries for the Lease of the options at once. Takes the config, which nothing else may use.
 * Identity: $POD_NAME, else the host's name and a random suffix. */
struct leader *leader_new(const struct control *control, struct kube_config *config,
			  const struct leader_callbacks *callbacks);
void leader_free(struct leader *leader); /* NULL is fine */

/* Reads the clock: a process that was stopped for a while does not lead, whatever its last
 * state. */
bool leader_is_leading(const struct leader *leader);
/* A new name for this process: "rayscaler-7d9f_1a2b3c4d"; memory_free. */
char *leader_make_identity(void);
/* The last known leader; "" when unknown, and without an election. Valid until the loop turns. */
const char *leader_holder(const struct leader *leader);
/* The identity that this process writes into the Lease; "" without an election. */
const char *leader_identity(const struct leader *leader);

/* Ends the lead: leader_is_leading is false from now on, and no callback of leader_new is called.
 * True when the Lease is released if it is held: then done(context) follows, at the latest after
 * LEADER_RELEASE_MS. */
#define LEADER_RELEASE_MS 3000
bool leader_release(struct leader *leader, void (*done)(void *context), void *context);

#endif
