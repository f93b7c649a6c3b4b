#include "cli/shared/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/view.h"
#include "codec/objects/plan_text.h"
#include "codec/objects/request_resources.h"
#include "codec/text/text.h"
#include "core/decide.h"
#include "core/model/plan.h"
#include "core/model/reason.h"
#include "kube/kube_path.h"

/* Limit for all annotations of an object together. */
#define ANNOTATION_BYTES_MAX ((size_t)256 << 10)
#define OUTPUT_BYTES_MAX ((size_t)16 << 20)

static const char help[] =
	"usage: @ request CLUSTER --bundles LIST [-n NS] [flags]\n"
	"       @ request CLUSTER --clear [-n NS] [flags]\n"
	"Requests capacity in a RayCluster ahead of demand, and keeps "
	"it: writes the\n"
	"annotation " ANNOTATION_REQUEST_RESOURCES ", which holds until it is\n"
	"changed or cleared.\n"
	"Prints the previous value, the groups that grow and the workers that are kept.\n"
	"  --bundles LIST                JSON, as bundles= of Ray's request_resources:\n"
	"                                '[{\"GPU\": 1}, {\"CPU\": 4}]'\n"
	"  --clear                       remove the annotation\n" SESSION_HELP
	"exit status: 0 it was written, 1 it could not be, 2 wrong usage\n";

struct arguments {
	struct api_connection_flags connection;
	const char *name, *bundles;
	bool clear;
};

/* Mistakes that Ray refuses or takes for another resource. */
static int check_entry(const struct bundle_entry *entry, struct arena *arena, const char **ret_fix)
{
	static const char *const names[] = { "CPU", "GPU", "memory", "object_store_memory" };
	/* Ray's resources of whole units. */
	static const char *const units[] = { "GPU", "TPU", "NPU", "HPU", "neuron_cores" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(entry->name, names[i]) != 0 || strcmp(entry->name, names[i]) == 0)
			continue;
		*ret_fix = arena_printf(arena,
					"did you mean %s? Names of resources in Ray are "
					"case-sensitive",
					names[i]);
		return -1;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(entry->name, units[i]) != 0 || entry->amount <= RESOURCE_UNIT ||
		    entry->amount % RESOURCE_UNIT == 0)
			continue;
		*ret_fix = arena_printf(arena,
					"%s: Ray accepts fractions below 1 and whole numbers; "
					"write %lld or %lld",
					resource_amount_text(arena, entry->amount),
					(long long)(entry->amount / RESOURCE_UNIT),
					(long long)(entry->amount / RESOURCE_UNIT + 1));
		return -1;
	}
	return 0;
}

static int check_request(const struct ray_request *request, struct arena *arena, struct err *err)
{
	const char *fix;

	for (size_t i = 0; i < request->bundle_count; i++)
		if (check_entry(&request->bundle[i], arena, &fix))
			return err_set(err, ERR_INPUT, "--bundles: %s: %s", request->bundle[i].name,
				       fix);
	return 0;
}

static int check_bundles(const char *text, struct arena *arena, struct ray_constraint *ret,
			 struct err *err)
{
	if (strlen(text) > ANNOTATION_BYTES_MAX)
		return err_set(
			err, ERR_INPUT,
			"--bundles: longer than an annotation may be; ask for fewer kinds of bundles");
	if (request_resources_parse(text, arena, ret, err))
		return err_set(err, ERR_INPUT, "--bundles: %s",
			       request_resources_problem(err, arena));
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->requests[i].request.problem)
			return err_set(
				err, ERR_INPUT,
				"--bundles: no machine can serve it: %s; write an amount that a worker can have",
				ret->requests[i].request.problem);
		if (check_request(&ret->requests[i].request, arena, err))
			return -1;
	}
	return 0;
}

/* The merge patch; null removes the annotation. */
static const struct field annotation_fields[] = {
	FIELD_TEXT(struct arguments, bundles, ANNOTATION_REQUEST_RESOURCES, .flags = FIELD_ALWAYS),
	FIELD_END,
};

static const struct field metadata_fields[] = {
	FIELD_OBJECT(annotation_fields, "annotations"),
	FIELD_END,
};

static const struct field patch_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata"),
	FIELD_END,
};

static int send_patch(const struct view_one *one, const struct arguments *arguments,
		      struct arena *arena, struct err *err)
{
	AUTO(fetch_done)
	struct fetch fetch = {
		.path = kube_path(arena, view_api_version(one->view), one->cluster->namespace_,
				  "rayclusters", one->cluster->name, NULL),
		.verb = KUBE_MERGE_PATCH,
		.body = field_text(patch_fields, arguments, arena),
	};

	return api_connection_fetch_one(one->connection, &fetch, err);
}

/* Warns when no autoscaler scales the cluster. The annotation is written all the same: it is the
 * user's, and takes effect when the cluster is scaled again. */
static void warn_unmanaged(const struct plan *plan, struct arena *arena)
{
	const struct plan_condition *condition =
		plan->conditions.count > 0 ? &plan->conditions.at[0] : NULL;

	if (!condition || strcmp(condition->type, "ScalingActive") != 0 ||
	    strcmp(condition->status, "False") != 0 ||
	    condition->reason == REASON_DEMAND_UNAVAILABLE ||
	    condition->reason == REASON_HEAD_STARTING)
		return;
	help_warn("request",
		  arena_printf(arena,
			       "this RayCluster is not scaled by rayscaler (%s: %s); the "
			       "annotation is written and changes nothing until it is",
			       reason_word(condition->reason), condition->message));
}

/* The annotation resumes a cluster that idle termination suspended. */
static void add_resumption(const struct view_one *one, bool requests, struct buf *output)
{
	const char *name = one->cluster->name;

	buf_add_string(output, "it is suspended by idle termination");
	if (!requests)
		buf_printf(output, " and stays so; to start it: %s resume %s\n", help_program(),
			   name);
	else if (one->cluster->answer)
		buf_add_string(output, "; the controller resumes it for this request\n");
	else
		buf_printf(output,
			   "; a controller resumes it for this request, and none was reached: "
			   "%s resume %s\n",
			   help_program(), name);
}

/* ---- output ---- */

/* Output of `request`: the annotation before and after, the groups that change for it, the workers
 * that are kept for it and its bundles that cannot be served. Pure; for people. */

#define WORKERS_SHOWN 20

static void add_groups(struct buf *buf, const struct plan *plan)
{
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		if (group->target_replicas == group->replicas)
			continue;
		text_add(buf, "group %s: replicas %" PRId64 " -> %" PRId64 ", ", group->name,
			 group->replicas, group->target_replicas);
		text_add_reason(buf, reason_word(group->reason), group->message);
	}
}

static void add_kept(struct buf *buf, const struct plan *plan)
{
	size_t kept = 0;

	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		if (worker->reason != REASON_NEEDED_BY_REQUEST)
			continue;
		if (kept < WORKERS_SHOWN)
			text_add(buf, "%s%s",
				 kept > 0 ? ", " : "kept while it holds: ", worker->pod);
		kept++;
	}
	if (kept > WORKERS_SHOWN)
		buf_printf(buf, " and %zu more", kept - WORKERS_SHOWN);
	if (kept > 0)
		buf_add_char(buf, '\n');
}

static void add_refused(struct buf *buf, const struct plan_demand *demands, size_t count)
{
	ARRAY_EACH(const struct plan_demand, demand, demands, count) {
		if (demand->kind != DEMAND_CONSTRAINT || demand->source != SOURCE_ANNOTATION)
			continue;
		buf_printf(buf, "not served: %" PRId64 " x ", demand->count);
		plan_text_bundle(buf, demand->request);
		buf_add_string(buf, ": ");
		text_add_reason(buf, reason_word(demand->reason), demand->message);
	}
}

/* plan: the decision with the annotation as it will be. before, after: its text; NULL: none. */
static void request_text_write(const struct plan *plan, const char *before, const char *after,
			       struct buf *buf)
{
	plan_text_cluster(buf, plan->cluster_namespace, plan->cluster_name);
	text_add_line(buf, "before: %s", before ? before : "nothing is requested");
	text_add_line(buf, "now:    %s", after ? after : "nothing is requested");
	add_groups(buf, plan);
	add_kept(buf, plan);
	add_refused(buf, plan->infeasible.at, plan->infeasible.count);
	add_refused(buf, plan->unserved.at, plan->unserved.count);
}

static int request(const struct arguments *arguments, const struct ray_constraint *constraint,
		   struct arena *arena, struct err *err)
{
	AUTO(view_one_done) struct view_one one = { .connection = NULL };
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	struct snapshot snapshot;
	const char *before;
	const struct plan *plan;
	bool suspended;

	if (view_one_open(&arguments->connection, arguments->name, VIEW_SNAPSHOT, arena, &one, err))
		return -1;
	snapshot = one.cluster->snapshot;
	before = labels_value(&snapshot.cluster.annotations, ANNOTATION_REQUEST_RESOURCES);
	snapshot.cluster.request =
		constraint ?
			ARENA_PUT(arena, (struct annotation_request){ .bundles = constraint }) :
			NULL;
	plan = decide(&snapshot, arena);
	suspended = ray_cluster_suspended_at(&snapshot.cluster) != NULL;
	if (!suspended)
		warn_unmanaged(plan, arena);
	/* Before the loop turns: the plan may point into the copies of the objects. */
	request_text_write(plan, before, arguments->bundles, &output);
	if (suspended)
		add_resumption(&one, constraint && constraint->count > 0, &output);
	else if (!one.cluster->answer)
		buf_add_string(&output,
			       "from the object's status, without the controller: use in Ray "
			       "is unknown\n");
	if (send_patch(&one, arguments, arena, err))
		return -1;
	return file_print(&output, err);
}

int cli_request(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct arguments arguments = { .name = NULL };
	const struct flag table[] = {
		{ NULL, "--bundles", .value = &arguments.bundles },
		{ NULL, "--clear", .on = &arguments.clear },
		SESSION_FLAGS(arguments.connection),
	};
	struct flags flags = FLAGS_CLUSTER(table, arguments.name, true);
	struct ray_constraint constraint;
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	if (arguments.clear == (arguments.bundles != NULL))
		return help_usage("request", "one of --bundles LIST and --clear is required");
	if ((arguments.bundles && check_bundles(arguments.bundles, &arena, &constraint, &err)) ||
	    request(&arguments, arguments.bundles ? &constraint : NULL, &arena, &err))
		return help_failed("request", &err);
	return EXIT_DONE;
}
