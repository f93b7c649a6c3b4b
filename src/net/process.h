/* Resource use of this process as reported by the kernel, for metrics, and its limits. No state. */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The last file descriptors are for the API server, the Lease and the HTTP endpoints: what tenants
 * decide the number of, as connections to Ray, may not have them. Of a small limit half of it. */
#define PROCESS_FILES_RESERVED 32
#define PROCESS_TOO_MANY_FILES "too many open files"

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

/* Whether this descriptor, which the kernel has just given as the lowest free one, is reserved. */
bool process_file_is_reserved(int fd);
/* ERR_RETRY with the limit and what to do; -1. reserved: for one that is. */
int process_refuse_file(bool reserved, struct err *err);

/* Makes all threads share one heap: with one for each, memory that a decision has freed on one
 * thread cannot be used by the next. TLS takes its memory from base/memory, which counts it. Called before
 * the first thread is started. */
void process_share_heap(void);

/* Gives free memory back to the system, also between blocks in use. Any thread; a few milliseconds for
 * each 100 MiB. */
void process_trim_heap(void);

#endif
