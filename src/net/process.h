/* What the kernel says of this process, for metrics. No state. */
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

#endif
