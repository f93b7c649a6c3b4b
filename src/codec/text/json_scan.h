/* The strict check of JSON text before cJSON parses it: cJSON alone accepts control characters,
 * numbers like 01 or 1., bytes that are not UTF-8 and "\u0000" (which would cut a string short).
 * Reads only; called by json_parse. */
#ifndef CODEC_TEXT_JSON_SCAN_H
#define CODEC_TEXT_JSON_SCAN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/text/json_limits.h"
#include "codec/text/position.h"

/* Longer numbers are refused: cJSON reads 63 characters of a number. */
#define JSON_NUMBER_SIZE_MAX 60

/* 0 when the text is one JSON value within the limits (unique_names is not checked). ERR_INPUT and
 * ERR_LIMIT name line and column. `positions`: as json_parse_positions, not cleared here.
 * limits->foreign: *ret_marked gets a copy of the text in which JSON_MARK replaces bytes that a C
 * string cannot hold; it stays empty when there is nothing to replace. */
int json_scan(const char *text, size_t size, const struct json_limits *limits,
	      struct positions *positions, struct buf *ret_marked, struct err *err);

#endif
