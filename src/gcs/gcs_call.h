/* The chain of unary calls behind every call of gcs_client: the cluster id when it is unknown, then
 * one or two methods. Internal to gcs: users include gcs_client.h. The client owns its calls; a
 * call is freed when it ends or is cancelled. */
#ifndef GCS_GCS_CALL_H
#define GCS_GCS_CALL_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "core/model/ray_list.h"
#include "gcs/gcs_reply.h"
#include "gcs/gcs_report.h"
#include "ray.pb-c.h"

#define GCS_CLUSTER_ID_MAX_BYTES 64
/* Limit of the small replies: an id, a refusal, a key's value that is not a list of bundles. */
#define GCS_SMALL_REPLY_BYTES ((size_t)1 << 20)
#define GCS_REQUEST_BUFFER_BYTES (2 * (size_t)GCS_REPORT_MAX_BYTES)

struct gcs_client {
	struct loop *loop;
	struct h2_session *session;
	struct h2_tls *tls;
	char *cluster, *host, *token;    /* token "" when there is none */
	char *token_source, *tls_source; /* "" unknown */
	int port;
	size_t reply_ceiling_bytes;
	const char *(*may_write)(void *context);
	void *may_write_context;
	char cluster_id[2 * GCS_CLUSTER_ID_MAX_BYTES + 1]; /* hex; "" unknown */
	uint64_t cluster_id_generation; /* of the connection that it was read on */
	int64_t report_version;         /* of the last report, 0 for none */
	struct list calls;
};

/* Handles the reply of the method: ends the call, or sends the next method. */
typedef void gcs_call_read(struct gcs_call *call, const void *message, size_t size);
/* The pure part of it for a reply that a peer may make large: gcs_decode runs it, the result is in the arena. */
typedef int gcs_call_decode(const void *message, size_t size, struct arena *arena,
			    struct gcs_reply *ret_reply, struct err *err);

struct gcs_call {
	struct gcs_client *client;
	struct list_item item;
	struct h2_call *h2;       /* NULL: not in flight */
	struct loop_timer *later; /* reports `err` on the next turn */
	struct err *err;          /* set with `later` */
	int64_t deadline_ms;      /* of loop_attended_ms */
	const char *path;
	const char *other_path; /* of the same method; NULL: none. Used where `path` is unknown */
	struct buf request;     /* of `path`, kept for the repeat */
	struct buf lines;       /* of gcs_client_publish_lines */
	bool repeated;          /* after a refused cluster id */
	bool writes;            /* it changes something: may_write is called */
	gcs_call_read *read;
	gcs_call_decode *decode; /* with gcs_decode; NULL: a list, or the state */
	gcs_done *done;
	struct arena *arena;                 /* the caller's, NULL where none is needed */
	struct buf *body;                    /* of the reply, while it is read */
	struct work_job *job;                /* a reply is decoded on another thread; NULL: none */
	gcs_state_known *known;              /* of GetClusterResourceState; NULL: not used */
	const struct gcs_list_use *list_use; /* NULL: no list is read */
	enum ray_list list;
	size_t reply_ceiling_bytes; /* with an arena; 0: the session's */
	void *context;
};

/* timeout_ms: 1 to H2_TIMEOUT_MAX_MS, of the whole chain. */
struct gcs_call *gcs_call_new(struct gcs_client *client, int64_t timeout_ms, const char *path,
			      gcs_call_read *read, gcs_done *done, void *context);
/* Sends call->request to call->path, after GetClusterId when it is needed. */
void gcs_call_send(struct gcs_call *call);
/* Packs the message into call->request and sends it. */
void gcs_call_send_message(struct gcs_call *call, const ProtobufCMessage *message);
/* Ends a call: frees everything that it owned, then calls its `done`, which may start and cancel
 * calls or free the client. */
void gcs_call_end(struct gcs_call *call, const struct gcs_reply *reply, const struct err *err);
/* Ends the call now, with the names of cluster and method before the text. */
void gcs_call_fail(struct gcs_call *call, const struct err *err);
/* The same on a later turn of the loop. */
void gcs_call_fail_later(struct gcs_call *call, const struct err *err);

/* 0 for OK and for a missing status. */
int gcs_status_check(const Ray__GcsStatus *status, struct err *err);

#endif
