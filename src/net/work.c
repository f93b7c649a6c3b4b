#include "net/work.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "net/loop.h"

#define WORK_JOBS_MIN 2

struct work_job {
	uv_work_t uv;
	struct work *work;
	struct work_job *previous, *next;
	uint64_t number; /* of the start: grows */
	bool begun;
	atomic_bool cancelled;
	struct work_functions functions;
	void *context;
};

struct work_retired {
	struct work_retired *next;
	uint64_t before; /* jobs with a smaller number may still read it */
	void (*release)(void *memory);
	void *memory;
};

/* Jobs in the order of their starts, those that run and those that wait. */
struct work {
	struct loop *loop;
	struct work_job *first, *last;
	size_t count, running;
	uint64_t started;
	struct work_retired *first_retired, *last_retired;
};

size_t work_at_once(void)
{
	size_t processors = uv_available_parallelism();

	if (processors < WORK_JOBS_MIN)
		return WORK_JOBS_MIN;
	return processors < WORK_JOBS_MAX ? processors : WORK_JOBS_MAX;
}

static struct work *work_of(struct loop *loop)
{
	struct work **work = loop_work(loop);

	if (!*work) {
		*work = memory_alloc(sizeof(**work));
		(*work)->loop = loop;
	}
	return *work;
}

static void release_retired(struct work *work)
{
	while (work->first_retired &&
	       (!work->first || work->first->number >= work->first_retired->before)) {
		struct work_retired *retired = work->first_retired;

		work->first_retired = retired->next;
		if (!retired->next)
			work->last_retired = NULL;
		retired->release(retired->memory);
		memory_free(retired);
	}
}

static void job_free(struct work_job *job)
{
	struct work *work = job->work;

	if (job->previous)
		job->previous->next = job->next;
	else
		work->first = job->next;
	if (job->next)
		job->next->previous = job->previous;
	else
		work->last = job->previous;
	work->count--;
	memory_free(job);
	release_retired(work);
}

static void on_run(uv_work_t *uv)
{
	struct work_job *job = uv->data;

	if (!work_is_cancelled(job))
		job->functions.run(job->context, job);
}

static void begin_some(struct work *work);

static void on_ended(uv_work_t *uv, int status)
{
	struct work_job *job = uv->data;
	struct work *work = job->work;

	(void)status;
	work->running--;
	begin_some(work);
	if (work_is_cancelled(job))
		job->functions.drop(job->context);
	else
		job->functions.done(job->context);
	job_free(job);
}

static void begin_some(struct work *work)
{
	size_t at_once = work_at_once();

	/* Only jobs that run precede the first one that waits. */
	for (struct work_job *job = work->first; job && work->running < at_once; job = job->next) {
		if (job->begun)
			continue;
		job->begun = true;
		work->running++;
		CHECK(uv_queue_work(loop_uv(work->loop), &job->uv, on_run, on_ended) == 0);
	}
}

struct work_job *work_start(struct loop *loop, const struct work_functions *functions,
			    void *context)
{
	struct work *work = work_of(loop);
	struct work_job *job = memory_alloc(sizeof(*job));

	job->uv.data = job;
	job->work = work;
	job->functions = *functions;
	job->context = context;
	job->number = work->started++;
	job->previous = work->last;
	if (work->last)
		work->last->next = job;
	else
		work->first = job;
	work->last = job;
	work->count++;
	begin_some(work);
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

int64_t work_cpu_us(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void work_retire(struct loop *loop, void (*release)(void *memory), void *memory)
{
	struct work *work = *loop_work(loop);
	struct work_retired *retired;

	if (!work || !work->first) {
		release(memory);
		return;
	}
	retired = memory_alloc(sizeof(*retired));
	retired->before = work->started;
	retired->release = release;
	retired->memory = memory;
	if (work->last_retired)
		work->last_retired->next = retired;
	else
		work->first_retired = retired;
	work->last_retired = retired;
}

void work_stop(struct loop *loop)
{
	struct work *work = *loop_work(loop);

	if (!work)
		return;
	while (work->first) {
		for (struct work_job *job = work->first, *next; job; job = next) {
			next = job->next;
			if (!work_is_cancelled(job))
				work_cancel(job);
		}
		if (work->first)
			(void)uv_run(loop_uv(loop), UV_RUN_ONCE);
	}
	*loop_work(loop) = NULL;
	memory_free(work);
}

size_t work_count(const struct loop *loop)
{
	const struct work *work = *loop_work((struct loop *)loop);

	return work ? work->count : 0;
}
