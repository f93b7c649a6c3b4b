#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cli/commands.h"

static const struct command commands[] = {
	{ "run", cli_run, "scale the worker groups of RayClusters (controller or sidecar)" },
	{ "plan", cli_plan, "say what would be done for a snapshot in a file, and why" },
	{ "park", cli_park, "do nothing: the autoscaler container of a cluster that is scaled" },
	{ "version", cli_version, "print the version" },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *file)
{
	fputs("usage: rayscaler COMMAND [flags]\n"
	      "Scales the GPU and CPU worker groups of RayClusters on Kubernetes by Ray's demand.\n"
	      "\n"
	      "commands:\n",
	      file);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n\"rayscaler COMMAND --help\" lists the flags of a command.\n", file);
}

static void check_failed_print(const char *condition, const char *file, int line,
			       const char *function, const char *key)
{
	fprintf(stderr, "rayscaler: internal error: \"%s\" does not hold at %s:%d (%s)%s%s\n",
		condition, file, line, function, *key ? ", while working on " : "", key);
}

int main(int argc, char **argv)
{
	check_hook_set(check_failed_print);
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cli_version(argc - 1, argv + 1);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].function(argc - 1, argv + 1);
	}
	fprintf(stderr, "rayscaler: \"%.80s\" is no command; see rayscaler --help\n", argv[1]);
	return EXIT_USAGE;
}
