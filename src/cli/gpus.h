/* Output of `status --gpus`: the inventory of the cluster's accelerators (core/nodes/inventory) as
 * text and as JSON. The text has the columns of kubectl-inspect-gpushare, a block for each
 * resource. */
#ifndef CLI_GPUS_H
#define CLI_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/shared/gpus_devices.h"
#include "core/nodes/inventory.h"

struct connection;
struct inventory_watch;
struct cluster_holders;
struct gpu_holders;
struct gpu_worker;

/* Of RayClusters whose controller is asked for the holders of GPUs. */
#define GPUS_CLUSTERS_MAX 64

struct gpus_answer {
	struct inventory inventory;
	size_t unreadable;                       /* Nodes and Pods that cannot be decoded */
	struct inventory_watch *inventory_watch; /* the listing it was made from */
	struct gpus_stocks stocks;               /* devices of ResourceSlices */
	/* By namespace and name, GPUS_CLUSTERS_MAX at most. */
	const struct cluster_holders *clusters;
	size_t cluster_count;
	size_t left_out;             /* Pods of further RayClusters */
	bool holders_asked;          /* else they have no column */
	const char *holders_problem; /* "", or why there is no controller */
};

/* Lists Nodes and Pods of all namespaces; blocks. Fails as the lists do, with the missing right.
 * The answer points into its stock: call gpus_done in any case. */
int gpus_look(struct connection *connection, const struct device_table *devices,
	      struct arena *arena, struct gpus_answer *ret_answer, struct err *err);
void gpus_done(struct gpus_answer *answer);

/* Asks the controller for the holders of GPUs in each RayCluster that uses some. An error only when
 * --controller-url is given and no controller answers there. */
int gpus_ask_holders(struct connection *connection, struct arena *arena, struct gpus_answer *answer,
		     struct err *err);
/* The worker of this Pod in *ret_holders, the answer about its RayCluster; NULL: unknown. */
const struct gpu_worker *gpus_worker(const struct gpus_answer *answer,
				     const struct inventory_user *user,
				     const struct gpu_holders **ret_holders);

/* The first sign of a feature; "": none. */
const char *gpus_sign_of(const struct node *node, struct arena *arena);

void gpus_text_write(const struct gpus_answer *answer, bool colours, struct arena *arena,
		     struct buf *buf);
int gpus_json_write(const struct gpus_answer *answer, struct buf *buf, struct err *err);

#endif
