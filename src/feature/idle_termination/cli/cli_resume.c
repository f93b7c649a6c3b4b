#include "cli/shared/commands.h"

#include <string.h>

#include "base/memory.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/missing.h"
#include "core/model/kubernetes.h"
#include "ctl/pass/act.h"
#include "feature/idle_termination/core/suspend.h"
#include "kube/kube_path.h"

#define PATCH_BYTES_MAX ((size_t)64 << 10)
#define OUTPUT_BYTES_MAX ((size_t)64 << 10)
/* Another writer may change the object between the read and the patch. */
#define TRIES 3

static const char help[] =
	"usage: @ resume CLUSTER [-n NS] [flags]\n"
	"Starts a RayCluster that idle termination suspended: sets spec.suspend to false\n"
	"and removes the annotation. KubeRay then makes its head Pod. A RayCluster that\n"
	"a user suspended is left alone.\n" API_HELP
	"exit status: 0 it is not suspended any more, 1 it could not be resumed,\n"
	"             2 wrong usage\n";

struct arguments {
	struct api_connection_flags connection;
	const char *name;
};

static int read_cluster(struct connection *connection, const char *path, struct arena *arena,
			struct ray_cluster *ret_cluster, struct err *err)
{
	AUTO(fetch_done) struct fetch fetch = { .path = path };

	return api_connection_fetch_one(connection, &fetch, err) ||
			       act_decode_cluster(fetch.text, fetch.size, arena, ret_cluster, err) ?
		       -1 :
		       0;
}

/* The tests refuse a cluster that a user resumed, or suspended again, after it was read. */
static int send_patch(struct connection *connection, const char *path,
		      const struct ray_cluster *cluster, struct arena *arena, struct err *err)
{
	AUTO(buf_done) struct buf body = BUF_INIT(PATCH_BYTES_MAX);
	AUTO(fetch_done) struct fetch fetch = { .path = path, .verb = KUBE_JSON_PATCH };
	struct plan plan = { .patch = { .at = NULL } };

	suspend_patch_resume(cluster, arena, &plan);
	if (act_write_patch(&plan, cluster->uid, arena, &body, err))
		return err_set(err, ERR_LIMIT,
			       "annotation " ANNOTATION_SUSPENDED
			       " has more than %zu bytes: remove it",
			       PATCH_BYTES_MAX);
	fetch.body = buf_string(&body);
	return api_connection_fetch_one(connection, &fetch, err);
}

static int refuse_foreign(const struct ray_cluster *cluster, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "RayCluster %s/%s was not suspended by idle termination, but by a "
		       "user; to start it all the same: kubectl patch raycluster -n %s %s --type "
		       "merge -p '{\"spec\": {\"suspend\": false}}'",
		       cluster->namespace_, cluster->name, cluster->namespace_, cluster->name);
}

/* One read and one patch; ERR_CONFLICT when the object changed between them. */
static int try_resume(struct connection *connection, const char *path, struct buf *output,
		      struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_cluster cluster;

	if (read_cluster(connection, path, &arena, &cluster, err))
		return -1;
	if (!cluster.suspend) {
		buf_printf(output, "RayCluster %s/%s is not suspended\n", cluster.namespace_,
			   cluster.name);
		return 0;
	}
	if (!ray_cluster_suspended_at(&cluster))
		return refuse_foreign(&cluster, err);
	if (send_patch(connection, path, &cluster, &arena, err))
		return -1;
	buf_printf(output, "RayCluster %s/%s is resumed; KubeRay makes its head Pod\n",
		   cluster.namespace_, cluster.name);
	return 0;
}

static int resume(const struct arguments *arguments, struct connection *connection, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	const char *namespace_ = api_connection_namespace(connection);
	const char *path = kube_path(&arena, RAY_API_VERSION, namespace_, "rayclusters",
				     arguments->name, NULL);
	int failed = -1;

	for (int i = 0; i < TRIES; i++) {
		failed = try_resume(connection, path, &output, err);
		if (!failed || err->kind != ERR_CONFLICT)
			break;
	}
	if (failed && err->kind == ERR_NOT_FOUND)
		return missing_cluster(connection, namespace_, arguments->name, err);
	return failed ? -1 : file_print(&output, err);
}

int cli_resume(int argc, char **argv)
{
	struct arguments arguments = { .name = NULL };
	const struct flag table[] = { API_FLAGS(arguments.connection) };
	struct flags flags = FLAGS_CLUSTER(table, arguments.name, true);
	AUTO(api_connection_done) struct connection *connection = NULL;
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	connection = api_connection_new(&arguments.connection, &err);
	return !connection || resume(&arguments, connection, &err) ? help_failed("resume", &err) :
								     (int)EXIT_DONE;
}
