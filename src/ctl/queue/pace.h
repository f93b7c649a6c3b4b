/* How often the GCS of one cluster is read. The scan interval grows while its replies are large or slow,
 * so that a big or overloaded head is not asked to death, and shrinks again with them.
 * Plain data without I/O, clock and memory of its own; owned by struct cluster. Must not decide when a
 * pass runs: it only says how long the interval is.
 *
 * A reply may take a quarter of the interval and 1 MiB of it a second, in steps that double, up to
 * PACE_MAX_MS. Slow is what was slow PACE_READINGS times in a row: once is a hiccup. A reply above the
 * ceiling counts as the largest. Growing is at once, shrinking needs a margin, so that what varies a
 * little does not go up and down with each pass.
 *
 * Passes that changes of objects ask for come PACE_WAKE_MS after the last one. A cluster whose objects
 * change all the time has PACE_WAKES of these passes saved, and then one a second: it costs as much as
 * a cluster with the shortest scan interval. */
#ifndef CTL_QUEUE_PACE_H
#define CTL_QUEUE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/token_bucket.h"
#include "core/model/ray_state.h"

#define PACE_MAX_MS 30000 /* a longer --scan-interval-seconds stays what it is */
#define PACE_READINGS 3
#define PACE_WAKE_MS 100
#define PACE_WAKES 10
#define PACE_WAKES_PER_SECOND 1
#define PACE_TEXT_SIZE 160

/* What one GetClusterResourceState cost; {0} for one that was not made or failed at once. */
struct pace_reading {
	int64_t took_ms;
	size_t bytes;
	bool refused;    /* the reply was above the ceiling */
	bool told_again; /* the time-out of a call before, at once: says nothing about the GCS */
};

/* A decision that took too much CPU time doubles the interval each time, up to this: its cost is then a
 * small share of a processor. The first one that is made ends that. */
#define PACE_UNDECIDED_MAX_MS 60000

struct pace {
	int64_t undecided_ms;           /* 0: the last decision was made */
	int64_t took_ms[PACE_READINGS]; /* the last ones */
	unsigned next;
	struct token_bucket wakes; /* passes that changes asked for */
	int64_t interval_ms;       /* 0: the scan interval as it was asked for */
	char text[PACE_TEXT_SIZE]; /* why it is longer, as of its last change; "" when it is not */
};

void pace_init(struct pace *pace, int64_t now_ms); /* now_ms: monotonic, here and below */
/* state is NULL exactly when there is an err. */
struct pace_reading pace_reading_of(const struct ray_state *state, const struct err *err,
				    int64_t took_us);
/* True when the interval has changed. scan_ms: --scan-interval-seconds, above 0. */
bool pace_update(struct pace *pace, int64_t scan_ms, const struct pace_reading *reading);
/* After each decision. */
void pace_decided(struct pace *pace, int64_t scan_ms, bool undecided);
/* From the begin of one pass to that of the next. */
int64_t pace_interval_ms(const struct pace *pace, int64_t scan_ms);
/* The same for a pass that something in Kubernetes has asked for: sooner, but not at will. */
int64_t pace_wake_ms(struct pace *pace, int64_t now_ms);
/* Such a pass begins. */
void pace_woken(struct pace *pace, int64_t now_ms);

#endif
