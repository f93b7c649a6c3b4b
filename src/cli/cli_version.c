#include "cli/shared/commands.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "codec/text/json_write.h"
#include "commit.h"

#define OUTPUT_BYTES_MAX 1024

static const char help[] = "usage: @ version [-o text|json]\n"
			   "Prints the version of this program and the commit it was built from.\n"
			   "  -o, --output FORMAT  text (default) or json\n"
			   "exit status: 0 it was printed, 1 it could not be, 2 wrong usage\n";

static void print_json(void)
{
	AUTO(buf_done) struct buf output;
	struct json_writer writer;

	buf_init(&output, OUTPUT_BYTES_MAX);
	json_write_init(&writer, &output, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "version", RAYSCALER_VERSION }, { "commit", RAYSCALER_COMMIT });
	json_write_object_end(&writer);
	puts(buf_string(&output));
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
