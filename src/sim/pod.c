#include "sim/pod.h"

#include <stdio.h>
#include <string.h>

#include "core/model/in_force.h"
#include "sim/pass_time.h"
#include "sim/place.h"
#include "sim/record.h"
#include "sim/sharing.h"

static time_ms now_of(const struct sim_ray *ray)
{
	return SIM_EPOCH_MS + ray->world->now_ms;
}

/* ---- a new Pod ---- */

static void fill_labels(struct sim_worker *worker)
{
	const struct sim_ray *ray = worker->ray;
	bool head = worker->type == 0;

	/* By key: facts look them up in the order of labels_sort. */
	worker->labels[0] = (struct label){ LABEL_CLUSTER, ray->cluster.name };
	worker->labels[1] =
		(struct label){ LABEL_GROUP,
				head ? HEAD_GROUP_NAME : ray->groups[worker->type - 1].name };
	worker->labels[2] = (struct label){ LABEL_NODE_TYPE, head ? "head" : "worker" };
	worker->labels[3] = (struct label){ LABEL_REPLICA_NAME, worker->replica_name };
	worker->pod.labels =
		(struct labels){ worker->labels,
				 !head && ray->groups[worker->type - 1].num_of_hosts > 1 ? 4 : 3 };
}

static void set_scheduled(struct sim_worker *worker, const char *status, const char *reason,
			  const char *message)
{
	worker->conditions[0] =
		(struct condition){ "PodScheduled", status, reason, message, now_of(worker->ray) };
}

static void fill_pod(struct sim_worker *worker)
{
	const struct sim_ray *ray = worker->ray;
	const struct pod_template *template = worker->type == 0 ?
						      &ray->cluster.head_template :
						      &ray->groups[worker->type - 1].template;
	struct pod *pod = &worker->pod;

	worker->owner = (struct pod_owner){ RAY_API_VERSION, "RayCluster", ray->cluster.name,
					    ray->cluster.uid };
	worker->status = (struct container_status){ .name = "",
						    .state = CONTAINER_WAITING,
						    .reason = "ContainerCreating",
						    .message = "",
						    .started_at = TIME_NONE };
	*pod = (struct pod){
		.namespace_ = ray->cluster.namespace_,
		.name = worker->name,
		.uid = worker->ray_id,
		.resource_version = "1",
		.owner = &worker->owner,
		.annotations = template->annotations,
		.created = now_of(ray),
		.deletion_time = TIME_NONE,
		.spec = template->spec,
		.phase = "Pending",
		.pod_ip = "",
		.reason = "",
		.message = "",
		.conditions = worker->conditions,
		.condition_count = 1,
		.container_statuses = &worker->status,
	};
	if (pod->spec.container_count > 0) {
		worker->status.name = pod->spec.containers[0].name;
		pod->container_status_count = 1;
	}
	pod->spec.node_name = "";
	worker->allocated = &pod->spec;
	fill_labels(worker);
	if (worker->type == 0) /* it has a Node of its own, beside the pools */
		set_scheduled(worker, "True", "", "");
	else
		set_scheduled(worker, "False", "Unschedulable", "no Node of the stock has room");
}

struct sim_worker *pod_new(struct sim_ray *ray, size_t type, int64_t replica)
{
	struct sim_world *world = ray->world;
	struct sim_worker *worker = ray->free_workers;
	size_t room = 0;

	if (worker) {
		ray->free_workers = worker->next_free;
	} else {
		worker = ARENA_NEW(world->arena, struct sim_worker);
		for (size_t t = 0; t <= ray->cluster.group_count; t++)
			if (ray->types[t].total.count > room)
				room = ray->types[t].total.count;
		worker->available = arena_array(world->arena, room, sizeof(*worker->available));
	}
	worker->id = ++world->next_id;
	worker->ray = ray;
	worker->type = type;
	worker->replica = replica;
	worker->state = SIM_WORKER_UNSCHEDULED;
	worker->order = world_random(world);
	worker->mark = 0;
	worker->idle_processes = 0;
	worker->counted = RECORD_NONE;
	worker->draining = worker->waits_for_head = false;
	worker->resize = NULL;
	worker->pool = POD_WITHOUT_POOL;
	snprintf(worker->ray_id, sizeof(worker->ray_id), "%016llx%040llx",
		 (unsigned long long)worker->order, (unsigned long long)worker->id);
	if (type == 0)
		snprintf(worker->name, sizeof(worker->name), "%s", ray->cluster.head_pod_name);
	else
		snprintf(worker->name, sizeof(worker->name), "%.60s-worker-%08llu",
			 ray->groups[type - 1].name, (unsigned long long)++ray->next_worker);
	snprintf(worker->replica_name, sizeof(worker->replica_name), "replica-%lld",
		 (long long)replica);
	place_reset(worker);
	fill_pod(worker);
	worker->index = ray->workers.count;
	VEC_PUSH(world->arena, &ray->workers, worker);
	sharing_changed(ray);
	if (++world->pods > SIM_PODS_MAX)
		world_fail(world, "the simulation needs more than 100000 Pods at one time: lower "
				  "maxReplicas of the worker groups, or simulate less work");
	return worker;
}

struct sim_worker *pod_find(const struct sim_ray *ray, const char *name)
{
	for (size_t i = 0; i < ray->workers.count; i++)
		if (strcmp(ray->workers.at[i]->name, name) == 0)
			return ray->workers.at[i];
	return NULL;
}

/* ---- its life ---- */

/* How long a Pod takes from its Node to its running Ray container, and from there to the registered
 * raylet: fixed times, or one of a list of times, each as likely as the others, or those that were
 * recorded for the Pods of a group, one after the other: they are of both together. The recorded times contain image pulls and
 * volumes as they happened; the simulation does not know whether a Node has an image. */
struct pod_start {
	int64_t start_ms, register_ms;
};

static const struct pod_starts *recorded_of(const struct sim_worker *worker)
{
	const struct pod_starts_list *list = &worker->ray->world->input->models.group_starts;
	const struct ray_cluster *cluster = worker->ray->input->cluster;

	if (worker->type == 0)
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i].cluster, worker->ray->input->name) == 0 &&
		    strcmp(list->at[i].group, cluster->groups[worker->type - 1].name) == 0)
			return &list->at[i];
	return NULL;
}

/* Called once for each Pod. */
static struct pod_start draw_start(const struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	const struct sim_models *models = &world->input->models;
	const struct pod_starts *recorded = recorded_of(worker);
	struct pod_start start = { models->pod_start_ms, models->register_ms };

	if (recorded) {
		size_t number = worker->ray->starts_used[worker->type - 1]++;
		int64_t ms = recorded->ms[number % recorded->count];

		if (start.register_ms > ms)
			start.register_ms = ms;
		start.start_ms = ms - start.register_ms;
	} else if (models->recorded_start_count > 0) {
		start.start_ms = models->recorded_start_ms[world_random(world) %
							   models->recorded_start_count];
	}
	return start;
}

void pod_scheduled(struct sim_worker *worker, size_t pool, size_t node)
{
	struct sim_world *world = worker->ray->world;
	struct pod_start start = draw_start(worker);

	worker->state = SIM_WORKER_STARTING;
	worker->register_ms = start.register_ms;
	worker->pool = pool;
	worker->pool_node = node;
	snprintf(worker->node_name, sizeof(worker->node_name), "node-%llu",
		 (unsigned long long)(pool == POD_WITHOUT_POOL ? worker->id : node));
	worker->pod.spec.node_name = worker->node_name;
	set_scheduled(worker, "True", "", "");
	record_worker(worker, RECORD_STARTING);
	event_queue_push(&world->events, world->now_ms + start.start_ms, SIM_EVENT_RUNNING, worker,
			 worker->id);
	pass_time_pod_changed(worker->ray, true);
}

/* Before a decision counts the time of the running container. */
static bool registers_soon(const struct sim_worker *worker)
{
	const struct snapshot own = { .settings = worker->ray->settings,
				      .autoscaler = worker->ray->input->autoscaler };
	const char *group = worker->type > 0 ? worker->ray->groups[worker->type - 1].name : NULL;
	int64_t register_ms = worker->register_ms;

	return register_ms < in_force_unregistered_ms(&own) &&
	       register_ms < in_force_raylet_gone_ms(&own) &&
	       register_ms < in_force_launch(&own, group).start_ms;
}

bool pod_of_head_is_registered(const struct sim_ray *ray)
{
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->type == 0)
			return ray->workers.at[i]->state == SIM_WORKER_REGISTERED;
	return false;
}

void pod_running(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;

	worker->waits_for_head = worker->type > 0 && !pod_of_head_is_registered(worker->ray);
	if (worker->waits_for_head)
		return;
	worker->pod.phase = "Running";
	worker->status.state = CONTAINER_RUNNING;
	worker->status.reason = "";
	worker->status.started_at = now_of(worker->ray);
	event_queue_push(&world->events, world->now_ms + worker->register_ms, SIM_EVENT_REGISTER,
			 worker, worker->id);
	pass_time_pod_changed(worker->ray, !registers_soon(worker));
}

/* The kubelet reports the head, and the init containers of its workers end. */
static void head_registered(struct sim_worker *head)
{
	struct sim_ray *ray = head->ray;

	head->conditions[1] = (struct condition){ "Ready", "True", "", "", now_of(ray) };
	head->pod.condition_count = 2;
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->state == SIM_WORKER_STARTING &&
		    ray->workers.at[i]->waits_for_head)
			pod_running(ray->workers.at[i]);
}

void pod_registered(struct sim_worker *worker)
{
	worker->state = SIM_WORKER_REGISTERED;
	worker->registered_ms = worker->ray->world->now_ms;
	worker->ray->registered++;
	worker->idle_since_ms = worker->registered_ms;
	worker->draining = false;
	record_worker(worker, RECORD_REGISTERED);
	if (worker->type == 0)
		head_registered(worker);
	pass_time_changed(worker->ray);
	place_on(worker);
}
