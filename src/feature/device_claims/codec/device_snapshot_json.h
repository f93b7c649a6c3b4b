/* The objects of resource.k8s.io in a snapshot: one list of each kind. */
#ifndef FEATURE_DEVICE_CLAIMS_CODEC_DEVICE_SNAPSHOT_JSON_H
#define FEATURE_DEVICE_CLAIMS_CODEC_DEVICE_SNAPSHOT_JSON_H

#include "base/arena.h"

struct field;
struct json_at;
struct json_writer;
struct node_labels;
struct snapshot;

/* Hooks of the lists, by the name of the member. */
int device_list_decode(const struct json_at *member, const struct field *field, void *object);
void device_list_write(struct json_writer *writer, const struct field *field, const void *object);

/* Rows of the table of a snapshot. */
#define DEVICE_LIST_ROW(name)                                                                      \
	FIELD_HOOK(name, .read = device_list_decode, .write = device_list_write)
#define DEVICE_SNAPSHOT_ROWS(T)                                                                    \
	DEVICE_LIST_ROW("resourceSlices"), DEVICE_LIST_ROW("deviceClasses"),                       \
		DEVICE_LIST_ROW("resourceClaimTemplates"), DEVICE_LIST_ROW("resourceClaims"),      \
		DEVICE_LIST_ROW("deviceTaintRules")

/* The claims in the device table, and Nodes and Pods with the amounts of devices. */
void device_lists_attach(struct snapshot *snapshot, struct arena *arena);

/* The claims alone, in another device table. */
void device_table_attach(struct snapshot *snapshot, struct arena *arena);

#define DEVICE_SNAPSHOT_TABLES(snapshot, arena) device_table_attach(snapshot, arena);

#define DEVICE_SNAPSHOT_DECODED(snapshot, arena) device_lists_attach(snapshot, arena);

/* The labels of Nodes that devices name. */
void device_lists_add_labels(struct node_labels *read, const struct snapshot *snapshot);

#define DEVICE_SNAPSHOT_LABELS(read, snapshot) device_lists_add_labels(read, snapshot);

#endif
