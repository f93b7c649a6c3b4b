/* Event recorder: sends Events on the RayClusters, and the same on their RayClusterAutoscalers, where
 * kubectl describe looks by uid. core/report/decision_event makes their content,
 * ctl/report/event_correlator decides when. Controller mode only (KubeRay's Role for the sidecar has no
 * right to Events). Owned by ctl/controller; every function accepts NULL and does nothing then.
 *
 * Events are dropped rather than delay anything: at most EVENT_RECORDER_RATE a second and
 * EVENT_RECORDER_UNDER_WAY at once for all clusters (those on RayClusterAutoscalers only while half of
 * the burst and of these is free), none while requests to the API server queue up, none
 * for five minutes after it denied the right (logged once, with the fix), and none
 * before the end of a Retry-After (ctl/report/overload says for which clusters). */
#ifndef CTL_REPORT_EVENT_RECORDER_H
#define CTL_REPORT_EVENT_RECORDER_H

#include "ctl/shared/control.h"

#define EVENT_RECORDER_BURST 50
#define EVENT_RECORDER_RATE 10
#define EVENT_RECORDER_UNDER_WAY 16
#define EVENT_RECORDER_QUEUE_MAX 32 /* requests of all kinds in flight or queued */

struct event_recorder;
struct pod;
struct pass_decision;

/* NULL in sidecar mode. */
struct event_recorder *event_recorder_new(const struct control *control);
void event_recorder_free(struct event_recorder *recorder);

/* A listener of passes (ctl/cluster.c): records the Events of a final decision, and that its patch
 * was accepted. `listener` is a struct event_recorder. */
void event_recorder_decided(void *listener, const struct pass_decision *decision);
void event_recorder_patched(void *listener, const char *namespace_, const char *name);
void event_recorder_forget(void *listener, const char *namespace_, const char *name);

/* A watcher of the Pods (ctl/controller.c): records the failure of a Pod of a scaled RayCluster. `watcher` is a
 * struct event_recorder. */
void event_recorder_pod_changed(void *watcher, const struct pod *old, const struct pod *new_object);

#endif
