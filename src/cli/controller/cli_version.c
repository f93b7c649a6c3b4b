#include "cli/shared/commands.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "codec/schema/field.h"
#include "commit.h"

#define OUTPUT_BYTES_MAX 1024

static const char help[] = "usage: @ version [-o text|json]\n"
			   "Prints the version of this program and the commit it was built from.\n"
			   "  -o, --output FORMAT  text (default) or json\n"
			   "exit status: 0 it was printed, 1 it could not be, 2 wrong usage\n";

static void print_json(void)
{
	static const struct field fields[] = {
		FIELD_FIXED("version", RAYSCALER_VERSION),
		FIELD_FIXED("commit", RAYSCALER_COMMIT),
		FIELD_END,
	};
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);

	field_write_page(fields, &fields, &output);
	fputs(buf_string(&output), stdout);
}

int cli_version(int argc, char **argv)
{
	int output = OUTPUT_TEXT, status;
	const struct flag flags[] = {
		{ .letter = "-o", .name = "--output", .words = flags_outputs, .word = &output },
	};
	struct flags parsed = { .at = flags, .count = sizeof(flags) / sizeof(flags[0]) };

	if (!help_begin(&parsed, help, argc, argv, &status))
		return status;
	if (output == OUTPUT_JSON)
		print_json();
	else
		puts("rayscaler " RAYSCALER_VERSION " (commit " RAYSCALER_COMMIT ")");
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_INPUT;
}
