#include "cli/shared/view.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cli/shared/help.h"
#include "cli/shared/missing.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/summary_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/model/autoscaler_container.h"
#include "core/model/identity.h"
#include "core/model/reason.h"
#include "core/report/autoscaler_status.h"
#include "ctl/pass/observe.h"
#include "ctl/shared/time_zones.h"
#include "kube/kube_informer.h"
#include "net/loop.h"

/* A running controller renews the time of its last decision in time; a minute for slow writes. */
#define DECISION_OLD_MS (AUTOSCALER_RENEW_MAX_MS + 60000)
#define FIRST_LISTS_MS 30000
#define POLL_MS 2000
#define SIDECAR_PORT 44217 /* --metrics-bind-address of a sidecar */
#define NOT_REACHED "it is not asked from here, and no controller was reached"

struct view {
	struct connection *connection;
	const char *namespace_, *name;
	enum view_page page;
	struct kube_informer *ray_clusters, *pods, *autoscalers;
	struct time_zones *time_zones;
	bool autoscalers_failed; /* CRD not installed, or no right: no status is shown */
	bool pods_denied;        /* no right: no sidecar is asked for a status */
	struct err err;          /* the first failure since it was cleared */
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

/* A status needs Pods only to find sidecars. */
static void on_no_pods(void *context, const struct err *err)
{
	struct view *view = context;

	if (err->kind != ERR_DENIED || view->page != VIEW_STATUS) {
		on_error(context, err);
		return;
	}
	view->pods_denied = true;
	api_connection_wake(view->connection);
}

static void on_no_autoscalers(void *context, const struct err *err)
{
	struct view *view = context;

	(void)err;
	view->autoscalers_failed = true;
	api_connection_wake(view->connection);
}

struct view *view_new(struct connection *connection, const char *namespace_, const char *name,
		      enum view_page page)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct view *view = memory_alloc(sizeof(*view));
	struct kube_client *client = api_connection_client(connection);
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
		/* A status needs only head Pods: they may have a sidecar. */
		.label_selector = arena_printf(
			&arena, LABEL_CLUSTER "%s%s%s", name ? "=" : "", name ? name : "",
			page == VIEW_STATUS ? "," LABEL_NODE_TYPE "=head" : ""),
		.callbacks = { .on_synced = on_change, .on_error = on_no_pods, .context = view },
	};
	struct kube_informer_options autoscalers = {
		.type = &kube_type_autoscaler,
		.namespace_ = namespace_,
		.name = name,
		.poll_ms = POLL_MS,
		.callbacks = { .on_synced = on_change,
			       .on_error = on_no_autoscalers,
			       .context = view },
	};

	*view = (struct view){
		.connection = connection,
		.namespace_ = namespace_,
		.name = name,
		.page = page,
		.time_zones = time_zones_new(),
		.ray_clusters = kube_informer_new(client, &clusters),
		.pods = kube_informer_new(client, &pods),
		.autoscalers = kube_informer_new(client, &autoscalers),
	};
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	kube_informer_free(view->ray_clusters);
	kube_informer_free(view->pods);
	kube_informer_free(view->autoscalers);
	time_zones_free(view->time_zones);
	memory_free(view);
}

static bool is_filled(const struct view *view)
{
	return kube_informer_synced(view->ray_clusters) &&
	       (kube_informer_synced(view->pods) || view->pods_denied) &&
	       (kube_informer_synced(view->autoscalers) || view->autoscalers_failed);
}

static bool filled_or_failed(void *context)
{
	const struct view *view = context;

	return is_filled(view) || view->err.kind != ERR_NONE;
}

/* Without a name an empty list is an answer, but where the namespace or the kind does not exist. */
static int check_found(const struct view *view, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *sentence;

	if (view->name) {
		if (kube_informer_get(view->ray_clusters, view->namespace_, view->name))
			return 0;
		return missing_cluster(view->connection, view->namespace_, view->name, err);
	}
	if (kube_informer_count(view->ray_clusters) > 0)
		return 0;
	return missing_any(view->connection, view->namespace_, &arena, &sentence, err);
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
		if (err->kind == ERR_NOT_FOUND && !patient)
			(void)check_found(view, err);
		if (!patient || api_connection_interrupted(view->connection))
			return -1;
		help_warn("status", err->text);
	}
	return check_found(view, err);
}

/* ---- the answers ---- */

static const char *const page_names[] = { [VIEW_STATUS] = "status", [VIEW_SNAPSHOT] = "snapshot" };

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

static const struct pod *const *pods_of(struct view *view, const struct view_cluster *cluster,
					struct arena *arena, size_t *ret_count)
{
	return (const struct pod *const *)kube_informer_indexed(
		view->pods, arena_printf(arena, "%s/%s", cluster->namespace_, cluster->name),
		ret_count);
}

static struct summary_condition *unreadable_condition(const struct ray_cluster *cluster,
						      struct arena *arena)
{
	struct summary_condition *condition = ARENA_NEW(arena, struct summary_condition);

	*condition = (struct summary_condition){ .type = "ScalingActive",
						 .status = "False",
						 .reason = reason_word(REASON_CLUSTER_UNREADABLE),
						 .message = cluster->unreadable };
	return condition;
}

/* The worker groups that the RayCluster has now, with what the status (NULL: none) recorded of
 * them. GPUs in use, waiting demand of a group and idle times are in neither. */
static const struct summary *recorded_summary(const struct ray_cluster *cluster,
					      const struct summary *status, struct arena *arena)
{
	struct summary *summary = ARENA_NEW(arena, struct summary);
	struct summary_group *groups = arena_array(arena, cluster->group_count, sizeof(*groups));

	*summary = status ? *status : summary_none;
	for (size_t i = 0; i < cluster->group_count; i++) {
		const struct worker_group *from = &cluster->groups[i];
		const struct summary_group *recorded =
			status ? ARRAY_FIND(status->groups, status->group_count, name, from->name) :
				 NULL;
		struct summary_group *group = &groups[i];

		*group = recorded ? *recorded : summary_group_none;
		group->name = from->name;
		group->replicas = from->replicas;
		group->target_replicas = recorded ? recorded->target_replicas : from->replicas;
		group->min_replicas = from->min_replicas;
		group->max_replicas = from->max_replicas;
		group->hosts = from->num_of_hosts > 0 ? from->num_of_hosts : 1;
		if (group->backoff && group->backoff->until == TIME_NONE)
			group->backoff = NULL;
		summary_add_pods(summary, group);
	}
	summary->groups = groups;
	summary->group_count = cluster->group_count;
	if (cluster->unreadable) {
		summary->conditions = unreadable_condition(cluster, arena);
		summary->condition_count = 1;
		summary->reason = summary->conditions->reason;
		summary->message = summary->conditions->message;
	}
	return summary;
}

/* The fallback: from the API objects alone. False: the cluster was deleted while the controller
 * answered. */
static bool take_objects(struct view *view, struct view_cluster *cluster, struct arena *arena)
{
	struct observation observation = {
		.cluster =
			kube_informer_get(view->ray_clusters, cluster->namespace_, cluster->name),
		.snapshot.now = loop_wall(api_connection_loop(view->connection)),
		.snapshot.ray_problem = NOT_REACHED,
		.snapshot.autoscaler =
			kube_informer_get(view->autoscalers, cluster->namespace_, cluster->name),
	};

	if (!observation.cluster)
		return false;
	if (view->page == VIEW_STATUS) {
		const struct autoscaler_object *object = observation.snapshot.autoscaler;

		cluster->status = object ? object->status : NULL;
		if (cluster->status && *cluster->status->reason == '\0')
			cluster->status = NULL;
		cluster->summary = recorded_summary(observation.cluster, cluster->status, arena);
		if (cluster->summary->decided_at != TIME_NONE)
			cluster->age_ms =
				observation.snapshot.now > cluster->summary->decided_at ?
					observation.snapshot.now - cluster->summary->decided_at :
					0;
		return true;
	}
	settings_init(&observation.snapshot.settings);
	observation.snapshot.time_zones = time_zones_of(view->time_zones,
							observation.snapshot.autoscaler,
							observation.snapshot.now, arena,
							&observation.snapshot.time_zone_count);
	observation.snapshot.pods = pods_of(view, cluster, arena, &observation.snapshot.pod_count);
	observe(&observation, arena, &cluster->snapshot);
	return true;
}

static int read_status(struct view_cluster *cluster, const struct fetch *fetch, struct arena *arena,
		       struct err *err)
{
	static const struct json_limits limits = { .bytes = KUBE_BODY_MAX_BYTES,
						   .depth = JSON_WRITE_DEPTH_MAX,
						   .elements = 4000000 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	struct summary *summary = ARENA_NEW(arena, struct summary);
	struct json_at root, status;

	if (json_parse(fetch->text, fetch->size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	status = json_member(&root, "status");
	if (summary_decode(&status, summary) ||
	    json_text(&root, "explanation", &cluster->explanation))
		return -1;
	cluster->summary = summary;
	return 0;
}

/* `where` is in the cluster. */
static void take_answer(struct view_cluster *cluster, const struct fetch *fetch,
			enum view_page page, const struct controller *from, struct arena *arena)
{
	struct err err = fetch->err;

	if (err.kind == ERR_NONE && page == VIEW_STATUS)
		(void)read_status(cluster, fetch, arena, &err);
	else if (err.kind == ERR_NONE)
		(void)snapshot_read(fetch->text, fetch->size, arena, &cluster->snapshot, &err);
	cluster->answer = NULL;
	cluster->problem = "";
	if (err.kind != ERR_NONE) {
		cluster->problem = arena_printf(
			arena, "%s gave no %s of %s/%s: %s",
			*cluster->where != '\0' ? cluster->where : "the controller",
			page_names[page], cluster->namespace_, cluster->name, err.text);
		return;
	}
	cluster->from = from;
	cluster->answer = arena_strndup(arena, fetch->text, fetch->size);
	cluster->answer_size = fetch->size;
}

static bool runs_sidecar(const struct pod *pod)
{
	ARRAY_EACH(const struct container, container, pod->spec.containers,
		   pod->spec.container_count) {
		if (strcmp(container->name, AUTOSCALER_CONTAINER) == 0)
			return autoscaler_container_runs(container) == AUTOSCALER_RUNS_SIDECAR;
	}
	return false;
}

/* The head Pod whose container `autoscaler` is rayscaler itself; NULL: none. */
static const char *sidecar_pod(struct view *view, const struct view_cluster *cluster,
			       struct arena *arena)
{
	const struct ray_cluster *object =
		kube_informer_get(view->ray_clusters, cluster->namespace_, cluster->name);
	size_t count;
	const struct pod *const *pods = pods_of(view, cluster, arena, &count);

	if (!object)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (pod_is_head(pods[i]) && identity_is_owned(object, pods[i]) &&
		    runs_sidecar(pods[i]))
			return arena_strdup(arena, pods[i]->name);
	return NULL;
}

/* NULL: the cluster has none. */
static const struct controller *sidecar_of(struct view *view, struct view_cluster *cluster,
					   struct arena *arena)
{
	const char *pod = sidecar_pod(view, cluster, arena);
	struct controller *sidecar;

	if (!pod)
		return NULL;
	sidecar = ARENA_NEW(arena, struct controller);
	controller_client_pod(cluster->namespace_, pod, SIDECAR_PORT, arena, sidecar);
	cluster->where = sidecar->where;
	return sidecar;
}

/* Requests the page of each cluster from the controller; NULL: from its sidecar, if it has one. */
static void ask(struct view *view, const struct controller *controller,
		struct view_cluster *clusters, size_t count, struct arena *arena)
{
	struct fetch *fetches = arena_array(arena, count, sizeof(*fetches));
	const struct controller **from = arena_array(arena, count, sizeof(struct controller *));
	size_t *asked = arena_array(arena, count, sizeof(*asked)), asked_count = 0;

	for (size_t i = 0; i < count; i++) {
		from[asked_count] = controller ? controller : sidecar_of(view, &clusters[i], arena);
		if (!from[asked_count])
			continue;
		controller_client_address(from[asked_count], arena, page_names[view->page],
					  clusters[i].namespace_, clusters[i].name,
					  &fetches[asked_count]);
		asked[asked_count++] = i;
	}
	if (asked_count > 0)
		api_connection_fetch(view->connection, fetches, asked_count);
	for (size_t i = 0; i < asked_count; i++) {
		take_answer(&clusters[asked[i]], &fetches[i], view->page, from[i], arena);
		fetch_done(&fetches[i]);
	}
}

static const char *outdated_text(const struct view *view)
{
	if (!kube_informer_fresh(view->ray_clusters))
		return kube_informer_problem(view->ray_clusters);
	if (!view->pods_denied && !kube_informer_fresh(view->pods))
		return kube_informer_problem(view->pods);
	return "";
}

/* No controller decides for a cluster without an answer. One that is not reached may run all the same (no right to
 * pods/proxy, another namespace): its Lease and the age of its last decision tell. */
static bool is_unscaled(const struct view_cluster *cluster, const struct controller *controller)
{
	if (controller->found || *cluster->where != '\0')
		return false;
	if (!cluster->status || cluster->age_ms == VIEW_AGE_UNKNOWN)
		return controller->absent || controller->last_led != TIME_NONE;
	/* Another controller than that of the Lease may have decided after it. */
	return cluster->age_ms > DECISION_OLD_MS ||
	       (controller->last_led != TIME_NONE &&
		cluster->status->decided_at <= controller->last_led);
}

/* Requests the page of each cluster from the controller, then from the sidecars. A cluster that was
 * deleted in the meantime is dropped from the list. */
void view_look(struct view *view, const struct controller *controller, struct arena *arena,
	       struct view_clusters *ret_clusters)
{
	size_t count, kept = 0, unscaled = 0;
	struct view_cluster *clusters = list_clusters(view, arena, &count);

	for (size_t i = 0; i < count; i++) {
		clusters[i].problem = view->page == VIEW_OBJECTS ? "" : controller->problem;
		clusters[i].where = "";
		clusters[i].age_ms = VIEW_AGE_UNKNOWN;
	}
	if (view->page != VIEW_OBJECTS) {
		if (controller->found)
			ask(view, controller, clusters, count, arena);
		ask(view, NULL, clusters, count, arena);
	}
	for (size_t i = 0; i < count; i++) {
		if (!clusters[i].answer && !take_objects(view, &clusters[i], arena))
			continue;
		clusters[i].unscaled = view->page == VIEW_STATUS && !clusters[i].answer &&
				       is_unscaled(&clusters[i], controller);
		unscaled += clusters[i].unscaled;
		clusters[kept++] = clusters[i];
	}
	*ret_clusters = (struct view_clusters){
		.at = clusters,
		.count = kept,
		.unreadable = kube_informer_bad_count(view->ray_clusters),
		.unscaled = unscaled,
		.outdated = arena_strdup(arena, outdated_text(view)),
	};
}

const struct ray_cluster *view_next(struct view *view, size_t *at,
				    const struct autoscaler_object **ret_autoscaler)
{
	const struct ray_cluster *cluster = kube_informer_next(view->ray_clusters, at);

	if (cluster)
		*ret_autoscaler =
			kube_informer_get(view->autoscalers, cluster->namespace_, cluster->name);
	return cluster;
}

const char *view_api_version(const struct view *view)
{
	return kube_informer_api_version(view->ray_clusters);
}

/* ---- one ---- */

int view_one_open(const struct api_connection_flags *flags, const char *name, enum view_page page,
		  struct arena *arena, struct view_one *ret_one, struct err *err)
{
	*ret_one = (struct view_one){ .connection = api_connection_new(flags, err) };
	if (!ret_one->connection)
		return -1;
	ret_one->view = view_new(ret_one->connection, api_connection_namespace(ret_one->connection),
				 name, page);
	if (view_wait(ret_one->view, false, err))
		return -1;
	if (page != VIEW_OBJECTS &&
	    controller_client_open(ret_one->connection, arena, &ret_one->controller, err))
		return -1;
	view_look(ret_one->view, &ret_one->controller, arena, &ret_one->clusters);
	if (ret_one->clusters.count == 0)
		return err_set(err, ERR_NOT_FOUND, "RayCluster %s/%s has just been deleted",
			       api_connection_namespace(ret_one->connection), name);
	ret_one->cluster = &ret_one->clusters.at[0];
	return 0;
}

void view_one_done(struct view_one *one)
{
	view_free(one->view);
	api_connection_free(one->connection);
}
