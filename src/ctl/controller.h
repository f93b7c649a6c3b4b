/* The running program: event loop, API server client, watch caches, and one struct cluster per
 * RayCluster. Owns all of them for the length of controller_run.
 * Must not decide anything: that is core/decide, called by ctl/cluster. */
#ifndef CTL_CONTROLLER_H
#define CTL_CONTROLLER_H

#include "base/err.h"
#include "ctl/shared/options.h"

/* Runs until SIGTERM or SIGINT (0), after which it releases its Lease, or until the Lease is lost
 * (-1, ERR_DENIED: another replica may act). Or fails at the start: ERR_INPUT for a configuration
 * that cannot work (no kubeconfig, refused plugin). An unreachable API server is not a failure: it
 * is retried. */
int controller_run(const struct options *options, struct err *err);

#endif
