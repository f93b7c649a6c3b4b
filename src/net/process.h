/* What the kernel says of this process, for metrics, and what it may do. No state. */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include <stdint.h>

struct process_figures {
	double cpu_seconds; /* user and system */
	int64_t resident_bytes;
	int64_t open_fds; /* -1: unknown, as the next */
	int64_t max_fds;
};

void process_read(struct process_figures *ret_figures);

/* Lets the process open as many files as its hard limit allows: one connection for each Ray head is
 * soon more than the 1024 of most shells and service managers. Where it is not allowed, nothing
 * changes. Programs that it starts have the same limit. */
void process_raise_files(void);

/* One heap for all threads: with one for each, memory that a decision has freed on one thread is not
 * there for the next. Before the first thread is started. */
void process_share_heap(void);

#endif
