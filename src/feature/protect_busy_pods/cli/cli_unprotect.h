/* The row of the table of cli/shared/commands.h. */
#ifndef FEATURE_PROTECT_BUSY_PODS_CLI_CLI_UNPROTECT_H
#define FEATURE_PROTECT_BUSY_PODS_CLI_CLI_UNPROTECT_H

#define PROTECT_COMMANDS(X) X(unprotect, "remove the annotations of protectBusyPods from Pods")

#endif
