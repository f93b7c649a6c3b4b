/* The facts of one decision that become Events on the RayCluster, as messages for users of `kubectl
 * describe`. Pure: snapshot and plan in, events out, in the arena; ctl/report/event_recorder sends them.
 * Must not remember: ctl/report/event_correlator decides whether a state has lasted long enough or was
 * already reported. Messages name no Secret and have at most DECISION_EVENT_MESSAGE_MAX bytes of UTF-8. */
#ifndef CORE_REPORT_DECISION_EVENT_H
#define CORE_REPORT_DECISION_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"

#define DECISION_EVENT_MESSAGE_MAX 1024
#define DECISION_EVENT_KIND_MAX                                                                    \
	10 /* Events of one reason from one decision, where there may be many */
#define DECISION_EVENT_BLOCKED_MAX 64 /* limit of workers that are reported as blocked */

struct decision_event {
	enum decision_event_reason reason;
	/* The same reason and key make one Event: a group's name, an infeasible request. */
	const char *key;
	/* A state must last hold_ms before it is reported: that of a worker; "" for the whole
	 * key. */
	const char *subject;
	int64_t hold_ms;
	/* An action instead of a state: reported once, when the plan's patch was accepted. */
	bool action;
	/* A state that is reported once, and again only after it ended. */
	bool once;
	bool known; /* with once: an earlier process has reported it */
	const char *message;
};

struct decision_event_list {
	VEC(struct decision_event) at;
};

void decision_event_make(const struct snapshot *snapshot, const struct plan *plan,
			 struct arena *arena, struct decision_event_list *ret_list);

/* The Event of a Pod of the RayCluster that fails, and did not in its earlier version `old`; false: there is
 * none. Beside decisions, because KubeRay deletes a failed Pod before one could read it. */
bool decision_event_of_pod(const struct pod *old, const struct pod *pod, struct arena *arena,
			   struct decision_event *ret_event);
/* Appends `note`, "; ..." or "", to its message. */
void decision_event_note(struct decision_event *event, const char *note, struct arena *arena);

const char *
decision_event_reason_word(enum decision_event_reason reason); /* "TriggeredScaleUp", ... */
bool decision_event_is_warning(enum decision_event_reason reason);
/* Those who run work on Ray read it in the output of their drivers, too. */
bool decision_event_is_for_drivers(enum decision_event_reason reason);

#endif
