/* A file of the time zone database (RFC 8536), version 2 and above, with the rule of its footer for
 * the time after its last change. Pure: the bytes are the caller's. */
#ifndef CODEC_TEXT_TZIF_H
#define CODEC_TEXT_TZIF_H

#include <stddef.h>

#include "base/arena.h"
#include "core/model/time_zone.h"

/* Those of tzdata have below 4 KiB. */
#define TZIF_BYTES_MAX ((size_t)64 << 10)

/* The offset at `from` and the changes from then to `until`, in the arena; the name is the
 * caller's. -1: invalid, *ret_problem says why. */
int tzif_read(const unsigned char *bytes, size_t size, time_ms from, time_ms until,
	      struct arena *arena, struct time_zone *ret_zone, const char **ret_problem);

#endif
