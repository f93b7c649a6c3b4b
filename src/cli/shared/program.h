/* The main function of a program of commands: the one on people's machines (src/cli/main.c) and the one of the
 * image (src/image/main.c), each with its own table. */
#ifndef CLI_SHARED_PROGRAM_H
#define CLI_SHARED_PROGRAM_H

#include <stddef.h>

#include "cli/shared/commands.h"

struct program {
	const char *description; /* lines of --help behind the first one; @ as in help_print */
	const struct command *commands;
	size_t count;
	/* Ends the error for a word that is not a command, from "; " on; NULL: the nearest command. */
	const char *(*hint)(const char *word);
};

/* Runs the command that argv names, help or the version. The exit status. */
int program_main(const struct program *program, int argc, char **argv);

#endif
