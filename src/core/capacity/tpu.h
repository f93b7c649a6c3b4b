/* TPU slices on GKE: the type that Ray derives from two node selectors (ray 2.60,
 * kuberay/utils.py tpu_node_selectors_to_type). */
#ifndef CORE_CAPACITY_TPU_H
#define CORE_CAPACITY_TPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define TPU_TOPOLOGY_SELECTOR "cloud.google.com/gke-tpu-topology"
#define TPU_ACCELERATOR_SELECTOR "cloud.google.com/gke-tpu-accelerator"

/* "v4-16" for tpu-v4-podslice and 2x2x2; NULL for an unknown accelerator, or a topology that is
 * not of the form 2x4. */
const char *tpu_type(struct arena *arena, const char *accelerator, const char *topology);
/* Of a topology like 2x4; false: it has another form, or too many. */
bool tpu_chips(const char *topology, int64_t *ret_chips);

#endif
