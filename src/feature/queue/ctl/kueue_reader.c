#include "feature/queue/ctl/kueue_reader.h"

#include <string.h>

#include "base/budget.h"
#include "base/int64.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "core/model/field.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "feature/queue/codec/kueue_json.h"
#include "feature/queue/core/queue.h"
#include "kube/kube_list.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define VERSION "kueue.x-k8s.io/v1beta2"
#define PAGE_MAX ((size_t)4 << 20)
#define CURE                                                                                       \
	"install the chart with kueue.readWorkloads=true, which grants list of workloads.kueue.x-k8s.io"
#define TOO_MANY "it has more than 1000 Workloads: set objectRetentionPolicies of Kueue"
#define TEXT_MAX 200
_Static_assert(KUEUE_READER_PAGES *KUEUE_READER_PAGE == 1000, "TOO_MANY");

struct reader {
	struct feature_state of; /* clusters: struct awaited */
	struct token_bucket budget;
};

/* A RayCluster with a Pod that waits. */
struct awaited {
	struct cluster_entry of;
	struct reader *reader;
	char *uid;
	struct budget *budget;  /* a reference: of the replies in the namespace; NULL: no limit */
	struct kube_list *list; /* NULL: it does not read */
	struct arena arena;     /* of `workload` */
	const struct kueue_workload *workload; /* NULL: not read yet */
	int64_t generation;                    /* of the RayCluster */
	int64_t next_ms, wait_ms;
};

static int64_t now_ms(const struct reader *reader)
{
	return loop_monotonic_ms(reader->of.control->loop);
}

/* ---- memory ---- */

static void awaited_done(void *one)
{
	struct awaited *awaited = one;

	kube_list_cancel(awaited->list);
	arena_done(&awaited->arena);
	budget_free(awaited->budget);
	memory_free(awaited->uid);
}

static struct awaited *make(struct reader *reader, const struct ray_cluster *cluster)
{
	struct awaited *awaited =
		cluster_map_make(&reader->of.clusters, cluster->namespace_, cluster->name);
	struct memory_budgets *memory = reader->of.control->memory;

	awaited->reader = reader;
	awaited->uid = memory_strdup(cluster->uid);
	if (memory)
		awaited->budget = budget_children_get(&memory->passes, cluster->namespace_);
	awaited->arena = ARENA_INIT;
	awaited->next_ms = now_ms(reader);
	awaited->wait_ms = KUEUE_READER_FIRST_MS;
	return awaited;
}

/* ---- answers ---- */

/* The cluster decides again when the answer is another one. */
static void keep(struct awaited *awaited, const struct kueue_workload *workload)
{
	if (awaited->workload && field_equal(kueue_workload_fields, awaited->workload, workload))
		return;
	arena_reset(&awaited->arena);
	awaited->workload = FIELD_COPY(kueue_workload_fields, workload, &awaited->arena);
	(void)control_wake(awaited->reader->of.control, awaited->of.namespace_, awaited->of.name);
}

static void failed(struct awaited *awaited, const struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kueue_workload workload = kueue_workload_none;
	bool refused = err->kind == ERR_NOT_FOUND || err->kind == ERR_DENIED;

	if (refused)
		awaited->next_ms = now_ms(awaited->reader) + KUEUE_READER_REFUSED_MS;
	workload.problem = arena_printf(&scratch, "its Workload cannot be read: %s%.*s",
					refused ? CURE "; " : "", TEXT_MAX, err->text);
	keep(awaited, &workload);
}

static int add(const struct cJSON *workload, struct arena *arena, void *result, struct err *err)
{
	return kueue_slices_add(workload, arena, result, err);
}

static void answered(void *context, const void *result, const struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct awaited *awaited = context;
	struct kueue_workload workload;

	awaited->list = NULL;
	if (err) {
		failed(awaited, err);
		return;
	}
	kueue_workload_make(result, &scratch, &workload);
	keep(awaited, &workload);
}

/* ---- requests ---- */

static void ask(struct awaited *awaited)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct control *control = awaited->reader->of.control;
	char *path = kube_path(&scratch, VERSION, awaited->of.namespace_, "workloads", NULL, NULL);

	path = kube_path_query(&scratch, path, "labelSelector",
			       arena_printf(&scratch, KUEUE_LABEL_JOB_UID "=%s", awaited->uid));
	awaited->list = kube_list_start(
		&(struct kube_list_options){ .client = control->kube,
					     .loop = control->loop,
					     .budget = awaited->budget,
					     .path = path,
					     .flow = awaited->of.key,
					     .page_objects = KUEUE_READER_PAGE,
					     .page_max_bytes = PAGE_MAX,
					     .pages_max = KUEUE_READER_PAGES,
					     .too_many = TOO_MANY,
					     .result_size = sizeof(struct kueue_slices),
					     .add = add,
					     .done = answered,
					     .context = awaited });
}

static void begin_read(struct awaited *awaited)
{
	struct reader *reader = awaited->reader;
	int64_t now = now_ms(reader);

	if (awaited->list || now < awaited->next_ms || !token_bucket_take(&reader->budget, 1, now))
		return;
	awaited->next_ms = now + awaited->wait_ms;
	awaited->wait_ms = int64_min(2 * awaited->wait_ms, KUEUE_READER_LAST_MS);
	ask(awaited);
}

static bool any_waits(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (queue_reads_workload(snapshot->pods[i]))
			return true;
	return false;
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct reader *reader = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	struct awaited *awaited =
		cluster_map_get(&reader->of.clusters, cluster->namespace_, cluster->name);
	bool is_awaited = cluster->uid[0] != '\0' && any_waits(decision->snapshot);

	if (awaited && (!is_awaited || strcmp(awaited->uid, cluster->uid) != 0)) {
		cluster_map_remove(&reader->of.clusters, cluster->namespace_, cluster->name);
		awaited = NULL;
	}
	if (!is_awaited)
		return;
	if (!awaited)
		awaited = make(reader, cluster);
	if (awaited->generation != cluster->generation) {
		awaited->generation = cluster->generation;
		awaited->wait_ms = KUEUE_READER_FIRST_MS;
		if (!awaited->workload || awaited->workload->problem[0] == '\0')
			awaited->next_ms = now_ms(reader);
	}
	begin_read(awaited);
}

static void observe(void *self, const struct ray_cluster *cluster, struct arena *arena,
		    struct snapshot *snapshot)
{
	const struct reader *reader = self;
	const struct awaited *awaited =
		cluster_map_get(&reader->of.clusters, cluster->namespace_, cluster->name);

	if (awaited && awaited->workload && strcmp(awaited->uid, cluster->uid) == 0)
		snapshot->kueue = FIELD_COPY(kueue_workload_fields, awaited->workload, arena);
}

/* ---- the feature ---- */

static void begin(void *self)
{
	struct reader *reader = self;
	int64_t rate = int64_min(int64_max(reader->of.control->options->kube_api_qps / 10, 1),
				 KUEUE_READER_FLEET_PER_SECOND);

	token_bucket_init(&reader->budget, rate, rate, now_ms(reader));
}

const struct feature kueue_feature = {
	.state_size = sizeof(struct reader),
	.cluster_size = sizeof(struct awaited),
	.cluster_done = awaited_done,
	.begin = begin,
	.decided = decided,
	.observe = observe,
};
