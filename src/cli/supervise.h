/* The small parent of a sidecar: runs the worker in a child and starts it again when it dies,
 * because the head Pod's restartPolicy is Never (a dead autoscaler container stays dead).
 * Holds no state but the child's process id. Must not be used in controller mode: there the
 * kubelet restarts the container. */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

/* Calls work(context) in a child process until SIGTERM or SIGINT arrives or the child ends
 * with status 0 or 2 (2: wrong usage, the same again). Restarts after 1 s, doubling to 30 s,
 * from 1 s again after a run of 60 s. Reaps orphans when it is process 1. The exit status. */
int supervise(int (*work)(void *context), void *context);

#endif
