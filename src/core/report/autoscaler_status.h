/* The status of a RayClusterAutoscaler (docs/AUTOSCALER_OBJECT.md) as a decision gives it: keeps the
 * times of conditions that did not change, and the last scale, of the existing status. Pure; the
 * same decision on the same object gives a status that equals the existing one, whatever the values
 * of idle durations and other clocks. Only lastDecisionTime and the parts of features are renewed, when it is older than an
 * interval between AUTOSCALER_RENEW_MS and AUTOSCALER_RENEW_MAX_MS that depends on the name: so a
 * fleet without changes is not written all at once. The time of another controller is renewed after half
 * of that, so that of two controllers each sees the other (ctl/report/autoscaler_writer). codec/objects/autoscaler_json writes it. */
#ifndef CORE_REPORT_AUTOSCALER_STATUS_H
#define CORE_REPORT_AUTOSCALER_STATUS_H

#include "base/arena.h"
#include "core/model/snapshot.h"
#include "core/report/summary.h"

#define AUTOSCALER_RENEW_MS INT64_C(240000)
#define AUTOSCALER_RENEW_MAX_MS INT64_C(300000)

struct autoscaler_status_input {
	const struct snapshot *snapshot;
	const struct plan *plan;
	const struct summary *summary;
	const struct autoscaler_object *object; /* as it is on the server */
	/* Changes of our patches since that status was written. */
	const struct autoscaler_scale *scales;
	size_t scale_count;
	/* That was sent and may not be in `object` yet, of autoscaler_status_sent; NULL: none. */
	const struct summary *sent;
	struct autoscaler_parts parts; /* now */
	const char *controller;        /* this process; NULL: unnamed */
	int64_t undecided_ms;          /* of ctl/queue/poll_interval; 0: the decision was made */
};

/* Lives in the arena and points into the input. Lists are cut to a few entries, groups to 100, and
 * texts to a length, so that the JSON text is far below AUTOSCALER_STATUS_MAX. */
struct summary autoscaler_status_of(const struct autoscaler_status_input *input,
				    struct arena *arena);
/* Sets lastDecisionTime of this decision, its controller, a whole second, and its parts: in a status that is
 * written for another reason. */
void autoscaler_status_renew(const struct autoscaler_status_input *input, struct summary *status);
/* The values that the next status takes from this one: lastDecisionTime, parts, and status and
 * time of the conditions. Points into `status`. */
struct summary autoscaler_status_sent(const struct summary *status, struct arena *arena);

/* The status of an object without a RayCluster: one condition. `message` must live as long. */
struct summary autoscaler_status_orphan(const struct autoscaler_object *object, const char *message,
					time_ms now, struct arena *arena);

#endif
