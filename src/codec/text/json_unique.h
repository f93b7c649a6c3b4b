/* The check for duplicate members of an object (json_limits.unique_names). Called by json_parse. */
#ifndef CODEC_TEXT_JSON_UNIQUE_H
#define CODEC_TEXT_JSON_UNIQUE_H

#include "base/err.h"

struct cJSON;

/* 0, or ERR_INPUT with the path of the first one. */
int json_check_unique(const struct cJSON *tree, struct err *err);

#endif
