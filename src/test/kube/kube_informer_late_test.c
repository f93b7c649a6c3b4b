/* kube/kube_informer with large_later: a list is complete before its large objects are read. */
#include "test/support/informer_script.h"

#include <semaphore.h>

#include "kube/kube_decode.h"

#define ORDER_SIZE 256

/* The server: a list and a watch for each round, and large objects by their names. */
static struct server {
	const char *lists[2], *watches[2];
	const char *
		late[8]; /* answers to reads of one object, in the order of the requests; NULL: 500 */
	_Atomic int list, watch, read;
	_Atomic bool reads_wait, watch_waits;
	sem_t reads, events;
	char order[ORDER_SIZE]; /* of the names that were read; the client reads one at a time */
} server;

static struct arena texts;

static void wait_for(sem_t *gate)
{
	while (sem_wait(gate) != 0)
		;
}

static void answer_read(struct exchange *exchange, const char *name)
{
	const char *text = server.late[server.read++];
	size_t used = strlen(server.order);

	(void)snprintf(server.order + used, ORDER_SIZE - used, "%.*s ", (int)strcspn(name, "& "),
		       name);
	if (server.reads_wait)
		wait_for(&server.reads);
	exchange_answer(exchange, text ? 200 : 500, "", text ? text : "{}");
}

static void answer_watch(struct exchange *exchange)
{
	const char *text = server.watches[server.watch++];

	exchange_open_stream(exchange);
	if (server.watch_waits && text)
		wait_for(&server.events);
	if (text)
		exchange_chunk(exchange, text, strlen(text));
	exchange_hold(exchange);
}

static void answer(struct exchange *exchange, void *context)
{
	const char *name = strstr(exchange->path, "metadata.name%3D");

	(void)context;
	if (name)
		answer_read(exchange, name + strlen("metadata.name%3D"));
	else if (strstr(exchange->path, "watch=true"))
		answer_watch(exchange);
	else
		exchange_answer(exchange, 200, "", server.lists[server.list++]);
}

/* A Pod above the limit for objects on the loop. */
static const char *large(const char *namespace_, const char *name, const char *version)
{
	AUTO(buf_done) struct buf note = BUF_INIT(1 << 20);

	for (size_t i = 0; i < KUBE_DECODE_INLINE_BYTES; i++)
		buf_add_char(&note, 'a');
	return arena_printf(
		&texts,
		"{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'%s',"
		"'labels':{'ray.io/cluster':'c'},'annotations':{'note':'%s'}},'spec':{}}",
		namespace_, name, version, buf_string(&note));
}

/* A list, or an event, in the quotes of JSON. */
static const char *json(const char *text)
{
	char *copy = arena_strdup(&texts, text);

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

static const char *list_of(const char *version, const char *items)
{
	return json(arena_printf(&texts,
				 "{'metadata':{'resourceVersion':'%s','continue':''},'items':[%s]}",
				 version, items));
}

static const char *join(const char *a, const char *b, const char *c)
{
	return arena_printf(&texts, "%s,%s,%s", a, b, c);
}

static void start(void)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .label_selector = "ray.io/cluster",
						       .large_later = true,
						       .callbacks = informer_callbacks };

	script_start(&informer_script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	informer = kube_informer_new(informer_script.client, &options);
}

static void stop(void)
{
	sem_post(&server.reads);
	sem_post(&server.events);
	informer_stop();
	arena_done(&texts);
}

static int setup(void **state)
{
	server = (struct server){ .list = 0 };
	sem_init(&server.reads, 0, 0);
	sem_init(&server.events, 0, 0);
	return informer_setup(state);
}

/* The large ones are the first of the list, and the server does not answer for them. */
static void test_a_list_is_complete_without_its_large_objects(void **state)
{
	(void)state;
	server.lists[0] = list_of("10", join(large("a", "p1", "1"), large("b", "p1", "2"),
					     "{'metadata':{'namespace':'h','name':'p1',"
					     "'resourceVersion':'3','labels':{"
					     "'ray.io/cluster':'c'}}}"));
	server.late[0] = list_of("11", large("a", "p1", "1"));
	server.late[1] = list_of("11", large("b", "p1", "9"));
	server.reads_wait = true;
	start();
	informer_wait_seen("UNREAD a/p1 - 1;UNREAD b/p1 - 2;ADDED h/p1 - 3;synced;");
	assert_true(kube_informer_unread(informer, "a", "p1"));
	assert_true(kube_informer_indexed_unread(informer, "b/c"));
	assert_false(kube_informer_unread(informer, "h", "p1"));
	assert_false(kube_informer_indexed_unread(informer, "h/c"));
	assert_non_null(strstr(kube_informer_bad(informer, "a", "p1"), "is not read yet"));
	server.reads_wait = false;
	sem_post(&server.reads);
	informer_wait_seen("MODIFIED a/p1 1 1;MODIFIED b/p1 2 9;");
	assert_false(kube_informer_unread(informer, "a", "p1"));
	assert_false(kube_informer_indexed_unread(informer, "b/c"));
	assert_null(kube_informer_bad(informer, "a", "p1"));
	stop();
}

/* After a new list only the object that has changed is read. */
static void test_a_stored_version_is_not_read_again(void **state)
{
	(void)state;
	server.lists[0] = list_of("10", join(large("a", "p1", "1"), large("a", "p2", "2"),
					     large("a", "p3", "3")));
	server.watches[0] = json("{'type':'ERROR','object':{'kind':'Status','code':410}}\n");
	server.watch_waits = true;
	server.lists[1] = list_of("20", join(large("a", "p1", "1"), large("a", "p2", "12"),
					     large("a", "p3", "3")));
	server.late[0] = list_of("11", large("a", "p1", "1"));
	server.late[1] = list_of("11", large("a", "p2", "2"));
	server.late[2] = list_of("11", large("a", "p3", "3"));
	server.late[3] = list_of("21", large("a", "p2", "12"));
	start();
	informer_wait_seen("MODIFIED a/p3 3 3;");
	sem_post(&server.events);
	informer_wait_seen("error Gone;UNREAD a/p2 2 12;");
	informer_wait_seen("MODIFIED a/p2 12 12;");
	assert_string_equal(server.order, "p1 p2 p3 p2 ");
	stop();
}

/* The namespace with one large object waits for one of the other's. */
static void test_namespaces_are_read_in_turn(void **state)
{
	(void)state;
	server.lists[0] = list_of("10", join(join(large("a", "a1", "1"), large("a", "a2", "2"),
						  large("a", "a3", "3")),
					     large("b", "b1", "4"), large("b", "b2", "5")));
	server.late[0] = list_of("11", large("a", "a1", "1"));
	server.late[1] = list_of("11", large("b", "b1", "4"));
	server.late[2] = list_of("11", large("a", "a2", "2"));
	server.late[3] = list_of("11", large("b", "b2", "5"));
	server.late[4] = list_of("11", large("a", "a3", "3"));
	start();
	informer_wait_seen("MODIFIED a/a3 3 3;");
	assert_string_equal(server.order, "a1 b1 a2 b2 a3 ");
	stop();
}

/* The watch delivers one object and the end of the other before the answers for them. */
static void test_the_watch_is_newer_than_the_answer(void **state)
{
	(void)state;
	server.lists[0] = list_of("10", join(large("a", "p1", "1"), large("a", "p2", "2"),
					     large("a", "p3", "3")));
	server.watches[0] =
		json(EVENT("MODIFIED", POD("p1", "12")) EVENT("DELETED", POD("p2", "13")));
	server.late[0] = list_of("11", large("a", "p1", "1"));
	server.late[1] = list_of("11", large("a", "p3", "3"));
	server.reads_wait = true;
	start();
	informer_wait_seen("MODIFIED a/p1 1 12;DELETED a/p2 2 -;");
	assert_false(kube_informer_unread(informer, "a", "p1"));
	server.reads_wait = false;
	sem_post(&server.reads);
	informer_wait_seen("MODIFIED a/p3 3 3;");
	assert_string_equal(informer_version("p1"), "12");
	assert_null(kube_informer_get(informer, "a", "p2"));
	assert_false(kube_informer_indexed_unread(informer, "a/c"));
	assert_string_equal(server.order, "p1 p3 ");
	stop();
}

/* The answer has a later version than the watch has reached: its earlier events, also the end of the object
 * that had this name before, change nothing. */
static void test_the_answer_is_newer_than_the_watch(void **state)
{
	(void)state;
	server.lists[0] =
		list_of("10", join(large("a", "p1", "1"), POD("p2", "2"), POD("p3", "3")));
	server.watches[0] =
		json(EVENT("MODIFIED", POD("p1", "12")) EVENT("DELETED", POD("p1", "13"))
			     EVENT("DELETED", POD("p2", "14")) EVENT("MODIFIED", POD("p1", "31")));
	server.late[0] = list_of("30", large("a", "p1", "30"));
	server.watch_waits = true;
	start();
	informer_wait_seen("MODIFIED a/p1 1 30;");
	sem_post(&server.events);
	informer_wait_seen("DELETED a/p2 2 -;MODIFIED a/p1 30 31;");
	stop();
}

/* A refused read is repeated, an object that no longer exists is removed, and one that cannot be decoded is bad. */
static void test_a_read_may_fail(void **state)
{
	(void)state;
	server.lists[0] = list_of("10", join(large("a", "p1", "1"), large("a", "p2", "2"),
					     large("a", "p3", "3")));
	server.late[1] = list_of("11", large("a", "p1", "1"));
	server.late[2] = list_of("11", "");
	server.late[3] = list_of("11", BAD_POD("p3", "4"));
	start();
	informer_wait_seen("MODIFIED a/p1 1 1;DELETED a/p2 2 -;BAD a/p3 3 4;");
	assert_string_equal(server.order, "p1 p1 p2 p3 ");
	assert_non_null(strstr(kube_informer_bad(informer, "a", "p3"), "spec.containers"));
	assert_false(kube_informer_unread(informer, "a", "p3"));
	stop();
}

int main(void)
{
#define LATE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		LATE(test_a_list_is_complete_without_its_large_objects),
		LATE(test_a_stored_version_is_not_read_again),
		LATE(test_namespaces_are_read_in_turn),
		LATE(test_the_watch_is_newer_than_the_answer),
		LATE(test_the_answer_is_newer_than_the_watch),
		LATE(test_a_read_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
