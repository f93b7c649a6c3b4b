/* Requests that no template can serve as it is written and that are still not impossible, so they must not be
 * reported to Ray as infeasible, which may end the work: resources that only a placement group provides, and an
 * accelerator type of a group whose model is unknown. Pure; texts live in the arena. */
#ifndef CORE_REPORT_POSSIBLE_H
#define CORE_REPORT_POSSIBLE_H

#include "core/decide/choice.h"

struct possible {
	enum reason reason; /* NONE: the request is none of these */
	const char *message;
	const char *group; /* that may serve it; NULL: none */
};

struct possible possible_later(const struct choice *choice, const struct ray_request *request);

#endif
