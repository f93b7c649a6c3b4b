/* The holders of GPUs as JSON: the answer of /gpu-holders/NAMESPACE/NAME, written and read by one
 * table of fields; docs/COMMANDS.md describes it. */
#ifndef CODEC_OBJECTS_GPU_HOLDERS_JSON_H
#define CODEC_OBJECTS_GPU_HOLDERS_JSON_H

#include "codec/schema/field.h"
#include "core/model/gpu_holder.h"

extern const struct field gpu_holders_fields[]; /* of struct gpu_holders */

/* An array of holders, also empty. */
void gpu_holders_write_of(struct json_writer *writer, const char *name,
			  const struct gpu_worker *worker);

/* The answer. Results live in the arena. */
int gpu_holders_read(const char *text, size_t size, struct arena *arena,
		     struct gpu_holders *ret_holders, struct err *err);

#endif
