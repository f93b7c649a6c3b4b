/* The last changes of worker groups while `status -w` runs: what a redrawn table no longer shows. The
 * caller owns the struct and calls status_changes_done. No I/O, no clock. */
#ifndef CLI_STATUS_CHANGES_H
#define CLI_STATUS_CHANGES_H

#include "base/buf.h"
#include "base/map.h"
#include "base/time.h"
#include "cli/shared/view.h"

#define STATUS_CHANGES_MAX 10

struct status_changes {
	struct map rows;                 /* "namespace/cluster group" to the text of its row */
	char *lines[STATUS_CHANGES_MAX]; /* oldest first */
	size_t count;
	bool began;
};

/* Compares with the rows of the last call; the first one only keeps them. */
void status_changes_update(struct status_changes *changes, const struct view_clusters *clusters,
			   time_ms now);
/* The lines with a title; nothing without changes. */
void status_changes_write(const struct status_changes *changes, bool colours, struct buf *buf);
void status_changes_done(struct status_changes *changes);

#endif
