#include "cli/controller/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "net/log.h"

#define NS_PER_MS 1000000
#define USAGE_STATUS 2
#define FORK_FAILED 1
#define SIGNAL_STATUS 128 /* as a shell tells of a signal */

struct supervisor {
	struct supervise_times times;
	sigset_t signals, old_mask;
	pid_t child;
	int64_t delay_ms;
	bool ending;
};

static int64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NS_PER_MS;
}

static void start_child(struct supervisor *supervisor, int (*work)(void *context), void *context)
{
	pid_t parent = getpid();

	supervisor->child = fork();
	if (supervisor->child != 0)
		return;
	sigprocmask(SIG_SETMASK, &supervisor->old_mask, NULL);
	/* A worker without its parent would be a second autoscaler after the next start. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	exit(work(context));
}

/* Waits for a signal, at most until `deadline_ms` (negative: without limit), and records it. */
static void wait_signal(struct supervisor *supervisor, int64_t deadline_ms)
{
	int64_t left_ms = deadline_ms - monotonic_ms();
	struct timespec limit = { 0 };
	int number;

	if (left_ms > 0) {
		limit.tv_sec = left_ms / MS_PER_SECOND;
		limit.tv_nsec = left_ms % MS_PER_SECOND * NS_PER_MS;
	}
	number = deadline_ms < 0 ? sigwaitinfo(&supervisor->signals, NULL) :
				   sigtimedwait(&supervisor->signals, NULL, &limit);
	if (number == SIGTERM || number == SIGINT)
		supervisor->ending = true;
}

/* Reaps every dead child; true when ours is among them, with its status. */
static bool reap(const struct supervisor *supervisor, int *ret_status)
{
	int status;
	bool found = false;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != supervisor->child)
			continue;
		found = true;
		*ret_status = status;
	}
	return found;
}

static int end_child(struct supervisor *supervisor)
{
	int64_t deadline_ms = monotonic_ms() + supervisor->times.end_ms;
	int status = 0;

	kill(supervisor->child, SIGTERM);
	while (!reap(supervisor, &status)) {
		if (monotonic_ms() >= deadline_ms) {
			kill(supervisor->child, SIGKILL);
			waitpid(supervisor->child, &status, 0);
			break;
		}
		wait_signal(supervisor, deadline_ms);
	}
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

static void log_death(int status, int64_t delay_ms)
{
	char what[64], delay[32];

	if (WIFSIGNALED(status))
		snprintf(what, sizeof(what), "signal %d", WTERMSIG(status));
	else
		snprintf(what, sizeof(what), "exit status %d", WEXITSTATUS(status));
	snprintf(delay, sizeof(delay), "%lld", (long long)(delay_ms / MS_PER_SECOND));
	log_error("worker process ended, starting it again", "how", what, "delaySeconds", delay,
		  NULL);
}

/* Waits until the delay has passed or a signal to end arrives; signals of other children do not
 * shorten it. */
static void pause_before_restart(struct supervisor *supervisor)
{
	int64_t until_ms = monotonic_ms() + supervisor->delay_ms;
	int status;

	while (!supervisor->ending && monotonic_ms() < until_ms) {
		wait_signal(supervisor, until_ms);
		reap(supervisor, &status);
	}
	supervisor->delay_ms *= 2;
	if (supervisor->delay_ms > supervisor->times.last_delay_ms)
		supervisor->delay_ms = supervisor->times.last_delay_ms;
}

/* Runs the child once. True when a signal ended the program, with the exit status; else *ret_status
 * is how the child ended (waitpid). */
static bool run_once(struct supervisor *supervisor, int (*work)(void *context), void *context,
		     int *ret_status)
{
	start_child(supervisor, work, context);
	if (supervisor->child < 0) {
		log_error("cannot start the worker process", "error", strerror(errno), NULL);
		*ret_status = W_EXITCODE(FORK_FAILED, 0);
		return false;
	}
	do {
		wait_signal(supervisor, -1);
		if (supervisor->ending) {
			*ret_status = end_child(supervisor);
			return true;
		}
	} while (!reap(supervisor, ret_status));
	return false;
}

int supervise(const struct supervise_times *times, int (*work)(void *context), void *context)
{
	struct supervisor supervisor = { .times = *times, .delay_ms = times->first_delay_ms };
	int status = 0;

	sigemptyset(&supervisor.signals);
	sigaddset(&supervisor.signals, SIGTERM);
	sigaddset(&supervisor.signals, SIGINT);
	sigaddset(&supervisor.signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &supervisor.signals, &supervisor.old_mask);
	for (bool first = true; !supervisor.ending; first = false) {
		int64_t started_ms = monotonic_ms();

		if (run_once(&supervisor, work, context, &status))
			return status;
		if (first && WIFEXITED(status) && WEXITSTATUS(status) == USAGE_STATUS)
			return USAGE_STATUS;
		if (monotonic_ms() - started_ms >= times->good_run_ms)
			supervisor.delay_ms = times->first_delay_ms;
		log_death(status, supervisor.delay_ms);
		pause_before_restart(&supervisor);
	}
	return 0;
}
