#include "feature/protect_busy_pods/ctl/protector.h"

#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/report/overload.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/protect_busy_pods/codec/protect_json.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define FLEET_SHARE 10 /* of --kube-api-qps */
#define UNDER_WAY_MAX 10
#define CACHE_WAIT_MS 10000 /* for our own write to come back through the watch */
#define LEAST_WAIT_MS 50
#define DENIED "Pods in use cannot be protected"
#define CURE                                                                                       \
	"install the chart with protectBusyPods.allowPatch=true, or set protectBusyPods to false"

struct protector {
	struct feature_state of;  /* clusters: struct guarded */
	struct list waiting;      /* Pods with a change, in the order in which they are served */
	struct loop_timer *timer; /* NULL: nothing was ever to be written */
	int64_t timer_ms;         /* when it is due; INT64_MAX: it is not set */
	struct token_bucket budget;
	struct overload overload;
	size_t under_way;
	bool denied; /* the refusal was logged */
};

struct guarded {
	struct cluster_entry of;
	struct map pods;  /* name to struct guarded_pod */
	size_t protected; /* Pods that carry a key of ours, in the last decision */
	char *denied;     /* why the last write was forbidden; NULL: it was not */
	bool denied_removal;
	int64_t not_before_ms;
};

struct guarded_pod {
	const char *name;
	struct protector *protector;
	struct guarded *cluster;
	struct list_item waits;
	char *uid;
	char *body;    /* the change; NULL: none */
	char *version; /* of the Pod that it is for */
	bool removal;
	struct kube_call *call;
	char *sent_body;                       /* of the call */
	char *sent_version;                    /* of the last call; NULL: it failed */
	int64_t sent_ms[PROTECTOR_WRITES_MAX]; /* the last requests, the newest first */
	int64_t not_before_ms;
};

static void sweep(void *context);

static int64_t now_ms(const struct protector *protector)
{
	return loop_monotonic_ms(protector->of.control->loop);
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* ---- memory ---- */

static void pod_done(void *value)
{
	struct guarded_pod *pod = value;

	if (pod->call)
		pod->protector->under_way--;
	list_remove(&pod->waits);
	kube_client_cancel(pod->call);
	memory_free(pod->uid);
	memory_free(pod->body);
	memory_free(pod->version);
	memory_free(pod->sent_body);
	memory_free(pod->sent_version);
}

static void guarded_done(void *one)
{
	struct guarded *cluster = one;

	map_drop_all(&cluster->pods, pod_done);
	memory_free(cluster->denied);
}

static void start(struct protector *protector)
{
	const struct control *control = protector->of.control;
	int64_t rate = control->options->kube_api_qps / FLEET_SHARE;

	rate = rate < 1 ? 1 : rate > PROTECTOR_FLEET_PER_SECOND ? PROTECTOR_FLEET_PER_SECOND : rate;
	protector->timer_ms = INT64_MAX;
	protector->timer = loop_timer_new(control->loop, sweep, protector);
	token_bucket_init(&protector->budget, rate, rate, loop_monotonic_ms(control->loop));
}

static struct guarded_pod *pod_of(struct protector *protector, struct guarded *cluster,
				  const struct pod *object)
{
	struct guarded_pod *pod = map_get(&cluster->pods, object->name);

	if (pod && strcmp(pod->uid, object->uid) != 0)
		map_drop(&cluster->pods, object->name, pod_done);
	pod = map_make(&cluster->pods, object->name, sizeof(*pod));
	if (pod->protector)
		return pod;
	pod->protector = protector;
	pod->cluster = cluster;
	pod->uid = memory_strdup(object->uid);
	for (size_t i = 0; i < PROTECTOR_WRITES_MAX; i++)
		pod->sent_ms[i] = INT64_MIN / 2;
	pod->not_before_ms = INT64_MIN / 2;
	return pod;
}

/* ---- writing ---- */

/* When the Pod may be written. */
static int64_t due_ms(const struct guarded_pod *pod)
{
	int64_t due = pod->sent_ms[PROTECTOR_WRITES_MAX - 1] + PROTECTOR_SPAN_MS;

	if (pod->not_before_ms > due)
		due = pod->not_before_ms;
	if (pod->cluster->not_before_ms > due)
		due = pod->cluster->not_before_ms;
	return due;
}

/* Serves the waiting Pods at that time, or soon; never inside a decision. */
static void start_timer(struct protector *protector, int64_t at_ms)
{
	int64_t now = now_ms(protector);

	if (at_ms < now + LEAST_WAIT_MS)
		at_ms = now + LEAST_WAIT_MS;
	if (at_ms >= protector->timer_ms)
		return;
	protector->timer_ms = at_ms;
	loop_timer_start(protector->timer, at_ms - now);
}

static void queue(struct guarded_pod *pod)
{
	if (!pod->waits.list)
		list_add(&pod->protector->waiting, &pod->waits);
	start_timer(pod->protector, due_ms(pod));
}

static void keep_denied(struct guarded_pod *pod, const struct err *err)
{
	struct protector *protector = pod->protector;
	struct guarded *cluster = pod->cluster;

	memory_set_string(&cluster->denied, err->text);
	cluster->denied_removal = pod->removal;
	cluster->not_before_ms = now_ms(protector) + OVERLOAD_REFUSED_MS;
	if (!protector->denied)
		log_warning("cannot protect Pods in use", "cluster", cluster->of.key, "error",
			    err->text, "fix", CURE, NULL);
	protector->denied = true;
}

/* The change that was sent is not wanted again, unless a decision has asked for another one since. */
static void drop_sent(struct guarded_pod *pod)
{
	if (same(pod->body, pod->sent_body))
		memory_set_string(&pod->body, NULL);
}

static void failed(struct guarded_pod *pod, const struct err *err, int64_t retry_after_ms)
{
	struct protector *protector = pod->protector;

	memory_set_string(&pod->sent_version, NULL);
	switch (err->kind) {
	case ERR_CONFLICT: /* the Pod has changed: the next decision sees it */
	case ERR_NOT_FOUND:
		drop_sent(pod);
		return;
	case ERR_DENIED:
		keep_denied(pod, err);
		return;
	default:
		pod->not_before_ms = now_ms(protector) + overload_retry_ms(err, retry_after_ms);
		log_debug("Pod was not changed", "pod", pod->name, "cluster", pod->cluster->of.key,
			  "error", err->text, NULL);
	}
	if (retry_after_ms > 0)
		overload_refused(&protector->overload, pod->cluster->of.namespace_,
				 now_ms(protector), retry_after_ms);
}

static void carried_out(struct guarded_pod *pod)
{
	drop_sent(pod);
	memory_set_string(&pod->cluster->denied, NULL);
	if (pod->protector->denied)
		log_info("Pods in use can be protected now", "cluster", pod->cluster->of.key, NULL);
	pod->protector->denied = false;
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct guarded_pod *pod = context;

	pod->call = NULL;
	pod->protector->under_way--;
	if (err)
		failed(pod, err, answer->retry_after_ms);
	else
		carried_out(pod);
	memory_set_string(&pod->sent_body, NULL);
	if (pod->body)
		queue(pod);
	if (pod->protector->waiting.count > 0) /* they may have waited for the end of a call */
		start_timer(pod->protector, 0);
}

static void send(struct guarded_pod *pod)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct protector *protector = pod->protector;
	const char *path =
		kube_path_managed(&scratch, kube_path(&scratch, "v1", pod->cluster->of.namespace_,
						      "pods", pod->name, NULL));

	memmove(&pod->sent_ms[1], &pod->sent_ms[0], sizeof(pod->sent_ms) - sizeof(pod->sent_ms[0]));
	pod->sent_ms[0] = now_ms(protector);
	memory_set_string(&pod->sent_body, pod->body);
	memory_set_string(&pod->sent_version, pod->version);
	protector->under_way++;
	pod->call = kube_client_request(protector->of.control->kube,
					&(struct kube_request){ .verb = KUBE_MERGE_PATCH,
								.path = path,
								.body = pod->body,
								.body_size = strlen(pod->body),
								.flow = pod->cluster->of.key },
					answered, pod);
}

/* Serves the waiting Pods once, in their order; those that may not be written yet wait again. */
static void sweep(void *context)
{
	struct protector *protector = context;
	int64_t now = now_ms(protector), next = INT64_MAX;

	protector->timer_ms = INT64_MAX;
	for (size_t left = protector->waiting.count; left > 0; left--) {
		struct guarded_pod *pod =
			LIST_MEMBER(protector->waiting.first, struct guarded_pod, waits);
		int64_t due = pod ? due_ms(pod) : 0;

		if (protector->under_way >= UNDER_WAY_MAX)
			return; /* until the next answer */
		if (now < protector->overload.all_not_before_ms) {
			next = protector->overload.all_not_before_ms;
			break;
		}
		if (!pod)
			break;
		list_remove(&pod->waits);
		if (!pod->body || pod->call) /* the end of the call queues it */
			continue;
		if (due > now) {
			list_add(&protector->waiting, &pod->waits);
			next = due < next ? due : next;
			continue;
		}
		if (!token_bucket_take(&protector->budget, 1, now)) {
			list_add(&protector->waiting, &pod->waits);
			next = now + token_bucket_wait_ms(&protector->budget);
			break;
		}
		send(pod);
	}
	if (next < INT64_MAX)
		start_timer(protector, next);
}

/* ---- decisions ---- */

/* Our last write has not come back yet. */
static bool is_on_its_way(const struct guarded_pod *pod, const struct pod *object)
{
	return same(pod->sent_version, object->resource_version) &&
	       now_ms(pod->protector) - pod->sent_ms[0] < CACHE_WAIT_MS;
}

static void want(struct protector *protector, struct guarded *cluster,
		 const struct protected_pod *item)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct guarded_pod *pod = pod_of(protector, cluster, item->object);

	if (is_on_its_way(pod, item->object))
		return;
	memory_set_string(&pod->body, protect_patch_body(item, &scratch));
	memory_set_string(&pod->version, item->object->resource_version);
	pod->removal = item->action == PROTECT_REMOVE;
	queue(pod);
}

/* Those without a change whose last request no longer counts. */
static void forget_pods(struct guarded *cluster, int64_t now)
{
	for (size_t i = cluster->pods.count; i > 0; i--) {
		struct guarded_pod *pod = cluster->pods.entries[i - 1].value;

		if (!pod->body && !pod->call && now - pod->sent_ms[0] > PROTECTOR_SPAN_MS)
			map_drop(&cluster->pods, pod->name, pod_done);
	}
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct protector *protector = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct plan_protection *protection = decision->plan->protection;
	struct guarded *guarded;
	size_t changes = 0;

	if (!protection &&
	    !cluster_map_get(&protector->of.clusters, cluster->namespace_, cluster->name))
		return;
	if (!protector->timer) /* the first cluster: a fleet without protection has no timer */
		start(protector);
	guarded = cluster_map_make(&protector->of.clusters, cluster->namespace_, cluster->name);
	guarded->protected = 0;
	for (size_t i = 0; i < guarded->pods.count; i++)
		memory_set_string(&((struct guarded_pod *)guarded->pods.entries[i].value)->body,
				  NULL);
	if (protection)
		for (size_t i = 0; i < protection->pods.count; i++) {
			const struct protected_pod *item = &protection->pods.at[i];

			guarded->protected += item->action == PROTECT_KEEP && !item->ended;
			if (item->action == PROTECT_KEEP)
				continue;
			want(protector, guarded, item);
			changes++;
		}
	if (changes == 0)
		memory_set_string(&guarded->denied, NULL);
	forget_pods(guarded, now_ms(protector));
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	const struct protector *protector = self;
	const struct guarded *guarded =
		cluster_map_get(&protector->of.clusters, cluster->namespace_, cluster->name);
	const char *cure = CURE;

	if (!guarded || !guarded->denied)
		return false;
	if (guarded->denied_removal)
		cure = arena_printf(
			arena,
			"install the chart with protectBusyPods.allowPatch=true, or "
			"remove its annotations yourself: rayscaler unprotect -n %s --yes",
			cluster->namespace_);
	*ret_condition = (struct extra_condition){
		.type = CONDITION_POD_PATCH_FORBIDDEN,
		.reason = REASON_POD_PATCH_FORBIDDEN,
		/* The status cuts long texts: the answer of the API server is last. */
		.message = arena_printf(arena, DENIED ": %s; %s", cure, guarded->denied),
		.is_true = true,
		.reported = "",
	};
	return true;
}

static void write_protected(const void *self, const struct metrics_cluster *cluster,
			    struct metrics_family *family)
{
	const struct protector *protector = self;
	const struct guarded *guarded =
		cluster_map_get(&protector->of.clusters, cluster->of.namespace_, cluster->of.name);

	if (guarded)
		metrics_text_integer(
			family, (const char *const[]){ cluster->of.namespace_, cluster->of.name },
			(int64_t)guarded->protected);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_GAUGE, "rayscaler_protected_pods", "namespace,raycluster",
		   "Pods that protectBusyPods protects now." },
	  .need = METRICS_SCALED,
	  .write = write_protected },
};

static void begin(void *self)
{
	((struct protector *)self)->overload = (struct overload)OVERLOAD_INIT;
}

static void end(void *self)
{
	loop_timer_free(((struct protector *)self)->timer);
}

const struct feature protect_busy_pods_feature = {
	.state_size = sizeof(struct protector),
	.cluster_size = sizeof(struct guarded),
	.cluster_done = guarded_done,
	.begin = begin,
	.end = end,
	.decided = decided,
	.condition = condition,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
};
