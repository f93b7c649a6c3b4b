/* The devices of ResourceSlices in `status --gpus`, and the claims of Pods for a command that reads them once. */
#include <string.h>

#include "cli/shared/api_connection.h"
#include "cli/shared/gpus_devices.h"
#include "ctl/watch/inventory_watch.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/device_claims/kube/device_types.h"
#include "kube/kube_informer.h"

/* In the order of device_objects_fields. */
enum device_list {
	DEVICE_LIST_SLICES,
	DEVICE_LIST_CLASSES,
	DEVICE_LIST_TEMPLATES,
	DEVICE_LIST_CLAIMS,
	DEVICE_LIST_RULES,
	DEVICE_LISTS,
};

#define WITHIN_MS 30000

static const struct {
	const struct kube_type *type;
	bool in_namespace;
} kinds[DEVICE_LISTS] = {
	[DEVICE_LIST_SLICES] = { &kube_type_resource_slice, false },
	[DEVICE_LIST_CLASSES] = { &kube_type_device_class, false },
	[DEVICE_LIST_TEMPLATES] = { &kube_type_claim_template, true },
	[DEVICE_LIST_CLAIMS] = { &kube_type_resource_claim, true },
	[DEVICE_LIST_RULES] = { &kube_type_taint_rule, false },
};

struct reading {
	struct connection *connection;
	struct kube_informer *informer;
	struct err err; /* kind ERR_NONE: none */
};

static void listed(void *context)
{
	api_connection_wake(((const struct reading *)context)->connection);
}

static void failed(void *context, const struct err *err)
{
	struct reading *reading = context;

	if (err->kind == ERR_LIMIT || err->kind == ERR_GONE)
		return; /* the informer begins the list again */
	reading->err = *err;
	api_connection_wake(reading->connection);
}

static bool ended(void *context)
{
	const struct reading *reading = context;

	return reading->err.kind != ERR_NONE || kube_informer_synced(reading->informer);
}

static void copy(const struct kube_informer *informer, const struct field *row,
		 struct device_objects *objects, struct arena *arena)
{
	size_t count = kube_informer_count(informer), at = 0, kept = 0;
	char *list = arena_array(arena, count, row->size);
	const void *object;
	bool known = true;

	while (kept < count && (object = kube_informer_next(informer, &at))) {
		char *one = list + kept++ * row->size;

		memcpy(one, object, row->size);
		if (row->problems > 0)
			memset(one + row->problems, 0, sizeof(struct strings));
		field_own(row->members, one, arena);
	}
	memcpy(field_value(row, objects), &list, sizeof(list));
	memcpy((char *)objects + row->count, &kept, sizeof(kept));
	memcpy((char *)objects + row->has, &known, sizeof(known));
}

/* Lists one kind into `objects`; blocks. namespace_ (NULL: all): of kinds that are in namespaces. NULL, or
 * why they cannot be read: no API, no right; they are then unknown. */
static const char *read_list(struct connection *connection, enum device_list list,
			     const char *namespace_, struct device_objects *objects,
			     struct arena *arena)
{
	struct reading reading = { .connection = connection, .err = { .kind = ERR_NONE } };
	const struct kube_informer_options options = {
		.type = kinds[list].type,
		.namespace_ = kinds[list].in_namespace ? namespace_ : NULL,
		.callbacks = { .on_synced = listed, .on_error = failed, .context = &reading },
	};
	const char *problem = NULL;

	reading.informer = kube_informer_new(api_connection_client(connection), &options);
	(void)api_connection_wait(connection, ended, &reading, WITHIN_MS);
	if (kube_informer_synced(reading.informer))
		copy(reading.informer, &device_objects_fields[list], objects, arena);
	else
		problem = reading.err.kind != ERR_NONE ? arena_strdup(arena, reading.err.text) :
							 "they were not listed in time";
	kube_informer_free(reading.informer);
	return problem;
}

static void read_devices(struct connection *connection, const struct device_table *devices,
			 struct arena *arena, struct inventory_list *list,
			 struct gpus_stocks *ret_stocks)
{
	struct device_objects *objects = ARENA_NEW(arena, struct device_objects);
	const struct device_free *free;

	if (read_list(connection, DEVICE_LIST_SLICES, NULL, objects, arena) ||
	    objects->slice_count == 0)
		return;
	(void)read_list(connection, DEVICE_LIST_CLASSES, NULL, objects, arena);
	(void)read_list(connection, DEVICE_LIST_RULES, NULL, objects, arena);
	ret_stocks->problem = read_list(connection, DEVICE_LIST_CLAIMS, NULL, objects, arena);
	free = device_claims_attach(objects, devices, arena)->claims->devices;
	ret_stocks->at = device_nodes_stocks(free, arena, &ret_stocks->count);
	list->nodes = device_nodes_fill(free, list->nodes, list->node_count, arena);
	list->pods = device_nodes_fill_pods(free, list->pods, list->pod_count, arena);
}

static const struct device_table *count(struct connection *connection, const char *namespace_,
					const struct device_table *devices, struct arena *arena)
{
	struct device_objects *objects = ARENA_NEW(arena, struct device_objects);

	for (enum device_list list = 0; list < DEVICE_LISTS; list++)
		(void)read_list(connection, list, namespace_, objects, arena);
	return device_claims_attach(objects, devices, arena);
}

const struct gpus_devices gpus_claims = { read_devices, count };
