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
#include "core/nodes/inventory.h"

struct connection;
struct inventory_watch;

struct gpus_answer {
	struct inventory inventory;
	size_t unreadable;                       /* Nodes and Pods that cannot be decoded */
	struct inventory_watch *inventory_watch; /* the listing it was made from */
};

/* Lists Nodes and Pods of all namespaces; blocks. Fails as the lists do, with the missing right.
 * The answer points into its stock: call gpus_done in any case. */
int gpus_look(struct connection *connection, const struct device_table *devices,
	      struct arena *arena, struct gpus_answer *ret_answer, struct err *err);
void gpus_done(struct gpus_answer *answer);

void gpus_text_write(const struct gpus_answer *answer, bool colours, struct arena *arena,
		     struct buf *buf);
int gpus_json_write(const struct gpus_answer *answer, struct buf *buf, struct err *err);

#endif
