#include "ctl/report/metrics_families.h"

#include <string.h>

#include "ctl/report/feature.h"
#include "ctl/report/metrics_cluster.h"

/* Where the values of a family are: in the cluster, in its summary, or in each element of a list of
 * the summary. */
enum place {
	IN_CLUSTER,
	IN_SUMMARY,
	IN_GROUPS,
	IN_RESOURCES,
	IN_UNSERVED,
	SAFE,     /* safe_to_scale_down of the summary, unless the API server's view is stale */
	ELSEWHERE /* `write` knows */
};

/* How an int64_t is shown. */
enum unit {
	COUNT,
	AMOUNT, /* 1/10000 */
	MS      /* as seconds; 0 is not shown */
};

struct family {
	enum metrics_id id;
	enum metrics_need need;
	enum place place;
	enum unit unit;
	size_t offset;
	size_t head; /* of the head's value in the summary; 0: none */
	void (*write)(const struct metrics_cluster *cluster, struct metrics_family *family);
};

/* The lists; `name` is the label of an element. */
static const struct {
	size_t at, count, size, name;
} lists[] = {
#define LIST(list, list_count, type, label)                                                        \
	{                                                                                          \
		offsetof(struct summary, list), offsetof(struct summary, list_count),              \
			sizeof(type), offsetof(type, label)                                        \
	}
	[IN_GROUPS] = LIST(groups, group_count, struct summary_group, name),
	[IN_RESOURCES] = LIST(resources, resource_count, struct summary_resource, name),
	[IN_UNSERVED] = LIST(unserved, unserved_count, struct summary_unserved, reason),
#undef LIST
};

#define LABELS(cluster, third, fourth)                                                             \
	((const char *const[]){ (cluster)->of.namespace_, (cluster)->of.name, (third), (fourth) })

static void write_backoff(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->summary.group_count; i++) {
		const struct summary_group *group = &cluster->summary.groups[i];

		if (group->backoff)
			metrics_text_integer(family,
					     LABELS(cluster, group->name,
						    reason_word(group->backoff->cause)),
					     1);
	}
}

static void write_conditions(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->summary.condition_count; i++) {
		const struct summary_condition *one = &cluster->summary.conditions[i];

		metrics_text_integer(family, LABELS(cluster, one->type, one->reason),
				     !strcmp(one->status, "True"));
	}
}

/* The decoder limits their number. An API server refuses a name that is there twice; two samples with
 * the same labels would make the whole text unreadable. */
static bool is_first_schedule(const struct summary *summary, size_t index)
{
	return !ARRAY_FIND(summary->schedules, index, name, summary->schedules[index].name);
}

static void write_active(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->summary.schedule_count; i++) {
		const struct plan_schedule *one = &cluster->summary.schedules[i];

		if (!one->problem && is_first_schedule(&cluster->summary, i))
			metrics_text_integer(family, LABELS(cluster, one->name, ""), one->active);
	}
}

static void write_next_change(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	for (size_t i = 0; i < cluster->summary.schedule_count; i++) {
		const struct plan_schedule *one = &cluster->summary.schedules[i];

		if (one->next_change != TIME_NONE && is_first_schedule(&cluster->summary, i))
			metrics_text_double(family, LABELS(cluster, one->name, ""),
					    (double)one->next_change / MS_PER_SECOND);
	}
}

static void write_update_time(const struct metrics_cluster *cluster, struct metrics_family *family)
{
	metrics_text_histogram(family, LABELS(cluster, cluster->session, ""),
			       &cluster->update_time);
}

#define OF_GROUP(member) IN_GROUPS, COUNT, offsetof(struct summary_group, member), 0, NULL
#define OF_GPUS(member, head)                                                                      \
	IN_GROUPS, AMOUNT, offsetof(struct summary_group, gpus.member), head, NULL
#define OF_HEAD(member) offsetof(struct summary, head_gpus.member)
#define OF_RESOURCE(member) IN_RESOURCES, AMOUNT, offsetof(struct summary_resource, member), 0, NULL
#define OF_SUMMARY(unit, member) IN_SUMMARY, unit, offsetof(struct summary, member), 0, NULL
#define OF_CLUSTER(unit, member) IN_CLUSTER, unit, offsetof(struct metrics_cluster, member), 0, NULL
#define OTHER(function) ELSEWHERE, COUNT, 0, 0, function

static const struct family families[] = {
	{ METRICS_RAY_ACTIVE_NODES, METRICS_REACHABLE, IN_GROUPS, COUNT,
	  offsetof(struct summary_group, registered), offsetof(struct summary, head_joined), NULL },
	{ METRICS_RAY_PENDING_NODES, METRICS_SCALED, OF_GROUP(pending) },
	{ METRICS_RAY_RECENTLY_FAILED_NODES, METRICS_SCALED, OF_GROUP(pods[WORKER_GONE]) },
	{ METRICS_RAY_RUNNING_WORKERS, METRICS_REACHABLE, OF_SUMMARY(COUNT, registered) },
	{ METRICS_RAY_CLUSTER_RESOURCES, METRICS_REACHABLE, OF_RESOURCE(cluster) },
	{ METRICS_RAY_PENDING_RESOURCES, METRICS_SCALED, OF_RESOURCE(pending) },
	{ METRICS_RAY_UPDATE_TIME, METRICS_SCALED, OTHER(write_update_time) },
	{ METRICS_RAY_STARTED_NODES, METRICS_SCALED, OF_CLUSTER(COUNT, started) },
	{ METRICS_RAY_STOPPED_NODES, METRICS_SCALED, OF_CLUSTER(COUNT, stopped) },
	{ METRICS_RAY_UPDATE_LOOP_EXCEPTIONS, METRICS_SCALED, OF_CLUSTER(COUNT, loop_exceptions) },
	{ METRICS_RAY_DRAIN_NODE_EXCEPTIONS, METRICS_SCALED, OF_CLUSTER(COUNT, drain_exceptions) },
	{ METRICS_GROUP_REPLICAS, METRICS_SCALED, OF_GROUP(replicas) },
	{ METRICS_GROUP_TARGET_REPLICAS, METRICS_SCALED, OF_GROUP(target_replicas) },
	{ METRICS_GROUP_MIN_REPLICAS, METRICS_SCALED, OF_GROUP(min_replicas) },
	{ METRICS_GROUP_MAX_REPLICAS, METRICS_SCALED, OF_GROUP(max_replicas) },
	{ METRICS_GROUP_BACKOFF, METRICS_SCALED, OTHER(write_backoff) },
	{ METRICS_GPUS_WANTED, METRICS_SCALED, OF_GPUS(wanted, 0) },
	{ METRICS_GPUS_RUNNING, METRICS_REACHABLE, OF_GPUS(running, OF_HEAD(running)) },
	{ METRICS_GPUS_IDLE, METRICS_REACHABLE,
	  OF_GPUS(idle, 0) }, /* those of the head never count */
	{ METRICS_GPUS_WASTED, METRICS_REACHABLE, OF_GPUS(unused, OF_HEAD(unused)) },
	{ METRICS_GPUS_PENDING, METRICS_REACHABLE, OF_SUMMARY(AMOUNT, pending_gpus) },
	{ METRICS_UNFULFILLABLE_DEMAND, METRICS_SCALED, IN_UNSERVED, COUNT,
	  offsetof(struct summary_unserved, count), 0, NULL },
	{ METRICS_SAFE_TO_SCALE_DOWN, METRICS_SCALED, SAFE, COUNT, 0, 0, NULL },
	{ METRICS_SCAN_INTERVAL, METRICS_SCALED, OF_CLUSTER(MS, scan_interval_ms) },
	{ METRICS_CONDITION, METRICS_ALWAYS, OTHER(write_conditions) },
	{ METRICS_SCHEDULE_ACTIVE, METRICS_ALWAYS, OTHER(write_active) },
	{ METRICS_SCHEDULE_NEXT_CHANGE, METRICS_ALWAYS, OTHER(write_next_change) },
	{ METRICS_LAST_DECISION, METRICS_ALWAYS, OF_SUMMARY(MS, decided_at) },
};

static void write_value(struct metrics_family *family, const char *const *labels, enum unit unit,
			const void *object, size_t offset)
{
	const void *member = (const char *)object + offset;
	int64_t value = *(const int64_t *)member;

	if (unit == AMOUNT)
		metrics_text_amount(family, labels, value);
	else if (unit == COUNT)
		metrics_text_integer(family, labels, value);
	else if (value > 0)
		metrics_text_double(family, labels, (double)value / MS_PER_SECOND);
}

static void write_list(const struct metrics_cluster *cluster, const struct family *from,
		       struct metrics_family *family)
{
	const char *summary = (const char *)&cluster->summary;
	const void *list = summary + lists[from->place].at;
	const void *count = summary + lists[from->place].count;
	const char *element = *(const char *const *)list;

	/* A head without GPUs has no sample of them. */
	if (from->head > 0 && (from->unit == COUNT || cluster->summary.head_gpus.running > 0))
		write_value(family, LABELS(cluster, HEAD_GROUP_NAME, cluster->session), from->unit,
			    summary, from->head);
	for (size_t left = *(const size_t *)count; left > 0; left--) {
		const void *name = element + lists[from->place].name;

		write_value(family, LABELS(cluster, *(const char *const *)name, cluster->session),
			    from->unit, element, from->offset);
		element += lists[from->place].size;
	}
}

static void write_family(const struct metrics_cluster *cluster, const struct family *from,
			 const struct metrics_now *now, struct metrics_family *family)
{
	if (from->place == ELSEWHERE)
		from->write(cluster, family);
	else if (from->place == SAFE)
		metrics_text_integer(family, LABELS(cluster, "", ""),
				     cluster->summary.safe_to_scale_down && !now->view_stale);
	else if (from->place == IN_CLUSTER || from->place == IN_SUMMARY)
		write_value(family, LABELS(cluster, cluster->session, ""), from->unit,
			    from->place == IN_CLUSTER ? (const void *)cluster :
							(const void *)&cluster->summary,
			    from->offset);
	else
		write_list(cluster, from, family);
}

static bool is_wanted(const struct metrics_cluster *cluster, enum metrics_need need)
{
	return (need == METRICS_ALWAYS || !cluster->summary.hands_off) &&
	       (need != METRICS_REACHABLE || cluster->summary.ray_reachable);
}

/* True: the buffer is full before the end of the family. */
static bool write_clusters(const struct map *clusters, const struct metrics_now *now,
			   const struct family *from, const struct feature_metric *metric,
			   const void *self, struct metrics_cursor *cursor, size_t bytes,
			   struct buf *buf)
{
	struct metrics_family family = { .buf = buf,
					 .row = from ? &metrics_rows[from->id] : &metric->row,
					 .begun = cursor->begun };
	enum metrics_need need = from ? from->need : metric->need;

	for (; cursor->cluster < clusters->count && buf->size < bytes; cursor->cluster++) {
		const struct metrics_cluster *cluster = clusters->entries[cursor->cluster].value;

		if (!is_wanted(cluster, need))
			continue;
		if (from)
			write_family(cluster, from, now, &family);
		else
			metric->write(self, cluster, &family);
	}
	cursor->begun = family.begun;
	return cursor->cluster < clusters->count;
}

bool metrics_families_write(const struct map *clusters, const struct metrics_now *now,
			    struct metrics_cursor *cursor, size_t bytes, struct buf *buf)
{
	const size_t own_count = sizeof(families) / sizeof(families[0]);

	for (; buf->size < bytes;
	     *cursor = (struct metrics_cursor){ .family = cursor->family + 1 }) {
		size_t at = cursor->family;
		const struct family *from = at < own_count ? &families[at] : NULL;
		const void *self = NULL;
		const struct feature_metric *metric =
			from ? NULL : features_metric(now->features, at - own_count, &self);

		if (!from && !metric)
			return false;
		if (!from && metric->write_own) {
			struct metrics_family family = { .buf = buf, .row = &metric->row };

			metric->write_own(self, &family);
		} else if (write_clusters(clusters, now, from, metric, self, cursor, bytes, buf)) {
			break;
		}
	}
	return true;
}
