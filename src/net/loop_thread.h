/* A second event loop on a thread of its own, for work that no callback of the main loop may delay,
 * and messages between loops. All objects of a loop are created and freed while its thread does not
 * run, and used only on that thread in between. */
#ifndef NET_LOOP_THREAD_H
#define NET_LOOP_THREAD_H

struct loop;
struct loop_port;
struct loop_thread;

/* Runs the loop until loop_thread_join, even when nothing is left to wait for. */
struct loop_thread *loop_thread_start(struct loop *loop);
/* Stops the loop after the present callback and waits for the thread; does not free the loop. NULL
 * is fine. */
void loop_thread_join(struct loop_thread *thread);

/* On the loop's thread. The message is freed with memory_free when it returns. */
typedef void loop_receive(void *context, void *message);

/* An endpoint at which a loop receives messages. */
struct loop_port *loop_port_new(struct loop *loop, loop_receive *receive, void *context);
/* From any thread, never waits: receive(context, message) is called on a later turn of the port's
 * loop, in the order of sending. Takes ownership of the message, which is from memory_alloc. */
void loop_port_send(struct loop_port *port, void *message);
/* On the loop's thread, when no thread sends to it any more; before loop_free. Frees the messages
 * that were not received. NULL is fine. */
void loop_port_free(struct loop_port *port);

#endif
