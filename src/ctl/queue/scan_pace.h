/* How often the Ray of each cluster is read. All clusters together have a budget of reads
 * (--gcs-reads-per-second) and of CPU time (SCAN_CPU_PERCENT of a core, by the measured CPU time of the
 * whole process for each read). A cluster in which something happens, or is about to, is awake: it gets
 * SCAN_ASLEEP_SHARE times the reads of one that sleeps. So one cluster is read ten times a second, and each of
 * a fleet of a thousand once in --scan-interval-seconds, which is the upper bound.
 * Example: 40 clusters that sleep and 10 that are awake are 20 shares of 200 reads a second: an
 * interval of 100 ms for those awake, 400 ms for the others.
 * Plain data without I/O and clock; owned by ctl/controller. Must not know what a head can bear: that is
 * ctl/queue/poll_interval. */
#ifndef CTL_QUEUE_SCAN_PACE_H
#define CTL_QUEUE_SCAN_PACE_H

#include <stddef.h>
#include <stdint.h>

#define SCAN_LEAST_MS 100
#define SCAN_ASLEEP_SHARE 4
#define SCAN_CPU_PERCENT 5

/* FIXED: Ray is not read, or does not answer. */
enum scan { SCAN_FIXED = 0, SCAN_ASLEEP, SCAN_AWAKE, SCAN_COUNT };

struct scan_pace {
	int64_t reads_per_second; /* 0: each cluster is read each scan interval */
	size_t clusters[SCAN_COUNT];
	/* The CPU time of one read: of the last seconds, the present one is being measured. */
	int64_t cost_us, reads, since_ms, since_cpu_us;
};

/* A cluster that was counted as `from` (FIXED: not counted) is counted as `to`. */
void scan_pace_move(struct scan_pace *pace, enum scan from, enum scan to);
/* A pass begins. cpu_us: CPU time of the process so far, called once a second. */
void scan_pace_read(struct scan_pace *pace, int64_t now_ms, int64_t (*cpu_us)(void));
/* From the start of one pass to that of the next: at most scan_ms. */
int64_t scan_pace_ms(const struct scan_pace *pace, enum scan scan, int64_t scan_ms);

#endif
