/* net/loop_thread: a loop on a thread of its own, and messages between it and the loop of the test. */
#include "net/loop_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "base/memory.h"
#include "net/loop.h"
#include "test/support/support.h"

#define MESSAGES 1000

struct fixture {
	struct loop *here, *there;
	struct loop_thread *thread;
	struct loop_port *to_here, *to_there;
	sem_t received;     /* by the thread */
	pthread_t receiver; /* the thread that received last */
	int next, out_of_order;
	bool echoes;
};

static int *message(int number)
{
	int *content = memory_alloc(sizeof(*content));

	*content = number;
	return content;
}

static void receive_there(void *context, void *content)
{
	struct fixture *f = context;

	f->receiver = pthread_self();
	if (f->echoes)
		loop_port_send(f->to_here, message(*(int *)content));
	sem_post(&f->received);
}

static void receive_here(void *context, void *content)
{
	struct fixture *f = context;

	f->out_of_order += *(int *)content != f->next;
	if (++f->next == MESSAGES)
		loop_stop(f->here);
}

static int setup(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){ .here = loop_new(), .there = loop_new() };
	sem_init(&fixture.received, 0, 0);
	fixture.to_here = loop_port_new(fixture.here, receive_here, &fixture);
	fixture.to_there = loop_port_new(fixture.there, receive_there, &fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_thread_join(f->thread);
	loop_port_free(f->to_here);
	loop_port_free(f->to_there);
	loop_free(f->here);
	loop_free(f->there);
	sem_destroy(&f->received);
	return 0;
}

static void await_received(struct fixture *f, int count)
{
	for (int i = 0; i < count; i++)
		while (sem_wait(&f->received) != 0)
			;
}

/* The loop of the test does not run meanwhile. */
static void test_it_work_queue_while_another_loop_does_not(void **state)
{
	struct fixture *f = *state;

	f->thread = loop_thread_start(f->there);
	loop_port_send(f->to_there, message(0));
	await_received(f, 1);
	assert_false(pthread_equal(f->receiver, pthread_self()));
}

static void test_messages_keep_their_order(void **state)
{
	struct fixture *f = *state;

	f->echoes = true;
	f->thread = loop_thread_start(f->there);
	for (int i = 0; i < MESSAGES; i++)
		loop_port_send(f->to_there, message(i));
	loop_run(f->here);
	assert_int_equal(f->next, MESSAGES);
	assert_int_equal(f->out_of_order, 0);
}

static void test_messages_of_before_the_start_are_received(void **state)
{
	struct fixture *f = *state;

	loop_port_send(f->to_there, message(0));
	loop_port_send(f->to_there, message(1));
	f->thread = loop_thread_start(f->there);
	await_received(f, 2);
}

/* Under AddressSanitizer a message that is left is a leak. */
static void test_what_was_not_received_is_freed(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		loop_port_send(f->to_here, message(i));
	assert_int_equal(f->next, 0);
}

static void test_joining_stops_a_loop_that_has_nothing_to_do(void **state)
{
	struct fixture *f = *state;

	f->thread = loop_thread_start(f->there);
	loop_thread_join(f->thread);
	f->thread = NULL;
	loop_thread_join(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_it_work_queue_while_another_loop_does_not),
		TEST(test_messages_keep_their_order),
		TEST(test_messages_of_before_the_start_are_received),
		TEST(test_what_was_not_received_is_freed),
		TEST(test_joining_stops_a_loop_that_has_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
