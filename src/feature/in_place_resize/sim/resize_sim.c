/* In-place resize: the API server's, the kubelet's and the raylet's part. feature/in_place_resize/core decides,
 * as in the controller; here its plans change the Pod's record, spec, conditions and status. Source: kubernetes 1.34,
 * pkg/kubelet/allocation/allocation_manager.go (a resize is infeasible or deferred, with what the Node
 * has; deferred ones are tried again when a Pod has ended); ray 2.60, local_resource_manager.cc
 * (what is in use is kept). Simplified: a resize takes models.resize_ms, never fails, and requests are
 * never refused by the API server. */
#include <stdio.h>
#include <string.h>

#include "feature/in_place_resize/core/resize_step.h"
#include "sim/pass_time.h"
#include "sim/place.h"
#include "sim/pod.h"
#include "sim/record.h"
#include "sim/resize.h"
#include "sim/stock.h"

#define MESSAGE_SIZE 200

/* Limits and requests of container 0. */
struct size {
	struct resize_amount cpu, memory;
};

/* The arrays of a copy of limits and requests. */
struct own_amounts {
	struct quantity *limits, *requests;
};

/* Of a worker that was resized; used again by workers of its type. */
struct sim_resize {
	struct sim_resize *next_free;
	struct resize_status status;
	char reason[MESSAGE_SIZE], message[MESSAGE_SIZE];
	/* By the spec, on its Node, and in the container. */
	struct size wanted, allocated;
	struct container *wanted_containers, *allocated_containers;
	struct pod_spec allocated_spec;
	struct container_resources actual;
	struct own_amounts of_wanted, of_allocated, of_actual;
	bool waits;      /* for room */
	uint64_t change; /* of the event that ends it; 0: none is planned */
	struct resource *total;
};

/* ---- amounts ---- */

static int64_t amount_of(const struct quantities *list, const char *name)
{
	const struct quantity *found = quantities_find(list, name);

	return found && found->valid ? found->amount : -1;
}

/* A copy in `items` with these amounts of CPU and memory. */
static void copy_quantities(const struct quantities *from, int64_t cpu, int64_t memory,
			    struct quantity *items, struct quantities *ret_copy)
{
	for (size_t i = 0; i < from->count; i++) {
		items[i] = from->at[i];
		if (strcmp(items[i].name, "cpu") == 0 && cpu >= 0)
			items[i].amount = cpu;
		else if (strcmp(items[i].name, "memory") == 0 && memory >= 0)
			items[i].amount = memory;
	}
	*ret_copy = (struct quantities){ items, from->count };
}

/* Its arrays have been made by new_resize. */
static void set_size(struct quantities *limits, struct quantities *requests,
		     const struct own_amounts *own, const struct size *size)
{
	copy_quantities(limits, size->cpu.limit, size->memory.limit, own->limits, limits);
	copy_quantities(requests, size->cpu.request, size->memory.request, own->requests, requests);
}

static struct size size_of(const struct container *container)
{
	return (struct size){
		.cpu = { amount_of(&container->limits, "cpu"),
			 amount_of(&container->requests, "cpu") },
		.memory = { amount_of(&container->limits, "memory"),
			    amount_of(&container->requests, "memory") },
	};
}

static bool same_size(const struct size *a, const struct size *b)
{
	return a->cpu.limit == b->cpu.limit && a->cpu.request == b->cpu.request &&
	       a->memory.limit == b->memory.limit && a->memory.request == b->memory.request;
}

/* ---- the Pod ---- */

static struct quantity *own_quantities(struct arena *arena, struct quantities *list)
{
	struct quantity *items = arena_array(arena, list->count, sizeof(*items));

	copy_quantities(list, -1, -1, items, list);
	return items;
}

static struct own_amounts own_amounts(struct arena *arena, struct quantities *limits,
				      struct quantities *requests)
{
	struct quantity *items = own_quantities(arena, limits);

	return (struct own_amounts){ items, own_quantities(arena, requests) };
}

static struct container *own_containers(struct arena *arena, const struct pod_spec *spec,
					struct own_amounts *ret_own)
{
	struct container *copy = arena_array(arena, spec->container_count, sizeof(*copy));

	for (size_t i = 0; i < spec->container_count; i++)
		copy[i] = spec->containers[i];
	*ret_own = own_amounts(arena, &copy[0].limits, &copy[0].requests);
	return copy;
}

static struct sim_resize *new_resize(struct sim_ray *ray, struct sim_type *type,
				     const struct pod_spec *spec)
{
	struct arena *arena = ray->world->arena;
	struct sim_resize *resize = type->free_resizes;

	if (resize) {
		type->free_resizes = resize->next_free;
	} else {
		resize = ARENA_NEW(arena, struct sim_resize);
		resize->wanted_containers = own_containers(arena, spec, &resize->of_wanted);
		resize->allocated_containers = own_containers(arena, spec, &resize->of_allocated);
		resize->actual.limits = spec->containers[0].limits;
		resize->actual.requests = spec->containers[0].requests;
		resize->of_actual =
			own_amounts(arena, &resize->actual.limits, &resize->actual.requests);
		resize->total = arena_array(arena, type->total.count, sizeof(*resize->total));
	}
	return resize;
}

static void set_actual(struct sim_resize *resize, const struct size *size)
{
	set_size(&resize->actual.limits, &resize->actual.requests, &resize->of_actual, size);
}

static void set_wanted(struct sim_resize *resize, const struct size *size)
{
	struct container *own = &resize->wanted_containers[0];

	resize->wanted = *size;
	set_size(&own->limits, &own->requests, &resize->of_wanted, size);
}

static void set_allocated(struct sim_resize *resize, const struct size *size)
{
	struct container *own = &resize->allocated_containers[0];

	resize->allocated = *size;
	set_size(&own->limits, &own->requests, &resize->of_allocated, size);
}

static struct sim_resize *resize_of(struct sim_worker *worker)
{
	struct sim_type *type = &worker->ray->types[worker->type];
	struct pod *pod = &worker->pod;
	struct sim_resize *resize = worker->resize;
	struct size size;

	if (resize)
		return resize;
	size = size_of(&pod->spec.containers[0]);
	resize = worker->resize = new_resize(worker->ray, type, &pod->spec);
	resize->waits = false;
	resize->change = 0;
	for (size_t i = 0; i < type->total.count; i++)
		resize->total[i] = type->total.at[i];
	set_wanted(resize, &size);
	set_allocated(resize, &size);
	set_actual(resize, &size);
	resize->allocated_spec = pod->spec;
	resize->allocated_spec.containers = resize->allocated_containers;
	worker->total = resize->total;
	worker->allocated = &resize->allocated_spec;
	worker->status.resources = &resize->actual;
	pod->spec.containers = resize->wanted_containers;
	pod->resize = &resize->status;
	return resize;
}

/* Behind those that it has anyway. */
static void set_condition(struct sim_worker *worker, const char *type, const char *reason)
{
	size_t own = worker->type == 0 ? 2 : 1;

	worker->pod.condition_count = own + (type ? 1 : 0);
	if (type)
		worker->conditions[own] =
			(struct condition){ type, "True", reason, worker->resize->message,
					    SIM_EPOCH_MS + worker->ray->world->now_ms };
}

/* ---- the kubelet ---- */

static void refuse(struct sim_worker *worker, const struct stock_refusal *refusal)
{
	struct sim_resize *resize = worker->resize;
	bool cpu = strcmp(refusal->resource, "cpu") == 0;
	int64_t unit = cpu ? RESOURCE_UNIT / 1000 : RESOURCE_UNIT;
	bool deferred = refusal->asked <= refusal->capacity;
	long long asked = (long long)((refusal->asked + unit - 1) / unit);
	long long used = (long long)((refusal->used + unit - 1) / unit);
	long long capacity = (long long)(refusal->capacity / unit);

	if (deferred)
		(void)snprintf(resize->message, MESSAGE_SIZE,
			       "Node didn't have enough resource: %s, requested: %lld, used: %lld, "
			       "capacity: %lld",
			       refusal->resource, asked, used, capacity);
	else
		(void)snprintf(
			resize->message, MESSAGE_SIZE,
			"Node didn't have enough capacity: %s, requested: %lld, capacity: %lld",
			refusal->resource, asked, capacity);
	set_condition(worker, "PodResizePending", deferred ? "Deferred" : "Infeasible");
}

/* Sees a spec that differs from what the container has, or room for it. */
static void admit(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	struct sim_resize *resize = worker->resize;
	struct stock_refusal refusal;
	bool same = same_size(&resize->wanted, &resize->allocated);

	world->resizes_waiting -= resize->waits;
	resize->waits = !same && !stock_resize(worker, &refusal);
	world->resizes_waiting += resize->waits;
	if (resize->waits) {
		refuse(worker, &refusal);
		return;
	}
	if (!same) {
		set_allocated(resize, &resize->wanted);
		resize->change = ++world->next_id;
		event_queue_push(&world->events, world->now_ms + world->input->models.resize_ms,
				 SIM_EVENT_RESIZE, worker, resize->change);
	}
	resize->message[0] = '\0';
	set_condition(worker, resize->change ? "PodResizeInProgress" : NULL, "");
}

static void apply(struct sim_worker *worker)
{
	struct sim_resize *resize = worker->resize;

	resize->change = 0;
	set_actual(resize, &resize->allocated);
	if (!resize->waits)
		set_condition(worker, NULL, "");
	worker->ray->world->result->resizes++;
	record_resize(worker);
	pass_time_pod_changed(worker->ray, true);
}

static bool is_due(const struct sim_worker *worker, uint64_t id)
{
	return worker->resize && worker->resize->change == id;
}

static void retry_all(struct sim_world *world)
{
	for (size_t r = 0; world->resizes_waiting > 0 && r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (!worker->resize || !worker->resize->waits ||
			    worker->state != SIM_WORKER_REGISTERED)
				continue;
			admit(worker);
			pass_time_pod_changed(worker->ray, true);
		}
}

static void release(struct sim_worker *worker)
{
	struct sim_type *type = &worker->ray->types[worker->type];
	struct sim_resize *resize = worker->resize;

	if (!resize)
		return;
	worker->ray->world->resizes_waiting -= resize->waits;
	resize->next_free = type->free_resizes;
	type->free_resizes = resize;
	worker->resize = NULL;
}

/* ---- the raylet ---- */

static int64_t inform_of(struct sim_worker *worker, const char *name, int64_t wanted)
{
	size_t count = worker->ray->types[worker->type].total.count;

	for (size_t i = 0; i < count; i++) {
		struct resource *total = &worker->resize->total[i];
		int64_t used = total->amount - worker->available[i].amount;

		if (strcmp(total->name, name) != 0)
			continue;
		total->amount = wanted > used ? wanted : used;
		worker->available[i].amount = total->amount - used;
		return total->amount;
	}
	return wanted;
}

static struct plan_size inform(struct sim_worker *worker, const struct plan_size *size)
{
	return (struct plan_size){ inform_of(worker, "CPU", size->cpu),
				   inform_of(worker, "memory", size->memory) };
}

/* ---- the controller's steps ---- */

static void write_record(struct sim_resize *resize, const struct plan_resize *change)
{
	resize->status = change->status;
	(void)snprintf(resize->reason, MESSAGE_SIZE, "%s", change->status.last_failed_reason);
	resize->status.last_failed_reason = resize->reason;
	resize->status.wanted_cpu = change->wanted.cpu;
	resize->status.wanted_memory = change->wanted.memory;
}

static void request(struct sim_worker *worker, struct plan_resize *change)
{
	struct sim_resize *resize = resize_of(worker);
	struct plan_size smaller;
	struct size size;

	if (resize_step_shrinks(change, &smaller)) {
		struct plan_size answer = inform(worker, &smaller);

		resize_step_answered(change, &answer, SIM_EPOCH_MS + worker->ray->world->now_ms);
	}
	write_record(resize, change);
	size = (struct size){ resize_step_amount(change, true), resize_step_amount(change, false) };
	set_wanted(resize, &size);
	admit(worker);
}

static void sync(struct sim_worker *worker, const struct plan_resize *change)
{
	struct sim_resize *resize = resize_of(worker);

	(void)inform(worker, &change->wanted);
	write_record(resize, change);
	record_resize(worker);
	place_on(worker);
}

static void carry_out(struct sim_ray *ray, const struct plan *plan)
{
	VEC_EACH(const struct plan_resize, item, &plan->resizes) {
		struct sim_worker *worker = pod_find(ray, item->pod);
		struct plan_resize change = *item;

		if (!worker || worker->state != SIM_WORKER_REGISTERED)
			continue;
		if (change.action == RESIZE_SYNC)
			sync(worker, &change);
		else
			request(worker, &change);
		pass_time_pod_changed(ray, true);
	}
}

static void enable(struct settings *settings)
{
	settings->in_place_resize = true;
}

static bool enabled(const struct settings *settings)
{
	return settings->in_place_resize;
}

const struct sim_resizing resize_sim = {
	.enable = enable,
	.enabled = enabled,
	.plan = carry_out,
	.is_due = is_due,
	.applied = apply,
	.retry = retry_all,
	.release = release,
};
