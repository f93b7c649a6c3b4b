#include <string.h>

#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"

#define RULES_NAMED_MAX 5

/* Findings that a decision reports itself. */
static bool is_of_decision(const struct lint_finding *finding)
{
	if (finding->decided)
		return true;
	switch (lint_rule_id(finding->rule)) {
	case LINT_RULE_FIELD_INVALID:
	case LINT_RULE_QUANTITY_INVALID:
	case LINT_RULE_CPU_UNDETECTED:
	case LINT_RULE_RAY_START_PARAM_INVALID:
	case LINT_RULE_REQUEST_INVALID:
	case LINT_RULE_MIN_ABOVE_MAX:
	case LINT_RULE_AUTOSCALER_NOT_PARKED:
		return true;
	case LINT_RULE_LABEL_INVALID: /* only lint reports the parameter `labels` */
		return !strstr(finding->path, ".rayStartParams.");
	default:
		return false;
	}
}

/* "1 error and 2 warnings". */
static const char *counts_text(struct arena *arena, const size_t *counts)
{
	const char *errors = lint_count_text(arena, counts[LINT_ERROR], "error");
	const char *warnings = lint_count_text(arena, counts[LINT_WARNING], "warning");
	if (counts[LINT_ERROR] == 0)
		return warnings;
	return counts[LINT_WARNING] == 0 ? errors :
					   arena_printf(arena, "%s and %s", errors, warnings);
}

/* The rules with errors and warnings, in the order of the table. */
static const char *rules_text(struct arena *arena, const struct lint_findings *findings)
{
	bool found[LINT_RULE_COUNT] = { false };
	const char *text = "";
	size_t count = 0;
	for (size_t i = 0; i < findings->list.count; i++)
		if (findings->list.at[i].severity != LINT_INFO)
			found[lint_rule_id(findings->list.at[i].rule)] = true;
	for (size_t i = 0; i < LINT_RULE_COUNT; i++)
		if (found[i] && count++ < RULES_NAMED_MAX)
			text = arena_printf(arena, "%s%s%s", text, count > 1 ? ", " : "",
					    lint_rules()[i].name);
	return count > RULES_NAMED_MAX ?
		       arena_printf(arena, "%s and %zu more", text, count - RULES_NAMED_MAX) :
		       text;
}

/* The first of the worst. */
static const struct lint_finding *worst(const struct lint_findings *findings)
{
	const struct lint_finding *found = &findings->list.at[0];
	for (size_t i = 1; i < findings->list.count; i++)
		if (findings->list.at[i].severity > found->severity)
			found = &findings->list.at[i];
	return found;
}

static const char *first_text(struct arena *arena, const struct lint_findings *findings)
{
	const struct lint_finding *first = worst(findings);
	return arena_printf(arena, "%s at %s: %s", first->rule, first->path, first->message);
}

static void drop_those_of_decision(struct lint_findings *findings)
{
	size_t kept = 0;
	for (size_t i = 0; i < findings->list.count; i++)
		if (!is_of_decision(&findings->list.at[i]))
			findings->list.at[kept++] = findings->list.at[i];
	findings->list.count = kept;
}

/* Settings of its RayClusterAutoscaler that others override; a decision reports the other findings. */
static void add_overridden(const struct ray_cluster *cluster, const struct lint_context *context,
			   struct arena *arena, struct lint_findings *findings)
{
	struct lint_findings of_object = { .list = { .at = NULL } };
	const struct lint_known known = { .cluster = *cluster };

	if (!context->object)
		return;
	lint_settings(context->object, &known, context, arena, &of_object);
	VEC_EACH(struct lint_finding, finding, &of_object.list) {
		if (lint_rule_id(finding->rule) != LINT_RULE_SETTING_WITHOUT_EFFECT)
			continue;
		finding->path = arena_printf(arena, "RayClusterAutoscaler %s", finding->path);
		VEC_PUSH(arena, &findings->list, *finding);
	}
}

void lint_condition_make(const struct ray_cluster *cluster, const struct lint_context *context,
			 struct arena *arena, struct extra_condition *ret_condition)
{
	struct lint_findings findings = { .list = { .at = NULL } };
	size_t counts[LINT_ERROR + 1] = { 0 };
	const char *notes, *message = "", *reported = "";
	lint_cluster(cluster, context, arena, &findings);
	add_overridden(cluster, context, arena, &findings);
	drop_those_of_decision(&findings);
	for (size_t i = 0; i < findings.list.count; i++)
		counts[findings.list.at[i].severity]++;
	notes = lint_count_text(arena, counts[LINT_INFO], "note");
	if (counts[LINT_ERROR] + counts[LINT_WARNING] > 0) {
		reported = arena_cut(
			arena,
			arena_printf(arena, "%s (%s), first %s", counts_text(arena, counts),
				     rules_text(arena, &findings), first_text(arena, &findings)),
			LINT_REPORTED_MAX);
		message = counts[LINT_INFO] > 0 ?
				  arena_printf(arena, "%s; and %s", reported, notes) :
				  reported;
	} else if (findings.list.count > 0) {
		message = arena_cut(arena,
				    arena_printf(arena, "%s, first %s", notes,
						 first_text(arena, &findings)),
				    LINT_REPORTED_MAX);
	}
	*ret_condition = (struct extra_condition){
		.type = CONDITION_LINT_FINDINGS,
		.reason = counts[LINT_ERROR] > 0   ? REASON_LINT_ERRORS :
			  counts[LINT_WARNING] > 0 ? REASON_LINT_WARNINGS :
						     REASON_LINT_NOTES,
		.message = message,
		.is_true = reported[0] != '\0',
		.reported = reported,
		.cure = "`rayscaler lint --from-cluster` has the lines to write",
		.event = DECISION_EVENT_LINT_FINDINGS,
	};
}
