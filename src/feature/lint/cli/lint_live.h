/* The findings of the RayClusters of an API server, with its Nodes where the user may list them.
 * Connects as `status` does (cli/shared/api_connection), reads once and ends. */
#ifndef FEATURE_LINT_CLI_LINT_LIVE_H
#define FEATURE_LINT_CLI_LINT_LIVE_H

#include <stdbool.h>

#include "cli/shared/api_connection.h"
#include "feature/lint/objects/lint_document.h"

struct lint_live {
	const struct api_connection_flags *flags;
	bool all_namespaces; /* else that of the connection */
	const char *name;    /* one RayCluster; NULL: all */
	/* Has the Nodes of a file, or none: then those of the API server are used. */
	const struct lint_context *context;
	/* Set; they live in the report's arena. */
	const char *node_problem; /* "" or why there are no Nodes */
	const char *none;         /* "" or that there are no RayClusters */
};

/* Errors as api_connection_new, of cli/shared/missing, or of the first failure of the list of RayClusters. */
int lint_live_read(struct lint_live *live, struct lint_report *report, struct err *err);

#endif
