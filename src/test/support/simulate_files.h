/* Files for tests of `simulate`: a RayCluster with a group of GPU workers, a workload, and a trace. */
#ifndef TEST_SUPPORT_SIMULATE_FILES_H
#define TEST_SUPPORT_SIMULATE_FILES_H

#include "cli/shared/commands.h"
#include "test/support/cli_run.h"

extern const char simulate_cluster[];

struct simulate_files {
	char *directory, *cluster, *workload, *trace;
};

/* For cmocka_run_group_tests. */
int simulate_files_setup(void **state);
int simulate_files_teardown(void **state);

#define SIMULATE(result, files, ...)                                                               \
	CLI_RUN(result, cli_simulate, "simulate", "-f", (files)->cluster, "-w", (files)->workload, \
		__VA_ARGS__)

#endif
