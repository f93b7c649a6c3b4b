#include "gcs/gcs_intern.h"

#include <string.h>

#include "gcs/gcs_wire.h"

#define FIRST_SLOTS ((size_t)64)
#define GROWTH 4

static struct gcs_intern_entry *free_slot(struct gcs_intern *intern, uint64_t hash)
{
	for (size_t i = 0; i < GCS_INTERN_PROBES; i++) {
		struct gcs_intern_entry *slot =
			&intern->slots[(hash + i) & (intern->slot_count - 1)];

		if (!slot->bytes)
			return slot;
	}
	return NULL;
}

/* Entries without a free slot in the new table are dropped. */
static void grow(struct gcs_intern *intern)
{
	const struct gcs_intern_entry *old = intern->slots;
	size_t old_count = intern->slot_count;

	intern->slot_count = old_count ? old_count * GROWTH : FIRST_SLOTS;
	intern->slots = arena_array(intern->arena, intern->slot_count, sizeof(*intern->slots));
	intern->used = 0;
	for (size_t i = 0; i < old_count; i++) {
		struct gcs_intern_entry *slot = old[i].value ? free_slot(intern, old[i].hash) :
							       NULL;

		if (!slot)
			continue;
		*slot = old[i];
		intern->used++;
	}
}

struct gcs_intern_entry *gcs_intern_find(struct gcs_intern *intern, const void *bytes, size_t size)
{
	uint64_t hash = gcs_wire_hash(gcs_bytes_of(bytes, size));
	struct gcs_intern_entry *slot;

	if (2 * intern->used >= intern->slot_count)
		grow(intern);
	for (size_t i = 0; i < GCS_INTERN_PROBES; i++) {
		slot = &intern->slots[(hash + i) & (intern->slot_count - 1)];
		if (!slot->bytes)
			break;
		if (slot->hash == hash && slot->size == size && !memcmp(slot->bytes, bytes, size))
			return slot;
	}
	if (slot->bytes)
		return NULL;
	*slot = (struct gcs_intern_entry){ .bytes = bytes, .size = size, .hash = hash };
	intern->used++;
	return slot;
}
