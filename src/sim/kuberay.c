#include "sim/kuberay.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "sim/controller.h"
#include "sim/idle.h"
#include "sim/place.h"
#include "sim/pod_start.h"
#include "sim/record.h"
#include "sim/stock.h"
#include "sim/suspend.h"

#define NO_POOL SIZE_MAX

static time_ms now_of(const struct sim_ray *ray)
{
	return SIM_EPOCH_MS + ray->world->now_ms;
}

/* ---- Pods ---- */

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

	worker->owner = (struct pod_owner){ "ray.io/v1", "RayCluster", ray->cluster.name,
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
	fill_labels(worker);
	set_scheduled(worker, "False", "Unschedulable", "no Node of the stock has room");
}

static struct sim_worker *new_worker(struct sim_ray *ray, size_t type, int64_t replica)
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
	worker->pool = NO_POOL;
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
	if (++world->pods > SIM_PODS_MAX)
		world_fail(world, "the simulation needs more than 100000 Pods at one time: lower "
				  "maxReplicas of the worker groups, or simulate less work");
	return worker;
}

void kuberay_scheduled(struct sim_worker *worker, size_t pool, size_t node)
{
	struct sim_world *world = worker->ray->world;
	struct pod_start start = pod_start_draw(worker);

	worker->state = SIM_WORKER_STARTING;
	worker->register_ms = start.register_ms;
	worker->pool = pool;
	worker->pool_node = node;
	snprintf(worker->node_name, sizeof(worker->node_name), "node-%llu",
		 (unsigned long long)(pool == NO_POOL ? worker->id : node));
	worker->pod.spec.node_name = worker->node_name;
	set_scheduled(worker, "True", "", "");
	record_worker(worker, RECORD_STARTING);
	event_queue_push(&world->events, world->now_ms + start.start_ms, SIM_EVENT_RUNNING, worker,
			 worker->id);
	controller_pod_changed(worker->ray, true);
}

/* Before a decision counts the time of the running container. */
static bool registers_soon(const struct sim_worker *worker)
{
	const struct settings *settings = &worker->ray->settings;
	int64_t register_ms = worker->register_ms;

	return register_ms < settings->unregistered_seconds * MS_PER_SECOND &&
	       register_ms < settings->raylet_gone_seconds * MS_PER_SECOND &&
	       register_ms < settings->start_timeout_seconds * MS_PER_SECOND;
}

void kuberay_running(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;

	worker->waits_for_head = worker->type > 0 && !suspend_has_ray(worker->ray);
	if (worker->waits_for_head)
		return;
	worker->pod.phase = "Running";
	worker->status.state = CONTAINER_RUNNING;
	worker->status.reason = "";
	worker->status.started_at = now_of(worker->ray);
	worker->status.started_before = true;
	event_queue_push(&world->events, world->now_ms + worker->register_ms, SIM_EVENT_REGISTER,
			 worker, worker->id);
	controller_pod_changed(worker->ray, !registers_soon(worker));
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
			kuberay_running(ray->workers.at[i]);
}

void kuberay_registered(struct sim_worker *worker)
{
	worker->state = SIM_WORKER_REGISTERED;
	worker->registered_ms = worker->ray->world->now_ms;
	worker->ray->registered++;
	idle_registered(worker);
	record_worker(worker, RECORD_REGISTERED);
	if (worker->type == 0)
		head_registered(worker);
	controller_changed(worker->ray);
	place_on(worker);
}

static void delete_worker(struct sim_worker *worker, bool expected)
{
	struct sim_world *world = worker->ray->world;

	if (worker->state == SIM_WORKER_DELETING)
		return;
	worker->ray->registered -= worker->state == SIM_WORKER_REGISTERED;
	worker->state = SIM_WORKER_DELETING;
	worker->pod.deleting = true;
	worker->pod.deletion_time = now_of(worker->ray);
	place_interrupt(worker);
	if (worker->counted != RECORD_NONE)
		record_worker(worker, RECORD_TERMINATING);
	event_queue_push(&world->events, world->now_ms + world->input->models.terminate_ms,
			 SIM_EVENT_GONE, worker, worker->id);
	controller_pod_changed(worker->ray, !expected);
}

void kuberay_delete_replica(struct sim_worker *worker, bool expected)
{
	struct sim_ray *ray = worker->ray;

	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->type == worker->type &&
		    ray->workers.at[i]->replica == worker->replica)
			delete_worker(ray->workers.at[i], expected);
}

void kuberay_gone(struct sim_worker *worker)
{
	struct sim_ray *ray = worker->ray;
	struct sim_worker *last = ray->workers.at[--ray->workers.count];

	record_worker(worker, RECORD_NONE);
	ray->workers.at[worker->index] = last;
	last->index = worker->index;
	ray->world->pods--;
	worker->id = 0;
	worker->state = SIM_WORKER_NONE;
	worker->next_free = ray->free_workers;
	ray->free_workers = worker;
	if (worker->type > 0)
		stock_release(worker);
	kuberay_wake(ray);
	controller_pod_changed(ray, true);
}

/* ---- the operator ---- */

void kuberay_wake(struct sim_ray *ray)
{
	struct sim_world *world = ray->world;

	if (ray->operator_due)
		return;
	ray->operator_due = true;
	event_queue_push(&world->events, world->now_ms + world->input->models.operator_ms,
			 SIM_EVENT_OPERATOR, ray, 0);
}

static void delete_named(struct sim_ray *ray, size_t group)
{
	const struct strings *names = &ray->groups[group].workers_to_delete;

	for (size_t i = 0; names->count > 0 && i < ray->workers.count; i++) {
		struct sim_worker *worker = ray->workers.at[i];

		if (worker->type == group + 1 && worker->state != SIM_WORKER_DELETING &&
		    text_is_among(worker->name, names->at, names->count))
			kuberay_delete_replica(worker, true);
	}
}

static void create_missing(struct sim_ray *ray, size_t group)
{
	const struct worker_group *spec = &ray->groups[group];
	int64_t hosts = spec->num_of_hosts > 1 ? spec->num_of_hosts : 1;
	int64_t wanted = spec->replicas < spec->max_replicas ? spec->replicas : spec->max_replicas;
	int64_t pods = 0;

	if (wanted < spec->min_replicas)
		wanted = spec->min_replicas;
	if (spec->suspend)
		return;
	for (size_t i = 0; i < ray->workers.count; i++)
		pods += ray->workers.at[i]->type == group + 1 &&
			ray->workers.at[i]->state != SIM_WORKER_DELETING;
	for (int64_t replica = pods / hosts; replica < wanted && !ray->world->failed; replica++) {
		int64_t number = (int64_t)++ray->next_replica;

		for (int64_t host = 0; host < hosts && !ray->world->failed; host++)
			stock_request(new_worker(ray, group + 1, number));
	}
}

/* False while nothing else is reconciled: the cluster is suspended, or its old Pods are ending. */
static bool reconcile_head(struct sim_ray *ray)
{
	if (ray->cluster.suspend) {
		for (size_t i = 0; i < ray->workers.count; i++)
			delete_worker(ray->workers.at[i], false);
		return false;
	}
	if (ray->workers.count == 0)
		/* A head has a Node of its own, beside the pools. */
		kuberay_scheduled(new_worker(ray, 0, 0), NO_POOL, 0);
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->type == 0)
			return ray->workers.at[i]->state != SIM_WORKER_DELETING;
	return false;
}

void kuberay_reconcile(struct sim_ray *ray)
{
	ray->operator_due = false;
	if (!reconcile_head(ray))
		return;
	for (size_t g = 0; g < ray->cluster.group_count && !ray->world->failed; g++) {
		delete_named(ray, g);
		create_missing(ray, g);
	}
}

/* ---- the patch ---- */

static struct strings copy_names(const struct strings *names, struct arena *arena)
{
	const char **copy = arena_array(arena, names->count, sizeof(*copy));

	for (size_t i = 0; i < names->count; i++)
		copy[i] = arena_strdup(arena, names->at[i]);
	return (struct strings){ copy, names->count };
}

/* The new list may contain names of the old one: it is copied before the old one is freed. */
static void set_to_delete(struct sim_ray *ray, size_t group, const struct strings *names)
{
	struct strings kept = copy_names(names, &ray->world->pass_arena);

	arena_reset(&ray->to_delete[group]);
	ray->groups[group].has_scale_strategy = ray->groups[group].has_workers_to_delete = true;
	ray->groups[group].workers_to_delete = copy_names(&kept, &ray->to_delete[group]);
}

/* The index of the group and the member of "/spec/workerGroupSpecs/<index>/<member>"; NULL for
 * another path. */
static const char *split_path(const char *path, size_t *ret_group)
{
	static const char start[] = "/spec/workerGroupSpecs/";

	*ret_group = 0;
	if (strncmp(path, start, sizeof(start) - 1) != 0)
		return NULL;
	for (path += sizeof(start) - 1; *path >= '0' && *path <= '9'; path++)
		*ret_group = *ret_group * 10 + (size_t)(*path - '0');
	return path;
}

void kuberay_patch(struct sim_ray *ray, const struct plan *plan)
{
	for (size_t i = 0; i < plan->patch.count; i++) {
		const struct patch_op *op = &plan->patch.at[i];
		size_t group;
		const char *member = split_path(op->path, &group);

		if (strcmp(op->op, "add") != 0 || !member)
			continue;
		CHECK(group < ray->cluster.group_count);
		if (strcmp(member, "/replicas") == 0) {
			record_replicas(ray, group, ray->groups[group].replicas, op->integer,
					plan->groups.at[group].reason);
			ray->groups[group].replicas = op->integer;
			ray->groups[group].has_replicas = true;
		} else if (strcmp(member, "/scaleStrategy/workersToDelete") == 0) {
			set_to_delete(ray, group, &op->strings);
		}
	}
	if (plan->patch.count > 0)
		kuberay_wake(ray);
}

/* A worker that exists at the start is ready: it waits neither for its container nor for its raylet. */
static void make_ready(struct sim_worker *worker)
{
	kuberay_running(worker);
	kuberay_registered(worker);
}

void kuberay_start(struct sim_ray *ray)
{
	bool always = ray->world->input->policy == SIM_POLICY_ALWAYS_ON;
	struct sim_worker *head = new_worker(ray, 0, 0);

	set_scheduled(head, "True", "", "");
	make_ready(head);
	for (size_t g = 0; g < ray->cluster.group_count && !ray->world->failed; g++) {
		struct worker_group *spec = &ray->groups[g];

		if (spec->replicas > spec->max_replicas || always)
			spec->replicas = spec->max_replicas;
		if (spec->replicas < spec->min_replicas)
			spec->replicas = spec->min_replicas;
		create_missing(ray, g);
	}
	for (size_t i = 1; i < ray->workers.count; i++)
		if (ray->workers.at[i]->state == SIM_WORKER_STARTING)
			make_ready(ray->workers.at[i]);
}
