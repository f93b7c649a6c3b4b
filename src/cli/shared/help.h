/* The name of the program in its output, and the two ways in which a command fails. As
 * kubectl-rayscaler it is a plugin of kubectl, with the name "kubectl rayscaler". */
#ifndef CLI_SHARED_HELP_H
#define CLI_SHARED_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct flags;

/* Sets the name from the base name of argv[0]; called once, before any output. */
void help_set_program(const char *argv0);
const char *help_program(void); /* "rayscaler" or "kubectl rayscaler" */

/* Prints a help text; @ is replaced by the name of the program. */
void help_print(FILE *file, const char *text);
/* "rayscaler COMMAND: TEXT; see rayscaler COMMAND --help" on standard error; EXIT_USAGE. */
int help_usage(const char *command, const char *text);
/* "rayscaler COMMAND: TEXT" on standard error; EXIT_INPUT. */
int help_failed(const char *command, const struct err *err);
/* "rayscaler COMMAND: warning: TEXT" on standard error. */
void help_warn(const char *command, const char *text);

/* flags_parse for a command with this help text. False when the command has nothing more to do,
 * because the help or the error was printed: then *ret_status is the exit status. */
bool help_begin(struct flags *flags, const char *help, int argc, char **argv, int *ret_status);

#endif
