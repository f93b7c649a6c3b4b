/* Resource use of this process as reported by the kernel, for metrics, and its limits. No state. */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include <stdint.h>

struct process_figures {
	double cpu_seconds; /* user and system */
	int64_t resident_bytes;
	int64_t open_fds; /* -1: unknown, as for the next member */
	int64_t max_fds;
};

void process_read(struct process_figures *ret_figures);
int64_t process_cpu_us(void); /* user and system */

/* Raises the limit of open files to the hard limit: one connection for each Ray head soon exceeds
 * the 1024 of most shells and service managers. Without permission nothing changes. Child processes
 * inherit the limit. */
void process_raise_files(void);

/* Makes all threads share one heap: with one for each, memory that a decision has freed on one
 * thread cannot be used by the next. Called before the first thread is started. */
void process_share_heap(void);

#endif
