#include "ctl/report/event_recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/schema/document_head.h"
#include "core/decide/gate.h"
#include "core/model/identity.h"
#include "ctl/pass/pass.h"
#include "ctl/report/driver_log.h"
#include "ctl/report/event_correlator.h"
#include "ctl/report/feature.h"
#include "ctl/report/metrics.h"
#include "ctl/report/overload.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "kube/kube_client.h"
#include "kube/kube_informer.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define DENIED_MS 300000
#define INSTANCE_SIZE 64
/* Names of Events: the milliseconds of their first time, and a number. */
#define NUMBER_BITS 20

/* Two objects of a cluster have the same Events: a reader describes one or the other. */
enum about { ABOUT_RAY_CLUSTER = 0, ABOUT_AUTOSCALER, ABOUT_COUNT };

static const char *const kinds[ABOUT_COUNT] = { "RayCluster", AUTOSCALER_KIND };

/* State of one object. */
struct target {
	enum about about;
	const char *cluster; /* "namespace/name" */
	struct arena arena;
	const struct event_object *object;   /* that the correlator is about, in the arena */
	uint64_t id_start;                   /* the names of the correlator's Events begin here */
	struct event_correlator *correlator; /* NULL: the object has had no Event */
	int64_t not_before_ms; /* no right to send, or no quota left, in its namespace */
	int64_t retry_ms;      /* Retry-After of the API server */
};

struct recorded {
	struct cluster_entry of;
	struct target targets[ABOUT_COUNT];
};

struct sending {
	struct event_recorder *recorder;
	struct list_item item;
	struct kube_call *call;
	enum about about;
	char *cluster, *uid;
	uint64_t id;
	enum decision_event_reason reason;
	bool create;
};

struct event_recorder {
	const struct control *control;
	struct cluster_map clusters; /* of struct recorded */
	struct list under_way;
	struct token_bucket rate;
	struct overload overload;
	bool denied; /* the refusal was logged */
	char instance[INSTANCE_SIZE];
};

/* Empty and usable again. */
static void target_done(struct target *target)
{
	event_correlator_free(target->correlator);
	arena_done(&target->arena);
	*target = (struct target){ .correlator = NULL };
}

static void recorded_done(void *one)
{
	for (enum about about = 0; about < ABOUT_COUNT; about++)
		target_done(&((struct recorded *)one)->targets[about]);
}

struct event_recorder *event_recorder_new(const struct control *control)
{
	struct event_recorder *recorder;
	const char *pod = getenv("POD_NAME");

	if (options_sidecar(control->options))
		return NULL;
	recorder = memory_alloc(sizeof(*recorder));
	recorder->control = control;
	recorder->clusters = CLUSTER_MAP_INIT(struct recorded, recorded_done);
	token_bucket_init(&recorder->rate, EVENT_RECORDER_RATE, EVENT_RECORDER_BURST,
			  loop_monotonic_ms(control->loop));
	recorder->overload = (struct overload)OVERLOAD_INIT;
	if (pod && pod[0])
		(void)snprintf(recorder->instance, sizeof(recorder->instance), "%s", pod);
	else if (gethostname(recorder->instance, sizeof(recorder->instance) - 1) != 0)
		recorder->instance[0] = '\0';
	return recorder;
}

static void sending_free(struct sending *sending)
{
	memory_free(sending->cluster);
	memory_free(sending->uid);
	memory_free(sending);
}

void event_recorder_free(struct event_recorder *recorder)
{
	if (!recorder)
		return;
	LIST_EACH(struct sending, sending, &recorder->under_way, item) {
		kube_client_cancel(sending->call);
		sending_free(sending);
	}
	cluster_map_done(&recorder->clusters);
	memory_free(recorder);
}

/* --- answers --- */

/* Pauses its own cluster only: a full quota of one namespace, or a Role that is missing there, does
 * not stop the Events of others. */
static void note_denied(struct event_recorder *recorder, const struct sending *sending,
			struct target *target, const struct err *err)
{
	if (target)
		target->not_before_ms = loop_monotonic_ms(recorder->control->loop) + DENIED_MS;
	if (recorder->denied)
		return;
	recorder->denied = true;
	log_warning("Events are not sent, so kubectl describe will not show decisions", "cluster",
		    sending->cluster, "error", err->text, NULL);
}

/* Logs that Events are allowed again; only for a target that was denied. */
static void note_allowed(struct event_recorder *recorder, struct target *target)
{
	if (!target || target->not_before_ms == INT64_MIN)
		return;
	target->not_before_ms = INT64_MIN;
	if (recorder->denied)
		log_info("Events can be sent now", "cluster", target->cluster, NULL);
	recorder->denied = false;
}

static enum decision_event_answer judge(struct event_recorder *recorder,
					const struct sending *sending, struct target *target,
					const struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (!err) {
		note_allowed(recorder, target);
		metrics_count(recorder->control->metrics, METRICS_EVENTS_SENT,
			      decision_event_reason_word(sending->reason), "");
		return DECISION_EVENT_SENT;
	}
	log_debug("Event was not taken", "object",
		  arena_printf(&scratch, "%s/%s", sending->cluster, kinds[sending->about]),
		  "reason", decision_event_reason_word(sending->reason), "error", err->text, NULL);
	switch (err->kind) {
	case ERR_DENIED:
		/* A namespace that is being deleted accepts no new object: not a missing right. */
		if (strstr(err->text, "being terminated"))
			return DECISION_EVENT_LOST;
		note_denied(recorder, sending, target, err);
		return DECISION_EVENT_FAILED;
	case ERR_NOT_FOUND:
		return sending->create ? DECISION_EVENT_LOST : DECISION_EVENT_GONE;
	case ERR_RETRY:
	case ERR_TIMEOUT:
		return DECISION_EVENT_FAILED;
	default:
		return DECISION_EVENT_LOST;
	}
}

static void note_retry_after(struct event_recorder *recorder, struct target *target,
			     int64_t retry_after_ms)
{
	int64_t now_ms = loop_monotonic_ms(recorder->control->loop);

	if (!target || retry_after_ms <= 0)
		return;
	target->retry_ms = now_ms + retry_after_ms;
	overload_refused(&recorder->overload, target->object->namespace_, now_ms, retry_after_ms);
}

/* NULL: the object has had no Event. */
static struct target *target_in(struct recorded *recorded, enum about about)
{
	return recorded->targets[about].correlator ? &recorded->targets[about] : NULL;
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct sending *sending = context;
	struct event_recorder *recorder = sending->recorder;
	struct recorded *recorded = map_get(&recorder->clusters.map, sending->cluster);
	struct target *target = recorded ? target_in(recorded, sending->about) : NULL;
	enum decision_event_answer what = judge(recorder, sending, target, err);

	note_retry_after(recorder, target, answer->retry_after_ms);
	list_remove(&sending->item);
	if (target && !strcmp(target->object->uid, sending->uid))
		event_correlator_answered(target->correlator, sending->id, what,
					  loop_monotonic_ms(recorder->control->loop));
	sending_free(sending);
}

/* --- sending --- */

/* Events of RayClusters may use the whole burst, those of RayClusterAutoscalers half of it: in a
 * flood the copies are dropped first. */
static bool may_send(struct event_recorder *recorder, const struct target *target, int64_t now_ms)
{
	bool copy = target->about != ABOUT_RAY_CLUSTER;

	return token_bucket_has(&recorder->rate, copy ? EVENT_RECORDER_BURST / 2 : 1, now_ms) &&
	       now_ms >= target->not_before_ms && now_ms >= target->retry_ms &&
	       now_ms >= recorder->overload.all_not_before_ms &&
	       recorder->under_way.count <
		       (copy ? EVENT_RECORDER_UNDER_WAY / 2 : EVENT_RECORDER_UNDER_WAY) &&
	       kube_client_pending(recorder->control->kube) < EVENT_RECORDER_QUEUE_MAX;
}

static void send(struct event_recorder *recorder, const struct target *target,
		 const struct decision_event_order *order)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	const struct event_object *about = target->object;
	const struct event_text event = {
		.name = event_name(&scratch, about->name, target->id_start + order->id),
		.reason = decision_event_reason_word(order->reason),
		.message = order->message,
		.instance = recorder->instance,
		.warning = decision_event_is_warning(order->reason),
		.count = order->count,
		.first = order->first,
		.last = order->last,
	};
	struct sending *sending = memory_alloc(sizeof(*sending));
	const char *path = kube_path(&scratch, "v1", about->namespace_, "events",
				     order->create ? NULL : event.name, NULL);

	buf_init(&body, EVENT_BODY_MAX);
	if (order->create)
		event_write_new(&body, about, &event);
	else
		event_write_repeat(&body, &event);
	*sending = (struct sending){ .recorder = recorder,
				     .about = target->about,
				     .cluster = memory_strdup(target->cluster),
				     .uid = memory_strdup(about->uid),
				     .id = order->id,
				     .reason = order->reason,
				     .create = order->create };
	list_add(&recorder->under_way, &sending->item);
	(void)token_bucket_take(&recorder->rate, 1, loop_monotonic_ms(recorder->control->loop));
	sending->call = kube_client_request(
		recorder->control->kube,
		&(struct kube_request){ .verb = order->create ? KUBE_CREATE : KUBE_MERGE_PATCH,
					.path = path,
					.body = buf_string(&body),
					.body_size = body.size,
					.flow = target->cluster },
		answered, sending);
}

/* gcs: of the Ray whose drivers get lines; NULL: none. */
static void send_due(struct event_recorder *recorder, const struct target *target,
		     struct gcs_client *gcs)
{
	int64_t now_ms = loop_monotonic_ms(recorder->control->loop);
	struct decision_event_order order;

	while (may_send(recorder, target, now_ms) &&
	       event_correlator_next(target->correlator, now_ms, &order)) {
		send(recorder, target, &order);
		if (target->about == ABOUT_RAY_CLUSTER &&
		    decision_event_is_for_drivers(order.reason))
			driver_log_add_lines(recorder->control, gcs,
					     &(struct strings){ &order.message, 1 });
	}
}

/* --- input --- */

/* False: there is none, or its uid is unknown. */
static bool object_of(const struct ray_cluster *cluster, const struct autoscaler_object *autoscaler,
		      enum about about, struct event_object *ret_object)
{
	*ret_object = (struct event_object){ cluster->api_version, kinds[about],
					     cluster->namespace_,  cluster->name,
					     cluster->uid,         cluster->resource_version };
	if (about == ABOUT_RAY_CLUSTER)
		return true;
	if (!autoscaler || !autoscaler->uid[0])
		return false;
	ret_object->api_version = OWN_GROUP_VERSION;
	ret_object->uid = autoscaler->uid;
	ret_object->resource_version = autoscaler->resource_version;
	return true;
}

/* The target of the object; replaced when another object has the same name. */
static struct target *target_of(const struct event_recorder *recorder, struct recorded *recorded,
				enum about about, const struct event_object *object)
{
	struct target *target = &recorded->targets[about];

	if (target->correlator && strcmp(target->object->uid, object->uid) != 0)
		target_done(target);
	if (!target->correlator) {
		target->about = about;
		target->cluster = recorded->of.key;
		target->correlator =
			event_correlator_new(loop_monotonic_ms(recorder->control->loop));
		target->not_before_ms = target->retry_ms = INT64_MIN;
		/* The names of the two objects are the same, those of their Events are not. */
		target->id_start = (uint64_t)loop_wall(recorder->control->loop) << NUMBER_BITS |
				   (uint64_t)about << (NUMBER_BITS - 1);
	}
	target->object =
		field_keep(event_object_fields, object, sizeof(*object), SIZE_MAX, &target->arena);
	return target;
}

void event_recorder_decided(void *listener, const struct pass_decision *decision)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	struct event_recorder *recorder = listener;
	struct decision_event_list list;
	struct recorded *recorded;

	if (!recorder)
		return;
	decision_event_make(decision->snapshot, decision->plan, &scratch, &list);
	recorded = cluster_map_get(&recorder->clusters, cluster->namespace_, cluster->name);
	if (!recorded && list.at.count == 0)
		return;
	recorded = cluster_map_make(&recorder->clusters, cluster->namespace_, cluster->name);
	for (enum about about = 0; about < ABOUT_COUNT; about++) {
		struct event_object object;
		struct target *target;

		if (!object_of(cluster, decision->snapshot->autoscaler, about, &object) ||
		    (list.at.count == 0 && !target_in(recorded, about)))
			continue;
		target = target_of(recorder, recorded, about, &object);
		event_correlator_decided(target->correlator, &list,
					 loop_monotonic_ms(recorder->control->loop), decision->now);
		send_due(recorder, target, decision->gcs);
	}
}

void event_recorder_patched(void *listener, const char *namespace_, const char *name)
{
	struct event_recorder *recorder = listener;
	struct recorded *recorded =
		recorder ? cluster_map_get(&recorder->clusters, namespace_, name) : NULL;

	if (!recorded)
		return;
	for (enum about about = 0; about < ABOUT_COUNT; about++) {
		struct target *target = target_in(recorded, about);

		if (!target)
			continue;
		event_correlator_accepted(target->correlator,
					  loop_monotonic_ms(recorder->control->loop),
					  loop_wall(recorder->control->loop));
		send_due(recorder, target, NULL);
	}
}

void event_recorder_forget(void *listener, const char *namespace_, const char *name)
{
	struct event_recorder *recorder = listener;

	if (recorder)
		cluster_map_remove(&recorder->clusters, namespace_, name);
}

/* The RayCluster of the Pod, if this program scales it. */
static const struct ray_cluster *scaled_cluster_of(const struct event_recorder *recorder,
						   const struct pod *pod, struct arena *arena)
{
	const char *name = labels_value(&pod->labels, LABEL_CLUSTER);
	const struct ray_cluster *cluster =
		name ? kube_informer_get(recorder->control->ray_clusters, pod->namespace_, name) :
		       NULL;
	struct snapshot alone = { .cluster = { .name = "" } };

	if (!cluster || !identity_is_owned(cluster, pod))
		return NULL;
	alone.cluster = *cluster;
	return gate_check(&alone, arena).reason ? NULL : cluster;
}

void event_recorder_pod_changed(void *watcher, const struct pod *old, const struct pod *new_object)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct event_recorder *recorder = watcher;
	const struct ray_cluster *cluster;
	struct decision_event event;
	struct event_object object;
	struct recorded *recorded;

	/* The first version that this process reads may be an hour old. */
	if (!recorder || !old || !new_object || !leader_is_leading(recorder->control->leader) ||
	    !decision_event_of_pod(old, new_object, &scratch, &event))
		return;
	cluster = scaled_cluster_of(recorder, new_object, &scratch);
	if (!cluster || !object_of(cluster, NULL, ABOUT_RAY_CLUSTER, &object))
		return;
	decision_event_note(&event,
			    features_pod_note(recorder->control->features, new_object, &scratch),
			    &scratch);
	recorded = cluster_map_make(&recorder->clusters, cluster->namespace_, cluster->name);
	(void)target_of(recorder, recorded, ABOUT_RAY_CLUSTER, &object);
	for (enum about about = 0; about < ABOUT_COUNT; about++) {
		struct target *target = target_in(recorded, about);

		if (!target)
			continue;
		event_correlator_happened(target->correlator, &event,
					  loop_monotonic_ms(recorder->control->loop),
					  loop_wall(recorder->control->loop));
		send_due(recorder, target, NULL);
	}
}
