#include "codec/objects/plan_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/number.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"

#define WIDTH_MAX 60

static size_t wider(size_t width, const char *text)
{
	size_t size = text_columns(text);

	if (size > WIDTH_MAX)
		size = WIDTH_MAX;
	return size > width ? size : width;
}

void plan_text_cluster(struct buf *buf, const char *namespace_, const char *name)
{
	text_add_line(buf, "RayCluster %s/%s", namespace_, name);
}

/* ---- groups ---- */

static void add_group_details(struct buf *buf, const struct plan_group *group)
{
	char until[RFC3339_SIZE];

	VEC_EACH(const struct plan_termination, entry, &group->terminate) {
		text_add(buf, "  %s %s: ", terminate_action_name(entry->action), entry->pod);
		text_add_reason(buf, reason_word(entry->reason), entry->message);
	}
	if (group->backoff) {
		rfc3339_print(group->backoff->until, until);
		buf_printf(buf, "  back-off of %" PRId64 " s until %s: ", group->backoff->seconds,
			   until);
		text_add_reason(buf, reason_word(group->backoff->cause), group->backoff->message);
	}
}

void plan_text_groups(struct buf *buf, const struct plan *plan)
{
	size_t width = strlen("GROUP");

	for (size_t i = 0; i < plan->groups.count; i++)
		width = wider(width, plan->groups.at[i].name);
	buf_add_char(buf, '\n');
	text_add_padded(buf, "GROUP", width);
	buf_add_string(buf, "  REPLICAS    TARGET    LAUNCH  WHY\n");
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		text_add_padded(buf, group->name, width);
		buf_printf(buf, "  %8" PRId64 "  %8" PRId64 "  %8" PRId64 "  ", group->replicas,
			   group->target_replicas, group->to_launch);
		if (group->reason == REASON_NONE && *group->message == '\0')
			buf_add_string(buf, "no change\n");
		else
			text_add_reason(buf, reason_word(group->reason), group->message);
		add_group_details(buf, group);
	}
}

/* ---- schedules ---- */

void plan_text_schedules(struct buf *buf, const struct plan *plan)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	size_t width = strlen("SCHEDULE");

	if (plan->schedule_count == 0)
		return;
	for (size_t i = 0; i < plan->schedule_count; i++)
		width = wider(width, plan->schedules[i].name);
	buf_add_char(buf, '\n');
	text_add_padded(buf, "SCHEDULE", width);
	buf_add_string(buf, "  STATE\n");
	for (size_t i = 0; i < plan->schedule_count; i++) {
		text_add_padded(buf, plan->schedules[i].name, width + 2);
		text_add_line(buf, "%s", plan_schedule_state(&plan->schedules[i], &arena));
	}
}

/* ---- workers ---- */

void plan_text_workers(struct buf *buf, const struct plan *plan)
{
	size_t pod_width = strlen("WORKER"), group_width = strlen("GROUP");

	if (plan->workers.count == 0)
		return;
	for (size_t i = 0; i < plan->workers.count; i++) {
		pod_width = wider(pod_width, plan->workers.at[i].pod);
		group_width = wider(group_width, plan->workers.at[i].group);
	}
	buf_add_char(buf, '\n');
	text_add_padded(buf, "WORKER", pod_width + 2);
	text_add_padded(buf, "GROUP", group_width + 2);
	buf_add_string(buf, "STATE     WHY\n");
	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		text_add_padded(buf, worker->pod, pod_width + 2);
		text_add_padded(buf, worker->group, group_width + 2);
		text_add_padded(buf, worker_state_name(worker->state), strlen("STATE     "));
		text_add_reason(buf, reason_word(worker->reason), worker->message);
	}
}

/* ---- demand ---- */

void plan_text_bundle(struct buf *buf, const struct ray_request *request)
{
	buf_add_char(buf, '{');
	for (size_t i = 0; i < request->bundle_count; i++) {
		char number[NUMBER_TEXT_SIZE];

		number_print(request->bundle[i].received, number);
		text_add(buf, "%s%s: %s", i > 0 ? ", " : "", request->bundle[i].name, number);
	}
	buf_add_char(buf, '}');
}

void plan_text_gang(struct buf *buf, const struct ray_gang *gang)
{
	const struct ray_request *requests = gang->requests;
	size_t count = gang->request_count;

	if (gang->selector_count > 0) {
		requests = gang->selectors[0].requests;
		count = gang->selectors[0].count;
	}
	buf_printf(buf, "%zu bundle%s", count, count == 1 ? "" : "s");
	for (size_t i = 0; i < count && i < 4; i++) {
		buf_add_char(buf, ' ');
		plan_text_bundle(buf, &requests[i]);
	}
	if (count > 4)
		buf_add_string(buf, " ...");
}

static void add_demand(struct buf *buf, const struct plan_demand *demand)
{
	text_add(buf, " x %s (%s%s%s) ", demand_kind_name(demand->kind),
		 demand_source_name(demand->source), demand->schedule ? " " : "",
		 demand->schedule ? demand->schedule->name : "");
	if (demand->gang)
		plan_text_gang(buf, demand->gang);
	else
		plan_text_bundle(buf, demand->request);
	buf_add_string(buf, ": ");
	text_add_reason(buf, reason_word(demand->reason), demand->message);
}

static int64_t add_counts(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Neighbours with one text, as placement groups that differ in their ids, are one line with their
 * sum. */
void plan_text_demands(struct buf *buf, const char *title, const struct plan_demand *demands,
		       size_t count)
{
	AUTO(buf_done) struct buf line = BUF_INIT(buf->ceiling_bytes);
	AUTO(buf_done) struct buf next = BUF_INIT(buf->ceiling_bytes);
	int64_t sum = 0;

	if (count == 0)
		return;
	buf_printf(buf, "\n%s\n", title);
	for (size_t i = 0; i <= count; i++) {
		buf_clear(&next);
		if (i < count)
			add_demand(&next, &demands[i]);
		if (i > 0 && strcmp(buf_string(&next), buf_string(&line)) != 0) {
			buf_printf(buf, "  %" PRId64 "%s", sum, buf_string(&line));
			sum = 0;
		}
		if (i < count)
			sum = add_counts(sum, demands[i].count);
		buf_clear(&line);
		buf_add_string(&line, buf_string(&next));
	}
}

/* ---- patch, conditions, placements ---- */

static void add_patch_value(struct buf *buf, const struct patch_op *op)
{
	switch (op->kind) {
	case PATCH_VALUE_INTEGER:
		buf_printf(buf, "%" PRId64, op->integer);
		break;
	case PATCH_VALUE_BOOLEAN:
		buf_add_string(buf, op->integer != 0 ? "true" : "false");
		break;
	case PATCH_VALUE_NONE:
		break;
	case PATCH_VALUE_STRING:
		text_add_clean(buf, op->string);
		break;
	case PATCH_VALUE_STRINGS:
		buf_add_char(buf, '[');
		for (size_t i = 0; i < op->strings.count; i++)
			text_add(buf, "%s%s", i > 0 ? ", " : "", op->strings.at[i]);
		buf_add_char(buf, ']');
		break;
	case PATCH_VALUE_EMPTY_OBJECT:
		buf_add_string(buf, "{}");
		break;
	}
}

static void add_patch(struct buf *buf, const struct plan *plan)
{
	buf_add_string(buf, plan->patch.count > 0 ? "\nPATCH\n" : "\nPATCH  nothing to send\n");
	VEC_EACH(const struct patch_op, op, &plan->patch) {
		text_add(buf, "  %-5s%s%s%s", op->op, strlen(op->op) < 5 ? "" : " ", op->path,
			 op->kind == PATCH_VALUE_NONE ? "" : " = ");
		add_patch_value(buf, op);
		buf_add_char(buf, '\n');
	}
}

void plan_text_conditions(struct buf *buf, const struct plan *plan)
{
	buf_add_string(buf, "\nCONDITIONS\n");
	VEC_EACH(const struct plan_condition, condition, &plan->conditions) {
		text_add(buf, "  %s=%s ", condition->type, condition->status);
		text_add_reason(buf, reason_word(condition->reason), condition->message);
	}
}

static void add_placements(struct buf *buf, const struct plan *plan)
{
	buf_add_string(buf, "\nPLACEMENTS\n");
	VEC_EACH(const struct plan_placement, placement, &plan->placements) {
		text_add(buf, "  %s (%s):", placement->worker,
			 placement->constraint_phase ? "constraint" : "demand");
		for (size_t k = 0; k < placement->placed.count; k++) {
			const struct plan_placed *placed = &placement->placed.at[k];

			buf_printf(buf, "%s %" PRId64 " x %s[%zu] ", k > 0 ? "," : "",
				   placed->count, demand_kind_name(placed->kind), placed->index);
			plan_text_bundle(buf, placed->bundle);
		}
		buf_add_char(buf, '\n');
	}
}

int plan_text_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err)
{
	plan_text_cluster(buf, plan->cluster_namespace, plan->cluster_name);
	plan_text_groups(buf, plan);
	plan_text_schedules(buf, plan);
	plan_text_workers(buf, plan);
	plan_text_demands(buf, "INFEASIBLE  no group could ever serve this", plan->infeasible.at,
			  plan->infeasible.count);
	plan_text_demands(buf, "UNSERVED  could be served, but not now", plan->unserved.at,
			  plan->unserved.count);
	add_patch(buf, plan);
	plan_text_conditions(buf, plan);
	if (debug)
		add_placements(buf, plan);
	buf_printf(buf, "\nnext look in %" PRId64 " s\n", plan->requeue_after_seconds);
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the plan has more than %zu bytes of text",
			       buf->ceiling_bytes);
	return 0;
}
