/* The poll interval of one cluster's GCS. It grows from the scan interval while replies are large
 * or slow, so that polling does not overload a large or busy head, and shrinks again with them.
 * Plain data without I/O, clock and memory of its own; owned by struct cluster. Must not decide
 * when a pass runs: its only result is the interval.
 *
 * Up to the scan interval, the clusters' shares of the budget of reads (ctl/queue/scan_pace.h) say how often Ray
 * is read; a reply may then take 1/POLL_HEAD_SHARE of the interval and 1 MiB of it a second. Beyond the
 * scan interval, a reply may take a quarter of the interval and 1 MiB of it a second, in steps that double, up to
 * POLL_MAX_MS. A head is slow after POLL_READINGS slow replies in a row. A reply above the size
 * limit counts as the largest. The interval grows at once and shrinks only with a margin, so that
 * small variations do not change it with each pass.
 *
 * Passes that changes of objects trigger come POLL_WAKE_MS after the last one. A cluster whose
 * objects change all the time has a burst of POLL_WAKES of these passes, then one a second: it
 * costs as much as a cluster with the shortest scan interval. */
#ifndef CTL_QUEUE_POLL_INTERVAL_H
#define CTL_QUEUE_POLL_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/token_bucket.h"
#include "core/model/ray_state.h"

#define POLL_MAX_MS 30000 /* a longer --scan-interval-seconds is kept */
#define POLL_READINGS 3
#define POLL_HEAD_SHARE 50 /* 2 % of the time of a GCS */
#define POLL_WAKE_MS 100
#define POLL_WAKES 10
#define POLL_WAKES_PER_SECOND 1
#define POLL_TEXT_SIZE 160

/* Cost of one GetClusterResourceState; {0} for one that was not sent or failed at once. */
struct poll_reading {
	int64_t took_us;
	size_t bytes;
	bool refused;        /* the reply was above the size limit */
	bool declared_again; /* the time-out of an earlier call, repeated at once: not a measurement */
};

/* A decision that exceeds its CPU time doubles the interval each time, up to this: its cost is then
 * a small share of a processor. The first decision within the limit resets it.
 * The status of the RayClusterAutoscaler keeps the interval over a restart and a change of the leader. */
#define POLL_UNDECIDED_MAX_MS 60000

struct poll {
	int64_t undecided_ms;           /* 0: the last decision was made */
	int64_t took_us[POLL_READINGS]; /* the last ones */
	unsigned next;
	struct token_bucket wakes; /* passes triggered by changes */
	int64_t interval_ms;       /* 0: the scan interval as configured, or less */
	int64_t least_ms;          /* what the head bears, while that is less */
	char text[POLL_TEXT_SIZE]; /* why it is longer, as of its last change; else "" */
};

void poll_init(struct poll *poll, int64_t now_ms); /* now_ms: monotonic, here and below */
/* state is NULL exactly when there is an err. */
struct poll_reading poll_reading_of(const struct ray_state *state, const struct err *err,
				    int64_t took_us);
/* True when the interval has changed. scan_ms: --scan-interval-seconds, above 0. */
bool poll_update(struct poll *poll, int64_t scan_ms, const struct poll_reading *reading);
/* The value of undecided_ms after one more decision that takes too much. */
int64_t poll_undecided_next_ms(const struct poll *poll, int64_t scan_ms);
/* As an earlier process left it; any number, because users may be able to write it: it is bounded to 0 to
 * POLL_UNDECIDED_MAX_MS. */
void poll_resume(struct poll *poll, int64_t undecided_seconds);
/* After each decision. */
void poll_decided(struct poll *poll, int64_t scan_ms, bool undecided);
/* From the start of one pass to that of the next. own_ms: of the cluster's share, at most scan_ms. */
int64_t poll_interval_ms(const struct poll *poll, int64_t own_ms, int64_t scan_ms);
/* The same for a pass that a change in Kubernetes triggers: earlier, but rate-limited. */
int64_t poll_wake_ms(struct poll *poll, int64_t now_ms);
/* Called when such a pass begins. */
void poll_woken(struct poll *poll, int64_t now_ms);

#endif
