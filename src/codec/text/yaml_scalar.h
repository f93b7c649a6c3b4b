/* The value of a plain YAML scalar as kubectl reads it: the core schema of YAML 1.2 (yaml.org/spec/1.2.2,
 * 10.3.2) and of YAML 1.1 the booleans yes, no, on and off, 010 as octal, 0b11 and 1_000 (sigs.k8s.io/yaml 1.6,
 * goyaml.v2/resolve.go). Unlike there, y and n are strings: they are common as short names. Pure; used by codec/text/yaml and lint. */
#ifndef CODEC_TEXT_YAML_SCALAR_H
#define CODEC_TEXT_YAML_SCALAR_H

#include <stdbool.h>

enum yaml_scalar_kind {
	YAML_SCALAR_STRING = 0,
	YAML_SCALAR_NULL,
	YAML_SCALAR_BOOLEAN,
	YAML_SCALAR_INTEGER,
	YAML_SCALAR_FLOAT,
};

struct yaml_scalar {
	enum yaml_scalar_kind kind;
	bool boolean;
	double number; /* of INTEGER and FLOAT; may be infinite or NaN */
};

struct yaml_scalar yaml_scalar_resolve(const char *text);

#endif
