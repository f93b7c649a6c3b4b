#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/device_file.h"
#include "cli/file.h"
#include "cli/flags.h"
#include "cli/gpus.h"
#include "cli/help.h"
#include "cli/status_json.h"
#include "cli/status_text.h"
#include "cli/table.h"
#include "cli/view.h"
#include "codec/text/rfc3339.h"
#include "codec/text/yaml_write.h"
#include "net/loop.h"

#define OUTPUT_BYTES_MAX ((size_t)256 << 20)
#define WATCH_MS 2000

static const char help[] =
	"usage: @ status [CLUSTER] [-n NS | -A] [-w] [-o table|json|yaml] [flags]\n"
	"       @ status --gpus [-w] [-o table|json|yaml] [flags]\n"
	"Shows the worker groups of RayClusters: limits, replicas and targets, GPUs in\n"
	"use and available, starting Pods, idle times and reasons. Below the table:\n"
	"pending demand, demand that cannot be served, groups in backoff.\n"
	"The running controller provides the data of its next decision. Without one the\n"
	"table is made from the API objects, and names the unknown parts.\n"
	"With --gpus: the accelerators of every Node, by device where known, their users,\n"
	"totals, and free devices that are unusable. Lists all Nodes and Pods.\n"
	"  --gpus                        the inventory of Nodes\n"
	"  --device-table FILE           with --gpus: names of accelerators beside the\n"
	"                                built-in ones\n"
	"  -A, --all-namespaces          all namespaces\n"
	"  -w, --watch                   again every 2 s until Ctrl-C\n"
	"  -o, --output FORMAT           table (default), json or yaml\n"
	"  --color WHEN                  auto (default: on a terminal, unless NO_COLOR is\n"
	"                                set), always or never\n" SESSION_HELP
	"exit status: 0 it was shown, 1 it could not be, 2 wrong usage\n";

#define OUTPUT_TABLE OUTPUT_TEXT
#define OUTPUT_YAML (OUTPUT_JSON + 1)

struct arguments {
	struct api_connection_flags connection;
	const char *name, *color, *devices;
	bool all, watch, gpus;
	int output;
	bool colours;
};

/* ---- one answer ---- */

/* The options of a written answer. */
struct look {
	const struct arguments *arguments;
	struct arena *arena;
	struct buf *output;
};

/* Adds an answer, which is JSON, to the output: as it is, or as YAML. */
static int add_json(const struct look *look, struct buf *json, struct err *err)
{
	if (look->arguments->output == OUTPUT_YAML)
		return yaml_write(buf_string(json), json->size, look->output, err);
	if (buf_add_string(look->output, buf_string(json)) < 0)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       OUTPUT_BYTES_MAX);
	return 0;
}

static int look_at_gpus(const struct look *look, struct connection *connection, struct err *err)
{
	AUTO(gpus_done) struct gpus_answer answer = { .inventory_watch = NULL };
	const struct device_table *devices;
	AUTO(buf_done) struct buf json;

	buf_init(&json, OUTPUT_BYTES_MAX);
	if (device_file_read(look->arguments->devices, look->arena, &devices, err) ||
	    gpus_look(connection, devices, look->arena, &answer, err))
		return -1;
	if (look->arguments->output != OUTPUT_TABLE)
		return gpus_json_write(&answer, &json, err) ? -1 : add_json(look, &json, err);
	gpus_text_write(&answer, look->arguments->colours, look->arena, look->output);
	return 0;
}

/* view NULL: the inventory. */
static int look(const struct arguments *arguments, struct connection *connection, struct view *view,
		struct buf *output, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct look one = { arguments, &arena, output };
	struct view_clusters clusters;
	struct controller controller;
	const struct status_answer answer = {
		.clusters = &clusters,
		.controller = &controller,
		.namespace_ = arguments->all ? NULL : api_connection_namespace(connection),
	};
	AUTO(buf_done) struct buf json;

	buf_init(&json, OUTPUT_BYTES_MAX);
	if (!view)
		return look_at_gpus(&one, connection, err);
	controller_client_find(connection, &arena, &controller);
	view_look(view, &controller, &arena, &clusters);
	if (arguments->output != OUTPUT_TABLE)
		return status_json_write(&answer, &json, err) ? -1 : add_json(&one, &json, err);
	status_text_write(&answer, arguments->colours, &arena, output);
	return 0;
}

/* ---- repeated answers ---- */

static bool never(void *context)
{
	(void)context;
	return false;
}

/* A terminal is overwritten from the top, so that it does not flicker; other outputs append each
 * answer below the last one, with its time. */
static void add_top(struct connection *connection, struct buf *output)
{
	char now[RFC3339_SIZE];

	rfc3339_print(loop_wall(api_connection_loop(connection)) / MS_PER_SECOND * MS_PER_SECOND,
		      now);
	buf_printf(output, "%s%s  every %d s, Ctrl-C ends\n",
		   isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "\n", now, WATCH_MS / 1000);
}

static int watch(const struct arguments *arguments, struct connection *connection,
		 struct view *view, struct err *err)
{
	while (!api_connection_interrupted(connection)) {
		AUTO(buf_done) struct buf output;

		buf_init(&output, OUTPUT_BYTES_MAX);
		add_top(connection, &output);
		if (look(arguments, connection, view, &output, err)) {
			/* The next update may succeed; a view recovers by itself. */
			if (view || api_connection_interrupted(connection))
				return api_connection_interrupted(connection) ? 0 : -1;
			help_warn("status", err->text);
		}
		if (api_connection_interrupted(connection))
			break;
		if (file_print(&output, err))
			return -1;
		(void)api_connection_wait(connection, never, NULL, WATCH_MS);
	}
	return 0;
}

static void done_connection(struct connection **connection)
{
	api_connection_free(*connection);
}

static void done_view(struct view **view)
{
	view_free(*view);
}

static int status(const struct arguments *arguments, struct err *err)
{
	AUTO(done_connection)
	struct connection *connection = api_connection_new(&arguments->connection, err);
	AUTO(done_view) struct view *view = NULL;
	AUTO(buf_done) struct buf output;

	buf_init(&output, OUTPUT_BYTES_MAX);
	if (!connection)
		return -1;
	if (arguments->watch)
		api_connection_catch_signals(connection);
	if (!arguments->gpus)
		view = view_new(connection,
				arguments->all ? NULL : api_connection_namespace(connection),
				arguments->name);
	if (view && view_wait(view, arguments->watch, err))
		return api_connection_interrupted(connection) ? 0 : -1;
	if (arguments->watch)
		return watch(arguments, connection, view, err);
	return look(arguments, connection, view, &output, err) ? -1 : file_print(&output, err);
}

/* ---- arguments ---- */

static int check_arguments(struct arguments *arguments, struct err *err)
{
	if (arguments->gpus &&
	    (arguments->all || arguments->name || arguments->connection.namespace_))
		return err_set(
			err, ERR_INPUT,
			"--gpus shows all Nodes: it cannot be combined with -A, -n or CLUSTER");
	if (arguments->devices && !arguments->gpus)
		return err_set(err, ERR_INPUT,
			       "--device-table is valid only with --gpus: elsewhere the "
			       "controller's counts");
	if (arguments->all && (arguments->name || arguments->connection.namespace_))
		return err_set(err, ERR_INPUT, "-A cannot be combined with -n or CLUSTER");
	if (arguments->watch && arguments->output != OUTPUT_TABLE)
		return err_set(err, ERR_INPUT, "--watch shows the table only");
	if (table_colours(arguments->color, &arguments->colours))
		return err_set(err, ERR_INPUT, "--color takes auto, always or never, not %.80s",
			       arguments->color);
	return 0;
}

int cli_status(int argc, char **argv)
{
	static const char *const outputs[] = { "table", "json", "yaml", NULL };
	struct arguments arguments = { .name = NULL };
	const struct flag table[] = {
		{ "-A", "--all-namespaces", .on = &arguments.all },
		{ NULL, "--gpus", .on = &arguments.gpus },
		{ NULL, "--device-table", .value = &arguments.devices },
		{ "-w", "--watch", .on = &arguments.watch },
		{ "-o", "--output", .words = outputs, .word = &arguments.output },
		{ NULL, "--color", .value = &arguments.color },
		SESSION_FLAGS(arguments.connection),
	};
	struct flags flags = { .at = table,
			       .count = sizeof(table) / sizeof(table[0]),
			       .operand_name = "CLUSTER",
			       .operand = &arguments.name };
	struct err err;
	int exit;

	if (!help_begin(&flags, help, argc, argv, &exit))
		return exit;
	if (check_arguments(&arguments, &err))
		return help_usage("status", err.text);
	return status(&arguments, &err) ? help_failed("status", &err) : EXIT_DONE;
}
