#include "sim/place.h"

#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "sim/pass_time.h"
#include "sim/place_policy.h"
#include "sim/record.h"
#include "sim/sharing.h"
#include "sim/view.h"

/* ---- resources of a worker ---- */

void place_reset(struct sim_worker *worker)
{
	const struct sim_type *type = &worker->ray->types[worker->type];

	worker->total = type->total.at;
	for (size_t i = 0; i < type->total.count; i++)
		worker->available[i] = type->total.at[i];
	for (size_t d = 0; d < type->devices; d++)
		worker->device_free[d] = RESOURCE_UNIT;
	worker->holds = NULL;
}

/* Takes the devices of a request: whole free ones, or the part of the fullest one with room. */
static uint64_t take_devices(struct sim_worker *worker, int64_t amount)
{
	size_t count = worker->ray->types[worker->type].devices, best = SIZE_MAX;
	uint64_t taken = 0;

	for (size_t d = 0; d < count && amount > 0; d++) {
		int64_t room = worker->device_free[d];

		if (amount >= RESOURCE_UNIT && room == RESOURCE_UNIT) {
			worker->device_free[d] = 0;
			taken |= UINT64_C(1) << d;
			amount -= RESOURCE_UNIT;
		} else if (amount < RESOURCE_UNIT && room >= amount &&
			   (best == SIZE_MAX || room < worker->device_free[best])) {
			best = d;
		}
	}
	if (best != SIZE_MAX && amount > 0) {
		worker->device_free[best] -= amount;
		taken |= UINT64_C(1) << best;
		amount = 0;
	}
	CHECK(amount == 0);
	return taken;
}

static void give_devices(struct sim_hold *hold, int64_t amount)
{
	for (size_t d = 0; d < SIM_DEVICES_MAX; d++)
		if (hold->devices & UINT64_C(1) << d)
			hold->worker->device_free[d] += amount < RESOURCE_UNIT ? amount :
										 RESOURCE_UNIT;
}

static void hold_take(struct sim_hold *hold, struct sim_worker *worker,
		      const struct sim_bundle *bundle)
{
	const struct sim_fit *fit = &bundle->fits[worker->type];

	hold->worker = worker;
	hold->bundle = bundle;
	for (size_t i = 0; i < fit->need_count; i++) {
		worker->available[fit->needs[i].index].amount -= fit->needs[i].amount;
		CHECK(worker->available[fit->needs[i].index].amount >= 0);
	}
	hold->devices = take_devices(worker, fit->device_amount);
	hold->next = worker->holds;
	hold->link = &worker->holds;
	if (hold->next)
		hold->next->link = &hold->next;
	worker->holds = hold;
}

static void hold_give(struct sim_hold *hold)
{
	struct sim_worker *worker = hold->worker;
	const struct sim_fit *fit = &hold->bundle->fits[worker->type];

	for (size_t i = 0; i < fit->need_count; i++)
		worker->available[fit->needs[i].index].amount += fit->needs[i].amount;
	give_devices(hold, fit->device_amount);
	*hold->link = hold->next;
	if (hold->next)
		hold->next->link = hold->link;
}

/* ---- the queue ---- */

static void queue_push(struct sim_class *class_, const struct sim_waiting *more)
{
	struct sim_ray *ray = class_->ray;

	if (class_->queue.count == class_->queue.capacity && class_->queue.first > 0) {
		class_->queue.count -= class_->queue.first;
		memmove(class_->queue.at, class_->queue.at + class_->queue.first,
			class_->queue.count * sizeof(*class_->queue.at));
		class_->queue.first = 0;
	}
	if (class_->queue.count == class_->queue.capacity) {
		class_->queue.capacity = class_->queue.capacity > 0 ? class_->queue.capacity * 2 :
								      4;
		class_->queue.at = memory_resize(class_->queue.at, class_->queue.capacity,
						 sizeof(*class_->queue.at));
	}
	class_->queue.at[class_->queue.count++] = *more;
	if (class_->waiting == 0) {
		class_->active = ray->active_count;
		ray->active[ray->active_count++] = class_;
	}
	class_->waiting += more->count;
	record_waiting(class_, more->count);
}

static struct sim_waiting queue_pop(struct sim_class *class_)
{
	struct sim_ray *ray = class_->ray;
	struct sim_waiting *front = &class_->queue.at[class_->queue.first];
	struct sim_waiting one = *front;

	one.count = 1;
	if (--front->count == 0)
		class_->queue.first++;
	if (--class_->waiting == 0) {
		ray->active[class_->active] = ray->active[--ray->active_count];
		ray->active[class_->active]->active = class_->active;
		class_->queue.first = class_->queue.count = 0;
	}
	record_waiting(class_, -1);
	return one;
}

/* ---- runs ---- */

static struct sim_run *new_run(struct sim_class *class_)
{
	struct sim_world *world = class_->ray->world;
	struct sim_run *run = class_->free_runs;

	if (run)
		class_->free_runs = run->next_free;
	else
		run = arena_alloc(world->arena,
				  sizeof(*run) + class_->bundle_count * sizeof(run->holds[0]));
	run->id = ++world->next_id;
	run->class_ = class_;
	for (size_t b = 0; b < class_->bundle_count; b++)
		run->holds[b].run = run;
	return run;
}

static void take(struct sim_run *run, size_t bundle, struct sim_worker *worker)
{
	hold_take(&run->holds[bundle], worker, &run->class_->bundles[bundle]);
	worker->mark = run->id;
}

/* One node for all bundles. */
static size_t take_strict_pack(struct sim_run *run)
{
	const struct sim_class *class_ = run->class_;
	struct sim_worker *worker =
		policy_node_of_bundle(class_->ray, class_->whole, run->id, false);
	size_t taken = 0;

	if (!worker)
		return 0;
	for (; taken < class_->bundle_count; taken++) {
		if (!policy_fits(&class_->bundles[taken], worker))
			break;
		take(run, taken, worker);
	}
	return taken;
}

/* The bundles in the order of their size; a node that this group has is marked with its id. */
static size_t take_bundles(struct sim_run *run)
{
	const struct sim_class *class_ = run->class_;
	size_t taken = 0;

	for (; taken < class_->bundle_count; taken++) {
		const struct sim_bundle *bundle = &class_->bundles[taken];
		struct sim_worker *last = taken > 0 ? run->holds[taken - 1].worker : NULL;
		struct sim_worker *worker;

		if (class_->strategy == PLACEMENT_PACK && last && policy_fits(bundle, last))
			worker = last;
		else
			worker = policy_node_of_bundle(class_->ray, bundle, run->id, false);
		if (!worker && class_->strategy == PLACEMENT_SPREAD)
			worker = policy_node_of_bundle(class_->ray, bundle, run->id, true);
		if (!worker)
			break;
		take(run, taken, worker);
	}
	return taken;
}

static void free_run(struct sim_run *run)
{
	run->id = 0;
	run->next_free = run->class_->free_runs;
	run->class_->free_runs = run;
}

/* Takes what the bundles of one instance need; NULL: they do not fit now. */
static struct sim_run *take_all(struct sim_class *class_, struct sim_worker *only)
{
	bool gang = class_->kind == WORK_PLACEMENT_GROUP;
	struct sim_worker *worker = only || gang ? only : policy_node_of_task(class_);

	if (!gang && !worker)
		return NULL;
	struct sim_run *run = new_run(class_);
	if (!gang) {
		pass_time_work_changes(worker, class_);
		take(run, 0, worker);
		return run;
	}
	size_t taken = class_->strategy == PLACEMENT_STRICT_PACK ? take_strict_pack(run) :
								   take_bundles(run);
	if (taken == class_->bundle_count)
		return run;
	while (taken > 0)
		hold_give(&run->holds[--taken]);
	free_run(run);
	return NULL;
}

/* Until the work of a run begins. A task takes the process of an earlier task of its worker or starts
 * one, an actor keeps its process (ray: worker_pool.cc). */
static int64_t process_ms(const struct sim_run *run)
{
	struct sim_worker *worker = run->holds[0].worker;

	if (run->class_->kind == WORK_PLACEMENT_GROUP)
		return 0;
	if (worker->idle_processes == 0)
		return worker->ray->world->input->models.process_start_ms;
	worker->idle_processes--;
	return 0;
}

static int64_t capped(int64_t span_ms)
{
	return span_ms < SIM_TIME_MAX_MS ? span_ms : SIM_TIME_MAX_MS;
}

/* Of work that saves checkpoints and was interrupted. */
static int64_t restart_ms(const struct sim_world *world, const struct sim_waiting *one)
{
	const struct work_item *item = &world->input->workload->items[one->item];

	return one->restarted && item->checkpoints ? capped(item->checkpoint_ms) : 0;
}

/* Of its duration, from its checkpoint on. */
static int64_t rest_ms(const struct sim_world *world, const struct sim_waiting *one)
{
	return capped(world->input->workload->items[one->item].duration_ms) - one->done_ms;
}

/* Starts the oldest instance of the class if its bundles fit. `only`: for a task, the only worker
 * with room; NULL: any. */
static bool start(struct sim_class *class_, struct sim_worker *only)
{
	struct sim_world *world = class_->ray->world;
	struct sim_run *run = take_all(class_, only);

	if (!run)
		return false;
	struct sim_waiting one = queue_pop(class_);
	run->item = one.item;
	run->done_ms = one.done_ms;
	run->saved = false;
	run->saved_ms = 0;
	for (size_t b = 0; b < class_->bundle_count; b++)
		record_used(run->holds[b].worker, class_->bundles[b].gpus);
	if (class_->kind == WORK_PLACEMENT_GROUP)
		pass_time_changed(class_->ray);
	int64_t before_ms = process_ms(run);
	run->begun_ms = world->now_ms;
	run->restart_ms = restart_ms(world, &one);
	run->work_ms = world->now_ms + before_ms + run->restart_ms;
	world->running++;
	world->last_work_ms = world->now_ms;
	event_queue_push(&world->events, run->work_ms + rest_ms(world, &one), SIM_EVENT_END, run,
			 run->id);
	record_start(world, &one, before_ms);
	return true;
}

/* More work waits: it is seen once it is reported. */
static void plan_report(struct sim_class *class_)
{
	struct sim_world *world = class_->ray->world;

	if (class_->kind == WORK_PLACEMENT_GROUP) {
		pass_time_waiting_changed(class_);
	} else if (!class_->report_due) {
		class_->report_due = true;
		event_queue_push(&world->events, view_next_report_ms(world->now_ms),
				 SIM_EVENT_REPORT, class_, 0);
	}
}

void place_reported(struct sim_class *class_)
{
	class_->report_due = false;
	if (class_->waiting > 0)
		pass_time_waiting_changed(class_);
}

static void submit(struct sim_class *class_, const struct sim_waiting *more)
{
	bool waited = class_->waiting > 0;

	queue_push(class_, more);
	if (!waited)
		while (class_->waiting > 0 && start(class_, NULL))
			continue;
	if (class_->waiting > 0)
		plan_report(class_);
}

void place_submit(struct sim_class *class_, size_t item, int64_t count)
{
	submit(class_, &(struct sim_waiting){ .item = item,
					      .count = count,
					      .since_ms = class_->ray->world->now_ms });
}

static struct sim_class *oldest_that_fits(struct sim_worker *worker, uint64_t attempt)
{
	struct sim_ray *ray = worker->ray;
	struct sim_class *best = NULL;

	for (size_t i = 0; i < ray->active_count; i++) {
		struct sim_class *class_ = ray->active[i];
		size_t item = class_->queue.at[class_->queue.first].item;

		if (best && best->queue.at[best->queue.first].item <= item)
			continue;
		if (class_->attempt != attempt && policy_can_use(class_, worker))
			best = class_;
	}
	return best;
}

/* A group that could use the worker may still not fit as a whole: it is tried once. */
void place_on(struct sim_worker *worker)
{
	uint64_t attempt = ++worker->ray->world->next_id;
	struct sim_class *class_;

	if (worker->state != SIM_WORKER_REGISTERED || worker->draining)
		return;
	while ((class_ = oldest_that_fits(worker, attempt)))
		if (start(class_, worker))
			pass_time_waiting_changed(class_);
		else
			class_->attempt = attempt;
}

static void release(struct sim_run *run)
{
	ARRAY_EACH(struct sim_hold, hold, run->holds, run->class_->bundle_count) {
		hold_give(hold);
		if (!hold->worker->holds)
			hold->worker->idle_since_ms = hold->worker->ray->world->now_ms;
		record_used(hold->worker, -hold->bundle->gpus);
		pass_time_work_changes(hold->worker, NULL);
	}
	run->class_->ray->world->running--;
}

void place_end(struct sim_run *run)
{
	struct sim_class *class_ = run->class_;

	release(run);
	record_end(class_->ray->world);
	sharing_lost(class_, run->restart_ms);
	if (class_->kind == WORK_TASK)
		run->holds[0].worker->idle_processes++;
	for (size_t b = 0; b < class_->bundle_count; b++)
		place_on(run->holds[b].worker);
	free_run(run);
}

/* Source: ray 2.60, train/v2/api/train_fn_utils.py, get_preemption_info: "save a just-in-time checkpoint and
 * keep training". One checkpoint for each run, at its first drain. */
void place_drained(struct sim_worker *worker)
{
	const struct sim_world *world = worker->ray->world;

	for (const struct sim_hold *hold = worker->holds; hold; hold = hold->next) {
		struct sim_run *run = hold->run;

		if (run->saved || !world->input->workload->items[run->item].checkpoints)
			continue;
		run->saved = true;
		run->saved_ms = world->now_ms > run->work_ms ? world->now_ms - run->work_ms : 0;
	}
}

void place_interrupt(struct sim_worker *worker)
{
	int64_t now_ms = worker->ray->world->now_ms;

	while (worker->holds) {
		struct sim_run *run = worker->holds->run;
		struct sim_class *class_ = run->class_;
		const struct sim_waiting rest = { .item = run->item,
						  .count = 1,
						  .restarted = true,
						  .since_ms = now_ms,
						  .done_ms = run->done_ms + run->saved_ms };

		release(run);
		class_->ray->world->result->restarted++;
		sharing_lost(class_, now_ms - run->begun_ms - run->saved_ms);
		for (size_t b = 0; b < class_->bundle_count; b++)
			place_on(run->holds[b].worker);
		free_run(run);
		submit(class_, &rest);
	}
}
