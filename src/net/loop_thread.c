#include "net/loop_thread.h"

#include <uv.h>

#include "base/check.h"
#include "base/list.h"
#include "base/memory.h"
#include "net/loop.h"

struct loop_message {
	struct list_item item;
	void *content;
};

struct loop_port {
	uv_async_t uv;
	uv_mutex_t lock;
	struct list messages; /* under the lock */
	loop_receive *receive;
	void *context;
};

struct loop_thread {
	uv_thread_t uv;
	struct loop *loop;
	struct loop_port *stop;
};

/* ---- messages ---- */

/* NULL: there is none. The caller frees it. */
static void *loop_port_next(struct loop_port *port)
{
	void *content = NULL;

	uv_mutex_lock(&port->lock);
	struct loop_message *message = LIST_MEMBER(port->messages.first, struct loop_message, item);
	if (message)
		list_remove(&message->item);
	uv_mutex_unlock(&port->lock);
	if (message)
		content = message->content;
	memory_free(message);
	return content;
}

static void loop_port_on_async(uv_async_t *handle)
{
	struct loop_port *port = handle->data;

	/* Wakes are merged: one wake may announce several messages. */
	for (void *content; (content = loop_port_next(port));) {
		port->receive(port->context, content);
		memory_free(content);
	}
}

struct loop_port *loop_port_new(struct loop *loop, loop_receive *receive, void *context)
{
	struct loop_port *port = memory_alloc(sizeof(*port));

	CHECK(uv_mutex_init(&port->lock) == 0);
	CHECK(uv_async_init(loop_uv(loop), &port->uv, loop_port_on_async) == 0);
	port->uv.data = port;
	port->receive = receive;
	port->context = context;
	return port;
}

void loop_port_send(struct loop_port *port, void *message)
{
	struct loop_message *sent = memory_alloc(sizeof(*sent));

	sent->content = message;
	uv_mutex_lock(&port->lock);
	list_add(&port->messages, &sent->item);
	uv_mutex_unlock(&port->lock);
	CHECK(uv_async_send(&port->uv) == 0);
}

static void loop_port_on_close(uv_handle_t *handle)
{
	struct loop_port *port = handle->data;

	uv_mutex_destroy(&port->lock);
	memory_free(port);
}

void loop_port_free(struct loop_port *port)
{
	if (!port)
		return;
	for (void *content; (content = loop_port_next(port));)
		memory_free(content);
	uv_close((uv_handle_t *)&port->uv, loop_port_on_close);
}

/* ---- the thread ---- */

static void loop_thread_on_stop(void *context, void *message UNUSED)
{
	struct loop_thread *thread = context;

	loop_stop(thread->loop);
}

static void loop_thread_run(void *context)
{
	struct loop_thread *thread = context;

	loop_run(thread->loop);
}

struct loop_thread *loop_thread_start(struct loop *loop)
{
	struct loop_thread *thread = memory_alloc(sizeof(*thread));

	thread->loop = loop;
	thread->stop = loop_port_new(loop, loop_thread_on_stop, thread);
	CHECK(uv_thread_create(&thread->uv, loop_thread_run, thread) == 0);
	return thread;
}

void loop_thread_join(struct loop_thread *thread)
{
	if (!thread)
		return;
	loop_port_send(thread->stop, memory_alloc(1));
	CHECK(uv_thread_join(&thread->uv) == 0);
	loop_port_free(thread->stop);
	memory_free(thread);
}
