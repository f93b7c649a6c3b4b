/* Equal bytes of one reply, so that their meaning is kept once. Best effort: at most
 * GCS_INTERN_PROBES places are looked at, so bytes that were made to collide are kept twice and cost
 * no time. Never decides what is in the result, only where it is stored. Pure. */
#ifndef GCS_GCS_INTERN_H
#define GCS_GCS_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define GCS_INTERN_PROBES 8

struct gcs_intern_entry {
	const void *bytes; /* borrowed */
	size_t size;
	uint64_t hash;
	const void *value; /* NULL: not known yet, or not to be shared */
};

struct gcs_intern {
	struct arena *arena;
	struct gcs_intern_entry *slots; /* open addressing; bytes NULL: free */
	size_t slot_count, used;
};

/* The entry of these bytes, which the caller gives its value and keeps the bytes of; valid until the
 * next call. NULL: no place for them. */
struct gcs_intern_entry *gcs_intern_find(struct gcs_intern *intern, const void *bytes, size_t size);

#endif
