#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "cli/controller/panic.h"
#include "cli/shared/commands.h"
#include "cli/shared/help.h"
#include "cli/shared/program.h"

static const struct command commands[] = {
#define X(name, summary) { #name, cli_##name, summary },
	TOOL_TABLE(X) CONTROLLER_TABLE(X)
#undef X
};

static const char *hint(const char *word)
{
	return strcmp(word, "completion") == 0 ?
		       ": make install and the packages have completions, see docs/INSTALL.md" :
		       NULL;
}

int main(int argc, char **argv)
{
	static const struct program program = {
		.description =
			"Scales the GPU and CPU worker groups of RayClusters on Kubernetes by Ray's\n"
			"demand, and shows its decisions with reasons.\n",
		.commands = commands,
		.count = sizeof(commands) / sizeof(commands[0]),
		.hint = hint,
	};

	check_hook_set(panic_print);
	help_set_program(argv[0]);
	return program_main(&program, argc, argv);
}
