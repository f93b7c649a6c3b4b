/* How the program is called in what it prints, and the two ways in which a command fails.
 * As kubectl-rayscaler it is a plugin of kubectl and calls itself "kubectl rayscaler". */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "base/err.h"

/* By the base name of argv[0]; once, before anything is printed. */
void help_set_program(const char *argv0);
const char *help_program(void); /* "rayscaler" or "kubectl rayscaler" */

/* A help text, in which @ stands for the name of the program. */
void help_print(FILE *file, const char *text);
/* "rayscaler COMMAND: TEXT; see rayscaler COMMAND --help" on standard error; EXIT_USAGE. */
int help_usage(const char *command, const char *text);
/* "rayscaler COMMAND: TEXT" on standard error; EXIT_INPUT. */
int help_failed(const char *command, const struct err *err);
/* "rayscaler COMMAND: warning: TEXT" on standard error. */
void help_warn(const char *command, const char *text);

#endif
