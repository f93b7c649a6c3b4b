/* Output of `status` for people: one row for each worker group, and below it a line for each
 * problem. Pure. `status_json` has the same data for programs. */
#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/shared/controller_client.h"
#include "cli/shared/view.h"

/* Data of both forms. */
struct status_answer {
	const struct view_clusters *clusters;
	const struct controller *controller; /* NULL: nothing is written of it */
	const char *namespace_;              /* NULL: all, and the table has a column for it */
	size_t width;                        /* of the lines below the table */
	const char *none; /* without clusters: the sentence of cli/shared/missing */
};

void status_text_write(const struct status_answer *answer, bool colours, struct arena *arena,
		       struct buf *buf);

/* READY and REASON of a row: "1/5 ScaleUpDemand". */
const char *status_text_row(struct arena *arena, const struct view_cluster *cluster,
			    const struct summary_group *group);

#endif
