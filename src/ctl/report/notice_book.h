/* What was said of one RayCluster in Events, so that what repeats is counted in the Event that is
 * there and what flickers is not said at all. All of it may be lost: then something is said anew.
 * No I/O, no clock; texts are copied; the owner is ctl/report/notices. Must not make notices: core/report/notice.
 *
 * A state is said when it has gone on for its hold time, and again after 30 s, then after twice as
 * long each time, at most every 15 minutes (Events live for an hour); a state that was away for a
 * minute starts with 30 s. A deed is said when its patch was accepted, the same one (or one too many
 * for the burst) at most every 10 s, counting what came between. New Events: 25 at once, then one
 * every 30 s; what is above is counted in the last Event of the same reason. */
#ifndef CTL_REPORT_NOTICE_BOOK_H
#define CTL_REPORT_NOTICE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "core/report/notice.h"

#define NOTICE_ENTRIES_MAX 40 /* Events remembered; the one said longest ago goes first */
#define NOTICE_MARKS_MAX 256  /* states whose hold time runs */
#define NOTICE_BURST 25
#define NOTICE_REFILL_MS 30000
#define NOTICE_REPEAT_MS 30000
#define NOTICE_REPEAT_MAX_MS 900000
#define NOTICE_DEED_SPACING_MS 10000
#define NOTICE_AWAY_MS 60000
#define NOTICE_FORGET_MS 3600000 /* the API server has dropped the Event by then */

struct notice_book;

struct notice_book *notice_book_new(int64_t monotonic_ms);
void notice_book_free(struct notice_book *book); /* NULL is fine */

/* The notices of a decision that stands: states are noted, deeds wait (those of the decision before
 * are forgotten). */
void notice_book_decided(struct notice_book *book, const struct notice_list *notices,
			 int64_t monotonic_ms, time_ms now);
/* The patch of that decision was accepted: its deeds are done. */
void notice_book_accepted(struct notice_book *book, int64_t monotonic_ms, time_ms now);

/* One Event to send; valid until the book is used again. */
struct notice_order {
	uint64_t id; /* of the Event; also in its name */
	bool create; /* else it is there: count, last and message are new */
	enum notice_reason reason;
	const char *message;
	int64_t count;
	time_ms first, last;
};

enum notice_answer {
	NOTICE_SENT,
	NOTICE_GONE,   /* there is no such Event any more: the next time it is made anew */
	NOTICE_LOST,   /* it will never be taken: forget it */
	NOTICE_FAILED, /* perhaps later */
};

/* The next Event that is due, until notice_book_answered(order->id) it is not given out again.
 * False: there is none. */
bool notice_book_next(struct notice_book *book, int64_t monotonic_ms,
		      struct notice_order *ret_order);
void notice_book_answered(struct notice_book *book, uint64_t id, enum notice_answer answer,
			  int64_t monotonic_ms);

#endif
