#include "cli/status_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/shared/table.h"
#include "cli/shared/unscaled.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"
#include "core/model/reason.h"
#include "core/report/summary.h"

#define INDENT 2
#define KEYS_SHOWN 3                   /* clusters named before one sentence */
#define NO_MAXIMUM INT64_C(2147483647) /* the CRD's default: not set */
#define RESOURCES_SHOWN 6
#define REASONS_SHOWN 5

/* ---- the table ---- */

static const struct table_column columns[] = {
	{ "NAMESPACE", false }, { "CLUSTER", false },    { "GROUP", false },   { "MIN", true },
	{ "MAX", true },        { "READY", true },       { "STARTING", true }, { "WAITING", true },
	{ "GPUS", true },       { "IDLE SINCE", false }, { "REASON", false },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static void add_number(struct table *table, enum table_colour colour, int64_t number)
{
	table_add(table, colour, arena_printf(table->arena, "%" PRId64, number));
}

/* Of the target. */
static const char *ready_text(struct arena *arena, const struct summary *summary,
			      const struct summary_group *group)
{
	if (!summary->ray_reachable)
		return arena_printf(arena, "?/%" PRId64, group->target_replicas);
	return arena_printf(arena, "%" PRId64 "/%" PRId64, summary_ready(group),
			    group->target_replicas);
}

static const char *gpus_text(struct arena *arena, const struct summary_group *group)
{
	int64_t gpus;

	if (group->worker_gpus == 0 && group->gpus.running == 0)
		return "-";
	if (!group->gpus.known)
		return __builtin_mul_overflow(group->pod_count - group->pods[WORKER_GONE],
					      group->worker_gpus, &gpus) ?
			       "?" :
			       arena_printf(arena, "?/%s", resource_amount_text(arena, gpus));
	return arena_printf(arena, "%s/%s", resource_amount_text(arena, group->gpus.in_use),
			    resource_amount_text(arena, group->gpus.running));
}

/* The reason of a row and its severity. */
static enum table_colour reason_of(const struct view_cluster *cluster,
				   const struct summary_group *group, struct arena *arena,
				   const char **ret_reason)
{
	const struct summary_condition *active =
		summary_condition(cluster->summary, "ScalingActive");

	*ret_reason = cluster->summary->reason;
	if (cluster->unscaled && !cluster->status) {
		*ret_reason = "no controller";
		return TABLE_BAD;
	}
	if (active && strcmp(active->reason, reason_word(REASON_HEAD_STARTING)) == 0)
		return TABLE_BUSY;
	if (active && strcmp(active->status, "True") != 0)
		return TABLE_BAD;
	if (group->backoff) {
		*ret_reason = arena_printf(arena, "BackOff:%s", reason_word(group->backoff->cause));
		return TABLE_BAD;
	}
	*ret_reason = group->reason;
	if (*group->reason != '\0')
		return TABLE_BUSY;
	*ret_reason = group->unserved_reason;
	if (group->waiting > 0)
		return TABLE_BAD;
	*ret_reason = group->waiting_reason;
	if (group->pending > 0)
		return TABLE_BUSY;
	*ret_reason = reason_word(REASON_DRAINING);
	if (group->pods[WORKER_DRAINING] > 0)
		return TABLE_BUSY;
	*ret_reason = "-";
	return TABLE_FAINT;
}

const char *status_text_row(struct arena *arena, const struct view_cluster *cluster,
			    const struct summary_group *group)
{
	const char *reason;

	(void)reason_of(cluster, group, arena, &reason);
	return arena_printf(arena, "%s %s", ready_text(arena, cluster->summary, group), reason);
}

static void add_reason(struct table *table, const struct view_cluster *cluster,
		       const struct summary_group *group)
{
	const char *reason;
	enum table_colour colour = reason_of(cluster, group, table->arena, &reason);

	if (cluster->age_ms != VIEW_AGE_UNKNOWN)
		reason = unscaled_mark(cluster, strcmp(reason, "-") == 0 ? "" : reason,
				       table->arena);
	table_add(table, cluster->unscaled ? TABLE_BAD : colour, reason);
}

static void add_group(struct table *table, bool all, const struct view_cluster *cluster,
		      const struct summary_group *group)
{
	bool changes = group->target_replicas != group->replicas;

	if (all)
		table_add(table, TABLE_PLAIN, cluster->namespace_);
	TABLE_ADD_TEXTS(table, cluster->name, group->name);
	add_number(table, TABLE_PLAIN, group->min_replicas);
	if (group->max_replicas == NO_MAXIMUM)
		table_add(table, TABLE_FAINT, "-");
	else
		add_number(table, TABLE_PLAIN, group->max_replicas);
	table_add(table, changes ? TABLE_BUSY : TABLE_PLAIN,
		  ready_text(table->arena, cluster->summary, group));
	add_number(table, group->pending > 0 ? TABLE_BUSY : TABLE_PLAIN, group->pending);
	if (cluster->summary->ray_reachable && !cluster->status)
		add_number(table, group->waiting > 0 ? TABLE_BAD : TABLE_PLAIN, group->waiting);
	else
		table_add(table, TABLE_FAINT, "?");
	table_add(table, TABLE_PLAIN, gpus_text(table->arena, group));
	if (group->idle_since == TIME_NONE)
		table_add(table, TABLE_FAINT, cluster->answer ? "-" : "?");
	else
		table_add(table, TABLE_GOOD,
			  arena_printf(table->arena, "%s ago",
				       table_age(table->arena, (cluster->summary->decided_at -
								group->idle_since) /
								       MS_PER_SECOND)));
	add_reason(table, cluster, group);
}

/* A RayCluster without groups, or one that cannot be read. */
static void add_no_groups(struct table *table, bool all, const struct view_cluster *cluster)
{
	if (all)
		table_add(table, TABLE_PLAIN, cluster->namespace_);
	table_add(table, TABLE_PLAIN, cluster->name);
	table_add(table, TABLE_FAINT,
		  strcmp(cluster->summary->reason, reason_word(REASON_CLUSTER_UNREADABLE)) == 0 ?
			  "-" :
			  "no groups");
	for (size_t i = 3; i < COLUMN_COUNT - 1; i++)
		table_add(table, TABLE_FAINT, "-");
	add_reason(table, cluster, &summary_group_none);
}

/* ---- the lines below ---- */

/* The lines below the table, in order. */
struct footer_line {
	const char *key; /* "namespace/name", "namespace/name 12m6s ago"; "": of no cluster */
	const char *text;
	bool written;
};

struct footer_lines {
	VEC(struct footer_line) at;
};

struct footer {
	struct arena *arena;
	struct footer_lines *lines;
	const char *key;
};

static __attribute__((format(printf, 2, 3))) void add_line(const struct footer *footer,
							   const char *format, ...)
{
	struct footer_line *line = VEC_ADD(footer->arena, &footer->lines->at);
	va_list arguments;

	va_start(arguments, format);
	*line = (struct footer_line){ footer->key, arena_vprintf(footer->arena, format, arguments),
				      false };
	va_end(arguments);
}

/* "team/a, team/b and 3 more": the clusters with the text of line `first`, which are then
 * written. */
static const char *keys_of(struct footer_lines *lines, size_t first, struct arena *arena)
{
	const char *keys = lines->at.at[first].key;
	size_t count = 1;

	if (*keys == '\0')
		return keys;
	for (size_t i = first + 1; i < lines->at.count; i++) {
		struct footer_line *line = &lines->at.at[i];

		if (line->written || strcmp(line->text, lines->at.at[first].text) != 0)
			continue;
		line->written = true;
		if (count++ < KEYS_SHOWN)
			keys = arena_printf(arena, "%s, %s", keys, line->key);
	}
	return count > KEYS_SHOWN ?
		       arena_printf(arena, "%s and %zu more", keys, count - KEYS_SHOWN) :
		       keys;
}

/* A text of several clusters is written once. */
static void write_lines(struct footer_lines *lines, size_t width, struct arena *arena,
			struct buf *buf)
{
	for (size_t i = 0; i < lines->at.count; i++) {
		const struct footer_line *line = &lines->at.at[i];
		const char *keys;

		if (line->written)
			continue;
		keys = keys_of(lines, i, arena);
		text_add_wrapped(buf,
				 arena_printf(arena, "%s%s%s", keys, *keys != '\0' ? ": " : "",
					      line->text),
				 0, INDENT, width);
		buf_add_char(buf, '\n');
	}
}

static void add_pending(const struct footer *footer, const struct summary *summary)
{
	const char *text = "";

	if (summary->pending_bundles == 0)
		return;
	for (size_t i = 0; i < summary->pending_count && i < RESOURCES_SHOWN; i++)
		text = arena_printf(footer->arena, "%s%s%s %s", text, i > 0 ? ", " : "",
				    resource_amount_text(footer->arena, summary->pending[i].amount),
				    resource_name_text(footer->arena, summary->pending[i].name));
	add_line(footer, "pending in Ray: %" PRId64 " bundle%s: %s%s", summary->pending_bundles,
		 summary->pending_bundles == 1 ? "" : "s", text,
		 summary->pending_count > RESOURCES_SHOWN ? ", ..." : "");
}

static void add_requested(const struct footer *footer, const struct summary *summary)
{
	int64_t bundles = 0;

	for (size_t i = 0; i < summary->requested_count; i++)
		bundles += summary->requested[i].count;
	if (bundles > 0)
		add_line(footer, "requested ahead of demand: %" PRId64 " bundle%s", bundles,
			 bundles == 1 ? "" : "s");
}

static void add_unserved(const struct footer *footer, const struct summary *summary)
{
	for (size_t i = 0; i < summary->unserved_count && i < REASONS_SHOWN; i++) {
		const struct summary_unserved *unserved = &summary->unserved[i];

		add_line(footer, "%s: %" PRId64 " x %s: %s",
			 unserved->infeasible ? "infeasible" : "not served now", unserved->count,
			 unserved->reason, unserved->message);
	}
	if (summary->unserved_count > REASONS_SHOWN)
		add_line(footer, "and more reasons: see explain");
}

static void add_backoffs(const struct footer *footer, const struct view_cluster *cluster)
{
	const struct summary *summary = cluster->summary;

	for (size_t i = 0; i < summary->group_count; i++) {
		const struct memory_backoff *backoff = summary->groups[i].backoff;
		char until[RFC3339_SIZE];
		int64_t left;

		if (!backoff)
			continue;
		left = (backoff->until - cluster->summary->decided_at) / MS_PER_SECOND;
		rfc3339_print(backoff->until, until);
		add_line(footer, "group %s is in back-off until %s (%s more), %s: %s",
			 summary->groups[i].name, until, table_age(footer->arena, left),
			 reason_word(backoff->cause), backoff->message);
	}
}

/* Conditions that report a problem, with the words before their message. */
static const struct {
	const char *type, *words;
} problems[] = {
	{ "InvalidRequest", "invalid: " },
	{ "ReplicasReverted", "" },
	{ "TemplateBroken", "" },
	{ CONDITION_POD_UNREADABLE, "cannot be read: " },
	{ "NodesToRepair", "to be repaired: " },
};

static void add_conditions(const struct footer *footer, const struct summary *summary)
{
	const struct summary_condition *condition = summary_condition(summary, "ScalingActive");

	if (condition && strcmp(condition->status, "True") != 0)
		add_line(footer, "not scaling on demand, %s: %s", condition->reason,
			 condition->message);
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		condition = summary_condition(summary, problems[i].type);
		if (condition)
			add_line(footer, "%s%s", problems[i].words, condition->message);
	}
}

/* Of a cluster without an answer. */
static void add_source(const struct footer *footer, const struct view_cluster *cluster)
{
	const struct summary *status = cluster->status;
	char when[RFC3339_SIZE];

	if (!status) {
		add_line(footer, "neither a controller, a sidecar nor the status of a "
				 "RayClusterAutoscaler describes it: \"rayscaler run\" must run");
		return;
	}
	rfc3339_print(status->decided_at, when);
	add_line(footer,
		 "status of its RayClusterAutoscaler at %s: %s: %s; GPUs "
		 "now/target/max %s",
		 *when != '\0' ? when : "an unknown time", status->reason, status->message,
		 status->gpus_text);
}

static void add_footer(const struct footer *footer, const struct status_answer *answer,
		       const struct view_cluster *cluster)
{
	if (answer->controller && answer->controller->found && !cluster->answer)
		add_line(footer, "%s", cluster->problem);
	if (!cluster->answer)
		add_source(footer, cluster);
	add_conditions(footer, cluster->summary);
	add_pending(footer, cluster->summary);
	add_requested(footer, cluster->summary);
	add_unserved(footer, cluster->summary);
	add_backoffs(footer, cluster);
	for (size_t i = 0; i < cluster->summary->schedule_count; i++)
		add_line(footer, "schedule %s is %s", cluster->summary->schedules[i].name,
			 plan_schedule_state(&cluster->summary->schedules[i], footer->arena));
}

/* ---- the whole ---- */

static bool any_without_answer(const struct view_clusters *clusters)
{
	for (size_t i = 0; i < clusters->count; i++) {
		if (!clusters->at[i].answer)
			return true;
	}
	return clusters->count == 0;
}

/* More GPUs count under a quota than the table shows: other clusters, Pods that terminate. */
static void add_ceilings(const struct status_answer *answer, const struct footer *footer)
{
	const struct controller *controller = answer->controller;

	ARRAY_EACH(const struct controller_client_ceiling, ceiling, controller->ceilings,
		   controller->ceiling_count) {
		bool total = *ceiling->namespace_ == '\0';

		if (total || !answer->namespace_ ||
		    strcmp(answer->namespace_, ceiling->namespace_) == 0)
			add_line(footer, "GPUs allocated: %s of %s%s%s (%s)",
				 resource_amount_text(footer->arena, ceiling->counted),
				 resource_amount_text(footer->arena, ceiling->amount),
				 total ? "" : " in namespace ", ceiling->namespace_,
				 total ? "max-gpus-total" : "max-gpus-per-namespace");
	}
}

static void add_end(const struct status_answer *answer, struct arena *arena,
		    struct footer_lines *lines)
{
	const struct footer footer = { arena, lines, "" };
	const struct view_clusters *clusters = answer->clusters;

	if (!answer->controller)
		return;
	if (*clusters->outdated != '\0')
		add_line(&footer, "not the newest state: %s", clusters->outdated);
	add_ceilings(answer, &footer);
	if (answer->controller->found)
		add_line(&footer, "controller: %s, version %s", answer->controller->where,
			 answer->controller->version);
	else if (any_without_answer(clusters))
		add_line(&footer,
			 "no controller was reached, so use and idle times in Ray are "
			 "unknown: %s",
			 answer->controller->problem);
}

void status_text_write(const struct status_answer *answer, bool colours, struct arena *arena,
		       struct buf *buf)
{
	bool all = !answer->namespace_;
	const struct view_clusters *clusters = answer->clusters;
	struct footer_lines lines = { .at = { .at = NULL } };
	struct table table = TABLE_INIT(arena, all ? columns : columns + 1,
					all ? COLUMN_COUNT : COLUMN_COUNT - 1);

	unscaled_write(clusters, true, answer->width, arena, buf);
	for (size_t i = 0; i < clusters->count; i++) {
		const struct view_cluster *cluster = &clusters->at[i];

		if (cluster->summary->group_count == 0)
			add_no_groups(&table, all, cluster);
		for (size_t g = 0; g < cluster->summary->group_count; g++)
			add_group(&table, all, cluster, &cluster->summary->groups[g]);
	}
	if (clusters->count > 0)
		table_write(&table, colours, buf);
	else
		text_add_line(buf, "%s", answer->none);
	for (size_t i = 0; i < clusters->count; i++) {
		const struct view_cluster *cluster = &clusters->at[i];
		const struct footer footer = { arena, &lines, unscaled_key(cluster, arena) };

		add_footer(&footer, answer, cluster);
	}
	add_end(answer, arena, &lines);
	write_lines(&lines, answer->width, arena, buf);
}
