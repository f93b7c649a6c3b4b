/* GPU pools in a snapshot and in a plan (core/model/pool.h): the member `pools` of the one, `asks` of the
 * other. The file of a snapshot may come from a user, so its lists and numbers are limited. */
#ifndef FEATURE_POOLS_CODEC_POOL_TERMS_JSON_H
#define FEATURE_POOLS_CODEC_POOL_TERMS_JSON_H

#include "core/model/field.h"

struct json_writer;

/* Of struct pool_terms. */
extern const struct field pool_terms_fields[];

#define POOL_SNAPSHOT_ROWS(T) FIELD_POINTER(T, pools, pool_terms_fields, "pools")
#define POOL_PLAN_ROWS(T) FIELD_HOOK("asks", .write = pool_asks_write)

/* `object` is a struct plan; nothing without asks. */
void pool_asks_write(struct json_writer *writer, const struct field *field, const void *object);

#endif
