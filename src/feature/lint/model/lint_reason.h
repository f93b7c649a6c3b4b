/* The rows of lint in the tables of core/model/reason.h. */
#ifndef FEATURE_LINT_MODEL_LINT_REASON_H
#define FEATURE_LINT_MODEL_LINT_REASON_H

#define CONDITION_LINT_FINDINGS "LintFindings"

#define LINT_CONDITION_REASONS(X)                                                                  \
	X(LINT_ERRORS, "LintErrors", "LintFindings: fields that are certainly wrong",              \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_WARNINGS, "LintWarnings", "LintFindings: fields that are probably unintended",      \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_NOTES, "LintNotes", "LintFindings: notes only, no errors or warnings",              \
	  "nothing, or `rayscaler lint --from-cluster`")

/* X(identifier, enum table_colour), of those that are not bad. */
#define LINT_COLOURS(X)                                                                            \
	X(LINT_WARNINGS, TABLE_BUSY)                                                               \
	X(LINT_NOTES, TABLE_FAINT)

#define LINT_EVENTS(X)                                                                             \
	X(LINT_FINDINGS, WARNING, "LintFindings",                                                  \
	  "lint's errors and warnings for the RayCluster changed; reported once",                  \
	  "`rayscaler lint --from-cluster` has the lines to write; [the rules](LINT.md)")

#endif
