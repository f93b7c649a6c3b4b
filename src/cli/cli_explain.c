#include "cli/shared/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/gpu_holders.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/report_colour.h"
#include "cli/shared/table.h"
#include "cli/shared/view.h"
#include "cli/status_text.h"
#include "codec/objects/gpu_holders_json.h"
#include "codec/objects/plan_text.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"

#define OUTPUT_BYTES_MAX ((size_t)256 << 20)

static const char help[] =
	"usage: @ explain CLUSTER [-n NS] [-o text|json] [flags]\n"
	"Explains one RayCluster: the worker for each pending bundle, the reason for each\n"
	"bundle that cannot be served, the reason why each worker is kept or terminated,\n"
	"the groups in backoff, and the actors and tasks that hold the GPUs.\n"
	"The running controller provides the data of its next decision. Without one the\n"
	"answer is the last status of the RayClusterAutoscaler.\n"
	"  -o, --output FORMAT           text (default) or json, the form of \"plan\"\n" COLOUR_HELP
		SESSION_HELP
	"exit status: 0 it was explained, 1 it could not be, 2 wrong usage, 3 it is the\n"
	"last status: no controller decides, nothing scales now\n";

static const char *source_line(const struct view_one *one, struct arena *arena)
{
	char when[RFC3339_SIZE];

	rfc3339_print(one->cluster->summary->decided_at, when);
	if (one->cluster->answer && *one->cluster->where != '\0')
		return arena_printf(arena, "as its sidecar sees it (%s) at %s", one->cluster->where,
				    when);
	if (one->cluster->answer)
		return arena_printf(arena, "as the controller sees it (%s, version %s) at %s",
				    one->controller.where, one->controller.version, when);
	return arena_printf(arena,
			    "from the API objects, without bundles and workers; \"rayscaler "
			    "snapshot\" and \"rayscaler plan\" decide from them: %s",
			    one->cluster->problem);
}

/* The plan of the answer with the holders of GPUs, when they are known. */
static int write_json(const struct view_cluster *cluster, const struct gpu_holders *holders,
		      struct buf *output, struct err *err)
{
	static const struct json_limits limits = { .bytes = OUTPUT_BYTES_MAX,
						   .depth = JSON_WRITE_DEPTH_MAX,
						   .elements = 4000000 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_writer writer;
	struct json_at root, plan;

	if (json_parse(cluster->answer, cluster->answer_size, &limits, &json, err))
		return -1;
	root = json_root(json, "", NULL);
	plan = json_member(&root, "plan");
	json_write_init(&writer, output, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	for (struct json_at e = json_first(&plan); e.json; json_next(&e))
		json_write_tree(&writer, e.name, &e);
	if (*holders->problem == '\0')
		field_write_object(&writer, "gpuHolders", gpu_holders_fields, holders);
	json_write_object_end(&writer);
	buf_add_char(output, '\n');
	return 0;
}

static void write_text(const struct view_one *one, const struct gpu_holders *holders, bool colours,
		       struct arena *arena, struct buf *output)
{
	const struct view_cluster *cluster = one->cluster;
	const struct status_answer status = { .clusters = &one->clusters,
					      .namespace_ = cluster->namespace_,
					      .width = table_width() };
	AUTO(buf_done) struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	plan_text_cluster(&text, cluster->namespace_, cluster->name);
	text_add_line(&text, "%s", source_line(one, arena));
	if (cluster->answer) {
		text_add_clean_lines(&text, cluster->explanation);
		gpu_holders_text(holders, arena, &text);
	} else {
		status_text_write(&status, false, arena, &text);
	}
	report_colour_add(output, buf_string(&text), colours, table_terminal_width());
	output->overflowed = output->overflowed || text.overflowed;
}

/* The exit status; -1: an error. */
static int explain(const struct api_connection_flags *flags, const char *name, bool json,
		   bool colours, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(view_one_done) struct view_one one = { .connection = NULL };
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	struct cluster_holders own;

	if (view_one_open(flags, name, VIEW_STATUS, &arena, &one, err))
		return -1;
	own = (struct cluster_holders){ .namespace_ = one.cluster->namespace_,
					.name = one.cluster->name };
	if (one.cluster->answer)
		gpu_holders_ask(one.connection, one.cluster->from, &own, 1, &arena);
	if (json && !one.cluster->answer)
		return err_set(err, ERR_RETRY, "no plan: %s", source_line(&one, &arena));
	if (json && *own.holders.problem)
		help_warn("explain", arena_printf(&arena, "who holds the GPUs is unknown: %s",
						  own.holders.problem));
	if (json && write_json(one.cluster, &own.holders, &output, err))
		return -1;
	if (!json)
		write_text(&one, &own.holders, colours, &arena, &output);
	if (output.overflowed)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       OUTPUT_BYTES_MAX);
	if (file_print(&output, err))
		return -1;
	return one.cluster->unscaled ? EXIT_UNSCALED : EXIT_DONE;
}

int cli_explain(int argc, char **argv)
{
	struct api_connection_flags connection = { .namespace_ = NULL };
	const char *name = NULL;
	int output = OUTPUT_TEXT, colour = 0, status;
	const struct flag table[] = {
		{ "-o", "--output", .words = flags_outputs, .word = &output },
		COLOUR_FLAG(colour),
		SESSION_FLAGS(connection),
	};
	struct flags flags = FLAGS_CLUSTER(table, name, true);
	struct err err;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	status = explain(&connection, name, output == OUTPUT_JSON, table_colours(colour), &err);
	return status < 0 ? help_failed("explain", &err) : status;
}
