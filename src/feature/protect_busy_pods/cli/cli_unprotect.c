/* The command unprotect: takes back what the controller wrote on Pods in use, without a controller. */
#include "cli/shared/commands.h"

#include "base/memory.h"
#include "cli/shared/api_connection.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/pod_json.h"
#include "codec/text/json.h"
#include "feature/protect_busy_pods/codec/protect_json.h"
#include "kube/kube_path.h"

#define OUTPUT_BYTES_MAX ((size_t)64 << 20)
/* Another writer may change a Pod between the read and the patch. */
#define TRIES 3

static const char help[] =
	"usage: @ unprotect [-n NS|-A] [--yes] [flags]\n"
	"Removes the annotations of protectBusyPods from Pods, and no annotation of a\n"
	"user: only those that " ANNOTATION_PROTECTED " names, with the value that was\n"
	"written. Before: protectBusyPods false, or no controller.\n"
	"  -A, --all-namespaces          all namespaces\n"
	"  --yes                         write the change\n" API_HELP
	"exit status: 0 it was shown or written, 1 it could not be, 2 wrong usage\n";

struct arguments {
	struct api_connection_flags connection;
	bool all, yes;
};

/* A Pod with annotations of this program. Texts are in the arena of the run. */
struct marked {
	const char *namespace_, *name, *body;
};

struct run {
	const struct arguments *arguments;
	struct connection *connection;
	struct arena arena;
	VEC(struct marked) pods; /* of this round */
	struct buf output;
	size_t unreadable, conflicts;
};

static int parse_pod(const char *text, size_t size, struct arena *arena, struct pod *ret_pod)
{
	static const struct json_limits limits = { .bytes = FOREIGN_OBJECT_MAX_BYTES,
						   .depth = 200,
						   .elements = 1000000,
						   .foreign = true };
	AUTO(json_done) struct cJSON *json = NULL;
	struct err err;

	return json_parse(text, size, &limits, &json, &err) ||
			       pod_decode(json, "", arena, ret_pod, &err) ?
		       -1 :
		       0;
}

static void look_at(void *context, const char *text, size_t size, const char *problem)
{
	struct run *run = context;
	struct protected_pod item;
	struct pod pod;

	if (problem || parse_pod(text, size, &run->arena, &pod) < 0)
		run->unreadable++;
	else if (protect_take_back(&pod, &item))
		VEC_PUSH(&run->arena, &run->pods,
			 ((struct marked){ pod.namespace_, pod.name,
					   protect_patch_body(&item, &run->arena) }));
}

static int list_pods(struct run *run, struct err *err)
{
	const char *namespace_ = run->arguments->all ? NULL :
						       api_connection_namespace(run->connection);
	const char *path = kube_path(&run->arena, "v1", namespace_, "pods", NULL, NULL);

	run->pods.count = 0;
	run->unreadable = run->conflicts = 0;
	path = kube_path_query(&run->arena, path, "labelSelector", LABEL_CLUSTER);
	return api_connection_list(run->connection, path, FOREIGN_OBJECT_MAX_BYTES, look_at, run,
				   &run->arena, err);
}

/* A Pod that changed meanwhile is read again in the next round; a deleted one has none. */
static int take_back(struct run *run, const struct marked *pod, struct err *err)
{
	AUTO(fetch_done)
	struct fetch fetch = { .path = kube_path(&run->arena, "v1", pod->namespace_, "pods",
						 pod->name, NULL),
			       .verb = KUBE_MERGE_PATCH,
			       .body = pod->body };

	if (api_connection_fetch_one(run->connection, &fetch, err) == 0) {
		buf_printf(&run->output, "Pod %s/%s: removed\n", pod->namespace_, pod->name);
		return 0;
	}
	run->conflicts += err->kind == ERR_CONFLICT;
	return err->kind == ERR_CONFLICT || err->kind == ERR_NOT_FOUND ? 0 : -1;
}

static int write_round(struct run *run, struct err *err)
{
	for (size_t i = 0; i < run->pods.count; i++)
		if (take_back(run, &run->pods.at[i], err) < 0)
			return -1;
	return 0;
}

static int unprotect(struct run *run, struct err *err)
{
	int status = list_pods(run, err);

	if (status == 0 && run->pods.count == 0)
		buf_add_string(&run->output, "no Pod has annotations of protectBusyPods\n");
	if (status == 0 && !run->arguments->yes) {
		for (size_t i = 0; i < run->pods.count; i++)
			buf_printf(&run->output, "Pod %s/%s\n", run->pods.at[i].namespace_,
				   run->pods.at[i].name);
		if (run->pods.count > 0)
			buf_add_string(&run->output, "nothing was written; --yes writes it\n");
		return 0;
	}
	for (int i = 0; status == 0 && run->pods.count > 0 && i < TRIES; i++) {
		status = write_round(run, err);
		if (status < 0 || run->conflicts == 0)
			break;
		status = list_pods(run, err);
	}
	if (status == 0 && run->conflicts > 0)
		return err_set(err, ERR_CONFLICT, "%zu Pods changed all the time; try again",
			       run->conflicts);
	if (status == 0 && run->unreadable > 0)
		return err_set(err, ERR_INPUT, "%zu Pods cannot be read, and were left alone",
			       run->unreadable);
	return status;
}

int cli_unprotect(int argc, char **argv)
{
	struct arguments arguments = { .all = false };
	const struct flag table[] = {
		{ "-A", "--all-namespaces", .on = &arguments.all },
		{ NULL, "--yes", .on = &arguments.yes },
		API_FLAGS(arguments.connection),
	};
	struct flags flags = FLAGS(table);
	AUTO(api_connection_done) struct connection *connection = NULL;
	struct run run = { .arguments = &arguments, .output = BUF_INIT(OUTPUT_BYTES_MAX) };
	struct err err, ignored;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	run.connection = connection = api_connection_new(&arguments.connection, &err);
	status = connection ? unprotect(&run, &err) : -1;
	/* After an error too, what was done before it is shown. */
	if (file_print(&run.output, status ? &ignored : &err) < 0)
		status = -1;
	buf_done(&run.output);
	arena_done(&run.arena);
	return status ? help_failed("unprotect", &err) : (int)EXIT_DONE;
}
