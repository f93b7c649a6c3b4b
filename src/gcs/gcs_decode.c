#include "gcs/gcs_decode.h"

#include "base/budget.h"
#include "base/buf.h"
#include "base/memory.h"
#include "gcs/gcs_list.h"
#include "gcs/gcs_state.h"
#include "net/loop.h"
#include "net/work.h"

/* A larger reply is decoded as a slow job; one of 1,000 workers has about this size. */
#define GCS_DECODE_QUICK_BYTES ((size_t)256 << 10)
/* A smaller one is decoded on the loop, in about 0.1 ms: two switches of threads cost as much. One
 * of 40 workers has about this size. */
#define GCS_DECODE_INLINE_BYTES ((size_t)16 << 10)
#define GCS_DIGEST_INLINE_BYTES ((size_t)64 << 10) /* under 0.1 ms */

/* A reply that is decoded on a thread of the pool: owns the bytes and the result. */
struct gcs_decode {
	struct gcs_call *call; /* its job is cancelled before it ends */
	struct budget *budget; /* of the members below; NULL: none */
	struct buf body;
	int64_t received_ms;
	bool digested; /* the digest is known */
	uint64_t digest;
	struct arena arena;
	gcs_call_decode *decode; /* NULL: a list or the state */
	const struct gcs_list_use *list_use;
	enum ray_list list;
	bool decoded; /* false: invalid, and err says why */
	struct gcs_reply reply;
	struct err err;
};

static void gcs_decode_free(void *context)
{
	struct gcs_decode *decode = context;

	arena_done(&decode->arena);
	buf_done(&decode->body);
	budget_free(decode->budget);
	memory_free(decode);
}

static void gcs_digest_run(void *context, const struct work_job *job UNUSED)
{
	struct gcs_decode *decode = context;

	decode->digest = gcs_state_digest(buf_string(&decode->body), decode->body.size);
}

static void gcs_decode_state(struct gcs_decode *decode, const struct work_job *job)
{
	struct ray_state *state = ARENA_NEW(&decode->arena, struct ray_state);

	decode->decoded = gcs_state_decode(buf_string(&decode->body), decode->body.size, job,
					   &decode->arena, state, &decode->err) == 0;
	state->received_ms = decode->received_ms;
	decode->reply.state = state;
}

static void gcs_decode_run(void *context, const struct work_job *job)
{
	struct gcs_decode *decode = context;

	if (decode->decode)
		decode->decoded = decode->decode(buf_string(&decode->body), decode->body.size,
						 &decode->arena, &decode->reply, &decode->err) == 0;
	else if (decode->list_use)
		decode->decoded = gcs_list_decode(decode->list_use, decode->list,
						  buf_string(&decode->body), decode->body.size, job,
						  &decode->arena, &decode->reply,
						  &decode->err) == 0;
	else
		gcs_decode_state(decode, job);
}

static void gcs_decode_done(void *context)
{
	struct gcs_decode *decode = context;
	struct gcs_call *call = decode->call;
	const struct gcs_reply reply = decode->reply;
	bool decoded = decode->decoded;
	struct err err = decode->err;

	call->job = NULL;
	if (decoded) {
		arena_done(call->arena);
		*call->arena = decode->arena;
		decode->arena = ARENA_INIT;
	}
	gcs_decode_free(decode);
	if (decoded)
		gcs_call_end(call, &reply, NULL);
	else
		gcs_call_fail(call, &err);
}

static void gcs_decode_digested(void *context);

static void gcs_decode_queue(struct gcs_decode *decode, const struct work_functions *functions)
{
	struct gcs_call *call = decode->call;

	if (decode->body.size > GCS_DECODE_QUICK_BYTES)
		call->job =
			work_start_slow(call->client->loop, functions, decode, decode->received_ms);
	else
		call->job = work_start(call->client->loop, functions, decode);
}

/* First the digest, when it is needed and would take long; then the state unless it is known. */
static void gcs_decode_start(struct gcs_decode *decode)
{
	static const struct work_functions digest = { gcs_digest_run, gcs_decode_digested,
						      gcs_decode_free };
	static const struct work_functions state = { gcs_decode_run, gcs_decode_done,
						     gcs_decode_free };
	struct gcs_call *call = decode->call;

	if (call->known && !decode->digested) {
		decode->digested = true;
		if (decode->body.size > GCS_DIGEST_INLINE_BYTES) {
			gcs_decode_queue(decode, &digest);
			return;
		}
		decode->digest = gcs_state_digest(buf_string(&decode->body), decode->body.size);
	}
	if (call->known && call->known(call->context, decode->digest, decode->body.size)) {
		gcs_decode_free(decode);
		gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
		return;
	}
	if (decode->body.size > GCS_DECODE_INLINE_BYTES) {
		gcs_decode_queue(decode, &state);
		return;
	}
	gcs_decode_run(decode, NULL);
	gcs_decode_done(decode);
}

static void gcs_decode_digested(void *context)
{
	struct gcs_decode *decode = context;

	decode->call->job = NULL;
	gcs_decode_start(decode);
}

void gcs_decode(struct gcs_call *call, const void *message UNUSED, size_t size UNUSED)
{
	struct gcs_decode *decode = memory_alloc(sizeof(*decode));

	decode->call = call;
	decode->decode = call->decode;
	decode->list_use = call->list_use;
	decode->list = call->list;
	decode->reply.rejection = "";
	decode->body = *call->body;
	decode->budget = decode->body.budget; /* with the reference of the reply */
	decode->arena.budget = decode->budget;
	*call->body = (struct buf){ .data = NULL };
	decode->received_ms = loop_boot_ms();
	gcs_decode_start(decode);
}
