#include "cli/supervise.h"

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

#include "net/log.h"

#define FIRST_DELAY_SECONDS 1
#define LAST_DELAY_SECONDS 30
#define GOOD_RUN_SECONDS 60
#define USAGE_STATUS 2
#define END_SECONDS 10 /* what the child gets between SIGTERM and SIGKILL */

struct supervisor {
	sigset_t signals, old_mask;
	pid_t child;
	int delay_seconds;
	bool ending;
};

static time_t monotonic_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
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

/* Waits for a signal for at most `seconds` (negative: without limit) and notes what it says. */
static void wait_signal(struct supervisor *supervisor, int seconds)
{
	struct timespec limit = { .tv_sec = seconds };
	int number;

	number = seconds < 0 ? sigwaitinfo(&supervisor->signals, NULL) :
			       sigtimedwait(&supervisor->signals, NULL, &limit);
	if (number == SIGTERM || number == SIGINT)
		supervisor->ending = true;
}

/* Reaps every dead child; true when ours is among them, with its status. */
static bool reap(struct supervisor *supervisor, int *ret_status)
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
	time_t deadline = monotonic_seconds() + END_SECONDS;
	int status = 0;

	kill(supervisor->child, SIGTERM);
	while (!reap(supervisor, &status)) {
		time_t left = deadline - monotonic_seconds();

		if (left <= 0) {
			kill(supervisor->child, SIGKILL);
			waitpid(supervisor->child, &status, 0);
			break;
		}
		wait_signal(supervisor, (int)left);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void log_death(int status, int delay_seconds)
{
	char what[64], delay[32];

	if (WIFSIGNALED(status))
		snprintf(what, sizeof(what), "signal %d", WTERMSIG(status));
	else
		snprintf(what, sizeof(what), "exit status %d", WEXITSTATUS(status));
	snprintf(delay, sizeof(delay), "%d", delay_seconds);
	log_error("worker process ended, starting it again", "how", what, "delaySeconds", delay,
		  NULL);
}

/* Sleeps `seconds` unless told to end; signals of other children do not shorten it. */
static void pause_before_restart(struct supervisor *supervisor, int seconds)
{
	time_t until = monotonic_seconds() + seconds;
	int status;

	while (!supervisor->ending && monotonic_seconds() < until) {
		wait_signal(supervisor, (int)(until - monotonic_seconds()));
		reap(supervisor, &status);
	}
}

/* Runs the child once. True when the program should end, with *ret_status. */
static bool run_once(struct supervisor *supervisor, int (*work)(void *context), void *context,
		     int *ret_status)
{
	time_t started = monotonic_seconds();
	int status = 0;

	start_child(supervisor, work, context);
	if (supervisor->child < 0) {
		log_error("cannot start the worker process", "error", strerror(errno), NULL);
		status = 1 << 8;
	} else {
		do {
			wait_signal(supervisor, -1);
			if (supervisor->ending) {
				*ret_status = end_child(supervisor);
				return true;
			}
		} while (!reap(supervisor, &status));
	}
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == USAGE_STATUS)) {
		*ret_status = WEXITSTATUS(status);
		return true;
	}
	if (monotonic_seconds() - started >= GOOD_RUN_SECONDS)
		supervisor->delay_seconds = FIRST_DELAY_SECONDS;
	log_death(status, supervisor->delay_seconds);
	return false;
}

int supervise(int (*work)(void *context), void *context)
{
	struct supervisor supervisor = { .delay_seconds = FIRST_DELAY_SECONDS };
	int status = 0;

	sigemptyset(&supervisor.signals);
	sigaddset(&supervisor.signals, SIGTERM);
	sigaddset(&supervisor.signals, SIGINT);
	sigaddset(&supervisor.signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &supervisor.signals, &supervisor.old_mask);
	while (!run_once(&supervisor, work, context, &status)) {
		pause_before_restart(&supervisor, supervisor.delay_seconds);
		if (supervisor.ending)
			return 0;
		supervisor.delay_seconds *= 2;
		if (supervisor.delay_seconds > LAST_DELAY_SECONDS)
			supervisor.delay_seconds = LAST_DELAY_SECONDS;
	}
	return status;
}
