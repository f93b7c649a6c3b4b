#include "kube/kube_client.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "kube/kube_decode.h"
#include "kube/kube_error.h"
#include "kube/kube_queue.h"

#define KUBE_ERROR_BODY_MAX_BYTES ((size_t)1 << 20)
#define KUBE_STATUS_TOO_MANY_REQUESTS 429
#define KUBE_BUSY_MIN_MS 500
#define KUBE_BUSY_MAX_MS 5000

enum kube_call_state {
	KUBE_CALL_QUEUED = 1,
	KUBE_CALL_WAITING, /* in `sent`, for credentials: it has no request */
	KUBE_CALL_BUSY,    /* in `sent`, until it may be repeated after 429: no request either */
	KUBE_CALL_SENT,
	KUBE_CALL_DONE, /* its callback runs */
};

struct kube_call {
	struct kube_client *client;
	struct kube_queued queued; /* not of a watch */
	struct list_item sent;     /* of `sent` of the client */
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

struct kube_client {
	struct loop *loop;
	struct https *https;
	struct kube_config *config;
	struct kube_config_user user;
	struct kube_client_options options;
	struct kube_queue queue; /* calls that wait to be sent */
	struct list sent;        /* kube_call.sent: the others, with the watches */
	struct token_bucket rate;
	struct loop_timer *timer;
	struct kube_decoder decoder;
};

static void kube_call_free(struct kube_call *call)
{
	struct kube_client *client = call->client;

	if (call->state == KUBE_CALL_QUEUED)
		kube_queue_remove(&client->queue, &call->queued);
	else if (!call->watch)
		kube_queue_ended(&client->queue, &call->queued);
	list_remove(&call->sent);
	if (call->state == KUBE_CALL_SENT)
		https_cancel(call->request);
	loop_timer_free(call->busy_timer);
	memory_free(call->path);
	memory_free(call->header);
	memory_free(call->body);
	memory_free(call);
}

static struct kube_error_call kube_call_error(const struct kube_call *call)
{
	return (struct kube_error_call){
		.verb = call->verb,
		.watch = call->watch,
		.path = call->path,
		.source = kube_config_source(call->client->config),
		.problem = kube_config_problem(call->client->config),
	};
}

static void kube_call_send(struct kube_call *call);

/* Why it must not be sent (any more), NULL when it may: a write of a process that must not write,
 * or a call whose decision is too old. Reads the clock: the process may have been stopped. */
static const char *kube_call_refusal(void *context)
{
	const struct kube_call *call = context;
	const struct kube_client_options *options = &call->client->options;

	if (call->verb != KUBE_GET && options->may_write &&
	    !options->may_write(options->may_write_context))
		return "this replica does not lead";
	if (call->until_ms > 0 && loop_boot_ms() > call->until_ms)
		return "the state that it was decided on is too old";
	return NULL;
}

/* 401: the token may have been rotated. True when the call was sent again. */
static bool kube_call_repeat(struct kube_call *call)
{
	struct kube_client *client = call->client;
	struct kube_config *config = client->config;
	int64_t now = loop_monotonic_ms(client->loop);

	/* Other calls may have had the same answer before: their new credentials are not
	 * refused. */
	if (kube_config_credentials(config, now)->version == call->credentials_version)
		kube_config_refused(config);
	if (call->repeated || kube_call_refusal(call))
		return false;
	if (!kube_config_renew(config, &client->user) &&
	    kube_config_credentials(config, now)->version == call->credentials_version)
		return false;
	call->repeated = true;
	kube_call_send(call);
	return true;
}

static void kube_call_on_busy_timer(void *context)
{
	struct kube_call *call = context;

	kube_call_send(call);
}

/* 429. True when the call will be repeated, no earlier than the server says. */
static bool kube_call_wait_busy(struct kube_call *call, int64_t retry_after_ms)
{
	struct kube_client *client = call->client;

	if (call->verb != KUBE_GET || call->busy == client->options.busy_tries ||
	    retry_after_ms > KUBE_BUSY_MAX_MS)
		return false;
	call->busy++;
	call->state = KUBE_CALL_BUSY;
	if (!call->busy_timer)
		call->busy_timer = loop_timer_new(client->loop, kube_call_on_busy_timer, call);
	loop_timer_start(call->busy_timer,
			 retry_after_ms > KUBE_BUSY_MIN_MS ? retry_after_ms : KUBE_BUSY_MIN_MS);
	return true;
}

static void kube_client_pump(struct kube_client *client);

static void kube_call_tell(const struct kube_call *call, int status)
{
	const struct kube_client_options *options = &call->client->options;

	if (options->answered)
		options->answered(options->answered_context,
				  call->watch ? KUBE_VERB_WATCH : kube_verbs[call->verb].name,
				  status);
}

static void kube_call_on_done(void *context, const struct https_response *response,
			      const struct err *https_err)
{
	struct kube_call *call = context;
	struct kube_client *client = call->client;
	bool good = !https_err && response->status >= 200 && response->status < 300;
	struct kube_answer answer = {
		.status = response->status,
		.body = good ? response->body : "",
		.body_size = good ? response->body_size : 0,
		.retry_after_ms = response->retry_after_ms,
	};
	struct err err = { .kind = ERR_NONE };

	kube_call_tell(call, https_err ? 0 : response->status);
	if (!https_err && response->status == 401 && kube_call_repeat(call))
		return;
	if (!https_err && response->status == KUBE_STATUS_TOO_MANY_REQUESTS &&
	    kube_call_wait_busy(call, response->retry_after_ms))
		return;
	struct kube_error_call error_call = kube_call_error(call);
	if (https_err) {
		kube_error_unanswered(&error_call, https_err, !kube_call_refusal(call), &err);
	} else if (!good) {
		kube_error_set(&error_call, response->status, response->body, response->body_size,
			       &answer.retry_after_ms, &err);
	}
	if (answer.retry_after_ms > KUBE_RETRY_AFTER_MAX_MS)
		answer.retry_after_ms = KUBE_RETRY_AFTER_MAX_MS;
	call->state = KUBE_CALL_DONE;
	call->stream.done(call->stream.context, &answer, err.kind == ERR_NONE ? NULL : &err);
	kube_call_free(call);
	kube_client_pump(client);
}

static void kube_call_on_open(void *context)
{
	struct kube_call *call = context;

	if (call->stream.on_open)
		call->stream.on_open(call->stream.context);
}

/* The callback may cancel the call: it must not be used afterwards. */
static int kube_call_on_chunk(void *context, const char *data, size_t size)
{
	struct kube_call *call = context;

	return call->stream.on_chunk(call->stream.context, data, size);
}

/* Starts the request of a call that is in `sent`. */
static void kube_call_request(struct kube_call *call)
{
	struct kube_client *client = call->client;
	const struct kube_credentials *credentials =
		kube_config_credentials(client->config, loop_monotonic_ms(client->loop));
	const char *headers[3] = { "Accept: application/json" };
	size_t header_count = 1;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct https_call request = {
		.method = kube_verbs[call->verb].method,
		.url = arena_printf(&arena, "%s%s", kube_config_server(client->config), call->path),
		.allow_plain = kube_config_plain(client->config),
		.headers = headers,
		.bearer_token = credentials->token,
		.body = call->body,
		.body_size = call->body_size,
		.tls = &credentials->tls,
		.connect_ms = client->options.timeout_ms,
		.first_byte_ms = client->options.timeout_ms,
		.total_ms = call->watch ? 0 : client->options.timeout_ms,
		.stall_ms = call->stream.stall_ms,
		.ceiling_bytes = call->stream.on_chunk ? KUBE_ERROR_BODY_MAX_BYTES :
							 client->options.body_max_bytes,
		.may_send = kube_call_refusal,
		.on_open = call->watch ? kube_call_on_open : NULL,
		.on_chunk = call->stream.on_chunk ? kube_call_on_chunk : NULL,
		.on_done = kube_call_on_done,
		.context = call,
	};

	if (call->body_size > 0)
		headers[header_count++] = kube_verbs[call->verb].content_type;
	if (call->header)
		headers[header_count++] = call->header;
	request.header_count = header_count;
	call->credentials_version = credentials->version;
	call->request = https_start(client->https, &request);
	call->state = KUBE_CALL_SENT;
}

/* Sends a call that is in `sent`, or makes it wait for credentials. */
static void kube_call_send(struct kube_call *call)
{
	if (kube_config_renew(call->client->config, &call->client->user))
		call->state = KUBE_CALL_WAITING;
	else
		kube_call_request(call);
}

static void kube_call_leave_queue(struct kube_call *call)
{
	kube_queue_sent(&call->client->queue, &call->queued);
	list_add(&call->client->sent, &call->sent);
}

/* Ends a call that has no request: its caller gets the reason. */
static void kube_call_end_unsent(struct kube_call *call, struct err *err)
{
	struct kube_error_call error_call = kube_call_error(call);
	AUTO(memory_free_string) char *subject = kube_error_subject(&error_call);
	struct kube_answer answer = { .body = "" };

	(void)err_prefix(err, "%s", subject);
	if (call->state == KUBE_CALL_QUEUED)
		kube_call_leave_queue(call);
	call->state = KUBE_CALL_DONE;
	call->stream.done(call->stream.context, &answer, err);
	kube_call_free(call);
}

static void kube_call_refuse(struct kube_call *call, const char *why)
{
	struct err err;

	err_set(&err, ERR_RETRY, "not sent, %s", why);
	kube_call_end_unsent(call, &err);
}

/* Ends a call that waited too long in the queue, with ERR_TIMEOUT. */
static void kube_call_expire(struct kube_call *call)
{
	struct err err;

	err_set(&err, ERR_TIMEOUT,
		"not sent for %lld ms because of our own limit on requests "
		"(%lld/s, %d at once); fix: a higher limit",
		(long long)call->client->options.timeout_ms, (long long)call->client->options.qps,
		KUBE_IN_FLIGHT_MAX);
	kube_call_end_unsent(call, &err);
}

static struct kube_call *kube_client_oldest(const struct kube_client *client)
{
	return LIST_MEMBER(client->queue.calls.first, struct kube_call, queued.item);
}

/* NULL: no waiting call has a place. */
static struct kube_call *kube_client_next(const struct kube_client *client)
{
	struct kube_queued *next = kube_queue_next(&client->queue);

	return next ? LIST_MEMBER(&next->item, struct kube_call, queued.item) : NULL;
}

static bool kube_call_is_expired(const struct kube_call *call)
{
	const struct kube_client *client = call->client;

	return call->queued_ms + client->options.timeout_ms <= loop_monotonic_ms(client->loop);
}

/* A call that has to end unsent: one that waits too long, or whose turn it is and that must not be
 * sent any more. NULL: there is none. */
static struct kube_call *kube_client_hopeless(const struct kube_client *client)
{
	struct kube_call *oldest = kube_client_oldest(client);
	struct kube_call *next = kube_client_next(client);

	if (oldest && (kube_call_is_expired(oldest) || kube_call_refusal(oldest)))
		return oldest;
	return next && kube_call_refusal(next) ? next : NULL;
}

/* Time until the next one may be sent, or the oldest expires; when they wait for a place, the
 * answer that frees it calls the pump. */
static int64_t kube_client_wait_ms(const struct kube_client *client, const struct kube_call *oldest)
{
	int64_t expire_ms =
		oldest->queued_ms + client->options.timeout_ms - loop_monotonic_ms(client->loop);

	if (kube_client_hopeless(client))
		return 0;
	if (!kube_client_next(client))
		return expire_ms;
	int64_t token_ms = token_bucket_wait_ms(&client->rate);
	return token_ms < expire_ms ? token_ms : expire_ms;
}

static void kube_client_pump(struct kube_client *client)
{
	int64_t now = loop_monotonic_ms(client->loop);
	struct kube_call *next;

	while ((next = kube_client_next(client)) && !kube_call_refusal(next) &&
	       token_bucket_take(&client->rate, 1, now)) {
		kube_call_leave_queue(next);
		kube_call_send(next);
	}
	const struct kube_call *oldest = kube_client_oldest(client);
	if (oldest)
		loop_timer_start(client->timer, kube_client_wait_ms(client, oldest));
	else
		loop_timer_stop(client->timer);
}

static void kube_client_on_timer(void *context)
{
	struct kube_client *client = context;
	struct kube_call *call;
	/* A callback may queue new calls: only those that are queued now are visited. */
	size_t left = client->queue.calls.count;

	for (; left > 0 && (call = kube_client_hopeless(client)); left--) {
		const char *refusal = kube_call_refusal(call);

		if (refusal)
			kube_call_refuse(call, refusal);
		else
			kube_call_expire(call);
	}
	kube_client_pump(client);
}

/* The exec plugin has ended: sends the calls that wait for it. */
static void kube_client_on_renewed(void *context)
{
	struct kube_client *client = context;
	struct list_item *item = client->sent.first;

	while (item) {
		struct kube_call *call = LIST_MEMBER(item, struct kube_call, sent);
		const char *refusal = call->state == KUBE_CALL_WAITING ? kube_call_refusal(call) :
									 NULL;

		if (refusal) { /* its callback may start and cancel others */
			kube_call_refuse(call, refusal);
			item = client->sent.first;
			continue;
		}
		if (call->state == KUBE_CALL_WAITING)
			kube_call_request(call);
		item = item->next;
	}
	kube_client_pump(client);
}

struct kube_decoder *kube_client_decoder(struct kube_client *client)
{
	client->decoder.loop = client->loop;
	return &client->decoder;
}

void kube_client_resume(struct kube_call *call)
{
	if (call->state == KUBE_CALL_SENT)
		https_resume(call->request);
}

struct budget_children *kube_client_objects(const struct kube_client *client)
{
	return client->options.objects;
}

struct kube_client *kube_client_new(struct loop *loop, struct https *https,
				    struct kube_config *config,
				    const struct kube_client_options *options)
{
	struct kube_client *client = memory_alloc(sizeof(*client));

	CHECK(options->qps >= 0 && options->burst >= 1 && options->timeout_ms > 0);
	client->loop = loop;
	client->https = https;
	client->config = config;
	client->user = (struct kube_config_user){ .loop = loop,
						  .renewed = kube_client_on_renewed,
						  .context = client };
	kube_config_join(config, &client->user);
	client->options = *options;
	if (client->options.body_max_bytes == 0)
		client->options.body_max_bytes = KUBE_BODY_MAX_BYTES;
	token_bucket_init(&client->rate, options->qps, options->burst, loop_monotonic_ms(loop));
	client->timer = loop_timer_new(loop, kube_client_on_timer, client);
	return client;
}

void kube_client_free(struct kube_client *client)
{
	struct kube_call *call;

	if (!client)
		return;
	while ((call = kube_client_oldest(client)))
		kube_call_free(call);
	while ((call = LIST_MEMBER(client->sent.first, struct kube_call, sent))) {
		CHECK(call->state != KUBE_CALL_DONE);
		kube_call_free(call);
	}
	kube_queue_done(&client->queue);
	kube_config_leave(client->config, &client->user);
	loop_timer_free(client->timer);
	memory_free(client);
}

static struct kube_call *kube_call_new(struct kube_client *client, enum kube_verb verb,
				       const char *path)
{
	struct kube_call *call = memory_alloc(sizeof(*call));

	call->client = client;
	call->verb = verb;
	call->path = memory_strdup(path);
	call->queued_ms = loop_monotonic_ms(client->loop);
	return call;
}

struct kube_call *kube_client_request(struct kube_client *client,
				      const struct kube_request *request, kube_client_done *done,
				      void *context)
{
	struct kube_call *call = kube_call_new(client, request->verb, request->path);

	if (request->body_size > 0) {
		call->body = memory_alloc(request->body_size);
		memcpy(call->body, request->body, request->body_size);
		call->body_size = request->body_size;
	}
	if (request->header)
		call->header = memory_strdup(request->header);
	call->until_ms = request->until_ms;
	call->stream.on_chunk = request->on_chunk;
	call->stream.done = done;
	call->stream.context = context;
	call->state = KUBE_CALL_QUEUED;
	kube_queue_add(&client->queue, &call->queued, request->flow);
	kube_client_pump(client);
	return call;
}

struct kube_call *kube_client_send(struct kube_client *client, enum kube_verb verb,
				   const char *path, const void *body, size_t body_size,
				   kube_client_done *done, void *context)
{
	const struct kube_request request = {
		.verb = verb, .path = path, .body = body, .body_size = body_size
	};

	return kube_client_request(client, &request, done, context);
}

struct kube_call *kube_client_stream(struct kube_client *client, const char *path,
				     const struct kube_stream *stream)
{
	struct kube_call *call = kube_call_new(client, KUBE_GET, path);

	CHECK(stream->stall_ms > 0 && stream->on_chunk && stream->done);
	call->watch = true;
	call->stream = *stream;
	list_add(&client->sent, &call->sent);
	kube_call_send(call);
	return call;
}

void kube_client_cancel(struct kube_call *call)
{
	struct kube_client *client;

	if (!call || call->state == KUBE_CALL_DONE)
		return;
	client = call->client;
	kube_call_free(call);
	kube_client_pump(client);
}

size_t kube_client_pending(const struct kube_client *client)
{
	return client->queue.calls.count + kube_queue_in_flight(&client->queue);
}

struct loop *kube_client_loop(const struct kube_client *client)
{
	return client->loop;
}
