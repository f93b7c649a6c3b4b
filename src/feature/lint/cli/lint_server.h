/* Asks the API server about the objects of files by dry-run, for `lint --server`: nothing is created or changed. */
#ifndef FEATURE_LINT_CLI_LINT_SERVER_H
#define FEATURE_LINT_CLI_LINT_SERVER_H

#include "base/err.h"
#include "cli/shared/api_connection.h"
#include "feature/lint/objects/lint_report.h"

/* Appends a finding of the rule server-refuses for each question of the report that is refused, or may not be asked.
 * -1: there is no connection, or the API server does not answer; then some findings may be missing. */
int lint_server_ask(const struct api_connection_flags *flags, struct lint_report *report,
		    struct err *err);

#endif
