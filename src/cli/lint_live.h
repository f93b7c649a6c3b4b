/* The findings of the RayClusters of an API server, with its Nodes where the user may list them.
 * Connects as `status` does (cli/api_connection), reads once and ends. */
#ifndef CLI_LINT_LIVE_H
#define CLI_LINT_LIVE_H

#include <stdbool.h>

#include "cli/api_connection.h"
#include "codec/objects/lint_document.h"

/* All namespaces, or that of the session. `context` has the Nodes of a file, or none: then those of
 * the API server are used. *ret_problem: "" or why there are none; lives in the report's arena.
 * Errors as api_connection_new, or of the first failure of the list of RayClusters. */
int lint_live_read(const struct api_connection_flags *flags, bool all_namespaces,
		   const struct lint_context *context, struct lint_report *report,
		   const char **ret_problem, struct err *err);

#endif
