/* The checker of plans: it checks the laws of a plan with its placements on the JSON of snapshot
 * and plan alone. It shares no code with the decision: it knows Ray's rules, not how they are
 * followed. */
#ifndef TEST_LAWS_CHECK_H
#define TEST_LAWS_CHECK_H

#include "laws_facts.h"

#define LAWS_DETAIL_BYTES 400

/* The first law that was found broken; law is NULL while none is. */
struct laws_verdict {
	const char *law; /* static */
	char detail[LAWS_DETAIL_BYTES];
};

/* Records a broken law; the first one is kept. */
void laws_break(struct laws_verdict *verdict, const char *law, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Did the decision act at all, and did it have a reply of Ray? Read from the plan itself. */
bool laws_is_gated(const struct cJSON *plan);
bool laws_ray_was_read(const struct cJSON *plan);

/* targets within bounds, launches within quotas, and only groups that may change do */
void laws_check_bounds(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict);
/* terminated workers are never busy, unknown, or draining in use, and no request needs them */
void laws_check_safety(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict);
/* everything received has a valid place, or is infeasible or unserved, exactly once */
void laws_check_places(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict);
void laws_check_counts(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict);
/* the minimum of an active schedule holds, and an inactive one changes nothing */
void laws_check_schedules(const struct cJSON *snapshot, const struct cJSON *plan,
			  struct laws_verdict *verdict);

/* the cluster ends only when nothing uses it, and a suspended one is only resumed */
void laws_check_idle(const struct cJSON *snapshot, const struct cJSON *plan,
		     struct laws_verdict *verdict);
/* Makes some of the random snapshots idle, as a whole or up to some parts. */
void laws_idle_make(struct cJSON *snapshot, uint64_t seed);

/* ---- shared by the parts of the checker ---- */

/* The bundle fits on its labels: one of its selectors holds, or it has none. */
bool laws_labels_hold(const struct cJSON *request, const struct cJSON *node,
		      const struct cJSON *group);
/* Which selector is the first that holds: 0 for the first, -1 for none of them or no selectors. */
int laws_label_choice(const struct cJSON *request, const struct cJSON *node,
		      const struct cJSON *group);
/* The received list that an entry's kind and source mean. */
const struct cJSON *laws_received(const struct cJSON *snapshot, const char *kind,
				  const char *source);
/* The requests of the annotation and of the schedule with bundles, by source, in the form of a
 * received list: equal bundles are one entry. One that does not parse is not there. The caller
 * deletes it. */
struct cJSON *laws_asked(const struct cJSON *snapshot);
/* The window of a schedule of laws_random.c is open. */
bool laws_is_active(const struct cJSON *schedule);
/* Replicas of the group that spec and the active schedules want free, by count. */
int64_t laws_warm_count(const struct cJSON *snapshot, const struct cJSON *group);

/* An item of toTerminate that ends nothing: Ray is notified of an end that Kubernetes has announced. */
bool laws_is_notified(const struct cJSON *item);

#endif
