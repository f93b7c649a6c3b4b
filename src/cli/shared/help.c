#include "cli/shared/help.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/commands.h"
#include "cli/shared/flags.h"
#include "codec/text/text.h"

#define LINE_BYTES_MAX ((size_t)64 << 10)

static const char *program = "rayscaler";

void help_set_program(const char *argv0)
{
	const char *base = argv0 ? strrchr(argv0, '/') : NULL;

	base = base ? base + 1 : argv0;
	program = base && strcmp(base, "kubectl-rayscaler") == 0 ? "kubectl rayscaler" :
								   "rayscaler";
}

const char *help_program(void)
{
	return program;
}

void help_print(FILE *file, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '@')
			fputs(program, file);
		else
			fputc(*text, file);
	}
}

/* The text may contain bytes of a peer: they are made safe for a terminal. */
static void print_line(const char *command, const char *kind, const char *text, const char *end)
{
	AUTO(buf_done) struct buf line = BUF_INIT(LINE_BYTES_MAX);

	buf_printf(&line, "%s %s: %s", program, command, kind);
	text_add_clean(&line, text);
	fprintf(stderr, "%s%s\n", buf_string(&line), end);
}

int help_usage(const char *command, const char *text)
{
	char see[100];

	snprintf(see, sizeof(see), "; see %s %s --help", program, command);
	print_line(command, "", text, see);
	return EXIT_USAGE;
}

int help_failed(const char *command, const struct err *err)
{
	print_line(command, "", err->text, "");
	return EXIT_INPUT;
}

void help_warn(const char *command, const char *text)
{
	print_line(command, "warning: ", text, "");
}

bool help_begin(struct flags *flags, const char *help, int argc, char **argv, int *ret_status)
{
	struct err err;

	*ret_status = EXIT_DONE;
	if (flags_parse(flags, argc, argv, &err))
		*ret_status = help_usage(argv[0], err.text);
	else if (flags->help)
		help_print(stdout, help);
	else
		return true;
	return false;
}
