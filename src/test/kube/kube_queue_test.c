/* kube/kube_queue: the order of calls, and how many places a cluster takes. */
#include "kube/kube_queue.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define HOSTILE 1000
#define HONEST 50

static struct kube_queue queue;
static struct kube_queued calls[HOSTILE + HONEST + 200];
static size_t count;

static int setup(void **state)
{
	(void)state;
	memset(&queue, 0, sizeof(queue));
	memset(calls, 0, sizeof(calls));
	count = 0;
	return 0;
}

static struct kube_queued *add(const char *flow)
{
	struct kube_queued *call = &calls[count++];

	kube_queue_add(&queue, call, flow);
	return call;
}

static const char *flow_of(const struct kube_queued *call)
{
	return call->flow->key ? call->flow->key : "own";
}

/* Sends the next one, which must be of this flow; "none": there is none. */
static struct kube_queued *expect_next(const char *flow)
{
	struct kube_queued *call = kube_queue_next(&queue);

	assert_string_equal(call ? flow_of(call) : "none", flow);
	if (call)
		kube_queue_sent(&queue, call);
	return call;
}

static void finish(struct kube_queued *call)
{
	kube_queue_ended(&queue, call);
	assert_null(call->flow);
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (calls[i].item.list)
			kube_queue_remove(&queue, &calls[i]);
		else if (calls[i].flow)
			kube_queue_ended(&queue, &calls[i]);
	}
	kube_queue_done(&queue);
	return 0;
}

static void test_in_turn(void **state)
{
	static const char *const order[] = {
		"own", "n/a", "n/b", "n/c", "n/a", "n/b", "n/a", "none"
	};
	struct kube_queued *first_of_b;

	(void)state;
	for (int i = 0; i < 3; i++)
		add("n/a");
	first_of_b = add("n/b");
	add("n/b");
	add("n/c");
	add(NULL);
	assert_ptr_equal(LIST_MEMBER(queue.calls.first, struct kube_queued, item), &calls[0]);
	for (size_t i = 0; i < SUPPORT_COUNT(order); i++) {
		struct kube_queued *call = expect_next(order[i]);

		assert_true(i != 2 || call == first_of_b); /* in order within the flow */
	}
}

/* A flow that comes back is queued behind the others, also when it had nothing left. */
static void test_a_flow_that_comes_back_is_queued_last(void **state)
{
	struct kube_queued *a;

	(void)state;
	add("n/a");
	add("n/b");
	add("n/b");
	a = expect_next("n/a");
	finish(a);
	add("n/a");
	expect_next("n/b");
	expect_next("n/a");
	expect_next("n/b");
}

static void test_places(void **state)
{
	struct kube_queued *sent[KUBE_FLOW_IN_FLIGHT_MAX + 1];
	char name[32];

	(void)state;
	for (size_t i = 0; i < 2 * KUBE_FLOW_IN_FLIGHT_MAX; i++)
		add("n/hangs");
	for (size_t i = 0; i < KUBE_FLOW_IN_FLIGHT_MAX; i++)
		sent[i] = expect_next("n/hangs");
	expect_next("none");
	finish(sent[0]);
	expect_next("n/hangs");
	/* All places of clusters are taken: the program's own calls still get theirs. */
	for (int i = KUBE_FLOW_IN_FLIGHT_MAX; i < KUBE_CLUSTERS_IN_FLIGHT_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n/c%d", i);
		add(name);
		expect_next(name);
	}
	add("n/last");
	expect_next("none");
	for (int i = KUBE_CLUSTERS_IN_FLIGHT_MAX; i < KUBE_IN_FLIGHT_MAX; i++) {
		add(NULL);
		expect_next("own");
	}
	add(NULL);
	expect_next("none");
	finish(sent[1]);
	expect_next("own");
}

static void test_disruption(void **state)
{
	struct kube_queued *a, *b;

	(void)state;
	a = add("n/a");
	b = add("n/b");
	add("n/b");
	kube_queue_remove(&queue, a);
	assert_null(map_get(&queue.flows, "n/a"));
	kube_queue_remove(&queue, b);
	assert_int_equal(queue.calls.count, 1);
	b = expect_next("n/b");
	assert_non_null(map_get(&queue.flows, "n/b"));
	finish(b);
	assert_int_equal(queue.flows.count, 0);
	assert_int_equal(queue.due.count, 0);
}

/* A cluster with 1,000 writes, and 50 later ones with one each: each of the 50 is sent within two
 * rounds. */
static void test_a_thousand_calls_delay_no_other(void **state)
{
	size_t honest = 0, sent = 0;
	char name[32];

	(void)state;
	for (int i = 0; i < HOSTILE; i++)
		add("n/hostile");
	for (int i = 0; i < HONEST; i++) {
		(void)snprintf(name, sizeof(name), "n/honest-%d", i);
		add(name);
	}
	while (honest < HONEST) {
		struct kube_queued *call = kube_queue_next(&queue);

		assert_non_null(call);
		honest += call >= &calls[HOSTILE];
		kube_queue_sent(&queue, call);
		finish(call);
		sent++;
	}
	assert_in_range(sent, HONEST, 2 * (HONEST + 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_in_turn),
		TEST(test_a_flow_that_comes_back_is_queued_last),
		TEST(test_places),
		TEST(test_disruption),
		TEST(test_a_thousand_calls_delay_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
