/* The head of a file of ours: apiVersion and kind, checked before its other members so that a file of
 * another kind is refused as such. Must not know the members of a kind. */
#ifndef CODEC_SCHEMA_DOCUMENT_HEAD_H
#define CODEC_SCHEMA_DOCUMENT_HEAD_H

#include "codec/text/json.h"

#define OWN_GROUP_VERSION "rayscaler.dev/v1alpha1"

/* `kind`: the one that is wanted. 0, or -1 with the reader's error: the line to write, or the flag for
 * the kind that the file has. */
int document_head_check(const struct json_at *root, const char *kind);

#endif
