/* The findings of a report for machines: a JSON list, and SARIF 2.1.0
 * (docs.oasis-open.org/sarif/sarif/v2.1.0), which code hosts show beside the lines. The text for
 * people is in feature/lint/cli/cli_lint. Stable bytes: the same report gives the same text. */
#ifndef FEATURE_LINT_OBJECTS_LINT_WRITE_H
#define FEATURE_LINT_OBJECTS_LINT_WRITE_H

#include "base/buf.h"
#include "base/err.h"
#include "feature/lint/objects/lint_document.h"

/* [{severity, rule, object, file, path, line, column, message, fix}], [] for nothing; line and
 * column are 0 when unknown. ERR_LIMIT above the buffer's ceiling. */
int lint_json_write(const struct lint_report *report, struct buf *buf, struct err *err);
/* One run of one tool with all rules; `version` is the program's. Errors as lint_json_write. */
int lint_sarif_write(const struct lint_report *report, const char *version, struct buf *buf,
		     struct err *err);

#endif
