/* GPUPools of a simulation: one allocation over all RayClusters (feature/pools/core), as the
 * controller makes it. It is made again SHARING_INTERVAL_MS after the last one when an ask, a Pod, a
 * number of replicas or the idleness of a worker has changed; a cluster whose terms differ runs a pass
 * soon. A pass that asks for more has an allocation at once, if the last one is old enough or left
 * nothing waiting, and decides again with it: then a pool without contention delays nothing.
 *
 * The policies: the pools as given; first come, first served, one limit without queues and releases;
 * a static partition, in which a queue has its guarantee and, by weight, its part of the rest, and
 * no more. Ray's autoscaler knows no pools: only the Nodes limit it. The figures of the queues are
 * counted with all of them. Without GPUPools nothing here does anything. */
#ifndef SIM_SHARING_H
#define SIM_SHARING_H

#include "core/model/plan.h"
#include "sim/world.h"

#define SHARING_INTERVAL_MS 250 /* ctl: at most so often */
#define SHARING_NO_QUEUE SIZE_MAX

/* -1: the pools are wrong; *err names object, field and fix. */
int sharing_init(struct sim_world *world, struct err *err);
void sharing_done(struct sim_world *world);

/* The pools' terms for the next decision; NULL: none. */
const struct pool_terms *sharing_terms(struct sim_ray *ray);
/* The same with the texts of now: for the reasons of what never ran. */
void sharing_refresh(struct sim_ray *ray);
/* A pass has decided: what it asks for and which workers are idle. True when the terms have changed,
 * so that it decides again. */
bool sharing_asked(struct sim_ray *ray, const struct plan *plan);
/* Its patch was sent. */
void sharing_patched(struct sim_ray *ray, const struct plan *plan);
/* Its Pods or replicas changed. */
void sharing_changed(struct sim_ray *ray);
void sharing_allocate(struct sim_world *world); /* SIM_EVENT_SHARE */
/* Decisions depend on where work runs: an idle worker may be released. */
bool sharing_watches_work(const struct sim_ray *ray);

/* Adds the time until world->now_ms to the figures; before each change. */
void sharing_advance(struct sim_world *world, int64_t now_ms);
/* An instance of this work ran for so long without getting further: it was interrupted, or restored a
 * checkpoint. */
void sharing_lost(const struct sim_class *class_, int64_t span_ms);
/* The queue of this work, an index into the queues of the result. */
size_t sharing_queue_of(const struct sim_class *class_);
void sharing_finish(struct sim_world *world);

#endif
