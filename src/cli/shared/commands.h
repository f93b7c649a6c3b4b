/* The commands of the programs: one function each, in cli_<name>.c of src/cli, of src/cli/controller or of a
 * feature. Nothing but cli/shared/program looks a command up. */
#ifndef CLI_SHARED_COMMANDS_H
#define CLI_SHARED_COMMANDS_H

#include "feature_cli.h"

enum exit_status {
	EXIT_DONE = 0,     /* the command succeeded */
	EXIT_INPUT = 1,    /* the input is wrong or something failed; one line on standard error */
	EXIT_USAGE = 2,    /* wrong usage */
	EXIT_UNSCALED = 3, /* status, explain: it was shown, and nothing scales now */
};

/* X(name, one line for --help), in the order of that; features have theirs in a header of their part `cli`.
 * TOOL_TABLE: the program on people's machines has them; CONTROLLER_TABLE: the image has them too. */
#define TOOL_TABLE(X)                                                                              \
	X(status, "worker groups: replicas, targets, GPUs and reasons, as a table")                \
	X(explain, "one RayCluster: each bundle and each worker, with reasons")                    \
	X(request, "request workers ahead of demand, and keep them")                               \
	X(adopt, "park Ray's autoscaler in a RayCluster: the controller scales it")                \
	X(release, "the reverse of adopt: Ray's autoscaler scales it again")                       \
	X(snapshot, "write the inputs of a decision to a file, for \"plan\"")                      \
	X(plan, "print the decision for a snapshot in a file, with reasons")                       \
	X(simulate, "GPU-hours and waiting times of a workload, by settings")                      \
	X(devices, "list the resource names of accelerators and their use in Ray")                 \
	FEATURE_COMMANDS(X)

#define CONTROLLER_TABLE(X)                                                                        \
	X(run, "scale the worker groups of RayClusters (controller or sidecar)")                   \
	X(park, "do nothing: the autoscaler container of a cluster that is scaled")                \
	X(version, "print the version")

struct command {
	const char *name;
	/* argv[0] is the command's name; returns the exit status of the program */
	int (*function)(int argc, char **argv);
	const char *summary; /* one line for --help */
};

#define X(name, summary) int cli_##name(int argc, char **argv);
TOOL_TABLE(X)
CONTROLLER_TABLE(X)
#undef X

#endif
