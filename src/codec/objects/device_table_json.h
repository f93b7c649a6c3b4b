/* A device table (docs/DEVICES.md), YAML or JSON, to struct device_table: the built-in rows and
 * then those of the file. Strict, because a misspelt row would silently count nothing: unknown
 * members, unknown words and duplicate names are errors. Rows and texts live in the arena. */
#ifndef CODEC_OBJECTS_DEVICE_TABLE_JSON_H
#define CODEC_OBJECTS_DEVICE_TABLE_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json_write.h"
#include "core/model/device.h"

struct cJSON;

#define DEVICE_TABLE_ROWS_MAX 1000

/* The text of a file: one document with apiVersion rayscaler.dev/v1alpha1, kind DeviceTable and
 * devices. ERR_INPUT or ERR_LIMIT begin with "line 3, column 5: ", then the path of the field. */
int device_table_read(const char *text, size_t size, struct arena *arena,
		      struct device_table *ret_table, struct err *err);
/* A parsed tree, the member deviceTable of a Snapshot: apiVersion and kind are optional. Errors
 * begin with `path`, then the path of the field. */
int device_table_decode(const struct cJSON *json, const char *path, struct arena *arena,
			struct device_table *ret_table, struct err *err);

/* The rows that are not built in, in the form of device_table_decode. */
void device_table_write(struct json_writer *writer, const char *name,
			const struct device_table *table);

#endif
