#include "cli/shared/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/shared/device_file.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/report_colour.h"
#include "cli/shared/table.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/plan_text.h"
#include "codec/objects/snapshot_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"
#include "codec/text/yaml.h"
#include "core/decide.h"

#define OUTPUT_BYTES_MAX ((size_t)1 << 30)

struct plan_arguments {
	const char *file, *devices, *at; /* NULL: not given */
	int output, colour;
	bool debug;
};

static const char help[] =
	"usage: @ plan -f FILE [--at TIME] [-o text|json] [--debug] [flags]\n"
	"Decides for the Snapshot in FILE and prints the Plan: the changes with their\n"
	"reasons. Nothing is read from a cluster, the network or the clock.\n"
	"  -f, --file FILE      YAML or JSON, - is standard input\n"
	"  --at TIME            decide for this time (RFC 3339)\n"
	"  -o, --output FORMAT  text (default) or json\n"
	"  --debug              also print the bundles placed on each worker\n" DEVICE_FILE_HELP
	"                       (replaces the table of the Snapshot)\n"
	"  --color WHEN         auto (default: on a terminal, unless NO_COLOR is set),\n"
	"                       always or never\n"
	"exit status: 0 a plan was made, 1 the input is wrong, 2 wrong usage\n";

/* A file of another kind is a mistake with a known fix. */
static void explain_kind(const struct buf *text, const char *name, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	static const struct json_limits limits = { .bytes = SNAPSHOT_BYTES_MAX,
						   .depth = JSON_DEPTH_MAX,
						   .elements = 10000000 };
	struct err unread;
	struct json_reader reader = { .arena = &arena, .err = &unread };
	static const char *const checked[] = { "RayCluster", "RayJob", "RayService", "RayCronJob" };
	struct json_at root;
	const char *kind, *version;

	if (yaml_or_json_parse(buf_string(text), text->size, &limits, &json, NULL))
		return;
	root = json_root(json, "", &reader);
	if (json_type(&root) != JSON_OBJECT || json_text(&root, "kind", &kind) || *kind == '\0' ||
	    (json_text(&root, "apiVersion", &version) == 0 &&
	     strcmp(version, OWN_GROUP_VERSION) == 0))
		return; /* the reader knows where one of ours belongs */
	if (!text_is_among(kind, checked, sizeof(checked) / sizeof(checked[0]))) {
		err_set(err, ERR_INPUT,
			"is a %.80s and not a Snapshot; write that of a running RayCluster with "
			"\"%s snapshot NAME -o FILE\"",
			kind, help_program());
		return;
	}
	err_set(err, ERR_INPUT,
		"is a %s and not a Snapshot; write that of a running RayCluster with "
		"\"%s snapshot NAME -o FILE\", or check this file with \"%s lint -f %s\"",
		kind, help_program(), help_program(), name);
}

static int read_snapshot(const char *path, struct arena *arena, struct snapshot *ret_snapshot,
			 struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(SNAPSHOT_BYTES_MAX);
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

	if (file_read(path, "a Snapshot, as \"rayscaler snapshot CLUSTER -o FILE\" writes it",
		      &text, err))
		return err_prefix(err, "%s", name);
	if (snapshot_read(buf_string(&text), text.size, arena, ret_snapshot, err) == 0)
		return 0;
	explain_kind(&text, name, err);
	return err_prefix(err, "%s", name);
}

/* Ray's reply stays as old as it is. */
static int set_time(const char *text, struct snapshot *snapshot, struct err *err)
{
	const char *problem;
	time_ms now;

	if (rfc3339_parse(text, &now, &problem))
		return err_set(err, ERR_INPUT, "--at: \"%.40s\" %s", text, problem);
	snapshot->ray_state_time += now - snapshot->now;
	snapshot->now = now;
	return 0;
}

static int make_plan(const struct plan_arguments *arguments, struct arena *arena, struct err *err)
{
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	AUTO(buf_done) struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);
	struct snapshot snapshot;
	const struct plan *plan;

	if (read_snapshot(arguments->file, arena, &snapshot, err))
		return -1;
	if (arguments->devices) {
		if (device_file_read(arguments->devices, arena, &snapshot.device_table, err))
			return -1;
		snapshot_table_changed(&snapshot, arena);
	}
	if (arguments->at && set_time(arguments->at, &snapshot, err))
		return -1;
	plan = decide(&snapshot, arena);
	if (arguments->output == OUTPUT_JSON ? plan_write(plan, arguments->debug, &output, err) :
					       plan_text_write(plan, arguments->debug, &text, err))
		return -1;
	report_colour_add(&output, buf_string(&text), table_colours(arguments->colour),
			  table_terminal_width());
	return file_print(&output, err);
}

int cli_plan(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan_arguments arguments = { .file = NULL };
	const struct flag table[] = {
		{ "-f", "--file", .value = &arguments.file },
		{ "-o", "--output", .words = flags_outputs, .word = &arguments.output },
		{ NULL, "--at", .value = &arguments.at },
		{ NULL, "--debug", .on = &arguments.debug },
		{ NULL, "--device-table", .value = &arguments.devices },
		COLOUR_FLAG(arguments.colour),
	};
	struct flags flags = FLAGS(table);
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	if (!arguments.file)
		return help_usage("plan", "-f FILE is required");
	return make_plan(&arguments, &arena, &err) ? help_failed("plan", &err) : EXIT_DONE;
}
