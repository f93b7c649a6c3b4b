/* The Nodes of a file, as `kubectl get nodes -o yaml` writes them: one document or several, Nodes
 * or Lists of them; other objects are skipped. Everything lives in the arena. */
#ifndef FEATURE_LINT_OBJECTS_NODE_FILE_H
#define FEATURE_LINT_OBJECTS_NODE_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"

#define NODE_FILE_BYTES_MAX ((size_t)128 << 20)

/* ERR_INPUT or ERR_LIMIT with line and column, or with the document, item and field. */
int node_file_read(const char *text, size_t size, struct arena *arena,
		   const struct node **ret_nodes, size_t *ret_count, struct err *err);

#endif
