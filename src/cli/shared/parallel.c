#include "cli/shared/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

#define BAR_COLUMNS 30
/* Shorter runs show no bar. */
#define BAR_AFTER_STEPS 5
#define STEP_NS 200000000

struct parallel {
	void (*job)(void *context, size_t index);
	void *context;
	size_t count;
	atomic_size_t next;
	pthread_mutex_t lock; /* of `ended` */
	pthread_cond_t changed;
	size_t ended;
};

static void *run(void *argument)
{
	struct parallel *parallel = argument;
	size_t index;

	while ((index = atomic_fetch_add(&parallel->next, 1)) < parallel->count) {
		parallel->job(parallel->context, index);
		pthread_mutex_lock(&parallel->lock);
		parallel->ended++;
		pthread_cond_signal(&parallel->changed);
		pthread_mutex_unlock(&parallel->lock);
	}
	return NULL;
}

static void show_bar(const char *title, size_t ended, size_t count)
{
	char bar[BAR_COLUMNS + 1];

	for (size_t i = 0; i < BAR_COLUMNS; i++)
		bar[i] = i * count < ended * BAR_COLUMNS ? '#' : '.';
	bar[BAR_COLUMNS] = '\0';
	fprintf(stderr, "\r%s [%s] %zu of %zu", title, bar, ended, count);
	fflush(stderr);
}

/* Waits on the calling thread, which may write to the terminal. */
static void wait_for(struct parallel *parallel, const char *title)
{
	bool terminal = isatty(STDERR_FILENO) == 1, shown = false;
	struct timespec until;

	pthread_mutex_lock(&parallel->lock);
	for (size_t step = 0; parallel->ended < parallel->count; step++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += STEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (parallel->ended < parallel->count &&
		       pthread_cond_timedwait(&parallel->changed, &parallel->lock, &until) == 0)
			;
		shown = shown || (terminal && step >= BAR_AFTER_STEPS);
		if (shown)
			show_bar(title, parallel->ended, parallel->count);
	}
	pthread_mutex_unlock(&parallel->lock);
	if (shown)
		fprintf(stderr, "\r\033[K");
}

void parallel_run(size_t count, void (*job)(void *context, size_t index), void *context,
		  const char *title)
{
	struct parallel parallel = { .job = job, .context = context, .count = count };
	pthread_t threads[PARALLEL_THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = processors > 0 ? (size_t)processors : 1, started = 0;

	if (count == 1) {
		job(context, 0);
		return;
	}
	if (wanted > PARALLEL_THREADS_MAX)
		wanted = PARALLEL_THREADS_MAX;
	pthread_mutex_init(&parallel.lock, NULL);
	pthread_cond_init(&parallel.changed, NULL);
	while (started < wanted && started < count &&
	       pthread_create(&threads[started], NULL, run, &parallel) == 0)
		started++;
	if (started > 0)
		wait_for(&parallel, title);
	else
		run(&parallel); /* no thread can be made: this one does it all */
	for (size_t i = 0; i < started; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	pthread_cond_destroy(&parallel.changed);
	pthread_mutex_destroy(&parallel.lock);
}
