/* Results of our patches on the groups of one cluster that its status does not show yet. The owner
 * keeps struct scale_list zeroed and ends with scale_list_done; texts are copied. For reports only,
 * never for decisions; may be lost. */
#ifndef CTL_REPORT_SCALE_LIST_H
#define CTL_REPORT_SCALE_LIST_H

#include "base/arena.h"
#include "core/report/summary.h"
#include "ctl/pass/pass.h"

struct scale_list {
	struct arena arena;
	VEC(struct autoscaler_scale) scales; /* the newest of a group first */
};

void scale_list_done(struct scale_list *list); /* empty and usable again */
/* The groups whose replicas the patch of this decision changes; none without a patch. */
void scale_list_set(struct scale_list *list, const struct pass_decision *decision);
/* Puts those of `newer` before the others and leaves it empty. */
void scale_list_push(struct scale_list *list, struct scale_list *newer);

#endif
