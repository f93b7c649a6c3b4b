/* The rows of lint in the tables of core/model/reason.h. */
#ifndef FEATURE_LINT_MODEL_LINT_REASON_H
#define FEATURE_LINT_MODEL_LINT_REASON_H

#define CONDITION_LINT_FINDINGS "LintFindings"

#define LINT_CONDITION_REASONS(X)                                                                  \
	X(LINT_ERRORS, "LintErrors", 0, "LintFindings: fields that are certainly wrong",           \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_WARNINGS, "LintWarnings", TRAIT_CALM,                                               \
	  "LintFindings: fields that are probably unintended",                                     \
	  "`rayscaler lint --from-cluster` has the lines to write")                                \
	X(LINT_NOTES, "LintNotes", TRAIT_FAINT, "LintFindings: notes only, no errors or warnings", \
	  "nothing, or `rayscaler lint --from-cluster`")

#define LINT_EVENTS(X)                                                                             \
	X(LINT_FINDINGS, WARNING, "LintFindings",                                                  \
	  "lint's errors and warnings for the RayCluster changed; reported once",                  \
	  "`rayscaler lint --from-cluster` has the lines to write; [the rules](LINT.md)")

#endif
