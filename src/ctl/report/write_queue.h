/* The writes to objects of the API server that may wait: statuses, annotations of Pods. One rule says
 * when each is sent:
 *
 *  - one at a time for an object, in the order in which they were wanted, within the limits of the queue;
 *  - not on a version of the object that the last write was based on: until its result comes back through
 *    the watch, the next one would conflict (write_item_is_shown, at most WRITE_QUEUE_CACHE_MS);
 *  - after an error as overload_retry_ms says, and after a Retry-After of the API server its namespace
 *    waits, or all of them (overload_refused);
 *  - a missing right is logged once for the queue, with its fix, and so is its end; any other error once
 *    for the object.
 *
 * The owner says what is written (struct write_kind) and keeps its items, which it may drop at any time
 * but not inside a call of its kind. All state may be lost at any instruction. */
#ifndef CTL_REPORT_WRITE_QUEUE_H
#define CTL_REPORT_WRITE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/token_bucket.h"
#include "ctl/report/overload.h"
#include "ctl/shared/control.h"
#include "kube/kube_client.h"
#include "net/log.h"

#define WRITE_QUEUE_CACHE_MS 5000

struct write_item;

enum write_next {
	WRITE_NOTHING = 0,
	WRITE_LATER, /* asked again at not_before_ms of the item, or soon */
	WRITE_NOW,
};

struct write_kind {
	const char *message; /* "cannot write ..." */
	const char *denied;  /* of a missing right; NULL: `message` */
	const char *allowed; /* after a missing right was given */
	const char *fix;     /* of a missing right; NULL: the error has it */
	int64_t interval_ms; /* between two writes of one object */
	/* Fills verb, path and body of the request, in the arena; WRITE_NOW sends it. */
	enum write_next (*next)(struct write_item *item, struct kube_request *request,
				struct arena *arena);
	/* err NULL: it was carried out. The item is queued again afterwards. May be NULL. */
	void (*ended)(struct write_item *item, const struct kube_answer *answer,
		      const struct err *err);
};

/* Zeroed memory, then write_queue_init. */
struct write_queue {
	const struct write_kind *kind; /* NULL: not begun */
	const struct control *control;
	struct list waiting; /* items that may have something to send */
	struct loop_timer *timer;
	int64_t timer_ms; /* when it is due, monotonic as all times here; INT64_MAX: it is not set */
	struct token_bucket budget;
	size_t under_way, under_way_max;
	struct overload overload;
	bool denied; /* the missing right was logged */
};

/* In the owner's struct for an object. Zeroed memory, then write_item_init. */
struct write_item {
	struct write_queue *queue; /* NULL: not begun */
	struct list_item waits;
	void *owner;
	const char *namespace_, *key; /* of the cluster, borrowed; key: in the log */
	const char *flow;             /* struct kube_request */
	struct kube_call *call;
	char *text;    /* to write; NULL: nothing */
	uint64_t mark; /* of its content; 0: none */
	uint64_t sent; /* the mark of the last write; 0: there was none, or it failed */
	char *version; /* of the object that the last write was based on; NULL: none */
	int64_t sent_ms, not_before_ms;
	struct log_repeat trouble;
};

/* per_second: writes in the long run, `burst` at once. */
void write_queue_init(struct write_queue *queue, const struct control *control,
		      const struct write_kind *kind, int64_t per_second, int64_t burst,
		      size_t under_way_max);
/* Its items were dropped before. Fine for one that was not begun. */
void write_queue_done(struct write_queue *queue);

void write_item_init(struct write_item *item, struct write_queue *queue, void *owner,
		     const char *namespace_, const char *key, const char *flow);
void write_item_done(struct write_item *item);

/* Keeps a copy of the text, NULL for nothing, and queues the item. */
void write_item_want(struct write_item *item, const char *text, uint64_t mark);
/* The text that was sent last is not wanted again, unless another one was wanted since. */
void write_item_drop_sent(struct write_item *item);
/* Queues it: its kind says what is to be written. */
void write_item_queue(struct write_item *item);
/* The write that is sent now is based on this version of the object. */
void write_item_base(struct write_item *item, const char *version);
/* The cache shows what the last write has made of the object, so this version may be written. */
bool write_item_is_shown(const struct write_item *item, const char *version);

#endif
