/* Signs that a device of a Pod fails, from the feature that finds them to those that read them: in a slot of facts. */
#ifndef CORE_DECIDE_DEVICE_SIGN_H
#define CORE_DECIDE_DEVICE_SIGN_H

#include "core/decide/facts.h"

/* A taint of a device (Dynamic Resource Allocation) that a worker's Pod has by a claim, which does not tolerate it. */
struct device_sign {
	const struct pod *pod;
	const char *device;
	const struct taint *taint;
};

/* By Node and Pod. */
struct device_signs {
	VEC(struct device_sign) list;
};

/* Its address is the key of the slot. */
extern const char device_signs_slot;

#endif
