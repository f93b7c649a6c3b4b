/* Sidecar mode: registers the metrics address with Ray, as Ray's own autoscaler does (ray 2.60,
 * autoscaler/v2/monitor.py): "IP:PORT" under the key AutoscalerMetricsAddress in the GCS's
 * key-value store, from which Ray builds its list of scrape targets. Written again for every new
 * session of Ray, after a failure, and periodically, because a restarted GCS has lost it. Owned by
 * ctl/controller. Nothing depends on it. */
#ifndef CTL_REPORT_REGISTRATION_H
#define CTL_REPORT_REGISTRATION_H

#include <stddef.h>

#include "ctl/shared/control.h"

#define REGISTRATION_KEY "AutoscalerMetricsAddress"
#define REGISTRATION_AGAIN_MS 30000
#define REGISTRATION_RETRY_MS 5000

struct pass_decision;
struct registration;

/* bind_address: where the metrics are served, with the actual port. */
struct registration *registration_new(const struct control *control, const char *bind_address,
				      int port);
void registration_free(struct registration *registration); /* NULL is fine */

/* A listener of passes (ctl/cluster.c): acts after Ray was read. `listener` is a struct
 * registration; NULL is fine. */
void registration_decided(void *listener, const struct pass_decision *decision);

/* The address to register: the host of bind_address where it names one address, else the Pod's. */
const char *registration_address(const char *bind_address, int port, const char *pod_ip,
				 struct arena *arena);

#endif
