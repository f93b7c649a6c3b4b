/* Counts what happens into the result: GPU times by state, points over time, marks, waiting times.
 * Each change first adds the time since the last one, so all sums are exact. */
#ifndef SIM_RECORD_H
#define SIM_RECORD_H

#include "sim/world.h"

/* How a worker counts. */
enum record_state { RECORD_NONE = 0, RECORD_STARTING, RECORD_REGISTERED, RECORD_TERMINATING };

void record_worker(struct sim_worker *worker, enum record_state state);
void record_used(const struct sim_worker *worker, int64_t gpus); /* more, or less when negative */
void record_waiting(const struct sim_class *class_, int64_t instances);
/* `after_ms`: from now until the work runs. */
void record_start(struct sim_world *world, const struct sim_waiting *one, int64_t after_ms);
void record_end(struct sim_world *world);
/* Its container, or its raylet, has another size. */
void record_resize(const struct sim_worker *worker);
void record_replicas(struct sim_ray *ray, size_t group, int64_t from, int64_t to,
		     const char *reason);
/* Writes the result as of now; reasons of unstarted work are the classes' `reason`. */
void record_finish(struct sim_world *world);

#endif
