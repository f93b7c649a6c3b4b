/* A Pod and the Ray node in it, until it is deleted: created, on a Node, its Ray container runs, its
 * raylet registers. */
#ifndef SIM_POD_H
#define SIM_POD_H

#include "sim/world.h"

#define POD_WITHOUT_POOL SIZE_MAX

/* A Pod without a Node. type: 0 the head, else 1 + the index of the group. */
struct sim_worker *pod_new(struct sim_ray *ray, size_t type, int64_t replica);
/* NULL: there is none. */
struct sim_worker *pod_find(const struct sim_ray *ray, const char *name);
/* It got a Node. pool POD_WITHOUT_POOL: there are no pools. */
void pod_scheduled(struct sim_worker *worker, size_t pool, size_t node);
void pod_running(struct sim_worker *worker);    /* SIM_EVENT_RUNNING */
void pod_registered(struct sim_worker *worker); /* SIM_EVENT_REGISTER */
/* The RayCluster runs, and its head is in Ray. */
bool pod_of_head_is_registered(const struct sim_ray *ray);

#endif
