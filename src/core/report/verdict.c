#include "core/report/verdict.h"

#include <string.h>

#include "core/decide/fight.h"
#include "core/decide/template_seen.h"
#include "core/decide/worker.h"
#include "core/model/identity.h"
#include "core/model/reason.h"

#define PROBLEMS_MAX 10 /* named in one message */

static struct plan_condition *add(struct situation *s, const char *type, bool status,
				  const char *reason, const char *message)
{
	struct plan_condition *condition = VEC_ADD(s->arena, &s->plan->conditions);
	*condition = (struct plan_condition){ .type = type,
					      .status = status ? "True" : "False",
					      .reason = reason,
					      .message = message };
	return condition;
}

static const char *ray_note(const struct situation *s)
{
	const char *note = s->snapshot->ray_note;

	return note != NULL && note[0] != '\0' ? arena_printf(s->arena, "; %s", note) : "";
}

static void write_active(struct situation *s)
{
	if (s->head_problem != NULL) {
		add(s, "ScalingActive", false, REASON_HEAD_UNCERTAIN,
		    arena_printf(s->arena, "%s; nothing is terminated meanwhile", s->head_problem));
		return;
	}
	if (!s->ray_reachable) {
		add(s, "ScalingActive", false, REASON_DEMAND_UNAVAILABLE,
		    arena_printf(
			    s->arena,
			    "Ray is unreachable: %s; nothing is terminated, minReplicas and the "
			    "request-resources annotation still scale up%s",
			    s->ray_problem, ray_note(s)));
		return;
	}
	if (s->view_problem != NULL) {
		add(s, "ScalingActive", false, REASON_VIEW_STALE,
		    arena_printf(s->arena,
				 "the view of the API server is stale: %s; nothing is terminated, "
				 "demand still scales up",
				 s->view_problem));
		return;
	}
	add(s, "ScalingActive", true, REASON_DEMAND_READ,
	    arena_printf(s->arena, "demand and idleness were read from Ray: %s, %s, %s%s",
			 worker_count_text(s->arena, (int64_t)s->demands.at.count, "request shape"),
			 worker_count_text(s->arena, (int64_t)s->gang_count, "placement group"),
			 worker_count_text(s->arena, (int64_t)s->snapshot->ray_state->node_count,
					   "node"),
			 ray_note(s)));
}

static void write_able(struct situation *s)
{
	for (size_t g = 0; g < s->group_count; g++) {
		const struct group *group = &s->groups[g];
		if (!group->backed_off)
			continue;
		add(s, "AbleToScale", false, REASON_BACKED_OFF,
		    arena_printf(s->arena, "group %s brings no capacity (%s): %s",
				 group->spec->name, group->backoff->cause,
				 group->backoff->message));
		return;
	}
	add(s, "AbleToScale", true, REASON_READY_FOR_NEW_SCALE, "nothing stands in the way");
}

static bool is_limit(const char *reason)
{
	return strcmp(reason, REASON_MAX_REPLICAS) == 0 || strcmp(reason, REASON_MAX_GPUS) == 0;
}

static void write_limited(struct situation *s)
{
	for (size_t i = 0; i < s->plan->unserved.count; i++) {
		const struct plan_demand *demand = &s->plan->unserved.at[i];
		if (!is_limit(demand->reason))
			continue;
		add(s, "ScalingLimited", true, REASON_TOO_MANY_REPLICAS, demand->message);
		return;
	}
	for (size_t g = 0; g < s->group_count; g++) {
		const struct group *group = &s->groups[g];
		if (!group->at_maximum && !group->at_minimum)
			continue;
		add(s, "ScalingLimited", true,
		    group->at_maximum ? REASON_TOO_MANY_REPLICAS : REASON_TOO_FEW_REPLICAS,
		    arena_printf(s->arena, "group %s is held at %s %lld", group->spec->name,
				 group->at_maximum ? "maxReplicas" : "minReplicas",
				 (long long)(group->at_maximum ? group->spec->max_replicas :
								 group->spec->min_replicas)));
		return;
	}
	add(s, "ScalingLimited", false, REASON_DESIRED_WITHIN_RANGE,
	    "no minimum, maximum or ceiling was reached");
}

static void write_invalid(struct situation *s)
{
	const char *text = "";
	for (size_t i = 0; i < s->problems.count && i < PROBLEMS_MAX; i++)
		text = arena_printf(s->arena, "%s%s%s", text, i > 0 ? "; " : "", s->problems.at[i]);
	if (s->problems.count > PROBLEMS_MAX)
		text = arena_printf(s->arena, "%s; and %zu more", text,
				    s->problems.count - PROBLEMS_MAX);
	if (s->problems.count > 0)
		add(s, "InvalidRequest", true, REASON_INVALID_REQUEST, text);
}

static void write_foreign(struct situation *s)
{
	const char *text = identity_foreign_text(s->snapshot, s->arena);
	if (text != NULL)
		add(s, CONDITION_FOREIGN_PODS, true, REASON_FOREIGN_POD, text);
}

static bool add_reverted(struct situation *s, const struct memory_since *fights, size_t count,
			 fight_words *words)
{
	for (size_t i = 0; i < count; i++) {
		if (fights[i].count < FIGHT_REVERTS_MIN)
			continue;
		add(s, "ReplicasReverted", true, REASON_REPLICAS_REVERTED, words(s, &fights[i]));
		return true;
	}
	return false;
}

static void write_reverted(struct situation *s)
{
	const struct memory_state *memory = &s->plan->memory;

	if (!add_reverted(s, memory->replica_fights.at, memory->replica_fights.count, fight_text))
		add_reverted(s, memory->replica_raises.at, memory->replica_raises.count,
			     fight_raise_text);
}

/* Reports lacking resources. A type that was only inferred is reported only where demand requests
 * it. */
static void write_broken(struct situation *s)
{
	const char *text = "";
	size_t count = 0;

	for (size_t g = 0; g < s->group_count; g++)
		for (size_t i = 0; i < s->groups[g].lack_count; i++) {
			const struct template_lack *lack = &s->groups[g].lacks[i];

			if (lack->inferred || count++ >= PROBLEMS_MAX)
				continue;
			text = arena_printf(s->arena, "%s%s%s", text, count > 1 ? "; " : "",
					    template_seen_lack_text(s->arena, &s->groups[g], lack));
		}
	if (count > PROBLEMS_MAX)
		text = arena_printf(s->arena, "%s; and %zu more", text, count - PROBLEMS_MAX);
	if (count > 0)
		add(s, "TemplateBroken", true, REASON_TEMPLATE_BROKEN, text);
}

/* Head first, then the workers in canonical order, so that the order of the Pods does not
 * matter. */
static void write_unreadable(struct situation *s)
{
	const char *text = "";
	size_t count = 0;

	for (size_t i = 0; i <= s->worker_count; i++) {
		const struct pod *pod = i == 0 ? s->head_pod : s->workers[i - 1].pod;

		if (pod == NULL || pod->unreadable == NULL || count++ >= PROBLEMS_MAX)
			continue;
		text = arena_printf(s->arena, "%s%sPod %s: %s", text, count > 1 ? "; " : "",
				    pod->name, pod->unreadable);
	}
	if (count > PROBLEMS_MAX)
		text = arena_printf(s->arena, "%s; and %zu more", text, count - PROBLEMS_MAX);
	if (count > 0)
		add(s, CONDITION_POD_UNREADABLE, true, REASON_PODS_UNREADABLE,
		    arena_printf(s->arena, "%s; a Pod that cannot be read counts as busy", text));
}

/* Written only while there are findings, as for invalid input. A snapshot in a file has none. */
static void write_findings(struct situation *s)
{
	const struct lint_digest *lint = s->snapshot->lint;
	if (lint == NULL || lint->message[0] == '\0')
		return;
	const char *reason = lint->counts[LINT_ERROR] > 0   ? REASON_LINT_ERRORS :
			     lint->counts[LINT_WARNING] > 0 ? REASON_LINT_WARNINGS :
							      REASON_LINT_NOTES;

	add(s, CONDITION_LINT_FINDINGS, true, reason, lint->message)->aside = true;
}

void verdict_write(struct situation *s)
{
	write_active(s);
	write_able(s);
	write_limited(s);
	write_invalid(s);
	write_foreign(s);
	write_reverted(s);
	write_broken(s);
	write_unreadable(s);
	write_findings(s);
}

void verdict_write_gated(struct situation *s, const char *reason, const char *message)
{
	add(s, "ScalingActive", false, reason, message);
}
