/* The pod spec, of a Pod and of a Pod template. Used by the object decoders of codec only. */
#ifndef CODEC_OBJECTS_POD_SPEC_JSON_H
#define CODEC_OBJECTS_POD_SPEC_JSON_H

#include "codec/text/json.h"
#include "core/model/kubernetes.h"

/* The member `name` of `at` as a pod spec; an empty one when missing. */
int pod_spec_decode(const struct json_at *at, const char *name, struct pod_spec *ret_spec);
/* The member `name` of `at` as a Pod template (metadata and spec). */
int pod_template_decode(const struct json_at *at, const char *name,
			struct pod_template *ret_template);

#endif
