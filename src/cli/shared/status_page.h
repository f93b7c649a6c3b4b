/* Another page of `status` in place of its table, which a switch selects, such as --cost: one const
 * struct that a header of the part `cli` of a feature declares (mk/features.awk). Nothing below
 * src/cli/cli_status.c knows the feature. */
#ifndef CLI_SHARED_STATUS_PAGE_H
#define CLI_SHARED_STATUS_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"
#include "cli/shared/view.h"

struct status_page_input {
	struct view *view;   /* NULL with read() */
	const void *objects; /* of read() */
	/* Those that nothing scales, to be marked as old, among others. The line of
	 * cli/shared/unscaled is the page's to write; the exit status is not. */
	const struct view_clusters *clusters;
	const char *value; /* of `value_flag`; NULL: it was not given */
	time_ms now;
	bool colours;
	size_t width; /* of the terminal; 0: none */
};

struct status_page {
	const char *flag;       /* "--cost" */
	const char *value_flag; /* a flag with a value that is valid only with it; NULL: none */
	/* With this value the page is of all namespaces, unless -n or CLUSTER is given; NULL: none. */
	const char *value_of_all;
	const char *usage, *description, *flags; /* whole lines of --help */
	/* NULL: every value is valid. ERR_INPUT names the flag. */
	int (*check_value)(const char *value, struct err *err);
	/* Of a page of other objects than RayClusters, of the whole cluster: reads them. Results live in
	 * the arena; -1: *err has the fix. NULL: the page is of the view. */
	int (*read)(struct connection *connection, struct arena *arena, const void **ret_objects,
		    struct err *err);
	void (*write_text)(const struct status_page_input *input, struct arena *arena,
			   struct buf *buf);
	void (*write_json)(const struct status_page_input *input, struct arena *arena,
			   struct buf *buf);
};

#endif
