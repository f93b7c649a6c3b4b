#include "cli/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"
#include "cli/file.h"
#include "cli/plan_text.h"
#include "codec/plan_json.h"
#include "codec/snapshot_json.h"
#include "core/decide.h"

#define OUTPUT_BYTES_MAX ((size_t)1 << 30)

struct plan_arguments {
	const char *file; /* NULL: not given */
	bool json, debug, help;
};

static const char usage[] =
	"usage: rayscaler plan -f FILE [-o text|json] [--debug]\n"
	"Decides for the Snapshot in FILE and prints the Plan: what would be done, and why.\n"
	"Nothing is read from a cluster, the network or the clock.\n"
	"  -f FILE       YAML or JSON, - is standard input\n"
	"  -o FORMAT     text (default) or json\n"
	"  --debug       also say what was placed on which worker\n"
	"exit status: 0 a plan was made, 1 the input is wrong, 2 wrong usage\n";

static int usage_error(const char *what, const char *which)
{
	fprintf(stderr, "rayscaler plan: %s%.80s; see rayscaler plan --help\n", what, which);
	return -1;
}

/* The value of a flag that takes one: "-f FILE", "-fFILE" or "--file=FILE"; NULL for another flag.
 * *ret_missing: it is this flag and nothing follows. */
static const char *flag_value(int argc, char **argv, int *index, const char *letter,
			      const char *word, bool *ret_missing)
{
	const char *argument = argv[*index];
	size_t size = strlen(word);

	if (strncmp(argument, word, size) == 0 && argument[size] == '=')
		return argument + size + 1;
	if (strncmp(argument, letter, 2) == 0 && argument[2] != '\0')
		return argument + 2;
	if (strcmp(argument, letter) != 0 && strcmp(argument, word) != 0)
		return NULL;
	*ret_missing = *index + 1 >= argc || !argv[*index + 1];
	return *ret_missing ? NULL : argv[++*index];
}

static int parse_argument(int argc, char **argv, int *index, struct plan_arguments *ret)
{
	const char *argument = argv[*index], *value;
	bool missing = false;

	if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
		ret->help = true;
	} else if (strcmp(argument, "--debug") == 0) {
		ret->debug = true;
	} else if ((value = flag_value(argc, argv, index, "-f", "--file", &missing))) {
		ret->file = value;
	} else if ((value = flag_value(argc, argv, index, "-o", "--output", &missing))) {
		ret->json = strcmp(value, "json") == 0;
		if (!ret->json && strcmp(value, "text") != 0)
			return usage_error("-o takes text or json, not ", value);
	} else {
		return usage_error(missing ? "a value is missing after " : "unknown argument ",
				   argument);
	}
	return 0;
}

static int parse_arguments(int argc, char **argv, struct plan_arguments *ret)
{
	for (int i = 1; i < argc; i++) {
		if (parse_argument(argc, argv, &i, ret))
			return -1;
	}
	if (!ret->help && !ret->file)
		return usage_error("-f FILE is required", "");
	return 0;
}

static int read_snapshot(const char *path, struct arena *arena, struct snapshot *ret_snapshot,
			 struct err *err)
{
	AUTO(buf_done) struct buf text;
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

	buf_init(&text, SNAPSHOT_BYTES_MAX);
	if (file_read(path, &text, err) ||
	    snapshot_read(buf_string(&text), text.size, arena, ret_snapshot, err))
		return err_prefix(err, "%s", name);
	return 0;
}

static int make_plan(const struct plan_arguments *arguments, struct arena *arena, struct err *err)
{
	AUTO(buf_done) struct buf output;
	struct snapshot snapshot;
	const struct plan *plan;

	buf_init(&output, OUTPUT_BYTES_MAX);
	if (read_snapshot(arguments->file, arena, &snapshot, err))
		return -1;
	plan = decide(&snapshot, arena);
	if (arguments->json ? plan_write(plan, arguments->debug, &output, err) :
			      plan_text_write(plan, arguments->debug, &output, err))
		return -1;
	return file_print(&output, err);
}

int cli_plan(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan_arguments arguments = { .file = NULL };
	struct err err;

	if (parse_arguments(argc, argv, &arguments))
		return EXIT_USAGE;
	if (arguments.help) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	if (make_plan(&arguments, &arena, &err)) {
		fprintf(stderr, "rayscaler plan: %s\n", err.text);
		return EXIT_INPUT;
	}
	return EXIT_DONE;
}
