/* HTTP endpoints of the running program: /metrics, /status and /snapshot on the metrics address,
 * /healthz and /readyz on the probe address. With --metrics-secure the former speaks TLS and asks for a
 * bearer token (ctl/report/access.h). Owned by ctl/controller. Read only; answers hold no secrets.
 * Must not decide anything. */
#ifndef CTL_ENDPOINTS_H
#define CTL_ENDPOINTS_H

#include "base/err.h"
#include "ctl/shared/control.h"

struct endpoints;

/* Opens the addresses of the options. ERR_INPUT, ERR_FATAL: an address cannot be used; the text
 * names the flag. A sidecar logs the failure and runs without the endpoint: several heads may share
 * the network of one machine, and scaling matters more. */
struct endpoints *endpoints_new(const struct control *control, struct err *err);
/* The port that metrics are served on; 0: they are not. */
int endpoints_metrics_port(const struct endpoints *endpoints);
int endpoints_probe_port(const struct endpoints *endpoints); /* the same for probes */
void endpoints_free(struct endpoints *endpoints);            /* NULL is fine */

#endif
