#include "test/support/virtual_clock.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define WAITERS_MAX 16
/* Of the machine's time: what was sent to a socket of another thread arrives meanwhile. */
#define SETTLE_MS 1
/* Passes at most before the threads are looked at again: a packet that is late moves no deadline by much. */
#define STEP_NS (100 * NS_PER_MS)

/* Threads that wait in a function of this file. */
struct waiter {
	pid_t thread;
	int events;       /* file descriptor of epoll; -1: it sleeps */
	int64_t until_ns; /* of passed_ns */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the following */
static struct waiter *waiters[WAITERS_MAX];
static _Atomic int64_t passed_ns;
static _Atomic unsigned waits;

_Atomic int64_t jump_wall_s, jump_boot_s, jump_wall_ms;

/* ---- clocks ---- */

/* When the program began, of the machine's clocks. */
static struct timespec begin_wall, begin_monotonic, begin_boot;

static void machine_time(clockid_t id, struct timespec *ret)
{
	CHECK(syscall(SYS_clock_gettime, id, ret) == 0);
}

__attribute__((constructor)) static void begin(void)
{
	machine_time(CLOCK_REALTIME, &begin_wall);
	machine_time(CLOCK_MONOTONIC, &begin_monotonic);
	machine_time(CLOCK_BOOTTIME, &begin_boot);
}

static int after(const struct timespec *begin, int64_t jump_s, int64_t jump_ms,
		 struct timespec *ret)
{
	int64_t ns = begin->tv_nsec + atomic_load(&passed_ns) + jump_ms * 1000000;

	ret->tv_sec = begin->tv_sec + jump_s + ns / NS_PER_S;
	ret->tv_nsec = ns % NS_PER_S;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return after(&begin_wall, jump_wall_s, jump_wall_ms, ret);
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
		return after(&begin_monotonic, 0, 0, ret);
	case CLOCK_BOOTTIME:
		return after(&begin_boot, jump_boot_s, 0, ret);
	default:
		return (int)syscall(SYS_clock_gettime, id, ret);
	}
}

void jump_reset(void)
{
	jump_wall_s = jump_boot_s = jump_wall_ms = 0;
}

unsigned virtual_clock_waits(void)
{
	return waits;
}

void virtual_clock_use(void)
{
}

/* ---- whether every thread waits ---- */

static const struct waiter *waiter_of(pid_t thread)
{
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		if (waiters[i] && waiters[i]->thread == thread)
			return waiters[i];
	}
	return NULL;
}

/* A loop with an event runs soon, whatever state its thread is in. */
static bool has_event(const struct waiter *waiter)
{
	struct pollfd events = { .fd = waiter->events, .events = POLLIN };

	return waiter->events >= 0 && poll(&events, 1, 0) != 0;
}

/* A thread that may run has another state as soon as it is woken, before it gets a processor. */
static bool is_asleep(const char *thread)
{
	char path[300], line[512];
	const char *state;
	size_t size;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
	file = fopen(path, "r");
	if (!file)
		return true; /* it has ended */
	size = fread(line, 1, sizeof(line) - 1, file);
	(void)fclose(file);
	line[size] = '\0';
	state = strrchr(line, ')'); /* "123 (name) S 1 ..." */
	return !state || strchr("SZX", state[2]);
}

static bool all_wait(void)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *entry;
	bool all = true;

	CHECK(threads);
	while (all && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
		const struct waiter *waiter = waiter_of(thread);

		if (thread > 0 && thread != gettid())
			all = waiter ? !has_event(waiter) : is_asleep(entry->d_name);
	}
	(void)closedir(threads);
	return all;
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* ---- waits ---- */

static struct waiter **waiter_find(const struct waiter *waiter)
{
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		if (waiters[i] == waiter)
			return &waiters[i];
	}
	CHECK(!"WAITERS_MAX threads");
}

static void waiter_add(struct waiter *waiter, int events, int64_t ms)
{
	waiter->thread = gettid();
	waiter->events = events;
	pthread_mutex_lock(&lock);
	waiter->until_ns = ms < 0 ? INT64_MAX : atomic_load(&passed_ns) + ms * NS_PER_MS;
	*waiter_find(NULL) = waiter;
	pthread_mutex_unlock(&lock);
}

static void waiter_remove(const struct waiter *waiter)
{
	pthread_mutex_lock(&lock);
	*waiter_find(waiter) = NULL;
	pthread_mutex_unlock(&lock);
}

/* At most how much time passes now that a thread has waited for SETTLE_MS for nothing. */
static int64_t step(void)
{
	if (!all_wait())
		return SETTLE_MS * NS_PER_MS / VIRTUAL_CLOCK_SLOWER;
	return has_children() ? SETTLE_MS * NS_PER_MS : STEP_NS;
}

/* No waiter is later than it has to be. */
static void pass_time(void)
{
	int64_t step_ns = step();
	int64_t next_ns = INT64_MAX, now_ns = atomic_load(&passed_ns);

	for (size_t i = 0; i < WAITERS_MAX; i++) {
		if (waiters[i] && waiters[i]->until_ns < next_ns)
			next_ns = waiters[i]->until_ns;
	}
	if (next_ns > now_ns && next_ns < INT64_MAX)
		atomic_fetch_add(&passed_ns,
				 next_ns - now_ns < step_ns ? next_ns - now_ns : step_ns);
}

/* Its thread has waited for SETTLE_MS for nothing. */
static bool is_due(const struct waiter *waiter)
{
	bool due;

	pthread_mutex_lock(&lock);
	due = waiter->until_ns <= atomic_load(&passed_ns);
	if (!due) {
		pass_time();
		due = waiter->until_ns <= atomic_load(&passed_ns);
	}
	pthread_mutex_unlock(&lock);
	return due;
}

typedef int wait_function(int fd, struct epoll_event *events, int max, int ms,
			  const sigset_t *mask);

/* The next definition, of a sanitizer or of libc. */
static int machine_wait(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	static _Atomic(wait_function *) next;

	if (!next)
		next = (wait_function *)dlsym(RTLD_NEXT, "epoll_pwait");
	return next(fd, events, max, ms, mask);
}

/* libuv looks without a wait before each wait. */
static void pass_turn(bool is_empty)
{
	static _Thread_local bool before;

	atomic_fetch_add(&passed_ns, NS_PER_US * (is_empty && before ? VIRTUAL_CLOCK_EMPTY_TURN_US :
								       VIRTUAL_CLOCK_TURN_US));
	before = is_empty;
}

int epoll_pwait(int fd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	struct waiter waiter;
	int count = machine_wait(fd, events, max, 0, mask);

	pass_turn(count == 0 && ms == 0);
	if (count != 0 || ms == 0)
		return count;
	atomic_fetch_add(&waits, 1);
	waiter_add(&waiter, fd, ms);
	do {
		count = machine_wait(fd, events, max, SETTLE_MS, mask);
	} while (count == 0 && !is_due(&waiter));
	waiter_remove(&waiter);
	return count;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int ms)
{
	return epoll_pwait(fd, events, max, ms, NULL);
}

void virtual_clock_sleep(int64_t ms)
{
	struct waiter waiter;

	waiter_add(&waiter, -1, ms);
	do {
		(void)poll(NULL, 0, SETTLE_MS);
	} while (!is_due(&waiter));
	waiter_remove(&waiter);
}
