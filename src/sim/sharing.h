/* GPUs that the RayClusters of a simulation share: what the engine tells and asks a feature that knows pools
 * (FEATURE_SIM_SHARINGS; at most one has it). Without pools in the input nothing is called. */
#ifndef SIM_SHARING_H
#define SIM_SHARING_H

#include "core/model/plan.h"
#include "sim/world.h"

#define SHARING_NO_QUEUE SIZE_MAX

struct sim_sharing {
	/* -1: the pools are wrong; *err names object, field and fix. Sets world->sharing. */
	int (*init)(struct sim_world *world, struct err *err);
	void (*done)(struct sim_world *world);
	/* The pools' terms for the next decision; NULL: none. */
	const struct pool_terms *(*terms)(struct sim_ray *ray);
	/* The same with the texts of now: for the reasons of what never ran. */
	void (*refresh)(struct sim_ray *ray);
	/* A pass has decided: what it asks for and which workers are idle. True when the terms have
	 * changed, so that it decides again. */
	bool (*asked)(struct sim_ray *ray, const struct plan *plan);
	/* Its patch was sent. */
	void (*patched)(struct sim_ray *ray, const struct plan *plan);
	/* Its Pods or replicas changed. */
	void (*changed)(struct sim_ray *ray);
	void (*allocate)(struct sim_world *world); /* SIM_EVENT_SHARE */
	/* Decisions depend on where work runs: an idle worker may be released. */
	bool (*watches_work)(const struct sim_ray *ray);
	/* Adds the time until now_ms to the figures; before each change. */
	void (*advance)(struct sim_world *world, int64_t now_ms);
	/* An instance of this work ran for so long without getting further: it was interrupted, or
	 * restored a checkpoint. */
	void (*lost)(const struct sim_class *class_, int64_t span_ms);
	/* The queue of this work, an index into the queues of the result. */
	size_t (*queue_of)(const struct sim_class *class_);
	void (*finish)(struct sim_world *world);
};

#define SHARING_OF(world, call, none) ((world)->sharing ? (world)->shares->call : (none))
#define SHARING_TELL(world, call)                                                                  \
	do {                                                                                       \
		if ((world)->sharing)                                                              \
			(world)->shares->call;                                                     \
	} while (0)

#define sharing_terms(ray) SHARING_OF((ray)->world, terms(ray), NULL)
#define sharing_refresh(ray) SHARING_TELL((ray)->world, refresh(ray))
#define sharing_asked(ray, plan) SHARING_OF((ray)->world, asked(ray, plan), false)
#define sharing_patched(ray, plan) SHARING_TELL((ray)->world, patched(ray, plan))
#define sharing_changed(ray) SHARING_TELL((ray)->world, changed(ray))
#define sharing_watches_work(ray) SHARING_OF((ray)->world, watches_work(ray), false)
#define sharing_lost(class_, span_ms) SHARING_TELL((class_)->ray->world, lost(class_, span_ms))
#define sharing_queue_of(class_)                                                                   \
	SHARING_OF((class_)->ray->world, queue_of(class_), SHARING_NO_QUEUE)
#define sharing_finish(world) SHARING_TELL(world, finish(world))

#endif
