#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/nearest.h"
#include "cli/kuberay_command.h"
#include "cli/panic.h"
#include "cli/shared/commands.h"
#include "cli/shared/help.h"

static const struct command commands[] = {
#define X(name, summary) { #name, cli_##name, summary },
	COMMAND_TABLE(X)
#undef X
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *file)
{
	help_print(file,
		   "usage: @ COMMAND [flags]\n"
		   "Scales the GPU and CPU worker groups of RayClusters on Kubernetes by Ray's\n"
		   "demand, and shows its decisions with reasons.\n"
		   "\n"
		   "commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(file, "  %-9s %s\n", commands[i].name, commands[i].summary);
	help_print(file,
		   "\n\"@ COMMAND --help\" describes a command.\n"
		   "exit status: 0 done, 1 the input is wrong or something failed, 2 wrong usage;\n"
		   "with 1 and 2 one line on standard error has the error and the fix\n");
}

static const struct command *find_command(const char *name)
{
	return ARRAY_FIND(commands, COMMAND_COUNT, name, name);
}

static int refuse_command(const char *name)
{
	struct nearest nearest = nearest_start(name);
	char hint[NEAREST_HINT_SIZE];

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		nearest_offer(&nearest, commands[i].name);
	fprintf(stderr, "%s: \"%.80s\" is not a command%s; see %s --help\n", help_program(), name,
		strcmp(name, "completion") == 0 ?
			": make install and the packages have completions, see docs/INSTALL.md" :
			nearest_hint(&nearest, hint),
		help_program());
	return EXIT_USAGE;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
	static char help_flag[] = "--help";
	const struct command *command;

	check_hook_set(panic_print);
	help_set_program(argv[0]);
	if (argc > 0 && kuberay_command_is(argv[0]))
		return kuberay_command(argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (is_help(argv[1])) {
		command = argc > 2 ? find_command(argv[2]) : NULL;
		if (argc > 2 && argv[2][0] != '-' && !command)
			return refuse_command(argv[2]);
		if (command)
			return command->function(2, (char *[]){ argv[2], help_flag, NULL });
		print_help(stdout);
		return EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cli_version(1, argv + 1);
	command = find_command(argv[1]);
	if (command)
		return command->function(argc - 1, argv + 1);
	return refuse_command(argv[1]);
}
