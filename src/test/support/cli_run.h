/* Runs a command of src/cli in this process and keeps its output for the test. Header only. */
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

static inline int cli_redirect(FILE *stream, FILE *file)
{
	int saved;

	fflush(stream);
	saved = dup(fileno(stream));
	CHECK(dup2(fileno(file), fileno(stream)) >= 0);
	return saved;
}

static inline void cli_restore(FILE *stream, int saved, FILE *file, char *text)
{
	fflush(stream);
	dup2(saved, fileno(stream));
	close(saved);
	rewind(file);
	text[fread(text, 1, CLI_OUTPUT_SIZE - 1, file)] = '\0';
	fclose(file);
}

/* words: the command's name and its arguments, ended by NULL. */
static inline void cli_run_words(int (*command)(int, char **), const char *const *words,
				 struct cli_result *ret)
{
	FILE *output = tmpfile(), *errors = tmpfile();
	int count = 0, saved_output, saved_errors;

	CHECK(output && errors);
	while (words[count])
		count++;
	saved_output = cli_redirect(stdout, output);
	saved_errors = cli_redirect(stderr, errors);
	ret->status = command(count, (char **)words);
	cli_restore(stdout, saved_output, output, ret->output);
	cli_restore(stderr, saved_errors, errors, ret->errors);
}

/* CLI_RUN(&result, cli_status, "status", "-A"); */
#define CLI_RUN(result, command, ...)                                                              \
	cli_run_words((command), (const char *const[]){ __VA_ARGS__, NULL }, (result))

#endif
