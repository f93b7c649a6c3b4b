#include "feature/lint/cli/lint_live.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cli/shared/gpus_devices.h"
#include "cli/shared/missing.h"
#include "codec/text/json.h"
#include "core/model/claimed.h"
#include "feature_cli.h"
#include "kube/kube_informer.h"

#define FIRST_LISTS_MS 30000

/* The object is kept as text, too, so that all rules of files see it. */
struct live_cluster {
	struct ray_cluster cluster; /* the first member: an object of the informer is one */
	const char *text;
};

static int decode(const struct cJSON *json, const char *path, struct arena *arena, void *ret_object,
		  struct err *err)
{
	struct live_cluster *live = ret_object;
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "", &reader);

	live->text = json_print(&root);
	return kube_type_ray_cluster.decode(json, path, arena, &live->cluster, err);
}

/* The lists of one call. */
struct lists {
	struct connection *connection;
	struct kube_type type;                      /* of struct live_cluster */
	struct kube_informer *ray_clusters, *nodes; /* nodes NULL: not wanted */
	struct err err;                             /* of RayClusters */
	struct err node_err;
	struct lint_report *report;
};

static void on_change(void *context)
{
	api_connection_wake(((struct lists *)context)->connection);
}

static void on_error(void *context, const struct err *err)
{
	struct lists *lists = context;

	lists->err = *err;
	api_connection_wake(lists->connection);
}

static void on_node_error(void *context, const struct err *err)
{
	struct lists *lists = context;

	lists->node_err = *err;
	api_connection_wake(lists->connection);
}

/* An object that cannot be decoded is a finding, with the informer's text of the problem. */
static void on_object(void *context, enum kube_change change, const char *key, const void *old,
		      const void *new_object)
{
	struct lists *lists = context;
	const char *slash = strchr(key, '/');
	AUTO(memory_free_string) char *namespace = NULL;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *problem;

	(void)old;
	(void)new_object;
	if (change != KUBE_BAD || !slash)
		return;
	namespace = memory_strndup(key, (size_t)(slash - key));
	problem = kube_informer_bad(lists->ray_clusters, namespace, slash + 1);
	lint_problem_add(lists->report, "", arena_printf(&arena, "RayCluster %.507s", key),
			 problem ? problem : "cannot be read");
}

static void start(struct lists *lists, const char *namespace_, const char *name, bool with_nodes)
{
	struct kube_informer_options clusters = {
		.type = &lists->type,
		.namespace_ = namespace_,
		.name = name,
		.poll_ms = FIRST_LISTS_MS,
		.callbacks = { .on_change = on_object,
			       .on_synced = on_change,
			       .on_error = on_error,
			       .context = lists },
	};
	struct kube_informer_options nodes = {
		.type = &kube_type_node,
		.callbacks = { .on_synced = on_change, .on_error = on_node_error, .context = lists },
	};

	lists->ray_clusters =
		kube_informer_new(api_connection_client(lists->connection), &clusters);
	if (with_nodes)
		lists->nodes = kube_informer_new(api_connection_client(lists->connection), &nodes);
}

static bool filled_or_failed(void *context)
{
	const struct lists *lists = context;

	if (lists->err.kind != ERR_NONE)
		return true;
	return kube_informer_synced(lists->ray_clusters) &&
	       (!lists->nodes || kube_informer_synced(lists->nodes) ||
		lists->node_err.kind != ERR_NONE);
}

static int wait_for(struct lists *lists, struct err *err)
{
	bool there =
		api_connection_wait(lists->connection, filled_or_failed, lists, FIRST_LISTS_MS);

	if (kube_informer_synced(lists->ray_clusters))
		return 0;
	if (there)
		*err = lists->err;
	else
		err_set(err, ERR_TIMEOUT, "the API server did not list within %d s",
			FIRST_LISTS_MS / 1000);
	return -1;
}

static int compare(const void *a, const void *b)
{
	const struct ray_cluster *left = *(const struct ray_cluster *const *)a;
	const struct ray_cluster *right = *(const struct ray_cluster *const *)b;
	int order = strcmp(left->namespace_, right->namespace_);

	return order != 0 ? order : strcmp(left->name, right->name);
}

static void add_clusters(const struct lists *lists, const struct lint_context *context,
			 struct arena *arena)
{
	size_t count = kube_informer_count(lists->ray_clusters), at = 0, found = 0;
	const struct ray_cluster **clusters =
		arena_array(arena, count, sizeof(struct ray_cluster *));
	const struct ray_cluster *cluster;

	while (found < count && (cluster = kube_informer_next(lists->ray_clusters, &at)))
		if (!cluster->unreadable)
			clusters[found++] = cluster;
	sort_stable(clusters, found, sizeof(struct ray_cluster *), compare);
	for (size_t i = 0; i < found; i++)
		lint_live_add(lists->report, ((const struct live_cluster *)clusters[i])->text,
			      context);
}

/* Shallow copies: the informer's objects live until it ends. */
static void take_nodes(const struct lists *lists, struct arena *arena, struct lint_context *context)
{
	size_t count = kube_informer_count(lists->nodes), at = 0, found = 0;
	struct node *nodes = arena_array(arena, count, sizeof(*nodes));
	const struct node *node;

	while (found < count && (node = kube_informer_next(lists->nodes, &at)))
		nodes[found++] = *node;
	context->nodes = nodes;
	context->node_count = found;
	context->nodes_known = true;
}

/* ---- claims ---- */

static bool any_claims(const struct lists *lists)
{
	const struct ray_cluster *cluster;
	size_t at = 0;

	while ((cluster = kube_informer_next(lists->ray_clusters, &at)))
		if (claimed_by_cluster(cluster))
			return true;
	return false;
}

static void count_claims(struct lists *lists, const char *namespace_, struct arena *arena,
			 struct lint_context *context)
{
	static const struct gpus_devices *const features[] = { FEATURE_GPUS_DEVICES NULL };

	if (!any_claims(lists))
		return;
	for (size_t i = 0; features[i]; i++)
		context->devices =
			features[i]->count(lists->connection, namespace_, context->devices, arena);
}

/* ---- the call ---- */

/* Without a name none is a warning, unless the namespace or the kind does not exist. */
static int check_found(const struct lists *lists, struct lint_live *live, const char *namespace_,
		       struct err *err)
{
	if (kube_informer_count(lists->ray_clusters) +
		    kube_informer_bad_count(lists->ray_clusters) >
	    0)
		return 0;
	if (live->name)
		return missing_cluster(lists->connection, namespace_, live->name, err);
	return missing_any(lists->connection, namespace_, lists->report->arena, &live->none, err);
}

static int read_lists(struct lists *lists, struct lint_live *live, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct lint_context own = *live->context;
	const char *namespace_ = live->all_namespaces ? NULL :
							api_connection_namespace(lists->connection);

	lists->type = kube_type_ray_cluster;
	lists->type.object_size = sizeof(struct live_cluster);
	lists->type.decode = decode;
	start(lists, namespace_, live->name, !own.nodes_known);
	if (wait_for(lists, err)) {
		if (err->kind == ERR_NOT_FOUND)
			(void)check_found(lists, live, namespace_, err);
		return -1;
	}
	if (check_found(lists, live, namespace_, err))
		return -1;
	if (lists->nodes && kube_informer_synced(lists->nodes))
		take_nodes(lists, &arena, &own);
	else if (lists->nodes)
		live->node_problem = arena_printf(lists->report->arena, "%s",
						  lists->node_err.kind != ERR_NONE ?
							  lists->node_err.text :
							  "they were not listed in time");
	count_claims(lists, namespace_, &arena, &own);
	add_clusters(lists, &own, &arena);
	return 0;
}

int lint_live_read(struct lint_live *live, struct lint_report *report, struct err *err)
{
	struct lists lists = { .connection = api_connection_new(live->flags, err),
			       .report = report };
	int failed;

	live->node_problem = live->none = "";
	if (!lists.connection)
		return -1;
	failed = read_lists(&lists, live, err);
	kube_informer_free(lists.ray_clusters);
	kube_informer_free(lists.nodes);
	api_connection_free(lists.connection);
	return failed;
}
