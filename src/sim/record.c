#include "sim/record.h"

#include "base/check.h"
#include "base/hash.h"
#include "sim/sharing.h"

enum course_kind { COURSE_WORKER, COURSE_USED, COURSE_START, COURSE_REPLICAS, COURSE_RESIZE };

/* Those that have a Node. */
static int64_t worker_count(const struct sim_account *account)
{
	return account->workers[RECORD_STARTING] + account->workers[RECORD_REGISTERED] +
	       account->workers[RECORD_TERMINATING];
}

/* The account of a type with its sums as of now. */
static struct sim_account *account_of(const struct sim_ray *ray, size_t type)
{
	struct sim_account *account = &ray->accounts[type];
	struct sim_group *sums = &account->result;
	int64_t now_ms = ray->world->now_ms;
	__int128 span_ms = now_ms - account->at_ms;
	__int128 gpus = sums->worker_gpus;

	CHECK(account->used >= 0 && account->used <= account->workers[RECORD_REGISTERED] * gpus);
	sums->starting += span_ms * account->workers[RECORD_STARTING] * gpus;
	sums->terminating += span_ms * account->workers[RECORD_TERMINATING] * gpus;
	sums->used += span_ms * account->used;
	sums->idle += span_ms * (account->workers[RECORD_REGISTERED] * gpus - account->used);
	sums->worker_ms += span_ms * worker_count(account);
	account->at_ms = now_ms;
	return account;
}

/* ---- points ---- */

/* Keeps every second point, and fewer of those to come. */
static void thin(struct sim_account *account)
{
	size_t kept = 0;

	for (size_t i = 0; i < account->points.count; i += 2)
		account->points.at[kept++] = account->points.at[i];
	account->points.count = kept;
	account->spacing_ms =
		2 * (account->at_ms - account->points.at[0].at_ms) / SIM_POINTS_MAX + 1;
}

static void add_point(struct sim_world *world, struct sim_account *account)
{
	int64_t workers = worker_count(account);
	struct sim_point point = {
		.at_ms = account->at_ms,
		.demand = resource_sum(account->used, account->waiting_gpus),
		.provisioned = workers * account->result.worker_gpus,
		.used = account->used,
	};
	struct sim_point *last =
		account->points.count > 0 ? &account->points.at[account->points.count - 1] : NULL;

	if (workers > account->result.peak_workers)
		account->result.peak_workers = workers;
	if (last && point.at_ms - last->at_ms <= account->spacing_ms) {
		point.at_ms = last->at_ms;
		*last = point;
		return;
	}
	if (account->points.count == SIM_POINTS_MAX)
		thin(account);
	VEC_PUSH(world->result_arena, &account->points, point);
}

/* ---- changes ---- */

/* One change at this time, of a type of workers. Numbers of Pods are left out: they depend on passes
 * that changed nothing. */
static void add_to_course(const struct sim_ray *ray, size_t type, enum course_kind kind,
			  int64_t value)
{
	struct sim_world *world = ray->world;
	const int64_t change[] = { world->now_ms, (int64_t)ray->number, (int64_t)type, kind,
				   value };

	world->result->course = hash_bytes(world->result->course, change, sizeof(change));
}

void record_worker(struct sim_worker *worker, enum record_state state)
{
	struct sim_world *world = worker->ray->world;
	struct sim_account *account = account_of(worker->ray, worker->type);

	add_to_course(worker->ray, worker->type, COURSE_WORKER, (int64_t)state);
	account->workers[worker->counted]--;
	account->workers[state]++;
	if ((worker->counted == RECORD_NONE) != (state == RECORD_NONE))
		world->provisioned_gpus += state == RECORD_NONE ? -account->result.worker_gpus :
								  account->result.worker_gpus;
	if (world->provisioned_gpus > world->result->peak_gpus)
		world->result->peak_gpus = world->provisioned_gpus;
	add_point(world, account);
	worker->counted = (int)state;
}

void record_used(const struct sim_worker *worker, int64_t gpus)
{
	if (gpus == 0)
		return;
	add_to_course(worker->ray, worker->type, COURSE_USED, gpus);
	struct sim_account *account = account_of(worker->ray, worker->type);
	account->used += gpus;
	add_point(worker->ray->world, account);
}

void record_waiting(const struct sim_class *class_, int64_t instances)
{
	if (class_->first_group == SIZE_MAX || class_->gpus == 0)
		return;
	struct sim_account *account = account_of(class_->ray, class_->first_group + 1);
	account->waiting_gpus += instances * class_->gpus;
	add_point(class_->ray->world, account);
}

void record_start(struct sim_world *world, const struct sim_waiting *one, int64_t after_ms)
{
	const struct work_item *item = &world->input->workload->items[one->item];
	int64_t wait_ms = world->now_ms + after_ms - item->submit_ms;
	struct sim_wait *last = world->waits.count > 0 ? &world->waits.at[world->waits.count - 1] :
							 NULL;

	if (one->restarted)
		return;
	CHECK(wait_ms >= 0);
	world->result->started++;
	add_to_course(world->class_of[one->item]->ray, one->item, COURSE_START, wait_ms);
	if (last && last->item == item && last->wait_ms == wait_ms)
		last->count++;
	else
		VEC_PUSH(world->result_arena, &world->waits,
			 ((struct sim_wait){ item, wait_ms, 1, world->class_of[one->item]->gpus,
					     sharing_queue_of(world->class_of[one->item]) }));
}

void record_end(struct sim_world *world)
{
	world->result->finished++;
	world->result->makespan_ms = world->last_work_ms = world->now_ms;
}

void record_resize(const struct sim_worker *worker)
{
	add_to_course(worker->ray, worker->type, COURSE_RESIZE, 0);
}

void record_replicas(struct sim_ray *ray, size_t group, int64_t from, int64_t to,
		     const char *reason)
{
	struct sim_account *account = account_of(ray, group + 1);
	struct arena *arena = ray->world->result_arena;
	struct sim_mark mark = { ray->world->now_ms, from, to, "" };

	add_to_course(ray, group + 1, COURSE_REPLICAS, to);
	account->result.scale_ups += to > from;
	account->result.scale_downs += to < from;
	account->result.workers_added += to > from ? to - from : 0;
	account->result.workers_removed += to < from ? from - to : 0;
	if (account->marks.count == SIM_MARKS_MAX) {
		account->result.marks_dropped++;
		return;
	}
	mark.reason = arena_strdup(arena, reason);
	VEC_PUSH(arena, &account->marks, mark);
}

/* ---- the result ---- */

static void finish_group(const struct sim_ray *ray, size_t type, struct sim_group *group)
{
	const struct sim_account *account = account_of(ray, type);

	*group = account->result;
	group->provisioned = group->used + group->idle + group->starting + group->terminating;
	group->points = account->points.at;
	group->point_count = account->points.count;
	group->marks = account->marks.at;
	group->mark_count = account->marks.count;
}

static void finish_groups(struct sim_world *world)
{
	struct sim_result *result = world->result;
	struct sim_group *groups;
	size_t room = 0;

	for (size_t r = 0; r < world->ray_count; r++)
		room += world->rays[r].cluster.group_count + 1;
	result->groups = groups = arena_array(world->result_arena, room, sizeof(*groups));
	ARRAY_EACH(const struct sim_ray, ray, world->rays, world->ray_count) {
		for (size_t g = 0; g < ray->cluster.group_count; g++)
			finish_group(ray, g + 1, &groups[result->group_count++]);
		result->head_ms += (int64_t)account_of(ray, 0)->result.worker_ms;
		if (ray->types[0].gpus > 0)
			finish_group(ray, 0, &groups[result->group_count++]);
	}
}

static void finish_unstarted(struct sim_world *world, const struct sim_class *class_,
			     struct sim_unstarted *list)
{
	struct sim_result *result = world->result;

	for (size_t i = class_->queue.first; i < class_->queue.count; i++) {
		const struct sim_waiting *waiting = &class_->queue.at[i];

		if (!waiting->restarted)
			list[result->unstarted_count++] = (struct sim_unstarted){
				.item = &world->input->workload->items[waiting->item],
				.count = waiting->count,
				.gpus = class_->gpus,
				.queue = sharing_queue_of(class_),
				.reason = class_->reason,
				.message = class_->message,
			};
	}
}

void record_finish(struct sim_world *world)
{
	struct sim_result *result = world->result;
	struct sim_unstarted *list;
	size_t room = 0;

	finish_groups(world);
	sharing_finish(world);
	result->end_ms = world->now_ms;
	result->waits = world->waits.at;
	result->wait_count = world->waits.count;
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t c = 0; c < world->rays[r].classes.count; c++)
			room += world->rays[r].classes.at[c]->queue.count;
	result->unstarted = list = arena_array(world->result_arena, room, sizeof(*list));
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t c = 0; c < world->rays[r].classes.count; c++)
			finish_unstarted(world, world->rays[r].classes.at[c], list);
}
