/* Lease (coordination.k8s.io/v1) from and to JSON. Decoded values live in the arena.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 * The only object that is sent back as a whole: it is ours, and labels and annotations of other
 * writers are kept. Must not be used to judge whether a Lease is valid: that is kube/kube_lease. */
#ifndef CODEC_OBJECTS_LEASE_JSON_H
#define CODEC_OBJECTS_LEASE_JSON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"
#include "core/model/kubernetes.h"

struct cJSON;

#define LEASE_API_VERSION "coordination.k8s.io/v1"
/* int32 in the API. */
#define LEASE_TRANSITIONS_MAX INT32_MAX

struct lease {
	const char *namespace_, *name, *resource_version;
	const char *holder; /* "": no holder */
	/* The original texts, or "": other clocks wrote them, so they are only compared and
	 * kept. */
	const char *acquire_time, *renew_time;
	int64_t duration_seconds; /* 0 to INT32_MAX; 0: not given */
	int64_t transitions;      /* 0 to LEASE_TRANSITIONS_MAX */
	struct labels labels, annotations;
};

#define LEASE_INIT                                                                                 \
	((struct lease){ .namespace_ = "",                                                         \
			 .name = "",                                                               \
			 .resource_version = "",                                                   \
			 .holder = "",                                                             \
			 .acquire_time = "",                                                       \
			 .renew_time = "" })

/* ERR_INPUT with the path: a wrong type, or a number outside of its range. */
int lease_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct lease *ret_lease, struct err *err);
/* The whole object; resource_version and times that are "" are left out, an empty holder is "". The
 * same holder and a changed time or count are a change of the record. -1: the buf's ceiling. */
int lease_write(const struct lease *lease, struct buf *buf);

/* Equal records: holder, times, duration and count (labels are ignored). */
bool lease_same(const struct lease *one, const struct lease *other);

#endif
