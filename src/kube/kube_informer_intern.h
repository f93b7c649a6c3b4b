/* Internals of an informer, shared by kube_informer.c (list, watch, poll), kube_informer_late.c (large
 * objects after a list) and kube_informer_view.c (queries). Internal to these files. */
#ifndef KUBE_KUBE_INFORMER_INTERN_H
#define KUBE_KUBE_INFORMER_INTERN_H

#include "codec/objects/list_stream.h"
#include "kube/kube_decode.h"
#include "kube/kube_informer_options.h"
#include "kube/kube_store.h"
#include "kube/kube_watch.h"

enum kube_state {
	KUBE_STATE_DISCOVER = 1,
	KUBE_STATE_LIST,
	KUBE_STATE_SWEEP,
	KUBE_STATE_WATCH,
	KUBE_STATE_POLL,
	KUBE_STATE_WAIT, /* backoff, then `next` */
};

/* The reading of large objects after a list (kube_informer_late.h). Zeroed, with its timer. */
struct kube_late {
	char *key; /* of the object that is read; NULL: none */
	struct kube_call *call;
	struct list_stream page; /* its answer */
	bool found;              /* the answer has the object */
	struct kube_decode *decode;
	struct loop_timer *timer; /* after a failure */
	struct backoff backoff;
	char *version; /* the last one that was read; NULL: none */
};

struct kube_informer {
	struct kube_client *client;
	struct loop *loop;
	struct arena arena; /* of the texts of options */
	struct kube_informer_options options;
	struct kube_store store;

	enum kube_state state, next;
	struct loop_timer *timer; /* of WAIT and between polls */
	struct kube_call *call;   /* of DISCOVER, LIST, POLL */
	struct kube_watch *watch;
	size_t version;             /* index into type->versions that is asked for */
	char *api_version;          /* the one that is served; NULL: not known */
	char *resource_version;     /* to watch from */
	char *continue_token;       /* of the list under way */
	struct list_stream page;    /* the page under way, item by item */
	struct kube_decode *decode; /* of a large object; nothing further is read meanwhile */
	struct buf rest;            /* of the piece of a list with that object */
	bool ended;                 /* the page, meanwhile */
	struct kube_late late;
	int page_objects; /* halved when a page takes too long, doubled by each whole list */
	struct backoff backoff;
	int watch_failures; /* failed watches in a row without an event */
	int64_t opened_ms;  /* monotonic; of the present watch */
	int64_t listed_ms;  /* of the end of the last list */
	bool progress;      /* this watch has delivered an event or bookmark */

	bool synced, live;
	int64_t proof_ms; /* loop_boot_ms up to which the view is known to be complete */
	struct err problem;
	struct kube_informer_counters counters;
};

#endif
