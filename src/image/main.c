/* The program of the image: the controller, the sidecar and the parked container. Only commands that a Pod
 * starts are linked, so that a process that holds Secrets has no reader of YAML, CSV, recordings and workloads. */
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "cli/controller/panic.h"
#include "cli/shared/commands.h"
#include "cli/shared/help.h"
#include "cli/shared/program.h"
#include "image/kuberay_command.h"

static const struct command commands[] = {
#define X(name, summary) { #name, cli_##name, summary },
	CONTROLLER_TABLE(X)
#undef X
};

/* The commands of the program on people's machines. */
static const char *hint(const char *word)
{
	static const char *const tools[] = {
#define X(name, summary) #name,
		TOOL_TABLE(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		if (strcmp(word, tools[i]) == 0)
			return " of the image, which has the controller alone: run it on your machine "
			       "(docs/INSTALL.md)";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct program program = {
		.description =
			"Scales the GPU and CPU worker groups of RayClusters on Kubernetes by Ray's\n"
			"demand. This is the program of the image: the commands that show decisions\n"
			"are in the one for your machine (docs/INSTALL.md).\n",
		.commands = commands,
		.count = sizeof(commands) / sizeof(commands[0]),
		.hint = hint,
	};

	check_hook_set(panic_print);
	help_set_program(argv[0]);
	if (argc > 0 && kuberay_command_is(argv[0]))
		return kuberay_command(argc, argv);
	return program_main(&program, argc, argv);
}
