/* Event recorder: sends Events on the RayClusters. core/report/notice makes their content,
 * ctl/report/notice_book decides when. Controller mode only (KubeRay's Role for the sidecar has no
 * right to Events). Owned by ctl/controller; every function accepts NULL and does nothing then.
 *
 * Events are dropped rather than delay anything: at most NOTICES_RATE a second and
 * NOTICES_UNDER_WAY at once for all clusters, none while requests to the API server queue up, none
 * for five minutes after it denied the right (logged once, with the fix), and none
 * before the end of a Retry-After (ctl/report/overload says for which clusters). */
#ifndef CTL_REPORT_NOTICES_H
#define CTL_REPORT_NOTICES_H

#include "ctl/shared/control.h"

#define NOTICES_BURST 50
#define NOTICES_RATE 10
#define NOTICES_UNDER_WAY 16
#define NOTICES_QUEUE_MAX 32 /* requests of all kinds in flight or queued */

struct notices;
struct pass_decision;

/* NULL in sidecar mode. */
struct notices *notices_new(const struct control *control);
void notices_free(struct notices *notices);

/* A listener of passes (ctl/cluster.c): records the notices of a final decision, and that its patch
 * was accepted. `listener` is a struct notices. */
void notices_decided(void *listener, const struct pass_decision *decision);
void notices_patched(void *listener, const char *namespace_, const char *name);
void notices_forget(void *listener, const char *namespace_, const char *name);

#endif
