/* The running program: event loop, API server client, watch caches, and one struct cluster per
 * RayCluster. Owns all of them for the length of controller_run.
 * Must not decide anything: that is core/decide, called by ctl/cluster. */
#ifndef CTL_CONTROLLER_H
#define CTL_CONTROLLER_H

#include "base/err.h"
#include "ctl/shared/options.h"

/* Runs until SIGTERM or SIGINT (0), after which it gives its Lease back, or until the Lease is lost
 * (-1, ERR_DENIED: another replica may act). Or fails at the start: ERR_INPUT for a configuration
 * that cannot work (no kubeconfig, refused plugin). An API server that is not there is no failure: it
 * is waited for. */
int controller_run(const struct options *options, struct err *err);

#endif
