#include "ctl/report/metrics_cluster.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/kubernetes.h"

struct metrics_cluster *metrics_cluster_new(const char *namespace_, const char *name)
{
	struct metrics_cluster *cluster = memory_alloc(sizeof(*cluster));

	cluster->namespace_ = memory_strdup(namespace_);
	cluster->name = memory_strdup(name);
	cluster->session = memory_strdup("");
	return cluster;
}

void metrics_cluster_free(struct metrics_cluster *cluster)
{
	if (!cluster)
		return;
	arena_done(&cluster->arena);
	memory_free(cluster->namespace_);
	memory_free(cluster->name);
	memory_free(cluster->session);
	memory_free(cluster);
}

/* Rebuilt instead of copied, so that no more than their size is allocated. */
void metrics_cluster_keep(struct metrics_cluster *cluster, const struct snapshot *snapshot,
			  const struct plan *plan, const struct figures *marks, size_t bytes)
{
	arena_done(&cluster->arena);
	arena_reserve(&cluster->arena, bytes);
	cluster->figures = figures_of(snapshot, plan, marks, &cluster->arena);
	if (snapshot->ray_state &&
	    strcmp(snapshot->ray_state->session_name, cluster->session) != 0) {
		memory_free(cluster->session);
		cluster->session = memory_strdup(snapshot->ray_state->session_name);
	}
}

/* ---- exposition: by family, as the format requires ---- */

/* Writes the samples of one cluster in one family. */
typedef void write_one(const struct metrics_cluster *cluster, struct metrics_family *family);

static void write_active(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const struct figures *figures = cluster->figures;
	const char *values[] = { cluster->namespace_, cluster->name, HEAD_GROUP_NAME,
				 cluster->session };

	if (!figures->ray_reachable)
		return;
	metrics_text_integer(family, values, figures->head_active);
	for (size_t i = 0; i < figures->group_count; i++) {
		values[2] = figures->groups[i].name;
		metrics_text_integer(family, values, figures->groups[i].active);
	}
}

/* ret: the member of struct figures_group that this family shows. */
static int64_t group_value(const struct figures_group *group, enum metrics_id id)
{
	switch (id) {
	case METRICS_RAY_PENDING_NODES:
		return group->pending;
	case METRICS_RAY_RECENTLY_FAILED_NODES:
		return group->failed;
	case METRICS_GROUP_REPLICAS:
		return group->replicas;
	case METRICS_GROUP_TARGET_REPLICAS:
		return group->target_replicas;
	case METRICS_GROUP_MIN_REPLICAS:
		return group->min_replicas;
	case METRICS_GROUP_MAX_REPLICAS:
		return group->max_replicas;
	case METRICS_GPUS_WANTED:
		return group->gpus_wanted;
	case METRICS_GPUS_RUNNING:
		return group->gpus_running;
	case METRICS_GPUS_IDLE:
		return group->gpus_idle;
	default:
		return group->gpus_wasted;
	}
}

static void write_groups(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const char *values[] = { cluster->namespace_, cluster->name, "", cluster->session };

	for (size_t i = 0; i < cluster->figures->group_count; i++) {
		const struct figures_group *group = &cluster->figures->groups[i];

		values[2] = group->name;
		metrics_text_integer(family, values, group_value(group, family->id));
	}
}

static void write_wanted_gpus(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const char *values[] = { cluster->namespace_, cluster->name, "" };

	for (size_t i = 0; i < cluster->figures->group_count; i++) {
		values[2] = cluster->figures->groups[i].name;
		metrics_text_amount(family, values,
				    group_value(&cluster->figures->groups[i], family->id));
	}
}

/* Running, idle and wasted GPUs; those of the head never count as idle. */
static void write_live_gpus(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const struct figures *figures = cluster->figures;
	const char *values[] = { cluster->namespace_, cluster->name, HEAD_GROUP_NAME };
	int64_t head = figures->head_gpus_running;

	if (!figures->ray_reachable)
		return;
	if (family->id == METRICS_GPUS_WASTED)
		head -= figures->head_gpus_in_use;
	if (figures->head_gpus_running > 0 && family->id != METRICS_GPUS_IDLE)
		metrics_text_amount(family, values, head);
	write_wanted_gpus(cluster, family);
}

static void write_backoff(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->figures->group_count; i++) {
		const struct figures_group *group = &cluster->figures->groups[i];
		const char *values[] = { cluster->namespace_, cluster->name, group->name,
					 group->backoff_cause };

		if (group->backoff_cause[0])
			metrics_text_integer(family, values, 1);
	}
}

static void write_resources(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	bool pending = family->id == METRICS_RAY_PENDING_RESOURCES;

	if (!pending && !cluster->figures->ray_reachable)
		return;
	for (size_t i = 0; i < cluster->figures->resource_count; i++) {
		const struct figures_resource *one = &cluster->figures->resources[i];
		const char *values[] = { cluster->namespace_, cluster->name, one->name,
					 cluster->session };

		metrics_text_amount(family, values, pending ? one->pending : one->cluster);
	}
}

static void write_cluster_gauge(const struct metrics_cluster *cluster,
				struct metrics_family *family)
{
	const struct figures *figures = cluster->figures;
	const char *values[] = { cluster->namespace_, cluster->name, cluster->session };

	switch (family->id) {
	case METRICS_RAY_RUNNING_WORKERS:
		if (figures->ray_reachable)
			metrics_text_integer(family, values, figures->joined);
		break;
	case METRICS_GPUS_PENDING:
		if (figures->ray_reachable)
			metrics_text_amount(family, values, figures->gpus_pending);
		break;
	case METRICS_SCAN_INTERVAL:
		if (cluster->scan_interval_ms > 0)
			metrics_text_double(family, values,
					    (double)cluster->scan_interval_ms / MS_PER_SECOND);
		break;
	default:
		metrics_text_double(family, values, (double)figures->decided_at / MS_PER_SECOND);
		break;
	}
}

static void write_safe(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const char *values[] = { cluster->namespace_, cluster->name };

	metrics_text_integer(family, values, cluster->figures->safe_to_scale_down);
}

static void write_unsafe(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const char *values[] = { cluster->namespace_, cluster->name };

	metrics_text_integer(family, values, 0);
}

static void write_unserved(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->figures->unserved_count; i++) {
		const struct figures_count *one = &cluster->figures->unserved[i];
		const char *values[] = { cluster->namespace_, cluster->name, one->name };

		metrics_text_integer(family, values, one->count);
	}
}

static void write_conditions(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->figures->condition_count; i++) {
		const struct figures_condition *one = &cluster->figures->conditions[i];
		const char *values[] = { cluster->namespace_, cluster->name, one->type,
					 one->reason };

		metrics_text_integer(family, values, !strcmp(one->status, "True"));
	}
}

static void write_counters(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	const char *values[] = { cluster->namespace_, cluster->name, cluster->session };

	switch (family->id) {
	case METRICS_RAY_UPDATE_TIME:
		metrics_text_histogram(family, values, &cluster->update_time);
		break;
	case METRICS_RAY_STARTED_NODES:
		metrics_text_integer(family, values, (int64_t)cluster->started);
		break;
	case METRICS_RAY_STOPPED_NODES:
		metrics_text_integer(family, values, (int64_t)cluster->stopped);
		break;
	case METRICS_RAY_UPDATE_LOOP_EXCEPTIONS:
		metrics_text_integer(family, values, (int64_t)cluster->loop_exceptions);
		break;
	default:
		metrics_text_integer(family, values, (int64_t)cluster->drain_exceptions);
		break;
	}
}

static const struct {
	enum metrics_id id;
	bool hands_off; /* also of clusters that this program does not scale */
	write_one *write;
} families[] = {
	{ METRICS_RAY_ACTIVE_NODES, false, write_active },
	{ METRICS_RAY_PENDING_NODES, false, write_groups },
	{ METRICS_RAY_RECENTLY_FAILED_NODES, false, write_groups },
	{ METRICS_RAY_RUNNING_WORKERS, false, write_cluster_gauge },
	{ METRICS_RAY_CLUSTER_RESOURCES, false, write_resources },
	{ METRICS_RAY_PENDING_RESOURCES, false, write_resources },
	{ METRICS_RAY_UPDATE_TIME, false, write_counters },
	{ METRICS_RAY_STARTED_NODES, false, write_counters },
	{ METRICS_RAY_STOPPED_NODES, false, write_counters },
	{ METRICS_RAY_UPDATE_LOOP_EXCEPTIONS, false, write_counters },
	{ METRICS_RAY_DRAIN_NODE_EXCEPTIONS, false, write_counters },
	{ METRICS_GROUP_REPLICAS, false, write_groups },
	{ METRICS_GROUP_TARGET_REPLICAS, false, write_groups },
	{ METRICS_GROUP_MIN_REPLICAS, false, write_groups },
	{ METRICS_GROUP_MAX_REPLICAS, false, write_groups },
	{ METRICS_GROUP_BACKOFF, false, write_backoff },
	{ METRICS_GPUS_WANTED, false, write_wanted_gpus },
	{ METRICS_GPUS_RUNNING, false, write_live_gpus },
	{ METRICS_GPUS_IDLE, false, write_live_gpus },
	{ METRICS_GPUS_WASTED, false, write_live_gpus },
	{ METRICS_GPUS_PENDING, false, write_cluster_gauge },
	{ METRICS_UNFULFILLABLE_DEMAND, false, write_unserved },
	{ METRICS_SAFE_TO_SCALE_DOWN, false, write_safe },
	{ METRICS_SCAN_INTERVAL, false, write_cluster_gauge },
	{ METRICS_CONDITION, true, write_conditions },
	{ METRICS_LAST_DECISION, true, write_cluster_gauge },
};

bool metrics_clusters_write_part(const struct map *clusters, const struct metrics_now *now,
				 size_t part, struct buf *buf)
{
	struct metrics_family family;
	write_one *write;

	if (part >= sizeof(families) / sizeof(families[0]))
		return false;
	family = METRICS_FAMILY(buf, families[part].id);
	write = families[part].write;
	if (now->view_stale && write == write_safe)
		write = write_unsafe;
	for (size_t i = 0; i < clusters->count; i++) {
		const struct metrics_cluster *cluster = clusters->entries[i].value;

		if (cluster->figures && (families[part].hands_off || !cluster->figures->hands_off))
			write(cluster, &family);
	}
	return true;
}
