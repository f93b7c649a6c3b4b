/* The row of the table of cli/shared/commands.h. */
#ifndef FEATURE_IDLE_TERMINATION_CLI_CLI_RESUME_H
#define FEATURE_IDLE_TERMINATION_CLI_CLI_RESUME_H

#define IDLE_COMMANDS(X) X(resume, "start a RayCluster that idle termination suspended")

#endif
