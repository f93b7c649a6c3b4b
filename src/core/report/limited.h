/* Everything that limits the scaling of one decision, as one list. AbleToScale and ScalingLimited are
 * read off it (core/report/verdict), so none can say "nothing limits scaling" beside something that does.
 * Pure; texts live in the arena of the choice. Must not decide anything. */
#ifndef CORE_REPORT_LIMITED_H
#define CORE_REPORT_LIMITED_H

#include "core/decide/choice.h"
#include "core/model/plan.h"

enum limit_kind {
	LIMIT_BACK_OFF = 0, /* a group provides no capacity: AbleToScale is False */
	LIMIT_RANGE, /* a minimum, a maximum, a GPU limit or a pool: ScalingLimited is True */
	LIMIT_OTHER, /* demand that waits for something else, launches that wait */
};

struct limit {
	enum limit_kind kind;
	enum reason reason;
	const char *message;
};

struct limits {
	VEC(struct limit) at; /* of one kind: the most important first */
};

/* Needs the demand of the plan that is not served. */
struct limits limits_found(const struct choice *choice, const struct plan *plan);
/* The first of this kind; NULL: none. */
const struct limit *limits_first(const struct limits *limits, enum limit_kind kind);

#endif
