/* The GPUs that a Pod counts under GPU limits: whole GPUs that it takes from a Node, also where Ray
 * does not count them, and its fraction of a shared GPU, as far as Kubernetes states it. Pure;
 * results live in the arena. Must not be used for what one worker can serve:
 * core/capacity/capacity. */
#ifndef CORE_CAPACITY_GPU_COST_H
#define CORE_CAPACITY_GPU_COST_H

#include "base/arena.h"
#include "core/capacity/capacity.h"
#include "core/model/kubernetes.h"

struct gpu_cost {
	int64_t amount; /* 1/10000 GPU */
	int64_t least;  /* the same with the least that its claims can get */
	int64_t shared; /* of claims that Pods share, beside amount: once for each claim */
	bool is_share;  /* its Ray container has shares of GPUs, not whole ones */
	/* A share of unknown fraction: amount is then the number in Ray, or whole GPUs where Ray
	 * has none. */
	bool is_vague;
};

/* Of a Pod of `spec` with `capacity` in Ray. All its containers count. The fraction of a share:
 * nvidia.com/mig-<n>g.<m>gb is n of 7 (of 4 for the profiles of GPUs with four slices: NVIDIA's MIG
 * user guide, supported profiles), rounded down, so that the instances of one GPU count at most 1.
 * Memory and time slices use the labels in the nodeSelector (gpu-feature-discovery's
 * nvidia.com/gpu.memory and nvidia.com/gpu.replicas, ACK's aliyun.accelerator/nvidia_mem), which
 * hold on every Node where such a Pod runs. */
void gpu_cost_of(const struct pod_spec *spec, const struct capacity *capacity,
		 const struct device_table *devices, struct arena *arena,
		 struct gpu_cost *ret_cost);

/* Of an amount of one resource, without the labels of Nodes. */
int64_t gpu_cost_of_resource(const char *resource, int64_t amount,
			     const struct device_table *devices);

#endif
