/* gcs/gcs_decode: a reply that is read while its job is cancelled. */
#include <stdatomic.h>

#include "core/model/ray_state.h"
#include "gcs/gcs_state.h"
#include "net/loop.h"
#include "net/work.h"
#include "test/support/gcs_forged.h"
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
	reading->status = gcs_state_decode_job(reading->reply.data, reading->reply.size, job,
					       &arena, &state, &reading->err);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cancelled_job_reads_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
