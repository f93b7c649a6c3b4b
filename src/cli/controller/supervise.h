/* The small parent of a sidecar: runs the worker in a child and starts it again when it dies,
 * because the head Pod's restartPolicy is Never (a dead autoscaler container stays dead).
 * Holds no state but the child's process id. Must not be used in controller mode: there the
 * kubelet restarts the container. */
#ifndef CLI_CONTROLLER_SUPERVISE_H
#define CLI_CONTROLLER_SUPERVISE_H

#include <stdint.h>

struct supervise_times {
	int64_t first_delay_ms,
		last_delay_ms; /* before a restart; doubles from the first to the last */
	int64_t good_run_ms;   /* a worker that ran this long: the next delay is the first again */
	int64_t end_ms;        /* time for a worker between SIGTERM and SIGKILL */
};

/* A worker that ran for 10 s has made ten decisions: waiting longer than a second for the next one
 * would cost more decisions than it saves. The kubelet gives a Pod 30 s to end. */
#define SUPERVISE_TIMES ((struct supervise_times){ 1000, 30000, 10000, 10000 })

/* Calls work(context) in a child process, again and again, until SIGTERM or SIGINT arrives, which
 * is forwarded to the child as SIGTERM. A child that ends for any other reason, also with status 0
 * (another process sent it SIGTERM), is restarted, with one log line; but status 2 of the first one
 * ends the program: wrong usage is not retried. Reaps orphans when it is process 1. A child dies
 * with its parent. The exit status: the child's, or 128 and the signal that ended it; 0 when none
 * ran. */
int supervise(const struct supervise_times *times, int (*work)(void *context), void *context);

#endif
