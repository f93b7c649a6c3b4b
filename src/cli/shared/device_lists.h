/* The objects of Dynamic Resource Allocation of an API server, for a command that reads them once. */
#ifndef CLI_SHARED_DEVICE_LISTS_H
#define CLI_SHARED_DEVICE_LISTS_H

#include "base/arena.h"
#include "codec/objects/device_claim_object.h"

struct connection;

/* In the order of device_objects_fields. */
enum device_list {
	DEVICE_LIST_SLICES,
	DEVICE_LIST_CLASSES,
	DEVICE_LIST_TEMPLATES,
	DEVICE_LIST_CLAIMS,
	DEVICE_LIST_RULES,
	DEVICE_LISTS,
};

/* Lists one kind into `objects`; blocks. namespace_ (NULL: all): of kinds that are in namespaces. NULL, or
 * why they cannot be read: no API, no right; they are then unknown. */
const char *device_lists_read(struct connection *connection, enum device_list list,
			      const char *namespace_, struct device_objects *objects,
			      struct arena *arena);

#endif
