/* Which version of a group serves a resource (GET /apis/GROUP/VERSION). Pure decoding; the request
 * is the caller's. */
#ifndef KUBE_KUBE_DISCOVER_H
#define KUBE_KUBE_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Does this APIResourceList name the resource? ERR_INPUT when the body is none. */
int kube_discover_serves(const char *body, size_t size, const char *plural, bool *ret_serves,
			 struct err *err);

#endif
