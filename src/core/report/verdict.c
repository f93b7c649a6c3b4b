#include "core/report/verdict.h"

#include <string.h>

#include "core/decide/conflict.h"
#include "core/decide/template_seen.h"
#include "core/decide/worker.h"
#include "core/model/identity.h"
#include "core/model/reason.h"

#define PROBLEMS_MAX 10 /* named in one message */

static struct plan_condition *add(struct arena *arena, struct plan *plan, const char *type,
				  bool status, const char *reason, const char *message)
{
	struct plan_condition *condition = VEC_ADD(arena, &plan->conditions);
	*condition = (struct plan_condition){ .type = type,
					      .status = status ? "True" : "False",
					      .reason = reason,
					      .message = message };
	return condition;
}

static const char *ray_note(const struct choice *choice)
{
	const char *note = choice->snapshot->ray_note;

	return note != NULL && note[0] != '\0' ? arena_printf(choice->arena, "; %s", note) : "";
}

static void write_active(const struct choice *choice, struct plan *plan)
{
	if (choice->facts->head_problem != NULL) {
		add(choice->arena, plan, "ScalingActive", false, REASON_HEAD_UNCERTAIN,
		    arena_printf(choice->arena, "%s; nothing is terminated meanwhile",
				 choice->facts->head_problem));
		return;
	}
	if (!choice->facts->ray_reachable) {
		add(choice->arena, plan, "ScalingActive", false, REASON_DEMAND_UNAVAILABLE,
		    arena_printf(
			    choice->arena,
			    "Ray is unreachable: %s; nothing is terminated, minReplicas and the "
			    "request-resources annotation still scale up%s",
			    choice->facts->ray_problem, ray_note(choice)));
		return;
	}
	if (choice->facts->view_problem != NULL) {
		add(choice->arena, plan, "ScalingActive", false, REASON_VIEW_STALE,
		    arena_printf(choice->arena,
				 "the view of the API server is stale: %s; nothing is terminated, "
				 "demand still scales up",
				 choice->facts->view_problem));
		return;
	}
	add(choice->arena, plan, "ScalingActive", true, REASON_DEMAND_READ,
	    arena_printf(choice->arena, "demand and idleness were read from Ray: %s, %s, %s%s",
			 worker_count_text(choice->arena, (int64_t)choice->facts->demands.at.count,
					   "request shape"),
			 worker_count_text(choice->arena, (int64_t)choice->facts->gang_count,
					   "placement group"),
			 worker_count_text(choice->arena,
					   (int64_t)choice->snapshot->ray_state->node_count,
					   "node"),
			 ray_note(choice)));
}

static void write_able(const struct choice *choice, struct plan *plan)
{
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct group *group = &choice->facts->groups[g];
		if (!choice->health->groups[group->index].backed_off)
			continue;
		add(choice->arena, plan, "AbleToScale", false, REASON_BACKED_OFF,
		    arena_printf(choice->arena, "group %s provides no capacity (%s): %s",
				 group->spec->name,
				 choice->health->groups[group->index].backoff->cause,
				 choice->health->groups[group->index].backoff->message));
		return;
	}
	add(choice->arena, plan, "AbleToScale", true, REASON_READY_FOR_NEW_SCALE,
	    "nothing limits scaling");
}

static bool is_limit(const char *reason)
{
	return strcmp(reason, REASON_MAX_REPLICAS) == 0 || strcmp(reason, REASON_MAX_GPUS) == 0;
}

static void write_limited(const struct choice *choice, struct plan *plan)
{
	for (size_t i = 0; i < plan->unserved.count; i++) {
		const struct plan_demand *demand = &plan->unserved.at[i];
		if (!is_limit(demand->reason))
			continue;
		add(choice->arena, plan, "ScalingLimited", true, REASON_TOO_MANY_REPLICAS,
		    demand->message);
		return;
	}
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct group *group = &choice->facts->groups[g];
		if (!choice->groups[group->index].at_maximum &&
		    !choice->groups[group->index].at_minimum)
			continue;
		add(choice->arena, plan, "ScalingLimited", true,
		    choice->groups[group->index].at_maximum ? REASON_TOO_MANY_REPLICAS :
							      REASON_TOO_FEW_REPLICAS,
		    arena_printf(choice->arena, "group %s is held at %s %lld", group->spec->name,
				 choice->groups[group->index].at_maximum ? "maxReplicas" :
									   "minReplicas",
				 (long long)(choice->groups[group->index].at_maximum ?
						     group->spec->max_replicas :
						     group->spec->min_replicas)));
		return;
	}
	add(choice->arena, plan, "ScalingLimited", false, REASON_DESIRED_WITHIN_RANGE,
	    "no minimum, maximum or ceiling was reached");
}

static void write_invalid(const struct choice *choice, struct plan *plan)
{
	const char *text = "";
	for (size_t i = 0; i < choice->facts->problems.count && i < PROBLEMS_MAX; i++)
		text = arena_printf(choice->arena, "%s%s%s", text, i > 0 ? "; " : "",
				    choice->facts->problems.at[i]);
	if (choice->facts->problems.count > PROBLEMS_MAX)
		text = arena_printf(choice->arena, "%s; and %zu more", text,
				    choice->facts->problems.count - PROBLEMS_MAX);
	if (choice->facts->problems.count > 0)
		add(choice->arena, plan, "InvalidRequest", true, REASON_INVALID_REQUEST, text);
}

static void write_foreign(const struct choice *choice, struct plan *plan)
{
	const char *text = identity_foreign_text(choice->snapshot, choice->arena);
	if (text != NULL)
		add(choice->arena, plan, CONDITION_FOREIGN_PODS, true, REASON_FOREIGN_POD, text);
}

static bool add_reverted(const struct choice *choice, struct plan *plan,
			 const struct memory_since *conflicts, size_t count, conflict_words *words)
{
	for (size_t i = 0; i < count; i++) {
		if (conflicts[i].count < FIGHT_REVERTS_MIN)
			continue;
		add(choice->arena, plan, "ReplicasReverted", true, REASON_REPLICAS_REVERTED,
		    words(choice->facts, &conflicts[i]));
		return true;
	}
	return false;
}

static void write_reverted(const struct choice *choice, struct plan *plan)
{
	const struct memory_state *memory = &choice->health->memory;

	if (!add_reverted(choice, plan, memory->replica_conflicts.at,
			  memory->replica_conflicts.count, conflict_text))
		add_reverted(choice, plan, memory->replica_raises.at, memory->replica_raises.count,
			     conflict_raise_text);
}

/* Reports lacking resources. A type that was only inferred is reported only where demand requests
 * it. */
static void write_broken(const struct choice *choice, struct plan *plan)
{
	const char *text = "";
	size_t count = 0;

	for (size_t g = 0; g < choice->facts->group_count; g++)
		for (size_t i = 0; i < choice->offer->groups[g].lack_count; i++) {
			const struct template_lack *lack = &choice->offer->groups[g].lacks[i];

			if (lack->inferred || count++ >= PROBLEMS_MAX)
				continue;
			text = arena_printf(choice->arena, "%s%s%s", text, count > 1 ? "; " : "",
					    template_seen_lack_text(choice->offer,
								    &choice->facts->groups[g],
								    lack));
		}
	if (count > PROBLEMS_MAX)
		text = arena_printf(choice->arena, "%s; and %zu more", text, count - PROBLEMS_MAX);
	if (count > 0)
		add(choice->arena, plan, "TemplateBroken", true, REASON_TEMPLATE_BROKEN, text);
}

/* Head first, then the workers in canonical order, so that the order of the Pods does not
 * matter. */
static void write_unreadable(const struct choice *choice, struct plan *plan)
{
	const char *text = "";
	size_t count = 0;

	for (size_t i = 0; i <= choice->facts->worker_count; i++) {
		const struct pod *pod = i == 0 ? choice->facts->head_pod :
						 choice->facts->workers[i - 1].pod;

		if (pod == NULL || pod->unreadable == NULL || count++ >= PROBLEMS_MAX)
			continue;
		text = arena_printf(choice->arena, "%s%sPod %s: %s", text, count > 1 ? "; " : "",
				    pod->name, pod->unreadable);
	}
	if (count > PROBLEMS_MAX)
		text = arena_printf(choice->arena, "%s; and %zu more", text, count - PROBLEMS_MAX);
	if (count > 0)
		add(choice->arena, plan, CONDITION_POD_UNREADABLE, true, REASON_PODS_UNREADABLE,
		    arena_printf(choice->arena, "%s; a Pod that cannot be read counts as busy",
				 text));
}

/* Written only while there are findings, as for invalid input. A snapshot in a file has none. */
static void write_findings(const struct choice *choice, struct plan *plan)
{
	const struct lint_digest *lint = choice->snapshot->lint;
	if (lint == NULL || lint->message[0] == '\0')
		return;
	const char *reason = lint->counts[LINT_ERROR] > 0   ? REASON_LINT_ERRORS :
			     lint->counts[LINT_WARNING] > 0 ? REASON_LINT_WARNINGS :
							      REASON_LINT_NOTES;

	add(choice->arena, plan, CONDITION_LINT_FINDINGS, true, reason, lint->message)->aside =
		true;
}

void verdict_write(const struct choice *choice, struct plan *plan)
{
	write_active(choice, plan);
	write_able(choice, plan);
	write_limited(choice, plan);
	write_invalid(choice, plan);
	write_foreign(choice, plan);
	write_reverted(choice, plan);
	write_broken(choice, plan);
	write_unreadable(choice, plan);
	write_findings(choice, plan);
}

void verdict_write_gated(const struct facts *facts, const char *reason, const char *message,
			 struct plan *plan)
{
	add(facts->arena, plan, "ScalingActive", false, reason, message);
}
