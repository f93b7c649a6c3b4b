#include "ctl/watch/events.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/event_meaning.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "ctl/watch/event_store.h"
#include "ctl/watch/optional_watch.h"
#include "net/loop.h"

/* Selectors cannot express "one of", so these are the reasons to exclude: the frequent ones of
 * scheduler, kubelet, operator and controllers about healthy and crashing Pods, and those of this
 * program. A reason that is missing here costs a line of the watch. FailedScheduling is not one:
 * Karpenter uses it for its refusals. */
#define SELECTOR                                                                                   \
	"reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,"        \
	"reason!=Killing,reason!=BackOff,reason!=Failed,reason!=Unhealthy,reason!=ProbeWarning,"   \
	"reason!=SuccessfulAttachVolume,reason!=SandboxChanged,reason!=AddedInterface,"            \
	"reason!=Evicted,reason!=TaintManagerEviction,reason!=Preempted,reason!=Completed,"        \
	"reason!=SuccessfulCreate,reason!=SuccessfulDelete,reason!=CreatedWorkerPod,"              \
	"reason!=DeletedWorkerPod,source!=rayscaler"

struct events {
	struct optional_watch watch; /* first: it is their context */
	const struct control *control;
	struct event_store *store;
};

static bool has_started(const struct pod *pod)
{
	const struct container_status *ray = pod_ray_container_status(pod);

	return ray && (ray->state == CONTAINER_RUNNING || ray->state == CONTAINER_TERMINATED);
}

/* Events about the Node of a Pod that has one, and about the start of one that has started, say nothing. */
static bool is_settled(const struct event *event, const struct pod *pod)
{
	return pod->spec.node_name[0] != '\0' &&
	       (event_meaning(event) != EVENT_NOT_STARTED || has_started(pod));
}

/* The name of the RayCluster that the event concerns; NULL when its object is in no cache, because
 * the cache lags or (then *ret_settled) because it is a Pod that needs none. */
static const char *cluster_of(const struct events *events, const struct event *event,
			      bool *ret_settled)
{
	const struct control *control = events->control;
	const struct pod *pod;

	*ret_settled = false;
	if (!strcmp(event->involved_kind, "RayCluster"))
		return kube_informer_get(control->ray_clusters, event->namespace_,
					 event->involved_name) ?
			       event->involved_name :
			       NULL;
	pod = kube_informer_get(control->pods, event->namespace_, event->involved_name);
	if (!pod)
		return NULL;
	*ret_settled = is_settled(event, pod);
	return labels_value(&pod->labels, LABEL_CLUSTER);
}

static void event_changed(void *context, enum kube_change change, const char *key UNUSED,
			  const void *old, const void *new_object)
{
	struct events *events = context;
	const struct event *event = new_object;
	const char *cluster;
	bool settled;

	if (change == KUBE_DELETED)
		event_store_remove(events->store, old);
	if (!event || event_meaning(event) == EVENT_MEANS_NOTHING)
		return;
	cluster = cluster_of(events, event, &settled);
	if (settled)
		return;
	if (event_store_put(events->store, event, cluster,
			    loop_monotonic_ms(events->control->loop)) &&
	    cluster)
		(void)control_wake(events->control, event->namespace_, cluster);
}

struct events *events_new(const struct control *control)
{
	const struct options *options = control->options;
	struct events *events = memory_alloc(sizeof(*events));

	events->control = control;
	events->store =
		event_store_new(control->memory ? &control->memory->objects : NULL, control->loop);
	events->watch.level = options_sidecar(options) ? LOG_INFO : LOG_WARNING;
	events->watch.without =
		"events cannot be read: conditions and timeouts of Pods decide alone";
	events->watch.again = "events can be read now";
	optional_watch_start(&events->watch, control->kube,
			     (struct kube_informer_options){
				     .type = &kube_type_event,
				     .namespace_ = options_sidecar(options) ?
							   options->cluster_namespace :
							   options->namespace_,
				     .field_selector = SELECTOR,
				     .passing = true,
				     .callbacks = { .on_change = event_changed },
			     });
	return events;
}

void events_free(struct events *events)
{
	if (!events)
		return;
	optional_watch_done(&events->watch);
	event_store_free(events->store);
	memory_free(events);
}

bool events_known(const struct events *events)
{
	return kube_informer_fresh(events->watch.informer);
}

void events_of_cluster(struct events *events, const struct ray_cluster *cluster,
		       struct arena *arena, const struct event **ret_events, size_t *ret_count)
{
	struct event_list list = { .events = { .at = NULL } };

	event_store_of_cluster(events->store, cluster->namespace_, cluster->name, arena, &list);
	*ret_events = list.events.at;
	*ret_count = list.events.count;
}

void events_ray_cluster_changed(void *context, const char *namespace_, const char *name,
				bool deleted)
{
	struct events *events = context;

	if (events && deleted)
		event_store_forget(events->store, "RayCluster", namespace_, name);
}

void events_pod_changed(void *context, const struct pod *old, const struct pod *new_object)
{
	struct events *events = context;
	const char *cluster = new_object ? labels_value(&new_object->labels, LABEL_CLUSTER) : NULL;

	if (events && cluster && !has_started(new_object))
		event_store_claim(events->store, new_object, cluster);
	if (events && old && !has_started(old) && (!new_object || has_started(new_object)))
		event_store_forget(events->store, "Pod", old->namespace_, old->name);
}
