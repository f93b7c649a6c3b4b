/* Requests of Ray's libraries in the controller: the shape of each RayCluster to its Ray (cluster_shape_call.h), when
 * it is first known, when it changes and when the head has a new session, again after SHAPE_RETRY_MS while Ray has not
 * accepted it; and metrics. A Ray without the method is left alone until its session changes. Keeps nothing that may
 * not be lost: a shape that is sent twice does no harm. */
#ifndef FEATURE_REQUESTS_CTL_REQUESTS_FEATURE_H
#define FEATURE_REQUESTS_CTL_REQUESTS_FEATURE_H

#include "ctl/report/feature.h"

#define SHAPE_RETRY_MS 15000

extern const struct feature requests_feature;

#endif
