#include "feature/device_claims/codec/device_snapshot_json.h"

#include "codec/schema/field.h"
#include "core/model/snapshot.h"
#include "core/nodes/node_labels.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/device_nodes.h"
#include "feature/device_claims/core/resolve.h"

int device_list_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct snapshot *ret = object;
	struct device_objects *objects;

	if (!json_is_given(member))
		return 0;
	objects = ARENA_COPY(member->reader->arena,
			     ret->device_objects ? ret->device_objects :
						   &(const struct device_objects){ .slices = NULL },
			     1);
	ret->device_objects = objects;
	return field_decode(member, field_find(device_objects_fields, field->name), objects);
}

void device_list_write(struct json_writer *writer, const struct field *field, const void *object)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct snapshot *snapshot = object;
	const struct field *row = field_find(device_objects_fields, field->name);
	struct device_objects own;

	if (!snapshot->device_objects || !*((const bool *)snapshot->device_objects + row->has))
		return;
	own = device_objects_for(snapshot->device_objects, snapshot->cluster.namespace_, &arena);
	field_write_value(writer, row, &own);
}

void device_lists_add_labels(struct node_labels *read, const struct snapshot *snapshot)
{
	const struct device_objects *objects = snapshot->device_objects;

	if (!objects)
		return;
	for (size_t i = 0; i < objects->slice_count; i++) {
		const struct resource_slice *slice = &objects->slices[i];

		node_labels_add_terms(read, slice->node_terms, slice->node_term_count);
		for (size_t d = 0; d < slice->device_count; d++)
			node_labels_add_terms(read, slice->devices[d].node_terms,
					      slice->devices[d].node_term_count);
	}
}

/* Where ResourceSlices are known: Nodes and Pods have the amounts that a controller gives them. */
static void complete_nodes(struct snapshot *snapshot, struct arena *arena)
{
	const struct claimed_index *claims = snapshot->device_table->claims;
	const struct device_free *devices = claims ? claims->devices : NULL;

	if (!devices || snapshot->node_count == 0)
		return;
	snapshot->nodes = device_nodes_fill(devices, snapshot->nodes, snapshot->node_count, arena);
	snapshot->other_pods = device_nodes_fill_pods(devices, snapshot->other_pods,
						      snapshot->other_pod_count, arena);
}

void device_table_attach(struct snapshot *snapshot, struct arena *arena)
{
	snapshot->device_table =
		device_claims_attach(snapshot->device_objects, snapshot->device_table, arena);
}

void device_lists_attach(struct snapshot *snapshot, struct arena *arena)
{
	device_table_attach(snapshot, arena);
	complete_nodes(snapshot, arena);
}
