#include "cli/shared/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/gpus.h"
#include "cli/shared/device_file.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/missing.h"
#include "cli/shared/status_page.h"
#include "cli/shared/table.h"
#include "cli/shared/view.h"
#include "cli/status_changes.h"
#include "cli/status_text.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/summary_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/rfc3339.h"
#include "codec/text/yaml_write.h"
#include "feature_cli.h"
#include "net/loop.h"

#define OUTPUT_BYTES_MAX ((size_t)256 << 20)
#define WATCH_MS 2000

/* Of the features. */
static const struct status_page *const pages[] = { FEATURE_STATUS_PAGES NULL };

#define PAGE_SLOTS (sizeof(pages) / sizeof(pages[0]))

/* The pages' lines come behind each part. */
static const char help_usage_lines[] =
	"usage: @ status [CLUSTER] [-n NS | -A] [-w] [-o table|json|yaml] [flags]\n"
	"       @ status --gpus [-w] [-o table|json|yaml] [flags]\n";
static const char help_description[] =
	"Shows the worker groups of RayClusters: limits, replicas and targets, GPUs in\n"
	"use and available, starting Pods, idle times and reasons. Below the table:\n"
	"pending demand, demand that cannot be served, groups in backoff.\n"
	"The running controller provides the data of its next decision. Without one the\n"
	"table has the last status of the RayClusterAutoscaler, and ? for the unknown.\n"
	"With --gpus: the accelerators of every Node, by device where known, their users\n"
	"with the actors and tasks that hold them (not with -w), totals, and free devices\n"
	"that are unusable. Lists all Nodes and Pods.\n";
static const char help_gpus[] = "  --gpus                        the inventory of Nodes\n";
static const char help_flags[] =
	"  --device-table FILE           with --gpus: names of accelerators beside the\n"
	"                                built-in ones\n"
	"  -A, --all-namespaces          all namespaces\n"
	"  -w, --watch                   again every 2 s until Ctrl-C, on a terminal\n"
	"                                with the last changes below\n"
	"  -o, --output FORMAT           table (default), json or yaml\n" COLOUR_HELP SESSION_HELP
	"exit status: 0 it was shown, 1 it could not be, 2 wrong usage, 3 it was shown,\n"
	"and no controller decides: the figures are old and nothing scales now (not -w)\n";

#define OUTPUT_TABLE OUTPUT_TEXT
#define OUTPUT_YAML (OUTPUT_JSON + 1)

struct arguments {
	struct api_connection_flags connection;
	const char *name, *devices;
	bool all, watch, gpus;
	bool page_on[PAGE_SLOTS];
	const char *page_value[PAGE_SLOTS];
	const struct status_page *page; /* NULL: the table, or the inventory */
	const char *value;
	int output, colour;
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
	if (!json->overflowed && look->arguments->output == OUTPUT_YAML)
		return yaml_write(buf_string(json), json->size, look->output, err);
	if (json->overflowed || buf_add_string(look->output, buf_string(json)) < 0)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       OUTPUT_BYTES_MAX);
	return 0;
}

static const struct field controller_fields[] = {
	FIELD_BOOLEAN(struct controller, found, "reached", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct controller, where, "where", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct controller, version, "version", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct controller, problem, "problem", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct controller, ceilings, ceiling_count, controller_client_ceiling_fields,
		   "gpuCeilings", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};

static void write_source(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct view_cluster *cluster = object;

	json_write_text(writer, field->name,
			!cluster->answer          ? "objects" :
			cluster->where[0] != '\0' ? "sidecar" :
						    "controller");
}

static void write_summary(struct json_writer *writer, const struct field *field UNUSED,
			  const void *object)
{
	summary_write(writer, ((const struct view_cluster *)object)->summary);
}

static const struct field cluster_fields[] = {
	FIELD_TEXT(struct view_cluster, namespace_, "namespace", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct view_cluster, name, "name", .flags = FIELD_ALWAYS),
	FIELD_HOOK("source", .write = write_source),
	FIELD_BOOLEAN(struct view_cluster, unscaled, "unscaled", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct view_cluster, problem, "problem", .flags = FIELD_ALWAYS),
	FIELD_HOOK("summary", .write = write_summary),
	FIELD_END,
};

static const struct field clusters_fields[] = {
	FIELD_COUNT(struct view_clusters, unreadable, "unreadable", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct view_clusters, at, count, cluster_fields, "clusters",
		   .flags = FIELD_ALWAYS),
	FIELD_END,
};

static void write_clusters(struct json_writer *writer, const struct field *field UNUSED,
			   const void *object)
{
	field_write_all(writer, clusters_fields, ((const struct status_answer *)object)->clusters);
}

/* docs/COMMANDS.md describes it; the buffer's ceiling is checked by add_json. */
static const struct field answer_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", "StatusList"),
	FIELD_POINTER(struct status_answer, controller, controller_fields, "controller",
		      .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_HOOK("clusters", .write = write_clusters),
	FIELD_END,
};

static int look_at_gpus(const struct look *look, struct connection *connection, struct err *err)
{
	AUTO(gpus_done) struct gpus_answer answer = { .inventory_watch = NULL };
	const struct device_table *devices;
	AUTO(buf_done) struct buf json = BUF_INIT(OUTPUT_BYTES_MAX);

	if (device_file_read(look->arguments->devices, look->arena, &devices, err) ||
	    gpus_look(connection, devices, look->arena, &answer, err) ||
	    (!look->arguments->watch && gpus_ask_holders(connection, look->arena, &answer, err)))
		return -1;
	if (look->arguments->output != OUTPUT_TABLE)
		return gpus_json_write(&answer, &json, err) ? -1 : add_json(look, &json, err);
	gpus_text_write(&answer, table_colours(look->arguments->colour), look->arena, look->output);
	return 0;
}

/* Of the command that shows them. */
static int status_of(const struct view_clusters *clusters)
{
	return clusters->unscaled > 0 ? EXIT_UNSCALED : EXIT_DONE;
}

/* A page asks no controller for figures: only where none is found, whether sidecars answer. */
static int look_at_page(const struct look *look, struct connection *connection, struct view *view,
			struct err *err)
{
	const struct arguments *arguments = look->arguments;
	struct view_clusters clusters = { .outdated = "" };
	struct status_page_input input = {
		.view = view,
		.clusters = &clusters,
		.value = arguments->value,
		.now = loop_wall(api_connection_loop(connection)),
		.colours = table_colours(arguments->colour),
		.width = table_width(),
	};
	struct controller controller;
	AUTO(buf_done) struct buf json = BUF_INIT(OUTPUT_BYTES_MAX);

	if (arguments->page->read) {
		if (arguments->page->read(connection, look->arena, &input.objects, err))
			return -1;
	} else if (controller_client_open(connection, look->arena, &controller, err) &&
		   !arguments->watch) {
		return -1;
	} else if (!controller.found) {
		view_look(view, &controller, look->arena, &clusters);
	}
	if (arguments->output == OUTPUT_TABLE) {
		arguments->page->write_text(&input, look->arena, look->output);
		return status_of(&clusters);
	}
	arguments->page->write_json(&input, look->arena, &json);
	return add_json(look, &json, err) ? -1 : status_of(&clusters);
}

/* EXIT_DONE or EXIT_UNSCALED; -1: an error. view NULL: the inventory, or a page with read();
 * changes NULL: none are shown. */
static int look(const struct arguments *arguments, struct connection *connection, struct view *view,
		struct status_changes *changes, struct buf *output, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct look one = { arguments, &arena, output };
	struct view_clusters clusters;
	struct controller controller;
	struct status_answer answer = {
		.none = "there are no RayClusters",
		.clusters = &clusters,
		.controller = &controller,
		.namespace_ = arguments->all ? NULL : api_connection_namespace(connection),
		.width = table_width(),
	};
	AUTO(buf_done) struct buf json = BUF_INIT(OUTPUT_BYTES_MAX);

	if (arguments->page)
		return look_at_page(&one, connection, view, err);
	if (!view)
		return look_at_gpus(&one, connection, err);
	if (controller_client_open(connection, &arena, &controller, err) && !arguments->watch)
		return -1;
	view_look(view, &controller, &arena, &clusters);
	if (arguments->output != OUTPUT_TABLE) {
		field_write_page(answer_fields, &answer, &json);
		return add_json(&one, &json, err) ? -1 : status_of(&clusters);
	}
	if (clusters.count == 0 && !arguments->watch &&
	    missing_any(connection, answer.namespace_, &arena, &answer.none, err))
		return -1;
	status_text_write(&answer, table_colours(arguments->colour), &arena, output);
	if (changes) {
		status_changes_update(changes, &clusters,
				      loop_wall(api_connection_loop(connection)));
		status_changes_write(changes, table_colours(arguments->colour), output);
	}
	return status_of(&clusters);
}

/* ---- repeated answers ---- */

static void add_top(struct connection *connection, struct buf *output)
{
	char now[RFC3339_SIZE];

	rfc3339_print(loop_wall(api_connection_loop(connection)) / MS_PER_SECOND * MS_PER_SECOND,
		      now);
	buf_printf(output, "%s  every %d s, Ctrl-C ends\n", now, WATCH_MS / 1000);
}

/* A terminal is overwritten from the top, line by line, so that it does not flicker; other outputs
 * append each answer below the last one. */
static int show(const char *answer, bool terminal, struct err *err)
{
	AUTO(buf_done) struct buf output = BUF_INIT(2 * OUTPUT_BYTES_MAX);

	buf_add_string(&output, terminal ? "\033[H" : "\n");
	for (; *answer != '\0'; answer++) {
		if (terminal && *answer == '\n')
			buf_add_string(&output, "\033[K");
		buf_add_char(&output, *answer);
	}
	if (terminal)
		buf_add_string(&output, "\033[J");
	return file_print(&output, err);
}

static int watch(const struct arguments *arguments, struct connection *connection,
		 struct view *view, struct err *err)
{
	AUTO(status_changes_done) struct status_changes changes = { .count = 0 };
	bool terminal = isatty(STDOUT_FILENO);

	while (!api_connection_interrupted(connection)) {
		AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);

		add_top(connection, &output);
		if (look(arguments, connection, view, terminal ? &changes : NULL, &output, err) <
		    0) {
			/* The next update may succeed; a view recovers by itself. */
			if (view || api_connection_interrupted(connection))
				return api_connection_interrupted(connection) ? 0 : -1;
			help_warn("status", err->text);
		}
		if (api_connection_interrupted(connection))
			break;
		if (show(buf_string(&output), terminal, err))
			return -1;
		(void)api_connection_wait(connection, NULL, NULL, WATCH_MS);
	}
	return 0;
}

static void done_view(struct view **view)
{
	view_free(*view);
}

/* The flag of a page that shows no RayClusters; NULL: none. */
static const char *whole_cluster(const struct arguments *arguments)
{
	if (arguments->gpus)
		return "--gpus";
	return arguments->page && arguments->page->read ? arguments->page->flag : NULL;
}

/* As look(). */
static int status(const struct arguments *arguments, struct err *err)
{
	AUTO(api_connection_done)
	struct connection *connection = api_connection_new(&arguments->connection, err);
	AUTO(done_view) struct view *view = NULL;
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	int shown;

	if (!connection)
		return -1;
	if (arguments->watch)
		api_connection_catch_signals(connection);
	if (!whole_cluster(arguments))
		view = view_new(connection,
				arguments->all ? NULL : api_connection_namespace(connection),
				arguments->name, VIEW_STATUS);
	if (view && view_wait(view, arguments->watch, err))
		return api_connection_interrupted(connection) ? 0 : -1;
	if (arguments->watch)
		return watch(arguments, connection, view, err);
	shown = look(arguments, connection, view, NULL, &output, err);
	return shown < 0 || file_print(&output, err) ? -1 : shown;
}

/* ---- arguments ---- */

/* Sets the page that is shown. */
static int choose_page(struct arguments *arguments, struct err *err)
{
	const char *other = arguments->gpus ? "--gpus" : NULL;

	for (size_t i = 0; pages[i]; i++) {
		const struct status_page *page = pages[i];

		if (arguments->page_value[i] && !arguments->page_on[i])
			return err_set(err, ERR_INPUT,
				       "%s is valid only with %s; add it, or remove %s",
				       page->value_flag, page->flag, page->value_flag);
		if (!arguments->page_on[i])
			continue;
		if (other)
			return err_set(err, ERR_INPUT,
				       "%s cannot be combined with %s; leave one out", other,
				       page->flag);
		other = page->flag;
		arguments->page = page;
		arguments->value = arguments->page_value[i];
		if (arguments->value && page->check_value &&
		    page->check_value(arguments->value, err))
			return -1;
		if (arguments->value && page->value_of_all && !arguments->name &&
		    !arguments->connection.namespace_)
			arguments->all |= strcmp(arguments->value, page->value_of_all) == 0;
	}
	return 0;
}

static int check_arguments(const struct arguments *arguments, struct err *err)
{
	const char *flag = whole_cluster(arguments);

	if (flag && (arguments->all || arguments->name || arguments->connection.namespace_))
		return err_set(err, ERR_INPUT,
			       "%s shows %s: it cannot be combined with -A, -n or CLUSTER; leave "
			       "these out",
			       flag, arguments->gpus ? "all Nodes" : "the whole cluster");
	if (arguments->devices && !arguments->gpus)
		return err_set(err, ERR_INPUT,
			       "--device-table is valid only with --gpus: elsewhere the "
			       "controller's counts");
	if (arguments->all && (arguments->name || arguments->connection.namespace_))
		return err_set(err, ERR_INPUT,
			       "-A cannot be combined with -n or CLUSTER; leave -A or these out");
	if (arguments->watch && arguments->output != OUTPUT_TABLE)
		return err_set(err, ERR_INPUT, "--watch shows the table only");
	return 0;
}

/* The help with the lines of the pages. */
static const char *help_text(struct arena *arena)
{
	const char *usage = help_usage_lines, *description = help_description,
		   *switches = help_gpus;

	for (size_t i = 0; pages[i]; i++) {
		usage = arena_printf(arena, "%s%s", usage, pages[i]->usage);
		description = arena_printf(arena, "%s%s", description, pages[i]->description);
		switches = arena_printf(arena, "%s%s", switches, pages[i]->flags);
	}
	return arena_printf(arena, "%s%s%s%s", usage, description, switches, help_flags);
}

int cli_status(int argc, char **argv)
{
	static const char *const outputs[] = { "table", "json", "yaml", NULL };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct arguments arguments = { .name = NULL };
	const struct flag own[] = {
		{ "-A", "--all-namespaces", .on = &arguments.all },
		{ NULL, "--gpus", .on = &arguments.gpus },
		{ NULL, "--device-table", .value = &arguments.devices },
		{ "-w", "--watch", .on = &arguments.watch },
		{ "-o", "--output", .words = outputs, .word = &arguments.output },
		COLOUR_FLAG(arguments.colour),
		SESSION_FLAGS(arguments.connection),
	};
	struct flag table[sizeof(own) / sizeof(own[0]) + 2 * PAGE_SLOTS];
	struct flags flags = FLAGS_CLUSTER(table, arguments.name, false);
	struct err err;
	int exit;

	memcpy(table, own, sizeof(own));
	flags.count = sizeof(own) / sizeof(own[0]);
	for (size_t i = 0; pages[i]; i++) {
		table[flags.count++] =
			(struct flag){ NULL, pages[i]->flag, .on = &arguments.page_on[i] };
		if (pages[i]->value_flag)
			table[flags.count++] = (struct flag){ NULL, pages[i]->value_flag,
							      .value = &arguments.page_value[i] };
	}
	if (!help_begin(&flags, help_text(&arena), argc, argv, &exit))
		return exit;
	if (choose_page(&arguments, &err) || check_arguments(&arguments, &err))
		return help_usage("status", err.text);
	exit = status(&arguments, &err);
	return exit < 0 ? help_failed("status", &err) : exit;
}
