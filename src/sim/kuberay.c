#include "sim/kuberay.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "sim/pass_time.h"
#include "sim/place.h"
#include "sim/pod.h"
#include "sim/record.h"
#include "sim/resize.h"
#include "sim/sharing.h"
#include "sim/stock.h"

/* Above these the work would never be done. */
#define RESTARTS_MIN 1000
#define RESTARTS_PER_START 10
#define INTERRUPTIONS_MAX 1000000

/* The operator acts after operator_ms. */
static void wake(struct sim_ray *ray)
{
	struct sim_world *world = ray->world;

	if (ray->operator_due)
		return;
	ray->operator_due = true;
	event_queue_push(&world->events, world->now_ms + world->input->models.operator_ms,
			 SIM_EVENT_OPERATOR, ray, 0);
}

/* ---- the end of a Pod ---- */

static void delete_worker(struct sim_worker *worker, bool expected)
{
	struct sim_world *world = worker->ray->world;

	if (worker->state == SIM_WORKER_DELETING)
		return;
	worker->ray->registered -= worker->state == SIM_WORKER_REGISTERED;
	worker->state = SIM_WORKER_DELETING;
	worker->pod.deleting = true;
	worker->pod.deletion_time = SIM_EPOCH_MS + world->now_ms;
	sharing_changed(worker->ray);
	place_interrupt(worker);
	if (worker->counted != RECORD_NONE)
		record_worker(worker, RECORD_TERMINATING);
	event_queue_push(&world->events, world->now_ms + world->input->models.terminate_ms,
			 SIM_EVENT_GONE, worker, worker->id);
	pass_time_pod_changed(worker->ray, !expected);
}

/* All hosts of the worker's replica: the operator deletes a replica that lost a host. expected:
 * workersToDelete names it, so that decisions count it as terminated already. */
static void delete_replica(struct sim_worker *worker, bool expected)
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
	if (ray->world->resizing) {
		ray->world->resizing->release(worker);
		ray->world->resizing->retry(ray->world);
	}
	wake(ray);
	sharing_changed(ray);
	pass_time_pod_changed(ray, true);
}

/* ---- interruptions of Nodes ---- */

static void interrupt_worker(struct sim_worker *worker)
{
	if (worker->state == SIM_WORKER_DELETING)
		return;
	worker->ray->accounts[worker->type].result.interruptions++;
	worker->ray->world->interruptions++;
	delete_replica(worker, false);
	wake(worker->ray);
}

void kuberay_interrupt(struct sim_world *world, uint64_t id)
{
	size_t pool = stock_pool_of(id), n = stock_node_of(id);
	struct stock_node *node = &world->pools[pool].nodes[n];

	/* Stale: the Node has no Pods any more, or others with another end. */
	if (node->state != STOCK_READY || node->pods == 0 || node->ends_ms != world->now_ms)
		return;
	node->state = STOCK_LOST;
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (worker->type > 0 && worker->pool == pool && worker->pool_node == n)
				interrupt_worker(worker);
		}
	if (world->interruptions > INTERRUPTIONS_MAX ||
	    (world->input->end_ms == 0 &&
	     world->result->restarted > RESTARTS_MIN + RESTARTS_PER_START * world->result->started))
		world_fail(world, "interruptions of Nodes end work again and again before it is "
				  "done: lower interruptionsPerHour, or give an early end");
}

/* ---- the operator ---- */

static void delete_named(struct sim_ray *ray, size_t group)
{
	const struct strings *names = &ray->groups[group].workers_to_delete;

	if (names->count == 0)
		return;
	for (size_t i = 0; i < ray->workers.count; i++) {
		struct sim_worker *worker = ray->workers.at[i];

		if (worker->type == group + 1 && worker->state != SIM_WORKER_DELETING &&
		    text_is_among(worker->name, names->at, names->count))
			delete_replica(worker, true);
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
	for (int64_t replica = pods / hosts; replica < wanted; replica++) {
		int64_t number = (int64_t)++ray->next_replica;

		for (int64_t host = 0; host < hosts; host++) {
			if (ray->world->failed)
				return;
			stock_request(pod_new(ray, group + 1, number));
		}
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
		pod_scheduled(pod_new(ray, 0, 0), POD_WITHOUT_POOL, 0);
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
	for (size_t g = 0; g < ray->cluster.group_count; g++) {
		if (ray->world->failed)
			return;
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
	for (path += sizeof(start) - 1; text_is_digit(*path); path++)
		*ret_group = *ret_group * 10 + (size_t)(*path - '0');
	return path;
}

void kuberay_patch(struct sim_ray *ray, const struct plan *plan)
{
	VEC_EACH(const struct patch_op, op, &plan->patch) {
		size_t group;
		const char *member = split_path(op->path, &group);

		if (strcmp(op->op, "add") != 0 || !member)
			continue;
		CHECK(group < ray->cluster.group_count);
		if (strcmp(member, "/replicas") == 0) {
			record_replicas(ray, group, ray->groups[group].replicas, op->integer,
					reason_word(plan->groups.at[group].reason));
			ray->groups[group].replicas = op->integer;
			ray->groups[group].has_replicas = true;
		} else if (strcmp(member, "/scaleStrategy/workersToDelete") == 0) {
			set_to_delete(ray, group, &op->strings);
		}
	}
	if (plan->patch.count > 0)
		wake(ray);
}

/* ---- idle termination ---- */

void kuberay_suspend_init(struct sim_ray *ray)
{
	const struct labels *own = &ray->cluster.annotations;
	struct label *labels = arena_array(ray->world->arena, own->count + 1, sizeof(*labels));
	struct label *all = arena_array(ray->world->arena, own->count + 1, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->at[i].key, ANNOTATION_SUSPENDED) != 0)
			all[count] = labels[count] = own->at[i], count++;
	all[count] = (struct label){ ANNOTATION_SUSPENDED, "simulated" };
	ray->running_notes = (struct labels){ labels, count };
	ray->suspended_notes = labels_sort(all, count + 1);
}

static void set_suspended(struct sim_ray *ray, bool suspended)
{
	ray->cluster.suspend = suspended;
	ray->cluster.annotations = suspended ? ray->suspended_notes : ray->running_notes;
	ray->world->result->suspensions += suspended;
	wake(ray);
	pass_time_changed(ray);
}

void kuberay_submitted(struct sim_ray *ray)
{
	if (ray_cluster_suspended_at(&ray->cluster))
		set_suspended(ray, false);
}

void kuberay_suspend(struct sim_ray *ray, const struct plan *plan)
{
	enum cluster_action action = plan->cluster.action;

	if (action == CLUSTER_SUSPEND || action == CLUSTER_DELETE)
		set_suspended(ray, true);
	else if (action == CLUSTER_RESUME)
		set_suspended(ray, false);
}

/* ---- the start ---- */

/* A worker that exists at the start is ready: it waits neither for its container nor for its raylet. */
static void make_ready(struct sim_worker *worker)
{
	pod_running(worker);
	pod_registered(worker);
}

void kuberay_start(struct sim_ray *ray)
{
	bool always = ray->world->input->policy == SIM_POLICY_ALWAYS_ON;

	make_ready(pod_new(ray, 0, 0));
	for (size_t g = 0; g < ray->cluster.group_count; g++) {
		struct worker_group *spec = &ray->groups[g];

		if (ray->world->failed)
			break;
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
