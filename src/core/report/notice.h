/* The facts of one decision that become Events on the RayCluster, as messages for users of `kubectl
 * describe`. Pure: snapshot and plan in, events out, in the arena; ctl/report/event_recorder sends them.
 * Must not remember: ctl/report/event_correlator decides whether a state has lasted long enough or was
 * already reported. Messages name no Secret and have at most NOTICE_MESSAGE_MAX bytes of UTF-8. */
#ifndef CORE_REPORT_NOTICE_H
#define CORE_REPORT_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"

#define NOTICE_MESSAGE_MAX 1024
#define NOTICE_KIND_MAX 10    /* Events of one reason from one decision, where there may be many */
#define NOTICE_BLOCKED_MAX 64 /* limit of workers that are reported as blocked */

enum notice_reason {
	NOTICE_NONE = 0,
#define X(identifier, severity, word, meaning, cure) NOTICE_##identifier,
	REASON_EVENT_TABLE(X)
#undef X
		NOTICE_REASON_COUNT
};

struct notice {
	enum notice_reason reason;
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

struct notice_list {
	VEC(struct notice) at;
};

void notice_make(const struct snapshot *snapshot, const struct plan *plan, struct arena *arena,
		 struct notice_list *ret_list);

const char *notice_reason_word(enum notice_reason reason); /* "TriggeredScaleUp", ... */
bool notice_is_warning(enum notice_reason reason);

#endif
