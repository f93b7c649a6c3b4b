/* The time at which a notice is sent: a lasting one is counted at growing intervals, a flickering
 * one is not sent, and those above the limit are counted in the last one. */
#include "ctl/report/event_correlator.h"

#include "base/memory.h"
#include "test/support/support.h"

#include <stdio.h>
#include <string.h>

#define START 1000000
#define HOUR 3600000

struct bench {
	struct arena arena;
	struct event_correlator *correlator;
	struct decision_event_list list;
	int64_t now; /* both clocks */
};

static struct bench b;

static int set_up(void **state)
{
	(void)state;
	b = (struct bench){ .now = START };
	b.correlator = event_correlator_new(b.now);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	event_correlator_free(b.correlator);
	arena_done(&b.arena);
	return 0;
}

static struct decision_event state_of(enum decision_event_reason reason, const char *key,
				      const char *subject, int64_t hold_ms)
{
	return (struct decision_event){ .reason = reason,
					.key = key,
					.subject = subject,
					.hold_ms = hold_ms,
					.message = arena_printf(&b.arena, "%s %s", key, subject) };
}

static struct decision_event action_of(enum decision_event_reason reason, const char *key)
{
	struct decision_event event = state_of(reason, key, "", 0);

	event.action = true;
	return event;
}

/* One decision with the notices that were pushed to b.list, which is empty afterwards. */
static void decide(void)
{
	event_correlator_decided(b.correlator, &b.list, b.now, b.now);
	b.list.at.count = 0;
}

static void push(struct decision_event event)
{
	VEC_PUSH(&b.arena, &b.list.at, event);
}

/* Sends all that is due with this answer; how many it was, and the last one. */
static size_t send(enum decision_event_answer answer, struct decision_event_order *ret_last)
{
	struct decision_event_order order;
	size_t count = 0;

	while (event_correlator_next(b.correlator, b.now, &order)) {
		if (ret_last) {
			*ret_last = order;
			ret_last->message = arena_strdup(&b.arena, order.message);
		}
		event_correlator_answered(b.correlator, order.id, answer, b.now);
		count++;
	}
	return count;
}

static void test_lasting_state_is_counted_with_growing_spacing(void **state)
{
	static const int64_t wanted[] = { 0, 30, 90, 210, 450, 930, 1830, 2730, 3630 };
	struct decision_event_order order = { .id = 0 };
	size_t sent = 0;
	uint64_t id = 0;

	(void)state;
	for (int64_t second = 0; second <= 3630; second++, b.now += 1000) {
		push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
		decide();
		if (send(DECISION_EVENT_SENT, &order) == 0)
			continue;
		assert_int_equal(second, wanted[sent]);
		assert_int_equal(order.count, ++sent);
		assert_int_equal(order.create, sent == 1);
		assert_int_equal(order.first, START);
		assert_int_equal(order.last, START + second * 1000);
		assert_true(id == 0 || id == order.id);
		id = order.id;
	}
	assert_int_equal(sent, sizeof(wanted) / sizeof(wanted[0]));
}

static void test_returning_state_is_counted_at_once(void **state)
{
	struct decision_event_order order;

	(void)state;
	for (int i = 0; i < 200; i++, b.now += 1000) {
		push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
		decide();
		send(DECISION_EVENT_SENT, NULL);
	}
	b.now += 61000;
	push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_false(order.create);
	assert_int_equal(order.count, 4);
	/* And with the first spacing again. */
	b.now += 30000;
	push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 1);
}

static struct decision_event once_of(const char *key, bool known)
{
	struct decision_event event = state_of(DECISION_EVENT_LINT_FINDINGS, key, "", 0);

	event.once = true;
	event.known = known;
	return event;
}

static void test_what_is_said_once(void **state)
{
	struct decision_event_order order;

	(void)state;
	/* After the first Event the condition of the object has it, too. */
	for (int64_t second = 0; second < 7200; second++, b.now += 1000) {
		push(once_of("a", second > 0));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), second == 0 ? 1 : 0);
	}
	/* Another set of findings is an Event of its own. */
	push(once_of("b", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_true(order.create);
	/* And so is the first one when it returns. */
	for (int i = 0; i < 90; i++, b.now += 1000) {
		push(once_of("b", true));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	}
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_int_equal(order.count, 2);
}

/* After a start of the program, or when another replica leads. */
static void test_what_was_said_before_is_not_said_again(void **state)
{
	struct decision_event_order order;

	(void)state;
	for (int i = 0; i < 90; i++, b.now += 1000) {
		push(once_of("a", true));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	}
	/* The object is recreated, without a condition. */
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	b.now += DECISION_EVENT_AWAY_MS + 1000;
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_true(order.create);
	assert_int_equal(order.count, 1);
}

/* A notice that is sent only once is sent again after a failure. */
static void test_what_is_said_once_is_sent_again_after_a_failure(void **state)
{
	(void)state;
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_FAILED, NULL), 1);
	b.now += DECISION_EVENT_REPEAT_MS;
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 1);
	b.now += DECISION_EVENT_REPEAT_MS;
	push(once_of("a", false));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
}

static void test_what_flickers_is_not_said(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++, b.now += 1000) {
		if (i % 5 != 4)
			push(state_of(DECISION_EVENT_NOT_TRIGGER_SCALE_UP, "gpu", "", 5000));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	}
	b.now += 1000;
	for (int i = 0; i <= 5; i++, b.now += 1000) {
		push(state_of(DECISION_EVENT_NOT_TRIGGER_SCALE_UP, "gpu", "", 5000));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), i == 5);
	}
}

/* The hold time is of each worker, the Event of the group. */
static void test_workers_of_a_group_share_an_event(void **state)
{
	struct decision_event_order order;

	(void)state;
	for (int i = 0; i < 60; i++, b.now += 1000) {
		/* Always one, never the same for long. */
		push(state_of(DECISION_EVENT_SCALE_DOWN_BLOCKED, "gpu", i % 20 < 10 ? "w-a" : "w-b",
			      15000));
		decide();
		assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	}
	for (int i = 0; i <= 15; i++, b.now += 1000) {
		push(state_of(DECISION_EVENT_SCALE_DOWN_BLOCKED, "gpu", "w-c", 15000));
		push(state_of(DECISION_EVENT_SCALE_DOWN_BLOCKED, "gpu", "w-d", 15000));
		push(state_of(DECISION_EVENT_SCALE_DOWN_BLOCKED, "gpu", i < 10 ? "w-e" : "w-f",
			      15000));
		decide();
	}
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_string_equal(order.message, "gpu w-c; and 1 more like it");
}

static void test_an_action_is_reported_when_its_patch_was_accepted(void **state)
{
	struct decision_event_order order;

	(void)state;
	push(action_of(DECISION_EVENT_TRIGGERED_SCALE_UP, "gpu 0 1"));
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	/* A conflict: another decision takes its place. */
	push(action_of(DECISION_EVENT_TRIGGERED_SCALE_UP, "gpu 1 2"));
	decide();
	event_correlator_accepted(b.correlator, b.now, b.now);
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_string_equal(order.message, "gpu 1 2 ");
	/* Nothing is done twice. */
	decide();
	event_correlator_accepted(b.correlator, b.now, b.now);
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
}

static void test_the_same_action_is_counted(void **state)
{
	struct decision_event_order order;
	size_t sent = 0;

	(void)state;
	for (int i = 0; i < 30; i++, b.now += 1000) {
		push(action_of(DECISION_EVENT_TRIGGERED_SCALE_UP, "gpu 0 1"));
		decide();
		event_correlator_accepted(b.correlator, b.now, b.now);
		sent += send(DECISION_EVENT_SENT, &order);
	}
	assert_int_equal(sent, 3);
	assert_int_equal(order.count, 21);
	b.now += 10000;
	decide();
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_int_equal(order.count, 30);
}

static void test_too_many_new_ones_are_counted_in_the_last(void **state)
{
	struct decision_event_order order;
	size_t created = 0;
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		push(action_of(DECISION_EVENT_TRIGGERED_SCALE_UP,
			       arena_printf(&b.arena, "gpu %d %d", i, i + 1)));
		decide();
		event_correlator_accepted(b.correlator, b.now, b.now);
		while (event_correlator_next(b.correlator, b.now, &order)) {
			created += order.create;
			last = order.id;
			event_correlator_answered(b.correlator, order.id, DECISION_EVENT_SENT,
						  b.now);
		}
	}
	assert_int_equal(created, DECISION_EVENT_BURST);
	b.now += DECISION_EVENT_ACTION_SPACING_MS;
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_int_equal(order.id, last);
	assert_int_equal(order.count, 1 + 75);
	assert_string_equal(order.message, "gpu 99 100 ");
	/* One more for each half minute. */
	b.now += 2 * (DECISION_EVENT_REFILL_SECONDS * MS_PER_SECOND);
	for (int i = 0; i < 5; i++)
		push(action_of(DECISION_EVENT_SCALE_DOWN, arena_printf(&b.arena, "gpu %d 0", i)));
	decide();
	event_correlator_accepted(b.correlator, b.now, b.now);
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 2);
}

static void test_a_deleted_event_is_recreated(void **state)
{
	struct decision_event_order order;

	(void)state;
	push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
	decide();
	send(DECISION_EVENT_SENT, NULL);
	b.now += 31000;
	push(state_of(DECISION_EVENT_NO_DEMAND, "", "", 0));
	decide();
	assert_true(event_correlator_next(b.correlator, b.now, &order));
	assert_false(order.create);
	event_correlator_answered(b.correlator, order.id, DECISION_EVENT_GONE, b.now);
	assert_true(event_correlator_next(b.correlator, b.now, &order));
	assert_true(order.create);
	assert_int_equal(order.count, 2);
}

static void test_what_failed_is_tried_later_and_what_is_lost_is_not(void **state)
{
	struct decision_event_order order;

	(void)state;
	push(action_of(DECISION_EVENT_SCALE_DOWN, "gpu 1 0"));
	push(action_of(DECISION_EVENT_SCALE_DOWN, "cpu 1 0"));
	decide();
	event_correlator_accepted(b.correlator, b.now, b.now);
	assert_true(event_correlator_next(b.correlator, b.now, &order));
	event_correlator_answered(b.correlator, order.id, DECISION_EVENT_FAILED, b.now);
	assert_true(event_correlator_next(b.correlator, b.now, &order));
	event_correlator_answered(b.correlator, order.id, DECISION_EVENT_LOST, b.now);
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
	b.now += DECISION_EVENT_REPEAT_MS;
	assert_int_equal(send(DECISION_EVENT_SENT, &order), 1);
	assert_string_equal(order.message, "gpu 1 0 ");
	b.now += HOUR;
	assert_int_equal(send(DECISION_EVENT_SENT, NULL), 0);
}

static void test_many_keep_within_the_ceilings(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++, b.now += (DECISION_EVENT_REFILL_SECONDS * MS_PER_SECOND)) {
		for (int j = 0; j < 300; j++)
			push(state_of(DECISION_EVENT_SCALE_DOWN_BLOCKED, "gpu",
				      arena_printf(&b.arena, "w-%d", i % 7 * 1000 + j), 5000));
		push(state_of(DECISION_EVENT_BAD_REQUEST, arena_printf(&b.arena, "text %d", i), "",
			      0));
		decide();
		assert_in_range(send(DECISION_EVENT_SENT, NULL), 0, 2);
		arena_reset(&b.arena);
		b.list = (struct decision_event_list){ .at = { .at = NULL } };
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lasting_state_is_counted_with_growing_spacing),
		TEST(test_returning_state_is_counted_at_once),
		TEST(test_what_is_said_once),
		TEST(test_what_was_said_before_is_not_said_again),
		TEST(test_what_is_said_once_is_sent_again_after_a_failure),
		TEST(test_what_flickers_is_not_said),
		TEST(test_workers_of_a_group_share_an_event),
		TEST(test_an_action_is_reported_when_its_patch_was_accepted),
		TEST(test_the_same_action_is_counted),
		TEST(test_too_many_new_ones_are_counted_in_the_last),
		TEST(test_a_deleted_event_is_recreated),
		TEST(test_what_failed_is_tried_later_and_what_is_lost_is_not),
		TEST(test_many_keep_within_the_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
