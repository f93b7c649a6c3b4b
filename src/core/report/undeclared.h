/* A device that a worker of a group holds and that Ray does not count, so that no demand scales up
 * the group: the line that declares it. The messages of a decision; core/lint/lint_device has those
 * for a file. Pure; texts live in the arena. Must not change how devices count. */
#ifndef CORE_REPORT_UNDECLARED_H
#define CORE_REPORT_UNDECLARED_H

#include "core/decide/offer.h"

/* For a request that no group could serve: "; a worker of share holds aliyun.com/gpu-mem, which Ray
 * is not told to be GPU: write num-gpus: "1" into the rayStartParams of the group", of the first
 * group that holds such a device; "" for none. */
const char *undeclared_text(const struct offer *offer, const struct ray_request *request);

#endif
