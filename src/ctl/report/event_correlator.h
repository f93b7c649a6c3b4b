/* Event correlator of one RayCluster: a repeated report is counted in the existing Event, and a
 * state that flickers is not reported. All of it may be lost: then an Event is sent again. No I/O,
 * no clock; texts are copied; the owner is ctl/report/event_recorder. Must not create them:
 * core/report/decision_event.
 *
 * A state is reported when it has persisted for its hold time, and again after 30 s, then after
 * twice as long each time, at most every 15 minutes (Events live for an hour); a state that was
 * absent for a minute starts with 30 s. An action is reported when its patch was accepted, the same
 * one (or one too many for the burst) at most every 10 s, with the count of those in between. New
 * Events: 25 at once, then one every 30 s; any above are counted in the last Event of the same
 * reason. */
#ifndef CTL_REPORT_EVENT_CORRELATOR_H
#define CTL_REPORT_EVENT_CORRELATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/report/decision_event.h"

#define DECISION_EVENT_ENTRIES_MAX                                                                 \
	40 /* Events remembered; the one sent longest ago is replaced first */
#define DECISION_EVENT_MARKS_MAX 256 /* states whose hold time runs */
#define DECISION_EVENT_BURST 25
#define DECISION_EVENT_REFILL_SECONDS 30
#define DECISION_EVENT_REPEAT_MS 30000
#define DECISION_EVENT_REPEAT_MAX_MS 900000
#define DECISION_EVENT_ACTION_SPACING_MS 10000
#define DECISION_EVENT_AWAY_MS 60000
#define DECISION_EVENT_FORGET_MS 3600000 /* the API server has deleted the Event by then */

struct event_correlator;

struct event_correlator *event_correlator_new(int64_t monotonic_ms);
void event_correlator_free(struct event_correlator *correlator); /* NULL is fine */

/* The events of a final decision: states are recorded, actions wait (those of the decision before
 * are dropped). */
void event_correlator_decided(struct event_correlator *correlator,
			      const struct decision_event_list *events, int64_t monotonic_ms,
			      time_ms now);
/* One action beside decisions, reported at once. */
void event_correlator_happened(struct event_correlator *correlator,
			       const struct decision_event *event, int64_t monotonic_ms,
			       time_ms now);
/* The patch of that decision was accepted: its actions are reported. */
void event_correlator_accepted(struct event_correlator *correlator, int64_t monotonic_ms,
			       time_ms now);

/* One Event to send; valid until the correlator is used again. */
struct decision_event_order {
	uint64_t id; /* of the Event; also in its name */
	bool create; /* else it exists: count, last and message are new */
	enum decision_event_reason reason;
	const char *message;
	int64_t count;
	time_ms first, last;
};

enum decision_event_answer {
	DECISION_EVENT_SENT,
	DECISION_EVENT_GONE, /* the API server has deleted the Event: the next time it is created again */
	DECISION_EVENT_LOST,   /* it will never be accepted: drop it */
	DECISION_EVENT_FAILED, /* retry later */
};

/* The next Event that is due; it is not returned again until event_correlator_answered(order->id).
 * False: there is none. */
bool event_correlator_next(struct event_correlator *correlator, int64_t monotonic_ms,
			   struct decision_event_order *ret_order);
void event_correlator_answered(struct event_correlator *correlator, uint64_t id,
			       enum decision_event_answer answer, int64_t monotonic_ms);

#endif
