#include "feature/protect_busy_pods/ctl/protector.h"

#include <string.h>

#include "base/hash.h"
#include "base/int64.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/report/write_queue.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/protect_busy_pods/codec/protect_json.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define FLEET_SHARE 10 /* of --kube-api-qps */
#define UNDER_WAY_MAX 10
#define DENIED "Pods in use cannot be protected"
#define CURE                                                                                       \
	"install the chart with protectBusyPods.allowPatch=true, or set protectBusyPods to false"

struct protector {
	struct feature_state of;   /* clusters: struct guarded */
	struct write_queue writes; /* not begun: nothing was ever to be written */
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
	struct guarded *cluster;
	struct write_item change;
	char *uid;
	char *version; /* of the Pod that the change is for */
	bool removal;
	int64_t sent_ms[PROTECTOR_WRITES_MAX]; /* the last requests, the newest first */
};

/* ---- memory ---- */

static void pod_done(void *value)
{
	struct guarded_pod *pod = value;

	write_item_done(&pod->change);
	memory_free(pod->uid);
	memory_free(pod->version);
}

static void guarded_done(void *one)
{
	struct guarded *cluster = one;

	map_drop_all(&cluster->pods, pod_done);
	memory_free(cluster->denied);
}

static struct guarded_pod *pod_of(struct protector *protector, struct guarded *cluster,
				  const struct pod *object)
{
	struct guarded_pod *pod = map_get(&cluster->pods, object->name);

	if (pod && strcmp(pod->uid, object->uid) != 0)
		map_drop(&cluster->pods, object->name, pod_done);
	pod = map_make(&cluster->pods, object->name, sizeof(*pod));
	if (pod->cluster)
		return pod;
	write_item_init(&pod->change, &protector->writes, pod, cluster->of.namespace_,
			cluster->of.key, cluster->of.key);
	pod->cluster = cluster;
	pod->uid = memory_strdup(object->uid);
	for (size_t i = 0; i < PROTECTOR_WRITES_MAX; i++)
		pod->sent_ms[i] = INT64_MIN / 2;
	return pod;
}

/* ---- writing ---- */

static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	struct guarded_pod *pod = item->owner;
	int64_t now = loop_monotonic_ms(item->queue->control->loop);

	if (!item->text)
		return WRITE_NOTHING;
	item->not_before_ms = int64_max(pod->sent_ms[PROTECTOR_WRITES_MAX - 1] + PROTECTOR_SPAN_MS,
					pod->cluster->not_before_ms);
	if (item->not_before_ms > now)
		return WRITE_LATER;
	memmove(&pod->sent_ms[1], &pod->sent_ms[0], sizeof(pod->sent_ms) - sizeof(pod->sent_ms[0]));
	pod->sent_ms[0] = now;
	write_item_base(item, pod->version);
	request->verb = KUBE_MERGE_PATCH;
	request->path = kube_path_managed(arena, kube_path(arena, "v1", pod->cluster->of.namespace_,
							   "pods", pod->name, NULL));
	request->body = item->text;
	return WRITE_NOW;
}

static void ended(struct write_item *item, const struct kube_answer *answer UNUSED,
		  const struct err *err)
{
	struct guarded_pod *pod = item->owner;
	struct guarded *cluster = pod->cluster;

	if (!err) {
		memory_set_string(&cluster->denied, NULL);
	} else if (err->kind == ERR_DENIED) {
		memory_set_string(&cluster->denied, err->text);
		cluster->denied_removal = pod->removal;
		cluster->not_before_ms = item->not_before_ms;
	} else if (err->kind == ERR_CONFLICT || err->kind == ERR_NOT_FOUND) {
		write_item_drop_sent(item); /* the Pod has changed: the next decision sees it */
	}
}

static const struct write_kind kind = {
	.message = "cannot protect Pods in use",
	.allowed = "Pods in use can be protected now",
	.fix = CURE,
	.next = next_write,
	.ended = ended,
};

static void start(struct protector *protector)
{
	int64_t rate = protector->of.control->options->kube_api_qps / FLEET_SHARE;

	rate = int64_min(int64_max(rate, 1), PROTECTOR_FLEET_PER_SECOND);
	write_queue_init(&protector->writes, protector->of.control, &kind, rate, rate,
			 UNDER_WAY_MAX);
}

/* ---- decisions ---- */

static void want(struct protector *protector, struct guarded *cluster,
		 const struct protected_pod *item)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct guarded_pod *pod = pod_of(protector, cluster, item->object);
	const char *body;

	if (!write_item_is_shown(&pod->change, item->object->resource_version))
		return;
	body = protect_patch_body(item, &scratch);
	memory_set_string(&pod->version, item->object->resource_version);
	pod->removal = item->action == PROTECT_REMOVE;
	write_item_want(&pod->change, body, hash_text(body));
}

/* Those without a change whose last request no longer counts. */
static void forget_pods(struct guarded *cluster, int64_t now)
{
	for (size_t i = cluster->pods.count; i > 0; i--) {
		struct guarded_pod *pod = cluster->pods.entries[i - 1].value;

		if (!pod->change.text && !pod->change.call &&
		    now - pod->sent_ms[0] > PROTECTOR_SPAN_MS)
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
	if (!protector->writes.kind) /* a fleet without protection has no timer */
		start(protector);
	guarded = cluster_map_make(&protector->of.clusters, cluster->namespace_, cluster->name);
	guarded->protected = 0;
	for (size_t i = 0; i < guarded->pods.count; i++)
		write_item_want(&((struct guarded_pod *)guarded->pods.entries[i].value)->change,
				NULL, 0);
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
	forget_pods(guarded, loop_monotonic_ms(protector->of.control->loop));
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

static void end(void *self)
{
	write_queue_done(&((struct protector *)self)->writes);
}

const struct feature protect_busy_pods_feature = {
	.state_size = sizeof(struct protector),
	.cluster_size = sizeof(struct guarded),
	.cluster_done = guarded_done,
	.end = end,
	.decided = decided,
	.condition = condition,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
};
