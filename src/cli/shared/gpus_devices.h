/* Additions of features to `status --gpus`: devices that are counted beside those of device plugins, FEATURE_GPUS_DEVICES, and
 * signs of Nodes, FEATURE_GPUS_SIGNS. */
#ifndef CLI_SHARED_GPUS_DEVICES_H
#define CLI_SHARED_GPUS_DEVICES_H

#include "base/arena.h"
#include "core/nodes/device_stock.h"

struct connection;
struct node;
struct device_table;
struct inventory_list;

struct gpus_stocks {
	const struct device_stock *at;
	size_t count;
	const char *problem; /* NULL, or why it is unknown which are claimed */
};

struct gpus_devices {
	/* Reads them from the API server, blocks; replaces Nodes and Pods of the list by copies in the
	 * arena with their amounts. Nothing is changed where there are none, or they may not be read. */
	void (*read)(struct connection *connection, const struct device_table *devices,
		     struct arena *arena, struct inventory_list *list,
		     struct gpus_stocks *ret_stocks);
	/* The table with the claims of Pods that the API server has; blocks. namespace_ NULL: of all. */
	const struct device_table *(*count)(struct connection *connection, const char *namespace_,
					    const struct device_table *devices,
					    struct arena *arena);
};

/* A sign that the Node is sick, for the column NOTE; NULL: it has none. */
struct gpus_sign {
	const char *(*of)(const struct node *node, struct arena *arena);
};

#endif
