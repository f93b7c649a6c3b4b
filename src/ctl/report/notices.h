/* Sends what was decided as Events on the RayClusters: core/report/notice says what, ctl/report/notice_book when.
 * Controller mode only (KubeRay's Role for the sidecar has no right to Events). Owned by
 * ctl/controller; every function takes NULL and does nothing then.
 *
 * Events are lost rather than delay anything: at most NOTICES_RATE a second and NOTICES_UNDER_WAY at
 * once for all clusters, none while requests to the API server queue up, none for five minutes after
 * it said that there is no right to (logged once, with the cure). */
#ifndef CTL_REPORT_NOTICES_H
#define CTL_REPORT_NOTICES_H

#include "ctl/shared/control.h"

#define NOTICES_BURST 50
#define NOTICES_RATE 10
#define NOTICES_UNDER_WAY 16
#define NOTICES_QUEUE_MAX 32 /* requests of all kinds under way or waiting */

struct notices;
struct pass_decision;

/* NULL in sidecar mode. */
struct notices *notices_new(const struct control *control);
void notices_free(struct notices *notices);

/* A decision about the RayCluster "namespace/name" stands. */
void notices_decided(struct notices *notices, const char *cluster,
		     const struct pass_decision *decision);
/* The patch of that decision was accepted. */
void notices_accepted(struct notices *notices, const char *cluster);
/* The RayCluster is gone. */
void notices_forget(struct notices *notices, const char *cluster);

#endif
