#include "ctl/report/metrics.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/model/reason.h"
#include "ctl/pass/act.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics_cluster.h"
#include "ctl/report/metrics_text.h"
#include "ctl/shared/memory_budgets.h"
#include "kube/kube_verb.h"
#include "net/process.h"

/* One series of a counter or histogram: the label values are kept in its key, "first\nsecond". */
struct metrics_series {
	const char *key;
	uint64_t count;
	struct metrics_histogram histogram;
};

struct metrics {
	time_ms start;
	struct map series[METRICS_COUNT]; /* used by METRICS_PROGRAM_TABLE alone */
	struct cluster_map clusters;      /* of struct metrics_cluster */
};

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t id = 0; id < METRICS_COUNT; id++)
		map_drop_all(&metrics->series[id], NULL);
	cluster_map_done(&metrics->clusters);
	memory_free(metrics);
}

static struct metrics_series *find_series(struct metrics *metrics, enum metrics_id id,
					  const char *first, const char *second)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map *map = &metrics->series[id];
	const char *key = arena_printf(&scratch, "%s\n%s", first, second);

	if (map->count >= METRICS_SERIES_MAX && strcmp(first, "other") != 0 && !map_get(map, key))
		return find_series(metrics, id, "other", "other");
	return map_make(map, key, sizeof(struct metrics_series));
}

static void begin_decision(struct metrics *metrics, const char *word, unsigned traits)
{
	if (traits & TRAIT_UP)
		find_series(metrics, METRICS_DECISIONS, "up", word);
	if (traits & TRAIT_DOWN)
		find_series(metrics, METRICS_DECISIONS, "down", word);
}

/* Decisions that change nothing have the reason of ScalingActive. */
static void begin_none(struct metrics *metrics, const char *reason, const char *meaning)
{
	if (strstr(meaning, "ScalingActive: "))
		find_series(metrics, METRICS_DECISIONS, "none", reason);
}

static void begin_api_requests(struct metrics *metrics, const char *verb)
{
	static const char *const codes[] = { "200", "201", "401", "403", "404",  "409",
					     "429", "500", "503", "504", "error" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		find_series(metrics, METRICS_API_REQUESTS, codes[i], verb);
}

/* Series with known labels begin with 0: rate() and increase() miss the first increment of a series
 * that begins with 1. */
static void begin_series(struct metrics *metrics)
{
	static const char *const phases[] = { "reading",   "deciding", "draining",
					      "verifying", "patching", "total" };

#define X(identifier, word, traits, ...) begin_decision(metrics, word, traits);
	REASON_GROUP_TABLE(X)
#undef X
#define X(identifier, word, ...) find_series(metrics, METRICS_SKIPPED_SCALE_EVENTS, "up", word);
	REASON_DEMAND_TABLE(X)
#undef X
#define X(identifier, word, traits, ...)                                                           \
	if ((traits)&TRAIT_KEEPS)                                                                  \
		find_series(metrics, METRICS_SKIPPED_SCALE_EVENTS, "down", word);
	REASON_WORKER_TABLE(X)
#undef X
#define X(identifier, severity, word, ...) find_series(metrics, METRICS_EVENTS_SENT, word, "");
	REASON_EVENT_TABLE(X)
#undef X
#define X(identifier, word, traits, meaning, ...) begin_none(metrics, word, meaning);
	REASON_CONDITION_TABLE(X)
#undef X
	for (enum kube_verb verb = KUBE_GET; verb <= KUBE_DELETE; verb++)
		begin_api_requests(metrics, kube_verbs[verb].name);
	begin_api_requests(metrics, KUBE_VERB_WATCH);
	for (enum err_kind kind = ERR_INPUT; kind <= ERR_FATAL; kind++)
		find_series(metrics, METRICS_GCS_ERRORS, err_kind_name(kind), "");
	for (enum cluster_action action = CLUSTER_SUSPEND; action <= CLUSTER_RESUME; action++)
		find_series(metrics, METRICS_IDLE_TERMINATIONS, cluster_action_name(action), "");
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		find_series(metrics, METRICS_RECONCILE_DURATION, phases[i], "");
	find_series(metrics, METRICS_UNDECIDED, "", "");
	find_series(metrics, METRICS_DEMAND_TO_PATCH, "", "");
	find_series(metrics, METRICS_PATCH_TO_POD, "", "");
}

struct metrics *metrics_new(time_ms start)
{
	struct metrics *metrics = memory_alloc(sizeof(*metrics));

	metrics->start = start;
	metrics->clusters = CLUSTER_MAP_INIT(struct metrics_cluster, metrics_cluster_done);
	begin_series(metrics);
	return metrics;
}

void metrics_count(struct metrics *metrics, enum metrics_id id, const char *first,
		   const char *second)
{
	if (metrics)
		find_series(metrics, id, first, second)->count++;
}

void metrics_duration(struct metrics *metrics, enum metrics_id id, const char *label,
		      double seconds)
{
	if (metrics)
		metrics_histogram_add(id, &find_series(metrics, id, label, "")->histogram, seconds);
}

void metrics_phase(void *metrics, const char *phase, double seconds)
{
	metrics_duration(metrics, METRICS_RECONCILE_DURATION, phase, seconds);
}

void metrics_gcs_failed(void *metrics, const struct err *err)
{
	metrics_count(metrics, METRICS_GCS_ERRORS, err_kind_name(err->kind), "");
}

/* ---- clusters ---- */

/* Each reason that was not there before counts once. */
static void count_begun(struct metrics *metrics, const struct summary *now,
			const struct summary *before)
{
	for (size_t i = 0; i < now->unserved_count; i++)
		if (!ARRAY_FIND(before->unserved, before->unserved_count, reason,
				now->unserved[i].reason))
			metrics_count(metrics, METRICS_SKIPPED_SCALE_EVENTS, "up",
				      now->unserved[i].reason);
	for (size_t i = 0; i < now->kept_count; i++)
		if (!ARRAY_FIND(before->kept, before->kept_count, reason, now->kept[i].reason))
			metrics_count(metrics, METRICS_SKIPPED_SCALE_EVENTS, "down",
				      now->kept[i].reason);
}

/* Sets and clears the marks of the groups; metrics_cluster_keep carries them over. */
static void mark_groups(struct metrics *metrics, const struct metrics_cluster *cluster,
			int64_t monotonic_ms)
{
	for (size_t i = 0; i < cluster->summary.group_count; i++) {
		const struct summary_group *group = &cluster->summary.groups[i];
		struct metrics_marks *marks = &cluster->marks[i];

		if (group->target_replicas > group->replicas && !marks->wanted_since_ms)
			marks->wanted_since_ms = monotonic_ms;
		if (marks->patched_ms && group->missing == 0) {
			metrics_duration(metrics, METRICS_PATCH_TO_POD, "",
					 (double)(monotonic_ms - marks->patched_ms) /
						 MS_PER_SECOND);
			marks->patched_ms = 0;
		}
	}
}

void metrics_decided(void *listener, const struct pass_decision *decision)
{
	struct metrics *metrics = listener;
	const struct snapshot *snapshot = decision->snapshot;
	struct metrics_cluster *cluster;

	if (!metrics)
		return;
	cluster = cluster_map_make(&metrics->clusters, snapshot->cluster.namespace_,
				   snapshot->cluster.name);
	count_begun(metrics, decision->summary, &cluster->summary);
	metrics_cluster_keep(cluster, decision->summary);
	mark_groups(metrics, cluster, decision->monotonic_ms);
	if (snapshot->ray_state || !cluster->session)
		memory_set_string(&cluster->session,
				  snapshot->ray_state ? snapshot->ray_state->session_name : "");
}

static void count_scaled(struct metrics *metrics, struct metrics_cluster *cluster,
			 const struct act_scaled *scaled, int64_t monotonic_ms)
{
	const struct summary_group *group;
	struct metrics_marks *marks = metrics_cluster_marks(cluster, scaled->group, &group);
	bool up = scaled->target_replicas > scaled->replicas;

	metrics_count(metrics, METRICS_DECISIONS, up ? "up" : "down", scaled->reason);
	cluster->stopped += (int64_t)scaled->workers_to_delete;
	if (!up)
		return;
	cluster->started +=
		(scaled->target_replicas - scaled->replicas) * (group ? group->hosts : 1);
	if (!marks)
		return;
	if (marks->wanted_since_ms)
		metrics_duration(metrics, METRICS_DEMAND_TO_PATCH, "",
				 (double)(monotonic_ms - marks->wanted_since_ms) / MS_PER_SECOND);
	marks->wanted_since_ms = 0;
	if (!marks->patched_ms)
		marks->patched_ms = monotonic_ms;
}

void metrics_pass_ended(struct metrics *metrics, const char *namespace_, const char *name,
			const struct metrics_pass *pass)
{
	struct metrics_cluster *cluster =
		metrics ? cluster_map_get(&metrics->clusters, namespace_, name) : NULL;
	const struct summary_condition *active;

	if (pass->undecided)
		metrics_count(metrics, METRICS_UNDECIDED, "", "");
	if (!cluster)
		return;
	metrics_duration(metrics, METRICS_RECONCILE_DURATION, "total", pass->seconds);
	metrics_histogram_add(METRICS_RAY_UPDATE_TIME, &cluster->update_time, pass->seconds);
	cluster->loop_exceptions += pass->failed;
	cluster->drain_exceptions += (int64_t)pass->drain_errors;
	cluster->scan_interval_ms = pass->scan_interval_ms;
	if (pass->scaled && pass->scaled->action != CLUSTER_KEEP)
		metrics_count(metrics, METRICS_IDLE_TERMINATIONS,
			      cluster_action_name(pass->scaled->action), "");
	active = summary_condition(&cluster->summary, "ScalingActive");
	if (!pass->scaled || pass->scaled->groups.count == 0)
		metrics_count(metrics, METRICS_DECISIONS, "none", active ? active->reason : "");
	else
		for (size_t i = 0; i < pass->scaled->groups.count; i++)
			count_scaled(metrics, cluster, &pass->scaled->groups.at[i],
				     pass->monotonic_ms);
}

void metrics_forget(void *listener, const char *namespace_, const char *name)
{
	struct metrics *metrics = listener;

	if (metrics)
		cluster_map_remove(&metrics->clusters, namespace_, name);
}

const struct summary *metrics_summary(const struct metrics *metrics, size_t at,
				      const char **ret_namespace, const char **ret_name)
{
	const struct metrics_cluster *cluster;

	if (at >= metrics->clusters.map.count)
		return NULL;
	cluster = metrics->clusters.map.entries[at].value;
	*ret_namespace = cluster->of.namespace_;
	*ret_name = cluster->of.name;
	return &cluster->summary;
}

/* ---- exposition ---- */

static bool is_histogram(enum metrics_id id)
{
	return id == METRICS_RECONCILE_DURATION || id == METRICS_DEMAND_TO_PATCH ||
	       id == METRICS_PATCH_TO_POD;
}

static void write_series(const struct metrics *metrics, enum metrics_id id, struct buf *buf)
{
	struct metrics_family family = METRICS_FAMILY(buf, id);

	for (size_t i = 0; i < metrics->series[id].count; i++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		const struct metrics_series *series = metrics->series[id].entries[i].value;
		const char *line = strchr(series->key, '\n');
		const char *values[] = {
			arena_strndup(&scratch, series->key, (size_t)(line - series->key)), line + 1
		};

		if (is_histogram(id))
			metrics_text_histogram(&family, values, &series->histogram);
		else
			metrics_text_integer(&family, values, (int64_t)series->count);
	}
}

static void write_gauge(struct buf *buf, enum metrics_id id, const char *label, double value)
{
	struct metrics_family family = METRICS_FAMILY(buf, id);

	metrics_text_double(&family, &label, value);
}

static void write_cluster_counts(const struct metrics *metrics, struct buf *buf)
{
	struct metrics_family family = METRICS_FAMILY(buf, METRICS_CLUSTERS);
	size_t hands_off = 0;

	for (size_t i = 0; i < metrics->clusters.map.count; i++) {
		const struct metrics_cluster *cluster = metrics->clusters.map.entries[i].value;

		hands_off += cluster->summary.hands_off;
	}
	metrics_text_integer(&family, (const char *const[]){ "managed" },
			     (int64_t)(metrics->clusters.map.count - hands_off));
	metrics_text_integer(&family, (const char *const[]){ "hands_off" }, (int64_t)hands_off);
}

static void write_ceilings(const struct metrics_now *now, enum metrics_id id, struct buf *buf)
{
	struct metrics_family family = METRICS_FAMILY(buf, id);
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t count;
	const struct gpu_share_figure *figures =
		gpu_share_figures(now->gpu_share, &scratch, &count);

	ARRAY_EACH(const struct gpu_share_figure, figure, figures, count)
		metrics_text_amount(&family,
				    (const char *const[]){ figure->scope, figure->namespace_ },
				    id == METRICS_GPUS_CEILING ? figure->ceiling : figure->counted);
}

static void write_memory(const struct memory_budgets *memory, struct buf *buf)
{
	struct metrics_family limit = METRICS_FAMILY(buf, METRICS_MEMORY_LIMIT);
	struct metrics_family used = METRICS_FAMILY(buf, METRICS_MEMORY_USED);
	struct metrics_family peak = METRICS_FAMILY(buf, METRICS_MEMORY_PEAK);
	const struct {
		const char *name;
		const struct budget *budget;
	} rows[] = { { "all", memory->root },
		     { "objects", memory->objects.parent },
		     { "views", memory->views },
		     { "beside", memory->beside },
		     { "passes", memory->passes.parent } };
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].budget->limit_bytes > 0)
			metrics_text_integer(&limit, &rows[i].name,
					     (int64_t)rows[i].budget->limit_bytes);
	for (size_t i = 0; i < ROWS; i++)
		metrics_text_integer(&used, &rows[i].name, (int64_t)budget_used(rows[i].budget));
	for (size_t i = 0; i < ROWS; i++)
		metrics_text_integer(&peak, &rows[i].name, (int64_t)budget_peak(rows[i].budget));
}

static void write_process(const struct metrics *metrics, struct buf *buf)
{
	struct process_figures figures;

	process_read(&figures);
	write_gauge(buf, METRICS_PROCESS_CPU, "", figures.cpu_seconds);
	write_gauge(buf, METRICS_PROCESS_RESIDENT, "", (double)figures.resident_bytes);
	if (figures.open_fds >= 0)
		write_gauge(buf, METRICS_PROCESS_OPEN_FDS, "", (double)figures.open_fds);
	if (figures.max_fds >= 0)
		write_gauge(buf, METRICS_PROCESS_MAX_FDS, "", (double)figures.max_fds);
	write_gauge(buf, METRICS_PROCESS_START_TIME, "", (double)metrics->start / 1000);
}

bool metrics_write_piece(const struct metrics *metrics, const struct metrics_now *now,
			 struct metrics_cursor *cursor, size_t bytes, struct buf *buf)
{
	if (metrics_families_write(&metrics->clusters.map, now, cursor, bytes, buf))
		return true;
	write_gauge(buf, METRICS_BUILD_INFO, RAYSCALER_VERSION, 1);
	write_gauge(buf, METRICS_LEADER, "", now->leader);
	write_gauge(buf, METRICS_LONGEST_TURN, "", (double)now->longest_turn_us / 1e6);
	write_gauge(buf, METRICS_LONGEST_TURN_CPU, "", (double)now->longest_turn_cpu_us / 1e6);
	if (now->memory)
		write_memory(now->memory, buf);
	write_cluster_counts(metrics, buf);
	write_ceilings(now, METRICS_GPUS_CEILING, buf);
	write_ceilings(now, METRICS_GPUS_COUNTED, buf);
	for (size_t id = 0; id < METRICS_COUNT; id++)
		write_series(metrics, (enum metrics_id)id, buf);
	write_process(metrics, buf);
	return false;
}

void metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *buf)
{
	struct metrics_cursor cursor = { .family = 0 };

	(void)metrics_write_piece(metrics, now, &cursor, SIZE_MAX, buf);
}
