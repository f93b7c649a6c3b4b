/* struct memory_state to and from the `memory` of a plan and a snapshot. Untrusted (users edit
 * files, annotations): an entry that does not parse is dropped, never an error; limits bound it.
 * Results live in the arena. */
#ifndef CODEC_OBJECTS_MEMORY_JSON_H
#define CODEC_OBJECTS_MEMORY_JSON_H

#include "base/arena.h"
#include "codec/schema/field.h"
#include "core/model/memory_state.h"

struct cJSON;

#define MEMORY_ENTRIES_MAX 10000 /* per list */

/* `json` may be NULL or of any type. */
void memory_decode(const struct cJSON *json, struct arena *arena, struct memory_state *ret_memory);
/* Lists that are empty are left out: a fresh memory is {}. */
void memory_write(struct json_writer *writer, const char *name, const struct memory_state *memory);

/* The members memory_template_fields. An invalid one is refused by -1 without a message. */
int memory_template_decode(const struct json_at *at, struct memory_template *ret_template);

#endif
