/* Objects that all clusters share: the loop, the API server client, the watch caches and the
 * options. Owned by ctl/controller; borrowed by all others for the life of the program. */
#ifndef CTL_SHARED_CONTROL_H
#define CTL_SHARED_CONTROL_H

#include <stdbool.h>

#define CONTROL_USER_AGENT "rayscaler"

struct arena;

struct control {
	struct loop *loop;
	struct kube_client *kube; /* refuses writes while we do not lead */
	/* Reviews of the credentials of those who read the endpoints, also by a replica that does
	 * not lead; NULL unless --metrics-secure. */
	struct kube_client *reviews;
	const struct options *options;
	struct memory_budgets *memory;      /* NULL: no limit */
	struct queue *queue;                /* the work queue of passes */
	struct scan_pace *pace;             /* of reading Ray; NULL: each scan interval */
	struct leader *leader;              /* NULL: no election, we lead (ctl/shared/leader.h) */
	struct kube_informer *ray_clusters; /* struct ray_cluster */
	struct kube_informer *pods;         /* struct pod, index "namespace/cluster" */
	const struct gcs_address *gcs_address; /* NULL: that of each head Pod */
	struct events *events;
	const struct gpu_share *gpu_share; /* NULL: no GPUs are shared */
	/* The current view (ctl/shared/device_view.h), NULL in it: none. May be NULL. */
	struct device_view *const *devices;
	struct metrics *metrics;                /* may be NULL */
	struct features *features;              /* may be NULL */
	struct nodes *nodes;                    /* NULL in sidecar mode */
	struct capacity_watch *capacity_watch;  /* NULL in sidecar mode */
	struct event_recorder *recorder;        /* NULL in sidecar mode */
	struct status *status;                  /* may be NULL */
	struct autoscaler_objects *autoscalers; /* NULL in sidecar mode */
	struct time_zones *time_zones;          /* of the schedules; NULL in sidecar mode */
	/* Of control_wake and control_ready; NULL in tests. */
	bool (*wake)(void *context, const char *namespace_, const char *name);
	void (*ready)(void *context);
	void *wake_context;                /* of both */
	struct registration *registration; /* NULL unless a sidecar that serves metrics */
};

/* The RayCluster decides again soon; false: it is not decided on. */
bool control_wake(const struct control *control, const char *namespace_, const char *name);
/* Passes may go on: autoscaler_objects_known, features_known or the lead may have come. */
void control_ready(const struct control *control);
/* Both caches that every decision reads, RayClusters and Pods, have had their first whole list. */
bool control_synced(const struct control *control);
/* "Pods: why": the first of these caches that is not fresh (kube_informer_fresh); then nothing is
 * removed. "" when both are. One object that cannot be read does not make a cache stale. */
const char *control_stale(const struct control *control, struct arena *arena);

#endif
