/* Every rule of lint, in one place: docs/LINT.md, `rayscaler lint --rules` and SARIF are made from this
 * table. Users write rule names into their own tools, so one is never changed, only added.
 * Must not hold messages: those are made with the figures of the case. */
#ifndef CORE_LINT_RULE_H
#define CORE_LINT_RULE_H

#include <stddef.h>

#include "core/lint.h"

/* X(identifier, severity, name, check, what is wrong, what to do)
 * severity: as it is mostly given; a rule may say more when the Nodes are known.
 * check: the function of core/lint_subject.h, NULL for what only a decoder can see.
 * Findings of one group come in this order. */
#define LINT_RULE_TABLE(X)                                                                         \
	X(CANNOT_BE_READ, ERROR, "cannot-be-read", NULL,                                           \
	  "a file is no YAML or JSON, has a member twice, or is larger than what is read",         \
	  "mend the text at the line and column that are named")                                   \
	X(WRONG_TYPE, ERROR, "wrong-type", NULL,                                                   \
	  "a field has another JSON type than the RayCluster definition asks for",                 \
	  "write the type that the message names")                                                 \
	X(RAY_START_PARAM_NOT_STRING, ERROR, "ray-start-param-not-string", NULL,                   \
	  "a value of rayStartParams is no string, so the API server refuses the object",          \
	  "put it into quotes")                                                                    \
	X(FIELD_INVALID, ERROR, "field-invalid", lint_field_invalid,                               \
	  "a number or name is outside of what the field can have",                                \
	  "write a value in the range that the message names")                                     \
	X(MIN_ABOVE_MAX, ERROR, "min-above-max", lint_min_above_max,                               \
	  "minReplicas of a group is above its maxReplicas",                                       \
	  "raise maxReplicas or lower minReplicas")

enum lint_rule_id {
#define X(identifier, severity, name, check, what, cure) LINT_RULE_##identifier,
	LINT_RULE_TABLE(X)
#undef X
		LINT_RULE_COUNT
};

struct lint_rule {
	enum lint_severity severity;
	const char *name, *what, *cure;
};

/* LINT_RULE_COUNT rows in the order of the table. */
const struct lint_rule *lint_rules(void);
/* Appends a finding with the severity of its rule; the strings must live as long as the findings. */
void lint_add(struct arena *arena, struct lint_findings *findings, enum lint_rule_id rule,
	      const char *path, const char *message, const char *fix);

#endif
