/* What a Pod costs under ceilings on GPUs: whole GPUs that it takes from a Node, also where Ray is told of
 * none, and of a GPU that it shares its fraction, as far as Kubernetes says which.
 * Pure; results live in the arena. Must not be used for what one worker can serve: core/capacity/capacity. */
#ifndef CORE_CAPACITY_GPU_COST_H
#define CORE_CAPACITY_GPU_COST_H

#include "base/arena.h"
#include "core/capacity/capacity.h"
#include "core/model/kubernetes.h"

struct gpu_cost {
	int64_t amount; /* 1/10000 GPU */
	bool is_share;  /* its Ray container has shares of GPUs, not whole ones */
	/* A share of which the fraction is not known: amount is then what Ray is told, and where that is
	 * nothing, whole GPUs. */
	bool is_vague;
};

/* Of a Pod of `spec` that brings `capacity` to Ray. All its containers count. The fraction of a share:
 * nvidia.com/mig-<n>g.<m>gb is n of 7 (of 4 for the profiles of GPUs with four slices: NVIDIA's MIG user
 * guide, supported profiles), rounded down, so that what fits a GPU counts at most 1; memory and turns go
 * by the nodeSelector (gpu-feature-discovery's nvidia.com/gpu.memory and nvidia.com/gpu.replicas,
 * ACK's aliyun.accelerator/nvidia_mem). What a nodeSelector promises is true of every Node that
 * such a Pod runs on. */
void gpu_cost_of(const struct pod_spec *spec, const struct capacity *capacity,
		 const struct device_table *devices, struct arena *arena,
		 struct gpu_cost *ret_cost);

#endif
