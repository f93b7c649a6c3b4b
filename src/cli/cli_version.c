#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

int cli_version(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") != 0) {
		fprintf(stderr, "rayscaler version: takes no arguments\n");
		return EXIT_USAGE;
	}
	if (argc > 1)
		puts("usage: rayscaler version\nPrints the version of this program.");
	else
		puts("rayscaler " RAYSCALER_VERSION);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_INPUT;
}
