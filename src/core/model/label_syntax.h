/* The syntax of Ray's node labels, which is that of Kubernetes labels (ray 2.60,
 * label_utils.py). */
#ifndef CORE_MODEL_LABEL_SYNTAX_H
#define CORE_MODEL_LABEL_SYNTAX_H

#include <stdbool.h>

bool label_syntax_key(const char *key);     /* "name" or "prefix.example/name" */
bool label_syntax_value(const char *value); /* "" or a name */

#endif
