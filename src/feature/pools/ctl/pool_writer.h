/* Writes the statuses of GPUPools: after an allocation, when one differs, at most every
 * POOL_WRITER_INTERVAL_MS for each pool. The places in the order that a new leader reads are in it. A condition
 * that changes is an Event on the GPUPool, at most one every POOL_WRITER_EVENT_MS for each pool; one that
 * cannot be sent is lost.
 * Must not decide anything. */
#ifndef FEATURE_POOLS_CTL_POOL_WRITER_H
#define FEATURE_POOLS_CTL_POOL_WRITER_H

#include "feature/pools/core/pool_allocation.h"
#include "feature/pools/ctl/pool_objects.h"

#define POOL_WRITER_INTERVAL_MS 2000
#define POOL_WRITER_EVENT_MS 10000

struct pool_writer;

struct pool_writer *pool_writer_new(const struct control *control,
				    const struct pool_objects *objects);
void pool_writer_free(struct pool_writer *writer); /* NULL is fine */

/* The statuses of the last allocation; they live until the next one. */
void pool_writer_allocated(struct pool_writer *writer, const struct gpu_pool_status *statuses,
			   const struct pool_allocation *allocation);

#endif
