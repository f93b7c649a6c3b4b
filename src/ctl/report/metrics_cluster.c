#include "ctl/report/metrics_cluster.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/field.h"

void metrics_cluster_done(void *one)
{
	struct metrics_cluster *cluster = one;

	arena_done(&cluster->arena);
	memory_free(cluster->session);
}

/* ---- the summary that is kept ---- */

/* Reasons, and types of conditions, are static (core/model/reason.h): they are not copied. */
#define LEFT_OUT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_LEFT_OUT)

static const struct field backoff_fields[] = {
	FIELD_REASON(struct memory_backoff, cause, REASONS_OF_BACK_OFFS, "cause"),
	LEFT_OUT(struct memory_backoff, group, "group"),
	LEFT_OUT(struct memory_backoff, message, "message"),
	FIELD_END,
};

static const struct field group_fields[] = {
	FIELD_TEXT(struct summary_group, name, "name"),
	FIELD_POINTER(struct summary_group, backoff, backoff_fields, "backoff"),
	LEFT_OUT(struct summary_group, message, "message"),
	LEFT_OUT(struct summary_group, waiting_message, "waitingMessage"),
	FIELD_END,
};

static const struct field resource_fields[] = {
	FIELD_TEXT(struct summary_resource, name, "name"),
	FIELD_END,
};

static const struct field kept_fields[] = { FIELD_END };

static const struct field unserved_fields[] = {
	LEFT_OUT(struct summary_unserved, message, "message"),
	FIELD_END,
};

static const struct field condition_fields[] = {
	LEFT_OUT(struct summary_condition, message, "message"),
	FIELD_END,
};

static const struct field schedule_fields[] = {
	FIELD_TEXT(struct plan_schedule, name, "name"),
	FIELD_TEXT(struct plan_schedule, problem, "problem"),
	FIELD_END,
};

#define SUMMARY_LIST(m, number, fields, n) FIELD_LIST(struct summary, m, number, fields, n)

static const struct field summary_fields[] = {
	SUMMARY_LIST(groups, group_count, group_fields, "groups"),
	SUMMARY_LIST(resources, resource_count, resource_fields, "resources"),
	SUMMARY_LIST(kept, kept_count, kept_fields, "kept"),
	SUMMARY_LIST(pending, pending_count, kept_fields, "pending"),
	SUMMARY_LIST(requested, requested_count, kept_fields, "requested"),
	SUMMARY_LIST(unserved, unserved_count, unserved_fields, "unserved"),
	SUMMARY_LIST(conditions, condition_count, condition_fields, "conditions"),
	SUMMARY_LIST(schedules, schedule_count, schedule_fields, "schedules"),
	LEFT_OUT(struct summary, message, "message"),
	FIELD_END,
};

struct metrics_marks *metrics_cluster_marks(const struct metrics_cluster *cluster,
					    const char *group,
					    const struct summary_group **ret_group)
{
	for (size_t i = 0; i < cluster->summary.group_count; i++) {
		*ret_group = &cluster->summary.groups[i];
		if (!strcmp((*ret_group)->name, group))
			return &cluster->marks[i];
	}
	*ret_group = NULL;
	return NULL;
}

static struct metrics_marks carry_marks(const struct metrics_cluster *old,
					const struct summary_group *group)
{
	const struct summary_group *before;
	const struct metrics_marks *marks = metrics_cluster_marks(old, group->name, &before);
	struct metrics_marks carried = { 0 };

	if (marks && group->target_replicas > group->replicas)
		carried.wanted_since_ms = marks->wanted_since_ms;
	/* When replicas were lowered since, the Pods of the earlier patch will not be created. */
	if (marks && group->replicas >= before->replicas)
		carried.patched_ms = marks->patched_ms;
	return carried;
}

/* Copied twice, so that no more than the size of the copy is allocated. */
void metrics_cluster_keep(struct metrics_cluster *cluster, const struct summary *summary)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct metrics_cluster old = *cluster;
	struct summary shown = *summary;

	shown.pending_count = shown.requested_count = 0;
	if (shown.hands_off || shown.group_count > METRICS_GROUPS_MAX)
		shown.group_count = shown.hands_off ? 0 : METRICS_GROUPS_MAX;
	cluster->summary = shown;
	field_own(summary_fields, &cluster->summary, &scratch);
	(void)arena_array(&scratch, shown.group_count, sizeof(*cluster->marks));
	cluster->arena = ARENA_INIT;
	arena_reserve(&cluster->arena, scratch.used_bytes);
	cluster->summary = shown;
	field_own(summary_fields, &cluster->summary, &cluster->arena);
	cluster->marks = arena_array(&cluster->arena, shown.group_count, sizeof(*cluster->marks));
	for (size_t i = 0; i < shown.group_count; i++)
		cluster->marks[i] = carry_marks(&old, &cluster->summary.groups[i]);
	arena_done(&old.arena);
}
