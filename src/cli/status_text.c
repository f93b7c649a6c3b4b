#include "cli/status_text.h"

#include <inttypes.h>
#include <string.h>

#include "cli/table.h"
#include "cli/text.h"
#include "codec/text/rfc3339.h"
#include "core/model/reason.h"
#include "core/report/summary.h"

#define WIDTH 100
#define INDENT 2
#define NO_MAXIMUM INT64_C(2147483647) /* the CRD's default: not set */
#define RESOURCES_SHOWN 6
#define REASONS_SHOWN 5

const char *status_text_age(struct arena *arena, int64_t seconds)
{
	long long s = seconds > 0 ? seconds : 0;

	if (s < 120)
		return arena_printf(arena, "%llds", s);
	if (s < 3600)
		return arena_printf(arena, "%lldm%llds", s / 60, s % 60);
	if (s < 86400)
		return arena_printf(arena, "%lldh%lldm", s / 3600, s % 3600 / 60);
	return arena_printf(arena, "%lldd%lldh", s / 86400, s % 86400 / 3600);
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{ "NAMESPACE", false }, { "CLUSTER", false },    { "GROUP", false },  { "MIN", true },
	{ "NOW", true },        { "TARGET", true },      { "MAX", true },     { "GPUS", true },
	{ "PENDING", true },    { "IDLE SINCE", false }, { "REASON", false },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static void add_number(struct table *table, enum table_colour colour, int64_t number)
{
	table_add(table, colour, arena_printf(table->arena, "%" PRId64, number));
}

/* Replicas of the Pods that are not WORKER_GONE; an incomplete one counts. */
static int64_t replicas_now(const struct summary_group *group)
{
	int64_t pods = group->pod_count - group->pods[WORKER_GONE];

	return (pods + group->hosts - 1) / group->hosts;
}

static const char *gpus_text(struct arena *arena, const struct summary *summary,
			     const struct summary_group *group)
{
	int64_t pods = group->pod_count - group->pods[WORKER_GONE];

	if (group->worker_gpus == 0 && group->gpus.running == 0)
		return "-";
	if (!summary->ray_reachable)
		return arena_printf(arena, "?/%s",
				    resource_amount_text(arena, pods * group->worker_gpus));
	return arena_printf(arena, "%s/%s", resource_amount_text(arena, group->gpus.in_use),
			    resource_amount_text(arena, group->gpus.running));
}

static void add_reason(struct table *table, const struct view_cluster *cluster,
		       const struct summary_group *group)
{
	const struct plan_condition *active = summary_condition(cluster->summary, "ScalingActive");

	/* Ray is never reached from here: this is not a problem of the cluster. */
	if (active && strcmp(active->status, "True") != 0 &&
	    (cluster->from_controller || strcmp(active->reason, REASON_DEMAND_UNAVAILABLE) != 0))
		table_add(table, TABLE_BAD, cluster->summary->reason);
	else if (group->backoff)
		table_add(table, TABLE_BAD,
			  arena_printf(table->arena, "BackOff:%s", group->backoff->cause));
	else if (*group->reason != '\0')
		table_add(table, TABLE_BUSY, group->reason);
	else if (group->pending > 0)
		table_add(table, TABLE_BUSY, group->waiting_reason);
	else
		table_add(table, TABLE_FAINT, "-");
}

static void add_group(struct table *table, bool all, const struct view_cluster *cluster,
		      const struct summary_group *group)
{
	bool changes = group->target_replicas != group->replicas;

	if (all)
		table_add(table, TABLE_PLAIN, cluster->namespace_);
	table_add(table, TABLE_PLAIN, cluster->name);
	table_add(table, TABLE_PLAIN, group->name);
	add_number(table, TABLE_PLAIN, group->min_replicas);
	add_number(table, TABLE_PLAIN, replicas_now(group));
	add_number(table, changes ? TABLE_BUSY : TABLE_PLAIN, group->target_replicas);
	if (group->max_replicas == NO_MAXIMUM)
		table_add(table, TABLE_FAINT, "-");
	else
		add_number(table, TABLE_PLAIN, group->max_replicas);
	table_add(table, TABLE_PLAIN, gpus_text(table->arena, cluster->summary, group));
	add_number(table, group->pending > 0 ? TABLE_BUSY : TABLE_PLAIN, group->pending);
	if (group->idle_since == TIME_NONE)
		table_add(table, TABLE_FAINT, "-");
	else
		table_add(table, TABLE_GOOD,
			  arena_printf(table->arena, "%s ago",
				       status_text_age(table->arena,
						       (cluster->snapshot.now - group->idle_since) /
							       MS_PER_SECOND)));
	add_reason(table, cluster, group);
}

/* A RayCluster without groups, or one that cannot be read. */
static void add_no_groups(struct table *table, bool all, const struct view_cluster *cluster)
{
	static const struct summary_group none = { .reason = "" };

	if (all)
		table_add(table, TABLE_PLAIN, cluster->namespace_);
	table_add(table, TABLE_PLAIN, cluster->name);
	for (size_t i = 2; i < COLUMN_COUNT - 1; i++)
		table_add(table, TABLE_FAINT, "-");
	add_reason(table, cluster, &none);
}

/* ---- the lines below ---- */

struct footer {
	struct arena *arena;
	struct buf *buf;
	const char *key; /* "namespace/name" */
};

static void add_line(const struct footer *footer, const char *text)
{
	const char *line = *footer->key != '\0' ?
				   arena_printf(footer->arena, "%s: %s", footer->key, text) :
				   text;

	text_add_wrapped(footer->buf, line, 0, INDENT, WIDTH);
	buf_add_char(footer->buf, '\n');
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
	add_line(footer,
		 arena_printf(footer->arena, "pending in Ray: %" PRId64 " bundle%s: %s%s",
			      summary->pending_bundles, summary->pending_bundles == 1 ? "" : "s",
			      text, summary->pending_count > RESOURCES_SHOWN ? ", ..." : ""));
}

static void add_requested(const struct footer *footer, const struct summary *summary)
{
	int64_t bundles = 0;

	for (size_t i = 0; i < summary->requested_count; i++)
		bundles += summary->requested[i].count;
	if (bundles > 0)
		add_line(footer, arena_printf(footer->arena,
					      "requested ahead of demand: %" PRId64 " bundle%s",
					      bundles, bundles == 1 ? "" : "s"));
}

static void add_unserved(const struct footer *footer, const struct summary *summary)
{
	for (size_t i = 0; i < summary->unserved_count && i < REASONS_SHOWN; i++) {
		const struct summary_unserved *unserved = &summary->unserved[i];

		add_line(footer,
			 arena_printf(footer->arena, "%s: %" PRId64 " x %s: %s",
				      unserved->infeasible ? "infeasible" : "not served now",
				      unserved->count, unserved->reason, unserved->message));
	}
	if (summary->unserved_count > REASONS_SHOWN)
		add_line(footer, "and more reasons: see explain");
}

static void add_backoffs(const struct footer *footer, const struct view_cluster *cluster)
{
	const struct summary *summary = cluster->summary;

	for (size_t i = 0; i < summary->group_count; i++) {
		const struct plan_backoff *backoff = summary->groups[i].backoff;
		char until[RFC3339_SIZE];
		int64_t left;

		if (!backoff)
			continue;
		left = (backoff->until - cluster->snapshot.now) / MS_PER_SECOND;
		rfc3339_print(backoff->until, until);
		add_line(footer, arena_printf(footer->arena,
					      "group %s is in back-off until %s (%s more), %s: %s",
					      summary->groups[i].name, until,
					      status_text_age(footer->arena, left), backoff->cause,
					      backoff->message));
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
};

static void add_conditions(const struct footer *footer, const struct summary *summary)
{
	const struct plan_condition *condition = summary_condition(summary, "ScalingActive");

	if (condition && strcmp(condition->status, "True") != 0)
		add_line(footer, arena_printf(footer->arena, "not scaling on demand, %s: %s",
					      condition->reason, condition->message));
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		condition = summary_condition(summary, problems[i].type);
		if (condition)
			add_line(footer, arena_printf(footer->arena, "%s%s", problems[i].words,
						      condition->message));
	}
}

/* The status of a RayClusterAutoscaler: outdated, but the only information. */
static void add_last_word(const struct footer *footer, const struct last_word *word)
{
	if (!word || *word->reason == '\0')
		return;
	add_line(footer,
		 arena_printf(
			 footer->arena,
			 "the controller last wrote: %s: %s; GPUs now/target/max %s, pending %s",
			 word->reason, word->message, word->gpus, word->pending));
}

static void add_footer(const struct footer *footer, const struct status_answer *answer,
		       const struct view_cluster *cluster)
{
	if (answer->controller->found && !cluster->from_controller)
		add_line(footer, cluster->problem);
	if (cluster->from_controller || cluster->snapshot.cluster.unreadable)
		add_conditions(footer, cluster->summary);
	else
		add_last_word(footer, cluster->last_word);
	add_pending(footer, cluster->summary);
	add_requested(footer, cluster->summary);
	add_unserved(footer, cluster->summary);
	add_backoffs(footer, cluster);
}

/* ---- the whole ---- */

/* True when a cluster is shown from the API objects alone. */
static bool any_unknown(const struct view_clusters *clusters)
{
	for (size_t i = 0; i < clusters->count; i++) {
		if (!clusters->at[i].from_controller)
			return true;
	}
	return clusters->count == 0;
}

static bool is_shown(const struct status_answer *answer, const char *namespace_)
{
	if (*namespace_ == '\0' || !answer->namespace_)
		return true;
	return strcmp(answer->namespace_, namespace_) == 0;
}

/* More GPUs count under a quota than the table shows: other clusters, Pods that terminate. */
static void add_ceilings(const struct status_answer *answer, const struct footer *footer)
{
	const struct controller *controller = answer->controller;

	for (size_t i = 0; i < controller->ceiling_count; i++) {
		const struct controller_client_ceiling *ceiling = &controller->ceilings[i];
		bool total = *ceiling->namespace_ == '\0';

		if (is_shown(answer, ceiling->namespace_))
			add_line(footer,
				 arena_printf(footer->arena, "GPUs allocated: %s of %s%s%s (%s)",
					      resource_amount_text(footer->arena, ceiling->counted),
					      resource_amount_text(footer->arena, ceiling->amount),
					      total ? "" : " in namespace ", ceiling->namespace_,
					      total ? "max-gpus-total" : "max-gpus-per-namespace"));
	}
}

static void add_end(const struct status_answer *answer, struct arena *arena, struct buf *buf)
{
	const struct footer footer = { arena, buf, "" };
	const struct view_clusters *clusters = answer->clusters;

	if (*clusters->outdated != '\0')
		add_line(&footer,
			 arena_printf(arena, "not the newest state: %s", clusters->outdated));
	add_ceilings(answer, &footer);
	if (answer->controller->found)
		add_line(&footer,
			 arena_printf(arena, "controller: %s, version %s",
				      answer->controller->where, answer->controller->version));
	else if (any_unknown(clusters))
		add_line(&footer,
			 arena_printf(
				 arena,
				 "no controller was reached: demand, use and idle times in Ray, "
				 "backoffs and flags are unknown, TARGET counts minReplicas and "
				 "requests only. %s",
				 answer->controller->problem));
}

void status_text_write(const struct status_answer *answer, bool colours, struct arena *arena,
		       struct buf *buf)
{
	bool all = answer->namespace_ == NULL;
	const struct view_clusters *clusters = answer->clusters;
	struct table table;

	table_init(&table, arena, all ? columns : columns + 1,
		   all ? COLUMN_COUNT : COLUMN_COUNT - 1);
	for (size_t i = 0; i < clusters->count; i++) {
		const struct view_cluster *cluster = &clusters->at[i];

		if (cluster->summary->group_count == 0)
			add_no_groups(&table, all, cluster);
		for (size_t g = 0; g < cluster->summary->group_count; g++)
			add_group(&table, all, cluster, &cluster->summary->groups[g]);
	}
	if (clusters->count > 0)
		table_write(&table, colours, buf);
	else if (all)
		buf_add_string(buf, "there are no RayClusters\n");
	else
		text_add_reason(buf, "there are no RayClusters in namespace", answer->namespace_);
	for (size_t i = 0; i < clusters->count; i++) {
		const struct view_cluster *cluster = &clusters->at[i];
		const struct footer footer = {
			arena, buf, arena_printf(arena, "%s/%s", cluster->namespace_, cluster->name)
		};

		add_footer(&footer, answer, cluster);
	}
	add_end(answer, arena, buf);
}
