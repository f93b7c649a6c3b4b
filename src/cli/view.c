#include "cli/view.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cli/help.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "core/decide.h"
#include "core/decide/gate.h"
#include "core/model/reason.h"
#include "ctl/pass/observe.h"
#include "kube/kube_informer.h"
#include "net/loop.h"

#define FIRST_LISTS_MS 30000
#define POLL_MS 2000
#define SIDECAR_PORT 44217 /* --metrics-bind-address of a sidecar */
#define NOT_REACHED "it is not asked from here, and no controller was reached"

struct view {
	struct connection *connection;
	const char *namespace_, *name;
	struct kube_informer *ray_clusters, *pods, *last_words;
	bool last_words_failed;   /* CRD not installed, or no right: none are shown */
	struct settings settings; /* the defaults */
	struct err err;           /* the first failure since it was cleared */
};

/* ---- the copies ---- */

static void on_change(void *context)
{
	api_connection_wake(((struct view *)context)->connection);
}

static void on_error(void *context, const struct err *err)
{
	struct view *view = context;

	view->err = *err;
	api_connection_wake(view->connection);
}

static void on_no_last_words(void *context, const struct err *err)
{
	struct view *view = context;

	(void)err;
	view->last_words_failed = true;
	api_connection_wake(view->connection);
}

struct view *view_new(struct connection *connection, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct view *view = memory_alloc(sizeof(*view));
	struct kube_informer_options clusters = {
		.type = &kube_type_ray_cluster,
		.namespace_ = namespace_,
		.name = name,
		.poll_ms = POLL_MS,
		.callbacks = { .on_synced = on_change, .on_error = on_error, .context = view },
	};
	struct kube_informer_options pods = {
		.type = &kube_type_pod,
		.namespace_ = namespace_,
		.label_selector = name ? arena_printf(&arena, LABEL_CLUSTER "=%s", name) :
					 LABEL_CLUSTER,
		.callbacks = clusters.callbacks,
	};
	struct kube_informer_options last_words = {
		.type = &kube_type_last_word,
		.namespace_ = namespace_,
		.name = name,
		.poll_ms = POLL_MS,
		.callbacks = { .on_synced = on_change,
			       .on_error = on_no_last_words,
			       .context = view },
	};

	view->connection = connection;
	view->namespace_ = namespace_;
	view->name = name;
	settings_init(&view->settings);
	view->ray_clusters = kube_informer_new(api_connection_client(connection), &clusters);
	view->pods = kube_informer_new(api_connection_client(connection), &pods);
	view->last_words = kube_informer_new(api_connection_client(connection), &last_words);
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	kube_informer_free(view->ray_clusters);
	kube_informer_free(view->pods);
	kube_informer_free(view->last_words);
	memory_free(view);
}

static bool is_filled(const struct view *view)
{
	return kube_informer_synced(view->ray_clusters) && kube_informer_synced(view->pods) &&
	       (kube_informer_synced(view->last_words) || view->last_words_failed);
}

static bool filled_or_failed(void *context)
{
	const struct view *view = context;

	return is_filled(view) || view->err.kind != ERR_NONE;
}

static int check_named(const struct view *view, struct err *err)
{
	if (!view->name || kube_informer_get(view->ray_clusters, view->namespace_, view->name))
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "RayCluster %s/%s does not exist; another namespace: -n NAMESPACE",
		       view->namespace_, view->name);
}

int view_wait(struct view *view, bool patient, struct err *err)
{
	while (!is_filled(view)) {
		view->err.kind = ERR_NONE;
		if (api_connection_wait(view->connection, filled_or_failed, view, FIRST_LISTS_MS))
			*err = view->err;
		else
			err_set(err, ERR_TIMEOUT, "the API server did not list within %d s",
				FIRST_LISTS_MS / 1000);
		if (is_filled(view))
			break;
		if (!patient || api_connection_interrupted(view->connection))
			return -1;
		help_warn("status", err->text);
	}
	return check_named(view, err);
}

/* ---- the decisions ---- */

static int compare(const void *a, const void *b)
{
	const struct view_cluster *left = a, *right = b;
	int order = strcmp(left->namespace_, right->namespace_);

	return order != 0 ? order : strcmp(left->name, right->name);
}

static struct view_cluster *list_clusters(struct view *view, struct arena *arena, size_t *ret_count)
{
	struct view_cluster *clusters =
		arena_array(arena,
			    kube_informer_count(view->ray_clusters) +
				    kube_informer_bad_count(view->ray_clusters),
			    sizeof(*clusters));
	const struct ray_cluster *object;
	size_t at = 0, count = 0;

	while ((object = kube_informer_next(view->ray_clusters, &at)))
		clusters[count++] = (struct view_cluster){
			.namespace_ = arena_strdup(arena, object->namespace_),
			.name = arena_strdup(arena, object->name),
		};
	sort_stable(clusters, count, sizeof(*clusters), compare);
	*ret_count = count;
	return clusters;
}

/* Builds the snapshot from the API objects alone. False: the cluster was deleted while the
 * controller answered. */
static bool observe_objects(struct view *view, struct view_cluster *cluster, struct arena *arena)
{
	struct settings *settings = ARENA_NEW(arena, struct settings);
	struct observation observation = {
		.now = loop_wall(api_connection_loop(view->connection)),
		.cluster =
			kube_informer_get(view->ray_clusters, cluster->namespace_, cluster->name),
		.ray_problem = NOT_REACHED,
		.settings = settings,
	};

	if (!observation.cluster)
		return false;
	*settings = view->settings;
	observation.pods = (const struct pod *const *)kube_informer_indexed(
		view->pods, arena_printf(arena, "%s/%s", cluster->namespace_, cluster->name),
		&observation.pod_count);
	observe(&observation, arena, &cluster->snapshot);
	cluster->last_word =
		kube_informer_get(view->last_words, cluster->namespace_, cluster->name);
	if (cluster->last_word)
		cluster->snapshot.autoscaler = &cluster->last_word->object;
	return true;
}

static void take_snapshot(struct view_cluster *cluster, const struct fetch *fetch,
			  const char *where, struct arena *arena)
{
	struct err err = fetch->err;

	cluster->problem = "";
	cluster->where = where;
	if (err.kind == ERR_NONE && fetch->ended &&
	    snapshot_read(fetch->text, fetch->size, arena, &cluster->snapshot, &err) == 0)
		cluster->from_controller = arena_strndup(arena, fetch->text, fetch->size);
	else
		cluster->problem = arena_printf(
			arena, "%s gave no snapshot of %s/%s: %s",
			*where != '\0' ? where : "the controller", cluster->namespace_,
			cluster->name, err.kind != ERR_NONE ? err.text : "it was not waited for");
}

static struct fetch *fetch_all(struct view *view, const struct controller *controller,
			       const char *kind, const struct view_cluster *clusters, size_t count,
			       struct arena *arena)
{
	struct fetch *fetches = arena_array(arena, count, sizeof(*fetches));

	for (size_t i = 0; i < count; i++)
		controller_client_address(controller, arena, kind, clusters[i].namespace_,
					  clusters[i].name, &fetches[i]);
	api_connection_fetch(view->connection, fetches, count);
	return fetches;
}

static void ask_controller(struct view *view, const struct controller *controller,
			   struct view_cluster *clusters, size_t count, struct arena *arena)
{
	struct fetch *fetches = fetch_all(view, controller, "snapshot", clusters, count, arena);

	for (size_t i = 0; i < count; i++) {
		take_snapshot(&clusters[i], &fetches[i], "", arena);
		fetch_done(&fetches[i]);
	}
}

/* Why Ray was not reached is not part of a snapshot, but the reader needs it. */
static void take_ray_problem(struct view_cluster *cluster, const struct fetch *fetch,
			     struct arena *arena)
{
	static const struct json_limits limits = { .bytes = KUBE_BODY_MAX_BYTES,
						   .depth = 100,
						   .elements = 4000000 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct err err;
	struct json_reader reader = { .arena = arena, .err = &err };
	struct json_at root;

	if (!fetch->text || json_parse(fetch->text, fetch->size, &limits, &json, NULL))
		return;
	root = json_root(json, "", &reader);
	(void)json_text(&root, "rayProblem", &cluster->snapshot.ray_problem);
}

static void ask_ray_problems(struct view *view, const struct controller *controller,
			     struct view_cluster *clusters, size_t count, struct arena *arena)
{
	for (size_t i = 0; i < count; i++) {
		struct fetch *fetch;

		if (!clusters[i].from_controller || clusters[i].snapshot.ray_state ||
		    gate_check(&clusters[i].snapshot).reason)
			continue;
		fetch = fetch_all(view, controller, "status", &clusters[i], 1, arena);
		take_ray_problem(&clusters[i], fetch, arena);
		fetch_done(fetch);
	}
}

/* ---- sidecars ---- */

static bool is_reason(const char *reason, const char *wanted)
{
	return reason && strcmp(reason, wanted) == 0;
}

/* The head Pod whose container `autoscaler` is rayscaler itself; NULL: it is not. */
static const char *sidecar_pod(struct view *view, const struct view_cluster *cluster,
			       struct arena *arena)
{
	struct view_cluster own = *cluster;

	if (!observe_objects(view, &own, arena))
		return NULL;
	if (!is_reason(gate_check(&own.snapshot).reason, REASON_SECOND_AUTOSCALER))
		return NULL;
	own.snapshot.settings.mode = MODE_SIDECAR;
	if (gate_check(&own.snapshot).reason)
		return NULL;
	for (size_t i = 0; i < own.snapshot.pod_count; i++) {
		if (pod_is_head(&own.snapshot.pods[i]))
			return arena_strdup(arena, own.snapshot.pods[i].name);
	}
	return NULL;
}

static void ask_sidecars(struct view *view, struct view_cluster *clusters, size_t count,
			 struct arena *arena)
{
	struct fetch *fetches = arena_array(arena, count, sizeof(*fetches));
	struct view_cluster **asked = arena_array(arena, count, sizeof(struct view_cluster *));
	const char **where = arena_array(arena, count, sizeof(*where));
	size_t asked_count = 0;

	for (size_t i = 0; i < count; i++) {
		const char *pod = sidecar_pod(view, &clusters[i], arena);
		struct controller controller;

		if (!pod)
			continue;
		controller_client_pod(clusters[i].namespace_, pod, SIDECAR_PORT, arena,
				      &controller);
		controller_client_address(&controller, arena, "snapshot", clusters[i].namespace_,
					  clusters[i].name, &fetches[asked_count]);
		where[asked_count] = controller.where;
		asked[asked_count++] = &clusters[i];
	}
	if (asked_count > 0)
		api_connection_fetch(view->connection, fetches, asked_count);
	for (size_t i = 0; i < asked_count; i++) {
		asked[i]->from_controller = NULL;
		take_snapshot(asked[i], &fetches[i], where[i], arena);
		fetch_done(&fetches[i]);
	}
}

static const char *outdated_text(const struct view *view)
{
	if (!kube_informer_fresh(view->ray_clusters, NULL))
		return kube_informer_problem(view->ray_clusters);
	if (!kube_informer_fresh(view->pods, NULL))
		return kube_informer_problem(view->pods);
	return "";
}

/* Requests the snapshot of each cluster from the controller, then from the sidecars. A cluster
 * without one gets a snapshot from the API objects alone; a cluster that was deleted in the
 * meantime is dropped from the list. Then makes a decision for each cluster. */
void view_look(struct view *view, const struct controller *controller, struct arena *arena,
	       struct view_clusters *ret_clusters)
{
	size_t count, kept = 0;
	struct view_cluster *clusters = list_clusters(view, arena, &count);

	for (size_t i = 0; i < count; i++) {
		clusters[i].problem = controller->problem;
		clusters[i].where = "";
	}
	if (controller->found)
		ask_controller(view, controller, clusters, count, arena);
	/* Too slow for many clusters: `explain` shows it for each. */
	if (controller->found && view->name)
		ask_ray_problems(view, controller, clusters, count, arena);
	ask_sidecars(view, clusters, count, arena);
	for (size_t i = 0; i < count; i++) {
		struct view_cluster *cluster = &clusters[i];

		if (!cluster->from_controller && !observe_objects(view, cluster, arena))
			continue;
		cluster->plan = decide(&cluster->snapshot, arena);
		cluster->summary = summary_of(&cluster->snapshot, cluster->plan, arena);
		clusters[kept++] = *cluster;
	}
	*ret_clusters = (struct view_clusters){
		.at = clusters,
		.count = kept,
		.unreadable = kube_informer_bad_count(view->ray_clusters),
		.outdated = arena_strdup(arena, outdated_text(view)),
	};
}

const char *view_api_version(const struct view *view)
{
	return kube_informer_api_version(view->ray_clusters);
}

/* ---- one ---- */

int view_one_open(const struct api_connection_flags *flags, const char *name, struct arena *arena,
		  struct view_one *ret_one, struct err *err)
{
	struct view_clusters clusters;

	*ret_one = (struct view_one){ .connection = api_connection_new(flags, err) };
	if (!ret_one->connection)
		return -1;
	ret_one->view =
		view_new(ret_one->connection, api_connection_namespace(ret_one->connection), name);
	if (view_wait(ret_one->view, false, err))
		return -1;
	controller_client_find(ret_one->connection, arena, &ret_one->controller);
	view_look(ret_one->view, &ret_one->controller, arena, &clusters);
	if (clusters.count == 0)
		return err_set(err, ERR_NOT_FOUND, "RayCluster %s/%s has just been deleted",
			       api_connection_namespace(ret_one->connection), name);
	ret_one->cluster = &clusters.at[0];
	return 0;
}

void view_one_done(struct view_one *one)
{
	view_free(one->view);
	api_connection_free(one->connection);
}
