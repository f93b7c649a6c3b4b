#include "cli/shared/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/simulate_objects.h"
#include "cli/shared/view.h"
#include "codec/text/duration.h"
#include "feature/record/cli/ray_direct.h"
#include "feature/record/cli/recorder.h"
#include "feature/record/objects/ray_work_json.h"
#include "feature/record/objects/recording.h"
#include "feature_cli.h"

#define POLL_MS 10000
#define SINCE_MAX_MS (INT64_C(366) * 86400 * 1000)
#define SUMMARY_BYTES_MAX ((size_t)1 << 20)

static const char help[] =
	"usage: @ record CLUSTER [-n NS] [--since 24h] [--follow] -o FILE [flags]\n"
	"Writes the work that Ray lists, with its times and resources, the RayCluster,\n"
	"its GPUPools, and how long Pods and processes took to start, for \"simulate\";\n"
	"no names, commands and environments of the work.\n"
	"  --since DURATION              how far back; default 24h\n"
	"  --follow                      every 10 s until Ctrl-C: keeps what Ray forgets\n"
	"  -o, --output FILE             is replaced\n"
	"  --gcs head|IP:PORT            asks Ray itself, not the controller; head: in\n"
	"                                the head Pod, IP:PORT: with port-forward\n" SESSION_HELP
	"exit status: 0 it was written, 1 it could not be, 2 wrong usage\n";

struct arguments {
	struct api_connection_flags connection;
	const char *name, *since, *path, *gcs;
	bool follow;
	int64_t since_ms;
};

/* ---- one answer ---- */

static int ask_work(struct connection *connection, const struct view_cluster *cluster,
		    struct arena *arena, struct ray_work_page *ret_page, struct err *err)
{
	AUTO(fetch_done) struct fetch fetch = { .path = NULL };

	if (!cluster->answer)
		return err_set(err, ERR_RETRY, "the work is unknown: %s", cluster->problem);
	controller_client_address(cluster->from, arena, "work", cluster->namespace_, cluster->name,
				  &fetch);
	if (api_connection_fetch_one(connection, &fetch, err) ||
	    ray_work_read(fetch.text, fetch.size, arena, ret_page, err))
		return -1;
	return *ret_page->problem == '\0' ?
		       0 :
		       err_set(err, ERR_RETRY, "the work is unknown: %s", ret_page->problem);
}

/* The source of answers, and their recording. */
struct recording_to {
	const struct arguments *arguments;
	struct view_one *one;
	struct ray_direct *direct; /* NULL: the controller is asked */
	struct recorder *recorder;
	struct buf *summary, *objects;
};

/* Adds an answer and writes the file. */
/* By way of PATH.part: at any time there is a whole file, the old or the new one. */
static int replace_file(const char *path, const struct buf *buf, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *part = arena_printf(&arena, "%s.part", path);

	(void)unlink(part);
	if (file_write(part, FILE_PRIVATE, buf, err))
		return -1;
	if (rename(part, path) == 0)
		return 0;
	err_set(err, ERR_INPUT, "%s: cannot be replaced: %s", path, strerror(errno));
	(void)unlink(part);
	return -1;
}

static int record_once(const struct recording_to *to, const struct view_cluster *cluster,
		       struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf file = BUF_INIT(RECORDING_BYTES_MAX);
	struct snapshot snapshot = cluster->snapshot;
	struct ray_work_page page;

	if (to->direct ? ray_direct_read(to->direct, &snapshot, &arena, &page, err) :
			 ask_work(to->one->connection, cluster, &arena, &page, err))
		return -1;
	recorder_add(to->recorder, &snapshot, &page);
	buf_clear(to->summary);
	buf_add_string(&file, buf_string(to->objects));
	return recorder_write(to->recorder, &snapshot, &file, to->summary, err) ||
			       replace_file(to->arguments->path, &file, err) ?
		       -1 :
		       0;
}

/* Once: what cannot be read is missing. */
static void add_objects(const struct recording_to *to)
{
	static const struct simulate_objects *const objects[] = { FEATURE_SIMULATE_OBJECTS NULL };
	const struct ray_cluster *cluster = &to->one->cluster->snapshot.cluster;
	struct err err;

	for (size_t i = 0; objects[i]; i++)
		if (objects[i]->record &&
		    objects[i]->record(to->one->connection, cluster, to->objects, &err))
			help_warn("record", err.text);
}

/* ---- again ---- */

static int look_again(const struct recording_to *to, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct controller controller = { .problem = "" };
	struct view_clusters clusters;

	if (!to->direct && controller_client_open(to->one->connection, &arena, &controller, err))
		return -1;
	view_look(to->one->view, &controller, &arena, &clusters);
	if (clusters.count == 0)
		return err_set(err, ERR_NOT_FOUND, "RayCluster %s is deleted", to->arguments->name);
	return record_once(to, &clusters.at[0], err);
}

/* A failure is printed once, because the next answer may succeed. A deleted RayCluster ends it, and
 * a recording that is too large. */
static int follow(const struct recording_to *to, struct err *err)
{
	struct connection *connection = to->one->connection;
	bool failed = false;

	while (!api_connection_wait(connection, NULL, NULL, POLL_MS) &&
	       !api_connection_interrupted(connection)) {
		if (look_again(to, err) == 0) {
			failed = false;
			continue;
		}
		if (api_connection_interrupted(connection))
			break;
		if (err->kind == ERR_NOT_FOUND || err->kind == ERR_LIMIT || err->kind == ERR_FATAL)
			return -1;
		if (!failed)
			help_warn("record", err->text);
		failed = true;
	}
	return 0;
}

static void done_recorder(struct recorder **recorder)
{
	recorder_free(*recorder);
}

static void done_direct(struct ray_direct **direct)
{
	ray_direct_free(*direct);
}

static int record(const struct arguments *arguments, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(view_one_done) struct view_one one = { .connection = NULL };
	AUTO(done_direct) struct ray_direct *direct = NULL;
	AUTO(done_recorder) struct recorder *recorder = recorder_new(arguments->since_ms);
	AUTO(buf_done) struct buf summary = BUF_INIT(SUMMARY_BYTES_MAX);
	AUTO(buf_done) struct buf objects = BUF_INIT(SUMMARY_BYTES_MAX);
	struct recording_to to = { arguments, &one, NULL, recorder, &summary, &objects };

	if (view_one_open(&arguments->connection, arguments->name,
			  arguments->gcs ? VIEW_OBJECTS : VIEW_SNAPSHOT, &arena, &one, err))
		return -1;
	if (arguments->gcs)
		direct = ray_direct_new(one.connection, arguments->gcs);
	to.direct = direct;
	add_objects(&to);
	if (record_once(&to, one.cluster, err))
		return -1;
	if (arguments->follow) {
		api_connection_catch_signals(one.connection);
		if (follow(&to, err))
			return -1;
	}
	return file_print(&summary, err);
}

int cli_record(int argc, char **argv)
{
	struct arguments arguments = { .since = "24h" };
	const struct flag table[] = {
		{ NULL, "--since", .value = &arguments.since },
		{ NULL, "--follow", .on = &arguments.follow },
		{ "-o", "--output", .value = &arguments.path },
		{ NULL, "--gcs", .value = &arguments.gcs },
		SESSION_FLAGS(arguments.connection),
	};
	struct flags flags = FLAGS_CLUSTER(table, arguments.name, true);
	const char *problem = NULL;
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	if (!arguments.path)
		return help_usage("record", "-o FILE is required");
	if (duration_parse(arguments.since, &arguments.since_ms, &problem) ||
	    arguments.since_ms > SINCE_MAX_MS) {
		err_set(&err, ERR_INPUT, "--since: \"%.40s\" %s", arguments.since,
			problem ? problem : "is more than 366d");
		return help_usage("record", err.text);
	}
	if (arguments.gcs && ray_direct_check(arguments.gcs, &err))
		return help_usage("record", err.text);
	return record(&arguments, &err) ? help_failed("record", &err) : EXIT_DONE;
}
