/* The fields by which objects choose Nodes and devices, and by which those refuse Pods. */
#ifndef CODEC_SCHEMA_SCHEDULING_H
#define CODEC_SCHEMA_SCHEDULING_H

#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

extern const struct field node_term_fields[];  /* of struct node_term */
extern const struct field toleration_fields[]; /* of struct toleration */
extern const struct field taint_fields[];      /* of struct taint */
extern const struct taint taint_initial;       /* before it is read */

#endif
