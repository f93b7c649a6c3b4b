/* A JSON value as YAML in block form, for output that people read (written by libyaml). Strings
 * that YAML could read as another type are quoted, so that reading gives the same value. */
#ifndef CODEC_TEXT_YAML_WRITE_H
#define CODEC_TEXT_YAML_WRITE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the document. `json` is our own text (codec/text/json_write). ERR_INPUT when it is not
 * JSON, ERR_LIMIT at the buffer's ceiling. */
int yaml_write(const char *json, size_t size, struct buf *buf, struct err *err);

#endif
