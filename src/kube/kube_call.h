/* One call of kube_client. Internal to kube_client.c and kube_queue.c. */
#ifndef KUBE_KUBE_CALL_H
#define KUBE_KUBE_CALL_H

#include "base/list.h"
#include "kube/kube_client.h"

enum kube_call_state {
	KUBE_CALL_QUEUED = 1,
	KUBE_CALL_WAITING, /* in `sent`, for credentials: it has no request */
	KUBE_CALL_BUSY,    /* in `sent`, until it may be repeated after 429: no request either */
	KUBE_CALL_SENT,
	KUBE_CALL_DONE, /* its callback runs */
};

struct kube_call {
	struct kube_client *client;
	struct list_item item;  /* of all that wait (kube_queue), or of `sent` of the client */
	struct list_item place; /* in its flow, while it waits */
	struct kube_flow *flow; /* NULL: a watch */
	enum kube_call_state state;
	enum kube_verb verb;
	bool watch, repeated;
	char *path, *header; /* header NULL: none */
	void *body;
	size_t body_size;
	int64_t queued_ms;
	int64_t until_ms; /* of loop_boot_ms; 0: no limit */
	uint64_t credentials_version;
	struct kube_stream stream; /* of an ordinary call: done and context only */
	struct https_request *request;
	int busy; /* number of 429 answers */
	struct loop_timer *busy_timer;
};

#endif
