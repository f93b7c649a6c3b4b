/* Rows of the tables of core/model/reason.h. */
#ifndef FEATURE_DEVICE_CLAIMS_MODEL_DEVICE_REASON_H
#define FEATURE_DEVICE_CLAIMS_MODEL_DEVICE_REASON_H

#define DEVICE_WORKER_REASONS(X)                                                                   \
	X(NO_DEVICE, "NoDevice", 0, "the scheduler cannot allocate its claims",                    \
	  "free one, or correct the claim")
#define DEVICE_CAUSES(X)                                                                           \
	X(DEVICES_LACK, "NoDevice", 0, "the scheduler cannot allocate the claims",                 \
	  "see the message")

#endif
