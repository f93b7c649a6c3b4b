/* The holders of the GPUs of a RayCluster: the request to the running controller, and the text of
 * its answer. */
#ifndef CLI_GPU_HOLDERS_H
#define CLI_GPU_HOLDERS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/shared/controller_client.h"
#include "core/model/gpu_holder.h"

struct cluster_holders {
	const char *namespace_, *name; /* of the RayCluster, set by the caller */
	struct gpu_holders holders;    /* problem: why they are unknown, then there is no worker */
};

/* Requests all of them, and returns when all have ended. Everything is in the arena. */
void gpu_holders_ask(struct connection *connection, const struct controller *controller,
		     struct cluster_holders *clusters, size_t count, struct arena *arena);

/* The section of `explain`. */
void gpu_holders_text(const struct gpu_holders *holders, struct arena *arena, struct buf *buf);

/* "actor Trainer x1 (2 GPUs, 3h12m, job 03000000)": the first holders of a worker; "" for none. */
const char *gpu_holders_line(const struct gpu_holders *holders, const struct gpu_worker *worker,
			     struct arena *arena);

#endif
