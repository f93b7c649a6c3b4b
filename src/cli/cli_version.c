#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/help.h"

static const char help[] = "usage: @ version\n"
			   "Prints the version of this program.\n"
			   "exit status: 0 it was printed, 1 it could not be, 2 wrong usage\n";

int cli_version(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") != 0)
		return help_usage("version", "no arguments are taken");
	if (argc > 1)
		help_print(stdout, help);
	else
		puts("rayscaler " RAYSCALER_VERSION);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_INPUT;
}
