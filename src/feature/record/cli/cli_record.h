/* The row of the table of cli/shared/commands.h. */
#ifndef FEATURE_RECORD_CLI_CLI_RECORD_H
#define FEATURE_RECORD_CLI_CLI_RECORD_H

#define RECORD_COMMANDS(X) X(record, "write the work of a RayCluster to a file")

#endif
