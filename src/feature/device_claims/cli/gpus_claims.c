/* The devices of ResourceSlices in `status --gpus`. */
#include "cli/shared/device_lists.h"
#include "cli/shared/gpus_devices.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"

static void read_devices(struct connection *connection, const struct device_table *devices,
			 struct arena *arena, struct inventory_list *list,
			 struct gpus_stocks *ret_stocks)
{
	struct device_objects *objects = ARENA_NEW(arena, struct device_objects);
	const struct device_free *free;

	if (device_lists_read(connection, DEVICE_LIST_SLICES, NULL, objects, arena) ||
	    objects->slice_count == 0)
		return;
	(void)device_lists_read(connection, DEVICE_LIST_CLASSES, NULL, objects, arena);
	(void)device_lists_read(connection, DEVICE_LIST_RULES, NULL, objects, arena);
	ret_stocks->problem =
		device_lists_read(connection, DEVICE_LIST_CLAIMS, NULL, objects, arena);
	free = device_claims_attach(objects, devices, arena)->claims->devices;
	ret_stocks->at = device_nodes_stocks(free, arena, &ret_stocks->count);
	list->nodes = device_nodes_fill(free, list->nodes, list->node_count, arena);
	list->pods = device_nodes_fill_pods(free, list->pods, list->pod_count, arena);
}

const struct gpus_devices gpus_claims = { read_devices };
