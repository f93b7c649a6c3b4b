/* Equal devices of a cluster that no Node counts as a resource (ResourceSlices), for what shows them. */
#ifndef CORE_NODES_DEVICE_STOCK_H
#define CORE_NODES_DEVICE_STOCK_H

#include <stdint.h>

/* Of the devices that match, over all Nodes. total: the sum of the others. */
struct device_count {
	int64_t total, free, claimed, tainted;
	int64_t blocked; /* its counters or its capacity are used by others */
};

struct device_stock {
	const char *driver, *type, *product; /* type "mig 1g.10gb"; "": none */
	struct device_count count;
};

#endif
