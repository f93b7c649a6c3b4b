/* The events of a simulation, by time: a binary heap. Events of one time come in the order in which
 * they were added, except passes of controllers, which come last: they read the state after the
 * others. Owned by the world; the objects of its events belong to others, and an event whose object
 * has another `id` by then is stale (the owner of the object checks). Push and pop take O(log n). */
#ifndef SIM_EVENT_QUEUE_H
#define SIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_event_kind {
	SIM_EVENT_SUBMIT,   /* the next items of the workload */
	SIM_EVENT_END,      /* of a struct sim_run */
	SIM_EVENT_REQUEST,  /* the end of a request_resources item */
	SIM_EVENT_REPORT,   /* waiting work of a struct sim_class is reported */
	SIM_EVENT_OPERATOR, /* the operator reads a struct sim_ray */
	SIM_EVENT_NODE,     /* a Node of the stock was added */
	SIM_EVENT_SPOT,     /* a Node of the stock is interrupted */
	SIM_EVENT_RUNNING,  /* the Ray container of a struct sim_worker runs */
	SIM_EVENT_REGISTER, /* its raylet has registered */
	SIM_EVENT_GONE,     /* its deleted Pod has ended */
	SIM_EVENT_RESIZE,   /* its container has another size */
	SIM_EVENT_SHARE,    /* GPUPools are allocated */
	SIM_EVENT_PASS,     /* of the controller of a struct sim_ray */
};

struct sim_event {
	int64_t at_ms;
	uint64_t sequence;
	enum sim_event_kind kind;
	void *object;
	uint64_t id;
};

struct event_queue {
	struct sim_event *heap; /* on the heap of the process */
	size_t count, capacity;
	size_t passes, interruptions; /* among them */
	uint64_t sequence;
};

void event_queue_done(struct event_queue *queue);
void event_queue_push(struct event_queue *queue, int64_t at_ms, enum sim_event_kind kind,
		      void *object, uint64_t id);
bool event_queue_pop(struct event_queue *queue, struct sim_event *ret_event); /* false: empty */

#endif
