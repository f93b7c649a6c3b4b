/* The rows that features add to the tables of objects: one macro for each object, in the codec part of
 * the feature. */
#ifndef CODEC_OBJECTS_FEATURE_ROWS_H
#define CODEC_OBJECTS_FEATURE_ROWS_H

#include "feature/cost/codec/metering_json.h"
#include "feature/idle_termination/codec/idle_termination_json.h"
#include "feature/in_place_resize/codec/resize_json.h"
#include "feature/kueue/codec/kueue_json.h"
#include "feature/pools/codec/pool_terms_json.h"
#include "feature/protect_busy_pods/codec/protect_json.h"
#include "feature/schedules/codec/schedule_json.h"
#include "feature/warm_workers/codec/warm_json.h"

#endif
