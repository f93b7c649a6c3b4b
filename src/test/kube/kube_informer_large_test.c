/* kube/kube_informer: large objects are decoded beside the loop, in the order of the server. */
#include "test/support/informer_script.h"

#include <semaphore.h>

#include "kube/kube_decode.h"
#include "net/work.h"

static struct arena texts;

/* A Pod of 100 KiB, or of one line above the limit for lines on the loop. */
static const char *large(const char *name, const char *version, const char *spec)
{
	AUTO(buf_done) struct buf note = BUF_INIT(1 << 20);

	for (size_t i = 0; i < KUBE_DECODE_INLINE_BYTES + 1000; i++)
		buf_add_char(&note, 'a');
	return arena_printf(
		&texts,
		"{'metadata':{'namespace':'a','name':'%s','resourceVersion':'%s',"
		"'labels':{'ray.io/cluster':'c'},'annotations':{'note':'%s'}},'spec':%s}",
		name, version, buf_string(&note), spec);
}

static const char *event(const char *type, const char *object)
{
	return arena_printf(&texts, "{'type':'%s','object':%s}\n", type, object);
}

static const char *join(const char *a, const char *b, const char *c, const char *d)
{
	return arena_printf(&texts, "%s%s%s%s", a, b, c, d);
}

static const char *list_of(const char *items)
{
	return arena_printf(
		&texts, "{'metadata':{'resourceVersion':'10','continue':''},'items':[%s]}", items);
}

static void test_objects_behind_a_large_one_wait(void **state)
{
	const char *items = join(POD("p1", "1") ",", large("p2", "2", "{}"), "," POD("p3", "3") ",",
				 large("p4", "4", "{}"));
	const char *events =
		join(event("MODIFIED", large("p1", "11", "{}")), EVENT("MODIFIED", POD("p1", "12")),
		     event("DELETED", large("p2", "13", "{}")), EVENT("ADDED", POD("p5", "14")));
	const struct step steps[] = { { NULL, .text = list_of(items) },
				      { NULL, .kind = STEP_STREAM_HOLD, .text = events } };
	const struct pod *pod;

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen(
		"ADDED a/p1 - 1;ADDED a/p2 - 2;ADDED a/p3 - 3;ADDED a/p4 - 4;synced;live;"
		"MODIFIED a/p1 1 11;MODIFIED a/p1 11 12;DELETED a/p2 2 -;ADDED a/p5 - 14;");
	pod = kube_informer_get(informer, "a", "p4");
	assert_string_equal(pod->resource_version, "4");
	assert_int_equal(kube_informer_count(informer), 4);
	informer_stop();
	arena_done(&texts);
}

/* In pieces of one byte each, the line and what follows it. */
static void test_pieces_of_a_large_line(void **state)
{
	const struct step steps[] = {
		{ NULL, .text = LIST("10", "", POD("p1", "1")) },
		{ NULL, .kind = STEP_STREAM_BYTES,
		  .text = join(event("MODIFIED", large("p1", "11", "{}")),
			       EVENT("ADDED", POD("p2", "12")), "", "") },
	};

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("ADDED a/p1 - 1;synced;live;MODIFIED a/p1 1 11;ADDED a/p2 - 12;");
	informer_stop();
	arena_done(&texts);
}

static void test_a_large_object_may_be_bad(void **state)
{
	const char *items = join(large("p1", "1", "{'containers':7}"), "," POD("p2", "2"), "", "");
	const struct step steps[] = {
		{ NULL, .text = list_of(items) },
		{ NULL, .kind = STEP_STREAM_HOLD,
		  .text = join(event("MODIFIED", large("p1", "11", "{}")),
			       event("MODIFIED", large("p2", "12", "{'containers':7}")), "", "") },
	};
	const struct pod *pod;

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen(
		"BAD a/p1 - 1;ADDED a/p2 - 2;synced;live;MODIFIED a/p1 1 11;BAD a/p2 2 12;");
	pod = kube_informer_get(informer, "a", "p2");
	assert_non_null(strstr(pod->unreadable, "spec.containers"));
	assert_string_equal(labels_value(&pod->labels, LABEL_CLUSTER), "c");
	informer_stop();
	arena_done(&texts);
}

/* An event that cannot be one ends the watch, and all is listed again. */
static void test_a_large_line_that_is_no_event(void **state)
{
	const struct step steps[] = {
		{ NULL, .text = LIST("10", "", POD("p1", "1")) },
		{ NULL, .kind = STEP_STREAM_HOLD, .text = event("WRONG", large("p1", "11", "{}")) },
		{ LIST_PAGE, .text = LIST("20", "", POD("p1", "15")) },
		{ WATCH_FROM("20"), .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("error Input;MODIFIED a/p1 1 15;live;");
	informer_stop();
	arena_done(&texts);
}

static sem_t gate;

static void wait_at_gate(void *context, const struct work_job *job)
{
	(void)context;
	(void)job;
	while (sem_wait(&gate) != 0)
		;
}

static void nothing(void *context)
{
	(void)context;
}

static bool an_object_waits(void *context)
{
	(void)context;
	return work_count(informer_script.loop) > work_at_once();
}

/* No thread is free: the loop reads other things, and nothing behind the object. */
static void test_the_loop_decodes_no_large_object(void **state)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };
	const char *items =
		join(POD("p1", "1") ",", large("p2", "2", "{}"), "," POD("p3", "3"), "");
	const struct step steps[] = { { NULL, .text = list_of(items) },
				      { NULL, .kind = STEP_STREAM_HOLD } };

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	sem_init(&gate, 0, 0);
	for (size_t i = 0; i < work_at_once(); i++)
		(void)work_start(informer_script.loop, &functions, NULL);
	assert_true(loop_wait_until(informer_script.loop, an_object_waits, NULL, WAIT_MS));
	assert_int_equal(kube_informer_count(informer), 1);
	assert_false(kube_informer_synced(informer));
	for (size_t i = 0; i < work_at_once(); i++)
		sem_post(&gate);
	informer_wait_seen("ADDED a/p1 - 1;ADDED a/p2 - 2;ADDED a/p3 - 3;synced;live;");
	informer_stop();
	arena_done(&texts);
}

static void no_result(void *context, struct kube_decoded *decoded)
{
	(void)decoded;
	(*(int *)context)++;
}

static bool has_two(void *context)
{
	return *(const int *)context == 2;
}

/* Of all informers of a client: memory holds one tree. */
static void test_one_object_is_decoded_at_a_time(void **state)
{
	struct kube_decoder decoder = { .loop = loop_new() };
	int count = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		(void)kube_decode_start(&decoder, &kube_type_pod, "{}", 2, false, no_result,
					&count);
	assert_int_equal(work_count(decoder.loop), 1);
	assert_true(loop_wait_until(decoder.loop, has_two, &count, WAIT_MS));
	loop_free(decoder.loop);
}

/* Freed while its object is being decoded. */
static void test_an_informer_is_freed_meanwhile(void **state)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };
	const struct step steps[] = { { NULL, .text = list_of(large("p2", "2", "{}")) },
				      { NULL, .kind = STEP_STREAM_HOLD } };

	(void)state;
	informer_start(steps, SUPPORT_COUNT(steps));
	sem_init(&gate, 0, 0);
	for (size_t i = 0; i < work_at_once(); i++)
		(void)work_start(informer_script.loop, &functions, NULL);
	assert_true(loop_wait_until(informer_script.loop, an_object_waits, NULL, WAIT_MS));
	kube_informer_free(steal(&informer));
	assert_int_equal(work_count(informer_script.loop), work_at_once());
	for (size_t i = 0; i < work_at_once(); i++)
		sem_post(&gate);
	informer_stop();
	arena_done(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_objects_behind_a_large_one_wait),
		TEST(test_pieces_of_a_large_line),
		TEST(test_a_large_object_may_be_bad),
		TEST(test_a_large_line_that_is_no_event),
		TEST(test_the_loop_decodes_no_large_object),
		TEST(test_one_object_is_decoded_at_a_time),
		TEST(test_an_informer_is_freed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
