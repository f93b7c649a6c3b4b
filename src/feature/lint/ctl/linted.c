#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "core/model/claimed.h"
#include "core/model/field.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "ctl/watch/autoscaler_objects.h"
#include "feature/lint/core/lint.h"
#include "kube/kube_informer.h"
#include "net/work.h"

/* The rules take 1 ms for a RayCluster of this memory; those of a larger one run beside the loop. */
#define INLINE_BYTES ((size_t)128 << 10)
#define OBJECT_BYTES ((size_t)16 << 10)

struct linted {
	struct cluster_entry of;
	struct arena arena; /* of the condition */
	char *uid;          /* NULL: nothing is kept */
	int64_t generation;
	char *version;        /* NULL or that of the RayCluster with these annotations */
	uint64_t annotations; /* they have no generation */
	uint64_t claims;      /* the number of the view of its claims; 0: it has none */
	int64_t object;       /* the generation of its RayClusterAutoscaler; -1: none is read */
	const struct extra_condition *condition; /* NULL: not known yet */
	struct lint_run *run;                    /* NULL: the rules do not run */
};

/* The texts that are made for a cluster. */
static const struct field kept_fields[] = {
	FIELD_TEXT(struct extra_condition, reported, "reported"),
	FIELD_TEXT(struct extra_condition, message, "message"),
	FIELD_END,
};

struct lint {
	struct feature_state of; /* clusters: struct linted */
	size_t runs;
};

/* The rules on a RayCluster, which lives until the job has ended (net/work.h). */
struct lint_run {
	struct lint *lint;
	struct linted *linted; /* which cancels it */
	const struct ray_cluster *cluster;
	struct device_view *view;
	struct lint_context context;
	struct arena arena;
	struct extra_condition condition;
	struct work_job *job; /* NULL: on the loop */
};

static void linted_cancel(struct linted *linted)
{
	if (linted->run)
		work_cancel(linted->run->job);
	linted->run = NULL;
}

static void linted_done(void *one)
{
	struct linted *linted = one;

	linted_cancel(linted);
	arena_done(&linted->arena);
	memory_free(linted->uid);
	memory_free(linted->version);
}

/* They may have 256 KiB, and a pass asks each time: read once for each version of the object. */
static uint64_t annotations_hash(struct linted *linted, const struct ray_cluster *cluster)
{
	const struct labels *annotations = &cluster->annotations;
	uint64_t hash = HASH_START;

	if (linted->version && linted->version[0] && cluster->resource_version &&
	    strcmp(linted->version, cluster->resource_version) == 0)
		return linted->annotations;
	for (size_t i = 0; i < annotations->count; i++)
		hash = hash_add(hash_add(hash, annotations->at[i].key), annotations->at[i].value);
	memory_set_string(&linted->version, cluster->resource_version);
	return hash;
}

static uint64_t claims_number(const struct lint *lint, const struct ray_cluster *cluster)
{
	return claimed_by_cluster(cluster) ? device_view_number(lint->of.control) : 0;
}

static void run_drop(void *context)
{
	struct lint_run *run = context;

	arena_done(&run->arena);
	device_view_drop(run->view);
	memory_free(run);
}

static void run_rules(void *context, const struct work_job *job UNUSED)
{
	struct lint_run *run = context;

	lint_condition_make(run->cluster, &run->context, &run->arena, &run->condition);
}

/* Drops the findings and keeps the condition. */
static void run_done(void *context)
{
	struct lint_run *run = context;
	struct linted *linted = run->linted;

	linted->run = NULL;
	linted->condition = field_keep(kept_fields, &run->condition, sizeof(run->condition),
				       SIZE_MAX, &linted->arena);
	if (run->job)
		(void)control_wake(run->lint->of.control, linted->of.namespace_, linted->of.name);
	run_drop(run);
}

/* Its RayClusterAutoscaler, where both are small enough for the loop; NULL: none. */
static const struct autoscaler_object *
object_of(const struct control *control, const struct ray_cluster *cluster, struct arena *arena)
{
	if (!control->autoscalers ||
	    autoscaler_objects_bytes(control->autoscalers, cluster->namespace_, cluster->name) >
		    OBJECT_BYTES)
		return NULL;
	return autoscaler_objects_get(control->autoscalers, cluster->namespace_, cluster->name,
				      arena);
}

static void run_start(struct lint *lint, struct linted *linted, const struct ray_cluster *cluster,
		      const struct autoscaler_object *object)
{
	static const struct work_functions functions = { run_rules, run_done, run_drop };
	const struct control *control = lint->of.control;
	struct lint_run *run = memory_alloc(sizeof(*run));

	linted_cancel(linted);
	run->lint = lint;
	run->linted = linted;
	run->cluster = cluster;
	run->context.devices = device_view_table(control);
	run->context.settings = &control->options->settings;
	if (control->ray_clusters && kube_informer_bytes(control->ray_clusters, cluster->namespace_,
							 cluster->name) > INLINE_BYTES) {
		linted->run = run;
		run->view = device_view_hold(control);
		run->job = work_start(control->loop, &functions, run);
		return;
	}
	run->context.object = object;
	run_rules(run, NULL);
	run_done(run);
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	struct lint *lint = self;
	struct linted *linted =
		cluster_map_make(&lint->of.clusters, cluster->namespace_, cluster->name);
	uint64_t annotations = annotations_hash(linted, cluster);
	uint64_t claims = claims_number(lint, cluster);
	const struct autoscaler_object *object = object_of(lint->of.control, cluster, arena);
	int64_t generation = object ? object->generation : -1;

	if (!linted->uid || strcmp(linted->uid, cluster->uid) != 0 ||
	    linted->generation != cluster->generation || linted->annotations != annotations ||
	    linted->claims != claims || linted->object != generation) {
		run_start(lint, linted, cluster, object);
		memory_set_string(&linted->uid, cluster->uid);
		linted->generation = cluster->generation;
		linted->annotations = annotations;
		linted->claims = claims;
		linted->object = generation;
		lint->runs++;
	}
	if (!linted->condition)
		return false;
	*ret_condition = *FIELD_COPY(kept_fields, linted->condition, arena);
	return ret_condition->message[0] != '\0';
}

size_t linted_runs(const void *self)
{
	return ((const struct lint *)self)->runs;
}

const struct feature lint_feature = {
	.state_size = sizeof(struct lint),
	.cluster_size = sizeof(struct linted),
	.cluster_done = linted_done,
	.condition = condition,
};
