/* The commands adopt and release. */
#include "cli/shared/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/adoption.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/missing.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/objects/pod_json.h"
#include "codec/text/json.h"
#include "codec/text/text.h"
#include "core/model/autoscaler_container.h"
#include "core/model/kubernetes.h"
#include "kube/kube_path.h"

#define OUTPUT_BYTES_MAX ((size_t)64 << 20)
#define PATCH_BYTES_MAX ((size_t)4 << 20)

#define FLAGS_HELP                                                                                 \
	"  --all                         all RayClusters of the namespace\n"                       \
	"  --yes                         write the change\n" API_HELP                              \
	"exit status: 0 it was shown or written, 1 it could not be, 2 wrong usage\n"

static const char adopt_help[] =
	"usage: @ adopt CLUSTER|--all [-n NS] [--yes] [flags]\n"
	"Parks the container autoscaler, so that the controller scales the RayCluster.\n"
	"Shows the lines of spec.autoscalerOptions as a diff, and the effect of a new\n"
	"head Pod. Deletes no Pod. Needs KubeRay 1.7.\n" FLAGS_HELP;

static const char release_help[] =
	"usage: @ release CLUSTER|--all [-n NS] [--yes] [flags]\n"
	"The reverse of \"@ adopt\", also for a sidecar: Ray's autoscaler scales\n"
	"the RayCluster from its next head Pod on.\n" FLAGS_HELP;

struct arguments {
	struct api_connection_flags connection;
	const char *command, *name;
	bool release, all, yes;
};

/* One call. */
struct run {
	const struct arguments *arguments;
	struct connection *connection;
	struct buf output;
	size_t clusters; /* that were read */
	size_t changes;  /* of them with a line to change */
	bool failed;     /* one of them was not changed for a reason that the user removes */
};

static int parse_object(const char *text, size_t size, struct cJSON **ret_json, struct err *err)
{
	static const struct json_limits limits = { .bytes = FOREIGN_OBJECT_MAX_BYTES,
						   .depth = 200,
						   .elements = 1000000,
						   .foreign = true };

	return json_parse(text, size, &limits, ret_json, err);
}

/* An API server with the CRD of an older KubeRay drops members that it does not know. */
static int check_written(const struct run *run, const struct fetch *fetch, struct arena *arena,
			 struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct adoption now;

	if (parse_object(fetch->text, fetch->size, &json, err) ||
	    adoption_make(json, run->arguments->release, arena, &now, err))
		return -1;
	if (run->arguments->release ||
	    autoscaler_options_run(&now.cluster) == AUTOSCALER_RUNS_NOTHING)
		return 0;
	return err_set(
		err, ERR_INPUT,
		"RayCluster %s/%s: the API server drops command and args of "
		"spec.autoscalerOptions, as with KubeRay before 1.7, so nothing was written: "
		"set image to that of rayscaler and env RAYSCALER_MODE to park",
		now.cluster.namespace_, now.cluster.name);
}

static int send_patch(const struct run *run, const char *path, const char *body,
		      struct arena *arena, struct err *err)
{
	AUTO(fetch_done)
	struct fetch fetch = { .path = path, .verb = KUBE_JSON_PATCH, .body = body };

	if (api_connection_fetch_one(run->connection, &fetch, err))
		return -1;
	return check_written(run, &fetch, arena, err);
}

/* A dry run first: resources that fit a container that sleeps must not be written without its
 * command. */
static int write_change(const struct run *run, const struct adoption *adoption, struct arena *arena,
			struct err *err)
{
	AUTO(buf_done) struct buf body = BUF_INIT(PATCH_BYTES_MAX);
	const struct ray_cluster *cluster = &adoption->cluster;
	const char *path = kube_path(arena, RAY_API_VERSION, cluster->namespace_, "rayclusters",
				     cluster->name, NULL);
	const char *dry = kube_path_query(arena, path, "dryRun", "All");

	adoption_write_patch(adoption, &body);
	if (body.overflowed)
		return err_set(err, ERR_LIMIT,
			       "spec.autoscalerOptions of %s/%s has more than %zu bytes",
			       cluster->namespace_, cluster->name, PATCH_BYTES_MAX);
	if (send_patch(run, dry, buf_string(&body), arena, err) ||
	    send_patch(run, path, buf_string(&body), arena, err))
		return -1;
	return 0;
}

/* The lines are there; the Pod that they are for may be older. */
static void compare_head(const struct run *run, struct adoption *adoption, struct arena *arena)
{
	AUTO(json_done) struct cJSON *json = NULL;
	const struct ray_cluster *cluster = &adoption->cluster;
	AUTO(fetch_done)
	struct fetch fetch = { .path = kube_path(arena, "v1", cluster->namespace_, "pods",
						 cluster->head_pod_name, NULL) };
	struct err err;
	struct pod pod;
	bool readable;

	if (*cluster->head_pod_name == '\0')
		return;
	readable = api_connection_fetch_one(run->connection, &fetch, &err) == 0 &&
		   parse_object(fetch.text, fetch.size, &json, &err) == 0 &&
		   pod_decode(json, "", arena, &pod, &err) == 0;
	if (readable || err.kind != ERR_NOT_FOUND)
		adoption_compare_head(adoption, run->arguments->release, readable ? &pod : NULL);
}

static int change_parsed(struct run *run, const char *text, size_t size, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct adoption adoption;

	if (parse_object(text, size, &json, err) ||
	    adoption_make(json, run->arguments->release, &arena, &adoption, err))
		return -1;
	run->changes += !adoption.unchanged;
	if (adoption.refused && run->arguments->name)
		return err_set(err, ERR_INPUT, "RayCluster %s/%s: %s", adoption.cluster.namespace_,
			       adoption.cluster.name, adoption.unchanged);
	if (adoption.unchanged && !adoption.refused)
		compare_head(run, &adoption, &arena);
	adoption_write_text(&adoption, &run->output);
	if (adoption.unchanged || !run->arguments->yes)
		return 0;
	if (write_change(run, &adoption, &arena, err))
		return -1;
	buf_add_string(&run->output, "written\n");
	return 0;
}

/* Of a list one item, with `problem` when it is too large. */
static void change_cluster(void *context, const char *text, size_t size, const char *problem)
{
	struct run *run = context;
	struct err err;

	run->clusters++;
	if (problem ? err_set(&err, ERR_LIMIT, "a RayCluster cannot be read: %s", problem) :
		      change_parsed(run, text, size, &err)) {
		run->failed = true;
		help_failed(run->arguments->command, &err);
	}
}

static int change_all(struct run *run, const struct fetch *fetch, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct list_stream stream;
	struct list_page page;
	const char *none;
	int status;

	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, change_cluster, run);
	list_stream_feed(&stream, fetch->text, fetch->size);
	status = list_stream_end(&stream, &arena, &page, err);
	list_stream_done(&stream);
	if (status == 0 && run->clusters == 0) {
		status = missing_any(run->connection, api_connection_namespace(run->connection),
				     &arena, &none, err);
		if (status == 0)
			text_add_line(&run->output, "%s", none);
	}
	return status;
}

static int read_and_change(struct run *run, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *name = run->arguments->name;
	AUTO(fetch_done)
	struct fetch fetch = {
		.path = kube_path(&arena, RAY_API_VERSION,
				  api_connection_namespace(run->connection), "rayclusters", name,
				  NULL),
	};
	int status = api_connection_fetch_one(run->connection, &fetch, err);
	struct err ignored;

	if (status == 0 && name)
		change_cluster(run, fetch.text, fetch.size, NULL);
	else if (status == 0)
		status = change_all(run, &fetch, err);
	else if (err->kind == ERR_NOT_FOUND && name)
		status = missing_cluster(run->connection, api_connection_namespace(run->connection),
					 name, err);
	else if (err->kind == ERR_NOT_FOUND)
		status = missing_any(run->connection, api_connection_namespace(run->connection),
				     &arena, &name, err);
	if (run->changes > 0 && !run->arguments->yes)
		buf_add_string(&run->output, "nothing was written; --yes writes it\n");
	/* After an error too, what was done before it is shown. */
	return file_print(&run->output, status ? &ignored : err) || status ? -1 : 0;
}

static int adopt(const struct arguments *arguments)
{
	struct err err;
	struct run run = { .arguments = arguments,
			   .connection = api_connection_new(&arguments->connection, &err),
			   .output = BUF_INIT(OUTPUT_BYTES_MAX) };
	int status;

	if (!run.connection)
		return help_failed(arguments->command, &err);
	status = read_and_change(&run, &err) ? help_failed(arguments->command, &err) :
					       (int)(run.failed ? EXIT_INPUT : EXIT_DONE);
	buf_done(&run.output);
	api_connection_free(run.connection);
	return status;
}

static int parse_and_run(int argc, char **argv, bool release)
{
	struct arguments arguments = { .command = argv[0], .release = release };
	const struct flag table[] = {
		{ NULL, "--all", .on = &arguments.all },
		{ NULL, "--yes", .on = &arguments.yes },
		API_FLAGS(arguments.connection),
	};
	struct flags flags = FLAGS_CLUSTER(table, arguments.name, false);
	int status;

	if (!help_begin(&flags, release ? release_help : adopt_help, argc, argv, &status))
		return status;
	if (arguments.all && arguments.name)
		return help_usage(arguments.command,
				  "CLUSTER cannot be combined with --all; leave one out");
	if (!arguments.all && !arguments.name)
		return help_usage(arguments.command, "one of CLUSTER and --all is required");
	return adopt(&arguments);
}

int cli_adopt(int argc, char **argv)
{
	return parse_and_run(argc, argv, false);
}

int cli_release(int argc, char **argv)
{
	return parse_and_run(argc, argv, true);
}
