/* The findings of a report in the form of compiler messages, so that editors and terminals find the
 * place: "FILE:LINE:COLUMN: severity: message [rule]", and below it the lines to write, if there
 * are any. A finding of an API server begins with its object and the path of the field. */
#ifndef CLI_LINT_TEXT_H
#define CLI_LINT_TEXT_H

#include "base/buf.h"
#include "codec/objects/lint_document.h"

void lint_text_write(const struct lint_report *report, bool colours, struct buf *buf);
/* "3 files, 2 RayClusters: 1 error, 0 warnings, 4 infos" */
void lint_text_write_summary(const struct lint_report *report, bool live, struct buf *buf);
/* All rules: name, severity, problem, fix. */
void lint_text_write_rules(struct buf *buf);

#endif
