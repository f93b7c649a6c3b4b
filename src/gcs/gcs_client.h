/* One Ray head's GCS over gRPC: demand, nodes, drains, reports. Asynchronous, on the loop. The
 * caller owns the client; the client owns its one connection and its calls in flight. Must not
 * decide anything, keep a state of the cluster, or be used for streaming calls.
 *
 * Rules of every call:
 *  - a call never fails in the call itself: every end, with or without success, is one callback
 *    on a later turn of the loop, at the latest timeout_ms after the call was made;
 *  - the text of an err names the cluster, the method and the fix. Kinds: ERR_RETRY
 *    (unreachable, connection lost, UNAVAILABLE), ERR_TIMEOUT, ERR_DENIED (token or certificate
 *    refused), ERR_LIMIT (reply above the ceiling), ERR_INPUT (an unexpected reply, or Ray
 *    refused the arguments), ERR_NOT_FOUND (UNIMPLEMENTED: Ray is too old);
 *  - pointers that a callback gets are valid until it returns, unless they are in an arena that
 *    the caller gave; that arena must live, and must not be reset, until the callback or the
 *    cancel. The bytes of the reply are charged to the arena's budget: above it the call ends
 *    with ERR_LIMIT, or with ERR_RETRY when others use up the memory for all;
 *  - a callback may start and cancel calls, and may free the client.
 *
 * The client connects when a call needs it and reconnects likewise, with its own jittered backoff
 * (200 ms to 10 s); until the backoff is over calls fail with the last reason. GetClusterId is
 * sent first on every connection, its id (ray_cluster_id, lower-case hex) with every call. A
 * refused id is fetched again and the call is repeated once, within its timeout. */
#ifndef GCS_GCS_CLIENT_H
#define GCS_GCS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/ray_list.h"
#include "core/model/ray_state.h"
#include "gcs/gcs_reply.h"

struct gcs_client;
struct gcs_list_use;
struct loop;

struct gcs_config {
	const char *cluster; /* "namespace/name", for messages */
	const char *host;    /* numeric IPv4 or IPv6 address of the head Pod (gcs_address.h) */
	int port;
	const char *token;  /* "" or NULL: no authorization header (gcs_auth.h) */
	struct h2_tls *tls; /* NULL: plain text; the client takes its own reference */
	/* Added to the message when the token, or a certificate of either side, is refused: where ours
	 * is from, and the cure. "" or NULL: nothing is known. */
	const char *token_source, *tls_source;
	size_t reply_ceiling_bytes; /* 0: 64 MiB */
	/* Called each time a drain, a report, a key to put or lines would be sent: NULL, or why it
	 * must not, and then nothing is sent and the call ends with ERR_RETRY. Of gcs_client_new
	 * alone. */
	const char *(*may_write)(void *context); /* may be NULL: all may be sent */
	void *may_write_context;
};

/* Copies the configuration; connects with the first call. Never NULL. */
struct gcs_client *gcs_client_new(struct loop *loop, const struct gcs_config *config);

/* Applies the differences. Another token is used from the next call on; another address, or other
 * TLS material, closes the connection: calls in flight end with ERR_RETRY, the next one connects at
 * once (backoff and cluster id are reset). Cheap when nothing differs. */
void gcs_client_configure(struct gcs_client *client, const struct gcs_config *config);

/* Calls in flight end without a callback. NULL is fine. */
void gcs_client_free(struct gcs_client *client);

/* GetClusterResourceState. `state` is NULL exactly when there is an err (but see
 * gcs_call_ask_known), else it lives in `arena`: the reply is decoded, a large one on a
 * thread of the pool (net/work.h), into an arena that replaces `arena`, whose previous content is
 * freed. It is always a complete reply (gRPC OK, the whole message); decide() checks whether it has
 * a live head. Invalid amounts are listed in state->problems. */
struct gcs_call *gcs_client_get_state(struct gcs_client *client, int64_t timeout_ms,
				      struct arena *arena, gcs_done *done, void *context);
/* Before the reply to this get_state call is decoded, calls `known` with the same context, the
 * digest (gcs_state.h) and the size of the reply: is all of it known already? When it is, the
 * callback gets neither a state nor an err. `known` must not touch the call or the client. */
void gcs_call_ask_known(struct gcs_call *call, gcs_state_known *known);

#define GCS_DEADLINE_UNKNOWN 0 /* of a drain with reason PREEMPTION, as in Ray's message */

/* DrainNode. deadline TIME_NONE: with reason IDLE_TERMINATION, which Ray rejects for a node that is not
 * idle now; else with reason PREEMPTION, which Ray accepts while work runs, and reports the deadline to
 * this work. A later call replaces the deadline. node_id_hex: ray_node.id (invalid hex ends with ERR_INPUT). message: shown by Ray. accepted is
 * true also for a node that Ray does not know, or that is draining already. rejection: Ray's text,
 * "" when accepted. */
struct gcs_call *gcs_client_drain_node(struct gcs_client *client, int64_t timeout_ms,
				       const char *node_id_hex, const char *message,
				       time_ms deadline, gcs_done *done, void *context);

/* GetDrainingNodes: `drains` in the arena, also those that others drain. A reply above GCS_DRAINS_BYTES, about
 * 1,500 nodes, ends with ERR_LIMIT. */
#define GCS_DRAINS_BYTES ((size_t)64 << 10)
struct gcs_call *gcs_client_get_drains(struct gcs_client *client, int64_t timeout_ms,
				       struct arena *arena, gcs_done *done, void *context);

/* ResizeRayletResourceInstances: the raylet has this much CPU and memory from now on. `size` is the
 * raylet's answer, which is more where as much is in use. An answer without both ends with ERR_INPUT. */
struct gcs_call *gcs_client_resize_node(struct gcs_client *client, int64_t timeout_ms,
					const char *node_id_hex, const struct plan_size *size,
					gcs_done *done, void *context);

/* ReportAutoscalingState: the state that `ray status` shows of us, and the demand that Ray treats
 * as infeasible. `state` is the reply that `plan` was made from. Sent from the plan: infeasible
 * demand of source ray, bundles exactly as received, one entry per distinct shape (not one per
 * request), at most GCS_REPORT_MAX_ENTRIES of each kind and GCS_REPORT_MAX_BYTES in all
 * (gcs_report.h; docs/internals/ray.md, T36); launches (toLaunch of each group) and workers that are Pending or
 * Starting. The version is that of gcs_report_version: it grows across our restarts. Everything is
 * copied before the function returns. */
struct gcs_call *gcs_client_report_state(struct gcs_client *client, int64_t timeout_ms, time_ms now,
					 const struct ray_state *state, const struct plan *plan,
					 gcs_done *done, void *context);

/* InternalKVPut, overwriting. */
struct gcs_call *gcs_client_kv_put(struct gcs_client *client, int64_t timeout_ms,
				   const char *namespace_, const char *key, const char *value,
				   size_t size, gcs_done *done, void *context);

/* The requests of ray.autoscaler.sdk.request_resources() while the cluster is not marked as
 * autoscaler v2 (Ray before 2.47, or autoscalerOptions.version v1): the SDK then writes JSON to the
 * key-value store instead of calling the GCS. Two reads: the v2 mark, then the requests. constraint
 * is NULL (err too) when the cluster is v2 (get_state has the requests then) or no request was ever
 * made; else it is in `arena`, which is emptied first. JSON that does not parse ends with ERR_INPUT. */
struct gcs_call *gcs_client_get_kv_requests(struct gcs_client *client, int64_t timeout_ms,
					    struct arena *arena, gcs_done *done, void *context);

/* Decodes the value that request_resources() of Ray's SDK writes into the store of a GCS under
 * autoscaler v1 to a constraint. Within the budget of the arena. Pure; any thread.
 *
 * value: JSON, not terminated. ERR_INPUT with the place; ERR_LIMIT and ERR_RETRY as
 * budget_refuse. */
int gcs_requests_parse(const void *value, size_t size, struct arena *arena,
		       struct ray_constraint *ret, struct err *err);

/* One list of a GCS: GetAllActorInfo, GetTaskEvents, GetAllPlacementGroup or GetAllJobInfo, one page
 * of at most `rows_max` rows of its use: gcs_gpu_use (the work that uses GPUs now; `gpu_use` of the
 * reply), gcs_in_use (`in_use`) or that of a feature (`work`). The result is in `arena`, as the state of
 * gcs_client_get_state. Not for each pass: a GCS copies all of its rows for it. */
struct gcs_call *gcs_client_get_list(struct gcs_client *client, int64_t timeout_ms,
				     enum ray_list list, const struct gcs_list_use *use,
				     struct arena *arena, gcs_done *done, void *context);

/* GcsPublish of lines that every driver prints as those of Ray's autoscaler, "(autoscaler +12s)
 * LINE". Two calls: the v2 mark, which selects the form of a line, then the lines. At
 * most GCS_LINES_MAX lines are sent, each cut at GCS_LINE_MAX_BYTES; control characters become "?".
 * Everything is copied before the function returns. */
#define GCS_LINES_MAX 32
#define GCS_LINE_MAX_BYTES 400
struct gcs_call *gcs_client_publish_lines(struct gcs_client *client, int64_t timeout_ms,
					  const char *const *lines, size_t count, gcs_done *done,
					  void *context);

#endif
