#include "test/support/cli_run.h"

static int cli_redirect(FILE *stream, FILE *file)
{
	int saved;

	fflush(stream);
	saved = dup(fileno(stream));
	CHECK(dup2(fileno(file), fileno(stream)) >= 0);
	return saved;
}

static void cli_restore(FILE *stream, int saved, FILE *file, char *text)
{
	fflush(stream);
	dup2(saved, fileno(stream));
	close(saved);
	rewind(file);
	text[fread(text, 1, CLI_OUTPUT_SIZE - 1, file)] = '\0';
	fclose(file);
}

void cli_run_words(int (*command)(int, char **), const char *const *words, struct cli_result *ret)
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
