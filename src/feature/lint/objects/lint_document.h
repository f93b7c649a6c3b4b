/* The findings of texts: every RayCluster in a file of YAML or JSON, also inside of a RayJob, a
 * RayService, a RayCronJob or a List, and every RayClusterAutoscaler; other objects are skipped silently. An object that cannot be
 * read is a finding as well (rule cannot-be-read), so nothing here fails. The caller owns struct
 * lint_report and its arena, in which all findings live; the memory of a text (its tree, positions,
 * decoded objects) is freed before the next document is read. Must not be used for objects that are
 * scaled: the trees are changed (feature/lint/objects/lint_shape). */
#ifndef FEATURE_LINT_OBJECTS_LINT_DOCUMENT_H
#define FEATURE_LINT_OBJECTS_LINT_DOCUMENT_H

#include <stddef.h>

#include "base/arena.h"
#include "codec/text/json.h"
#include "feature/lint/objects/lint_report.h"

/* A RayCluster has at most 1.5 MiB in the API server; a file may be a list of many. */
#define LINT_FILE_BYTES_MAX ((size_t)32 << 20)
extern const struct json_limits lint_limits;

/* One file's text; `file` is copied. */
void lint_text_add(struct lint_report *report, const char *file, const char *text, size_t size,
		   const struct lint_context *context);
/* A file, or an object (`object` not ""), that cannot be read at all. */
void lint_problem_add(struct lint_report *report, const char *file, const char *object,
		      const char *problem);
/* An object from an API server, as JSON; all its claims are in the context. */
void lint_live_add(struct lint_report *report, const char *text,
		   const struct lint_context *context);
/* After the last text: checks the RayClusterAutoscalers, because their RayClusters may be in other
 * texts, and sorts by file, document, line and column; stable. */
void lint_report_finish(struct lint_report *report, const struct lint_context *context);

#endif
