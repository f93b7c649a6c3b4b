/* What of one decision is worth an Event on the RayCluster, in words for the user who looks at
 * `kubectl describe`. Pure: snapshot and plan in, notices out, in the arena; ctl/report/notices sends them.
 * Must not remember: whether something has gone on for long enough, or was said before, is for
 * ctl/report/notice_book. Messages name no Secret and have at most NOTICE_MESSAGE_MAX bytes of UTF-8. */
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
#define NOTICE_BLOCKED_MAX 64 /* workers looked at that stay */

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
	/* What has to go on for hold_ms before it is said: a worker; "" for the key as a whole. */
	const char *subject;
	int64_t hold_ms;
	/* Not a state but a deed: to be said once, when the patch of the plan was accepted. */
	bool deed;
	/* A state to be said once, and again only after it was away. */
	bool once;
	bool known; /* with once: it was said before this process began */
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
