/* The device table with the counted claims, and the objects that they were counted from. A view is
 * never changed: a pass, whose decision runs on another thread, holds the one that it began with. Made
 * by feature/device_claims/ctl; without Dynamic Resource Allocation there is none. */
#ifndef CTL_SHARED_DEVICE_VIEW_H
#define CTL_SHARED_DEVICE_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/name_set.h"
#include "ctl/shared/control.h"

struct budget;

struct device_view {
	size_t holders;        /* counted on the loop's thread alone */
	uint64_t number;       /* another one than those of earlier views; above 0 */
	struct budget *budget; /* a reference: of the arena; NULL: none */
	struct arena arena;
	const struct device_objects *objects;
	const struct device_table *table;
	struct name_set unread; /* namespaces with templates or claims that are not read yet */
};

/* Empty, with one holder. Its memory is charged to the budget, of which it has a reference; NULL: to
 * none. */
struct device_view *device_view_new(struct budget *budget);
/* The current one of the program, held once more; NULL: none. */
struct device_view *device_view_hold(const struct control *control);
void device_view_drop(struct device_view *view); /* NULL is fine */

uint64_t device_view_number(const struct control *control); /* of the current one; 0: none */
/* That of the current view, or of the options. Borrowed until the loop turns. */
const struct device_table *device_view_table(const struct control *control);

#endif
