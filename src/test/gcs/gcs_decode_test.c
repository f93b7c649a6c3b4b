/* gcs/gcs_decode: where a reply is decoded, and one whose job is cancelled meanwhile. */
#include <stdatomic.h>

#include "core/model/ray_state.h"
#include "gcs/gcs_call.h"
#include "gcs/gcs_decode.h"
#include "gcs/gcs_state.h"
#include "net/loop.h"
#include "net/work.h"
#include "test/support/gcs_forged.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define SHAPES 50000
#define WAIT_MS 20000

struct reading {
	struct buf reply;
	atomic_bool begun, cancelled;
	int status;
	struct err err;
	bool dropped;
};

static void read_reply(void *context, const struct work_job *job)
{
	struct reading *reading = context;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state state;

	atomic_store(&reading->begun, true);
	while (!atomic_load(&reading->cancelled))
		;
	reading->status = gcs_state_decode(reading->reply.data, reading->reply.size, job, &arena,
					   &state, &reading->err);
}

static void drop(void *context)
{
	((struct reading *)context)->dropped = true;
}

static void done(void *context)
{
	(void)context;
	fail();
}

/* It ends with the first entry, so that neither shutdown nor other clusters wait for it. */
static void test_a_cancelled_job_reads_no_further(void **state)
{
	static const struct work_functions functions = { read_reply, done, drop };
	AUTO(buf_done) struct buf body;
	struct reading reading = { .status = 0 };
	struct loop *loop = loop_new();
	struct work_job *job;

	(void)state;
	buf_init(&body, FORGED_CEILING_BYTES);
	forged_shapes(&body, SHAPES, 1);
	forged_reply(&body, &reading.reply);
	job = work_start_slow(loop, &functions, &reading, 0);
	while (!atomic_load(&reading.begun))
		;
	work_cancel(job);
	atomic_store(&reading.cancelled, true);
	assert_true(work_stop(loop, WAIT_MS));
	assert_true(reading.dropped);
	assert_int_equal(reading.status, -1);
	assert_int_equal(reading.err.kind, ERR_RETRY);
	buf_done(&reading.reply);
	loop_free(loop);
}

static void state_came(void *context, const struct gcs_reply *reply, const struct err *err)
{
	size_t *ret_requests = context;

	assert_null(err);
	*ret_requests = reply->state->request_count;
}

static bool came(void *context)
{
	return *(const size_t *)context > 0;
}

/* A thread costs more than decoding a small reply; a large reply would hold up the loop. */
static void test_only_a_large_reply_takes_a_thread(void **state)
{
	struct {
		size_t shapes;
		bool threaded;
	} replies[] = { { 1, false }, { 300, false }, { 3000, true } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(replies); i++) {
		AUTO(buf_done) struct buf body;
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct loop *loop = loop_new();
		struct gcs_client client = { .loop = loop, .cluster = (char *)"ns/rc" };
		struct buf reply;
		size_t requests = 0;
		struct gcs_call *call = gcs_call_new(&client, WAIT_MS, "/service/method",
						     gcs_decode, state_came, &requests);

		buf_init(&body, FORGED_CEILING_BYTES);
		forged_shapes(&body, replies[i].shapes, 1);
		forged_reply(&body, &reply);
		call->arena = &arena;
		call->body = &reply;
		gcs_decode(call, reply.data, reply.size);
		assert_int_equal(work_count(loop), replies[i].threaded);
		if (replies[i].threaded)
			assert_int_equal(requests, 0);
		assert_true(loop_wait_until(loop, came, &requests, WAIT_MS));
		assert_int_equal(requests, replies[i].shapes);
		loop_free(loop);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_large_reply_takes_a_thread),
		cmocka_unit_test(test_a_cancelled_job_reads_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
