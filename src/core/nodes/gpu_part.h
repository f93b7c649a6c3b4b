/* Parts of a Node's GPUs that KAI and Run:ai give to Pods by annotation (gpu-fraction, gpu-memory), as amounts
 * of the Node beside those that it names: all of its GPUs, less the whole ones and the parts in use. The scheduler
 * holds each shared GPU by a Pod of its own, which asks for nvidia.com/gpu and has the label GPU_PART_GROUP; it is not
 * counted beside the parts. Which GPU a part is on is not counted: the free amount is a sum. Pure. */
#ifndef CORE_NODES_GPU_PART_H
#define CORE_NODES_GPU_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/kubernetes.h"

#define GPU_PART_WHOLE "nvidia.com/gpu"
#define GPU_PART_GROUP "runai-gpu-group"
#define GPU_PART_AMOUNTS 2

/* All that the Node has of each of gpu_part_names; 0: none. gpu-memory needs the label nvidia.com/gpu.memory. */
void gpu_part_totals(const struct node *node, int64_t ret_totals[GPU_PART_AMOUNTS]);
/* The Pod's use of each amount of gpu_part_names by its other requests; its part of the same name is left to the
 * caller. */
void gpu_part_used(const struct node *node, const struct pod *pod, const struct resources *request,
		   int64_t ret_used[GPU_PART_AMOUNTS]);
extern const char *const gpu_part_names[GPU_PART_AMOUNTS]; /* sorted */
bool gpu_part_is(const char *resource);

#endif
