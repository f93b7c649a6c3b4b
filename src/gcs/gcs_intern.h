/* Interns equal byte strings of one reply, so that their decoded values are stored once. Best
 * effort: at most GCS_INTERN_PROBES slots are probed, so bytes that were built to collide are
 * stored twice and cost no time. Affects only where a result is stored, never its content. Pure. */
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
	const void *value; /* NULL: unknown so far, or not to be shared */
};

struct gcs_intern {
	struct arena *arena;
	struct gcs_intern_entry *slots; /* open addressing; bytes NULL: free */
	size_t slot_count, used;
};

/* The entry of these bytes; the caller sets its value and keeps the bytes alive; valid until the
 * next call. NULL: no free slot. */
struct gcs_intern_entry *gcs_intern_find(struct gcs_intern *intern, const void *bytes, size_t size);

#endif
