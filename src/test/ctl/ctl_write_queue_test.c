/* The queue of writes against an API server whose answers a test chooses by object. */
#include "ctl/report/write_queue.h"

#include "base/hash.h"
#include "kube/kube_path.h"
#include "test/support/kube_script.h"

#define OBJECTS 4
#define LOOK_MS 300 /* for a write that should not come */

/* Of the server; under the lock. */
static struct {
	pthread_mutex_t lock;
	int code[OBJECTS], seconds[OBJECTS], writes[OBJECTS]; /* code 0: no answer */
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct kube_script script;
static struct control control;
static struct write_queue queue;
static struct write_item items[OBJECTS];
static char names[OBJECTS][2];
static const char *version;
static int ends;

static void answer(struct exchange *exchange, void *context)
{
	int object = exchange->path[strlen("/api/v1/namespaces/a/pods/")] - '0', code;
	char header[40] = "";

	(void)context;
	pthread_mutex_lock(&server.lock);
	server.writes[object]++;
	code = server.code[object];
	if (server.seconds[object] > 0)
		(void)snprintf(header, sizeof(header), "Retry-After: %d\r\n",
			       server.seconds[object]);
	pthread_mutex_unlock(&server.lock);
	if (code > 0)
		exchange_answer(exchange, code, header, "{}");
}

static int writes(int object)
{
	int count;

	pthread_mutex_lock(&server.lock);
	count = server.writes[object];
	pthread_mutex_unlock(&server.lock);
	return count;
}

static void answers(int object, int code, int seconds)
{
	pthread_mutex_lock(&server.lock);
	server.code[object] = code;
	server.seconds[object] = seconds;
	pthread_mutex_unlock(&server.lock);
}

static enum write_next next(struct write_item *item, struct kube_request *request,
			    struct arena *arena)
{
	if (!item->text)
		return WRITE_NOTHING;
	if (!write_item_is_shown(item, version))
		return WRITE_LATER;
	write_item_base(item, version);
	request->verb = KUBE_MERGE_PATCH;
	request->path = kube_path(arena, "v1", "a", "pods", item->owner, NULL);
	request->body = item->text;
	return WRITE_NOW;
}

static void ended(struct write_item *item, const struct kube_answer *reply, const struct err *err)
{
	(void)item;
	(void)reply;
	(void)err;
	ends++;
}

static const struct write_kind kind = {
	.message = "cannot write", .allowed = "can write", .next = next, .ended = ended
};

static void begin(int64_t per_second, size_t under_way_max)
{
	static const char *const namespaces[OBJECTS] = { "a", "a", "b", "c" };

	write_queue_init(&queue, &control, &kind, per_second, per_second, under_way_max);
	for (int i = 0; i < OBJECTS; i++) {
		names[i][0] = (char)('0' + i);
		answers(i, 200, 0);
		server.writes[i] = 0;
		write_item_init(&items[i], &queue, names[i], namespaces[i], names[i], NULL);
	}
	version = "1";
	ends = 0;
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	control = (struct control){ .loop = script.loop, .kube = script.client };
	memset(items, 0, sizeof(items));
	memset(&queue, 0, sizeof(queue));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < OBJECTS; i++)
		write_item_done(&items[i]);
	assert_int_equal(queue.under_way, 0);
	write_queue_done(&queue);
	script_done(&script);
	return 0;
}

static void want(int object, const char *text)
{
	write_item_want(&items[object], text, hash_text(text));
}

static bool has_ended(void *context)
{
	return ends >= *(const int *)context;
}

static void await_ends(int count)
{
	if (!loop_wait_until(script.loop, has_ended, &count, WAIT_MS))
		fail_msg("%d ends instead of %d", ends, count);
}

static bool has_more_writes(void *context)
{
	return writes(0) > *(const int *)context;
}

static void never_more_than(int count)
{
	if (loop_wait_until(script.loop, has_more_writes, &count, LOOK_MS))
		fail_msg("more than %d writes", count);
}

/* One for which the server has an error for ever does not delay the others. */
static void test_a_refused_one_delays_no_other(void **state)
{
	(void)state;
	begin(100, 10);
	answers(0, 403, 0);
	want(0, "{}");
	await_ends(1);
	for (int i = 1; i < OBJECTS; i++)
		want(i, "{}");
	await_ends(OBJECTS);
	never_more_than(1);
	assert_non_null(items[0].text);
	assert_null(items[1].text);
}

/* The result of a write comes back through the watch, before the next one. */
static void test_a_version_is_written_once(void **state)
{
	int one = 1;

	(void)state;
	begin(100, 10);
	want(0, "{}");
	await_ends(1);
	want(0, "[]");
	never_more_than(1);
	version = "2";
	if (!loop_wait_until(script.loop, has_more_writes, &one, WAIT_MS))
		fail_msg("the new version is not written");
}

/* Another writer was first: its version comes before the next try. */
static void test_a_conflict_waits_for_the_version(void **state)
{
	int one = 1;

	(void)state;
	begin(100, 10);
	answers(0, 409, 0);
	want(0, "{}");
	await_ends(1);
	answers(0, 200, 0);
	never_more_than(1);
	version = "2";
	if (!loop_wait_until(script.loop, has_more_writes, &one, WAIT_MS))
		fail_msg("it is not written again");
	await_ends(2);
	assert_null(items[0].text);
}

/* A change that is wanted while another one is under way is sent after it; without one, nothing is. */
static void test_the_last_change_is_sent(void **state)
{
	(void)state;
	begin(100, 10);
	answers(0, 0, 0);
	want(0, "{}");
	never_more_than(1);
	assert_non_null(items[0].call);
	want(0, "[]");
	write_item_want(&items[0], NULL, 0);
	never_more_than(1);
	assert_null(items[0].text);
}

/* No more under way than the limit; a place becomes free when one ends. */
static void test_the_limit_of_writes_under_way(void **state)
{
	(void)state;
	begin(100, 1);
	answers(0, 0, 0);
	want(0, "{}");
	never_more_than(1);
	want(1, "{}");
	never_more_than(1);
	assert_int_equal(writes(1), 0);
	write_item_done(&items[0]);
	items[0] = (struct write_item){ .queue = NULL };
	await_ends(1);
	assert_int_equal(writes(1), 1);
}

/* A Retry-After holds its object; of two namespaces all. */
static void test_retry_after(void **state)
{
	(void)state;
	begin(100, 10);
	answers(0, 429, 30);
	want(0, "{}");
	await_ends(1);
	want(2, "{}");
	await_ends(2);
	answers(3, 429, 30);
	want(3, "{}");
	await_ends(3);
	version = "2";
	want(2, "[]");
	never_more_than(1);
	assert_int_equal(writes(2), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_refused_one_delays_no_other),    TEST(test_a_version_is_written_once),
		TEST(test_a_conflict_waits_for_the_version), TEST(test_the_last_change_is_sent),
		TEST(test_the_limit_of_writes_under_way),    TEST(test_retry_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
