/* Runs a command of src/cli in this process and keeps its output for the test. */
#ifndef TEST_SUPPORT_CLI_RUN_H
#define TEST_SUPPORT_CLI_RUN_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

#define CLI_OUTPUT_SIZE 65536

struct cli_result {
	int status;
	char output[CLI_OUTPUT_SIZE], errors[CLI_OUTPUT_SIZE];
};

/* words: the command's name and its arguments, ended by NULL. */
void cli_run_words(int (*command)(int, char **), const char *const *words, struct cli_result *ret);

/* CLI_RUN(&result, cli_status, "status", "-A"); */
#define CLI_RUN(result, command, ...)                                                              \
	cli_run_words((command), (const char *const[]){ __VA_ARGS__, NULL }, (result))

#endif
