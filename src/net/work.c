#include "net/work.h"

#include <stdatomic.h>
#include <stdint.h>
#include <uv.h>

#include "base/check.h"
#include "base/list.h"
#include "base/memory.h"
#include "net/loop.h"

#define WORK_JOBS_MIN 2

struct work_job {
	uv_work_t uv;
	struct work *work;
	struct list_item item;
	const char *name;
	uint64_t number;           /* of the start: increases */
	bool begun, slow, is_long; /* a long one is slow as well */
	int64_t since_ms;          /* of a slow one: the oldest runs next */
	atomic_bool cancelled;
	struct work_functions functions;
	void *context;
};

struct work_retired {
	struct list_item item;
	uint64_t before; /* jobs with a smaller number may still read it */
	void (*release)(void *memory);
	void *memory;
};

/* Jobs in the order of their starts, those that run and those that wait. */
struct work {
	struct loop *loop;
	struct loop_timer *release; /* of retired memory for which the turn had no time */
	struct list jobs;
	size_t running;
	size_t slow_count, slow_running; /* of these */
	bool long_running;               /* beside these */
	uint64_t started;
	struct list retired;
};

size_t work_at_once(void)
{
	size_t processors = uv_available_parallelism();

	if (processors < WORK_JOBS_MIN)
		return WORK_JOBS_MIN;
	return processors < WORK_JOBS_MAX ? processors : WORK_JOBS_MAX;
}

size_t work_slow_at_once(void)
{
	return work_at_once() / 2;
}

static void stop_all(struct loop *loop)
{
	(void)work_stop(loop, INT64_MAX);
}

static void release_retired(void *context);

static struct work *work_of(struct loop *loop)
{
	struct loop_work *work = loop_work(loop);

	if (!work->queue) {
		work->queue = memory_alloc(sizeof(*work->queue));
		work->queue->loop = loop;
		work->queue->release = loop_timer_new(loop, release_retired, work->queue);
		work->stop = stop_all;
	}
	return work->queue;
}

static void release_retired(void *context)
{
	struct work *work = context;
	const struct work_job *first = LIST_MEMBER(work->jobs.first, struct work_job, item);

	LIST_EACH(struct work_retired, retired, &work->retired, item) {
		if (first && first->number < retired->before)
			return;
		if (loop_is_spent(work->loop)) {
			loop_timer_start(work->release, 0);
			return;
		}
		list_remove(&retired->item);
		retired->release(retired->memory);
		memory_free(retired);
	}
}

static void job_free(struct work_job *job)
{
	struct work *work = job->work;

	list_remove(&job->item);
	work->slow_count -= job->slow;
	memory_free(job);
	loop_step(work->loop, "objects that were replaced");
	release_retired(work);
}

static void on_run(uv_work_t *uv)
{
	struct work_job *job = uv->data;

	if (!work_is_cancelled(job))
		job->functions.run(job->context, job);
}

static void begin_some(struct work *work);

/* As many in a turn as run at once. */
static void on_ended(uv_work_t *uv, int status UNUSED)
{
	struct work_job *job = uv->data;
	struct work *work = job->work;

	if (job->is_long) {
		work->long_running = false;
	} else {
		work->running--;
		work->slow_running -= job->slow;
	}
	begin_some(work);
	loop_step(work->loop, job->name);
	if (work_is_cancelled(job))
		job->functions.drop(job->context);
	else
		job->functions.done(job->context);
	job_free(job);
}

/* The first waiting job, unless it is slow: then the oldest of the slow ones, if one more of them
 * may run. NULL: none may run. */
static struct work_job *next_job(const struct work *work)
{
	struct work_job *first = NULL, *oldest = NULL;

	LIST_EACH(struct work_job, job, &work->jobs, item) {
		if (job->begun || (job->slow && work->slow_running >= work_slow_at_once()))
			continue;
		if (!first)
			first = job;
		if (!first->slow)
			break;
		if (job->slow && (!oldest || job->since_ms < oldest->since_ms))
			oldest = job;
	}
	return first && first->slow ? oldest : first;
}

static void job_begin(struct work_job *job)
{
	job->begun = true;
	CHECK(uv_queue_work(loop_uv(job->work->loop), &job->uv, on_run, on_ended) == 0);
}

static void begin_some(struct work *work)
{
	struct work_job *job;

	while (work->running < work_at_once() && (job = next_job(work))) {
		work->running++;
		work->slow_running += job->slow;
		job_begin(job);
	}
}

static struct work_job *job_new(struct loop *loop, const struct work_functions *functions,
				void *context, const char *name)
{
	struct work *work = work_of(loop);
	struct work_job *job = memory_alloc(sizeof(*job));

	job->uv.data = job;
	job->work = work;
	job->functions = *functions;
	job->context = context;
	job->name = name;
	job->number = work->started++;
	list_add(&work->jobs, &job->item);
	return job;
}

struct work_job *(work_start)(struct loop *loop, const struct work_functions *functions,
			      void *context, const char *name)
{
	struct work_job *job = job_new(loop, functions, context, name);

	begin_some(job->work);
	return job;
}

struct work_job *(work_start_slow)(struct loop *loop, const struct work_functions *functions,
				   void *context, int64_t since_ms, const char *name)
{
	struct work_job *job = job_new(loop, functions, context, name);

	job->slow = true;
	job->since_ms = since_ms;
	job->work->slow_count++;
	begin_some(job->work);
	return job;
}

bool work_long_is_free(const struct loop *loop)
{
	const struct work *work = loop_work_read(loop)->queue;

	return !work || !work->long_running;
}

struct work_job *(work_start_long)(struct loop *loop, const struct work_functions *functions,
				   void *context, const char *name)
{
	struct work_job *job = job_new(loop, functions, context, name);

	CHECK(!job->work->long_running);
	job->slow = job->is_long = job->work->long_running = true;
	job->work->slow_count++;
	job_begin(job);
	return job;
}

void work_cancel(struct work_job *job)
{
	atomic_store(&job->cancelled, true);
	if (job->begun)
		return;
	job->functions.drop(job->context);
	job_free(job);
}

bool work_is_cancelled(const struct work_job *job)
{
	return atomic_load(&job->cancelled);
}

void work_retire(struct loop *loop, void (*release)(void *memory), void *memory)
{
	struct work *work = loop_work(loop)->queue;
	struct work_retired *retired;

	if (!work || work->jobs.count == 0) {
		release(memory);
		return;
	}
	retired = memory_alloc(sizeof(*retired));
	retired->before = work->started;
	retired->release = release;
	retired->memory = memory;
	list_add(&work->retired, &retired->item);
}

static void cancel_all(struct work *work)
{
	LIST_EACH(struct work_job, job, &work->jobs, item)
		if (!work_is_cancelled(job))
			work_cancel(job);
}

struct deadline {
	struct loop *loop;
	bool late;
};

/* Without the stop libuv, which runs timers that are due first, would wait for another event. */
static void on_late(void *context)
{
	struct deadline *deadline = context;

	deadline->late = true;
	loop_stop(deadline->loop);
}

bool work_stop(struct loop *loop, int64_t max_ms)
{
	struct work *work = loop_work(loop)->queue;
	struct deadline deadline = { .loop = loop };

	if (!work)
		return true;
	struct loop_timer *timer = loop_timer_new(loop, on_late, &deadline);
	loop_timer_start(timer, max_ms);
	cancel_all(work);
	while (work->jobs.count > 0 && !deadline.late) {
		(void)uv_run(loop_uv(loop), UV_RUN_ONCE);
		cancel_all(work);
	}
	loop_timer_free(timer);
	if (work->jobs.count > 0)
		return false;
	loop_work(loop)->queue = NULL;
	loop_timer_free(work->release);
	memory_free(work);
	return true;
}

size_t work_count(const struct loop *loop)
{
	const struct work *work = loop_work_read(loop)->queue;

	return work ? work->jobs.count : 0;
}

size_t work_count_quick(const struct loop *loop)
{
	const struct work *work = loop_work_read(loop)->queue;

	return work ? work->jobs.count - work->slow_count : 0;
}
