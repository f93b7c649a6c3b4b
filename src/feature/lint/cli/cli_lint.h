/* The row of the table of cli/shared/commands.h. */
#ifndef FEATURE_LINT_CLI_CLI_LINT_H
#define FEATURE_LINT_CLI_CLI_LINT_H

#define LINT_COMMANDS(X) X(lint, "check RayClusters, in files or live, and print the line to write")

#endif
