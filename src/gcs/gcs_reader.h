/* One reading of a GetClusterResourceStateReply: results and problems, the present place in the
 * message, and the tables of equal bytes. Used by gcs_state and its parts alone; on the stack of
 * one thread. */
#ifndef GCS_GCS_READER_H
#define GCS_GCS_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slots.h"
#include "core/model/ray_state.h"
#include "gcs/gcs_wire.h"

#define GCS_READER_TEXT_MAX ((size_t)16 << 10) /* bytes of one text */
/* Limit of the entries in ray_state.problems. */
#define GCS_READER_PROBLEMS_MAX ((size_t)100)
/* Memory of the decoded state in the arena. */
#define GCS_READER_MEMORY_CEILING_BYTES ((size_t)64 << 20)

/* Interns equal byte strings of one reply, so that their decoded values are stored once. Best
 * effort: at most GCS_INTERN_PROBES slots are probed, so bytes that were built to collide are
 * stored twice and cost no time. Affects only where a result is stored, never its content. Pure. */
#define GCS_INTERN_PROBES 8

struct gcs_intern_entry {
	struct gcs_bytes bytes; /* borrowed */
	const void *value;      /* NULL: unknown so far, or not to be shared */
};

struct gcs_intern {
	struct arena *arena;
	VEC(struct gcs_intern_entry) entries;
	struct slots slots; /* of entries */
};

/* The entry of these bytes; the caller sets its value and keeps the bytes alive; valid until the
 * next call. NULL: no free slot. */
struct gcs_intern_entry *gcs_intern_find(struct gcs_intern *intern, const void *bytes, size_t size);

/* "clusterResourceConstraints[1].resourceRequests[3].request": formatted only for a message. */
struct gcs_place {
	const char *outer; /* NULL: none */
	size_t outer_index;
	const char *list;
	size_t index;
	const char *member; /* ".request", or "" */
};

struct gcs_reader {
	const struct work_job *job; /* reading ends when it is cancelled; NULL: not on a job */
	struct arena *arena;        /* of the result */
	struct arena entry;         /* of the entry that is read */
	struct arena equal;         /* of the tables of equal bytes */
	size_t ceiling_bytes;       /* of arena->used_bytes */
	struct gcs_intern texts, requests, selectors;
	size_t shape_count, bundle_count; /* distinct requests; bundles of all gangs */
	VEC(const char *) problems;
	struct gcs_place place;
	bool failed; /* *err says why; reading has ended */
	struct err *err;
};

/* Records a problem of the place. Returns its text, which is cut. */
const char *gcs_reader_problem(struct gcs_reader *reader, const char *member, const char *key,
			       const char *problem);

/* True when figure > limit: the reading then fails, because the reply is above a limit. Only the
 * first failure counts. */
bool gcs_reader_is_above(struct gcs_reader *reader, const char *member, size_t figure, size_t limit,
			 const char *unit);
/* -1 when the reading has failed, its memory is used up, or its job was cancelled; the reason is in
 * *err. */
int gcs_reader_check(struct gcs_reader *reader);
/* The bytes are not this message: -1. */
int gcs_reader_refuse(struct gcs_reader *reader, const ProtobufCMessageDescriptor *message,
		      size_t size);

/* A copy, never NULL; equal short texts share one. */
const char *gcs_reader_text(struct gcs_reader *reader, const char *text);
struct strings gcs_reader_strings(struct gcs_reader *reader, char **texts, size_t count);

#endif
