#include "core/decide/device_sign.h"

const char device_signs_slot = 0;
