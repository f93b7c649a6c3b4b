/* Access to one cluster's GCS: finds the head Pod, its address and its credentials
 * (ctl/pass/credentials.h), and keeps one GCS client that follows them. Owned by one struct cluster. Must not read demand or
 * decide. */
#ifndef CTL_PASS_RAY_ACCESS_H
#define CTL_PASS_RAY_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model/kubernetes.h"
#include "ctl/shared/control.h"

struct ray_access;

/* key: "namespace/name". Both texts are borrowed. */
struct ray_access *ray_access_new(const struct control *control, const char *namespace_,
				  const char *key);
void ray_access_free(struct ray_access *access); /* NULL is fine */

/* The client for the present head, or NULL with *ret_problem (why and what to do; valid until the
 * next call). A head gets a token only while it runs and status.head names it, and a Pod that has
 * ended is not connected to: its address may be another Pod's. Cheap when nothing changed. Starts to read the Secrets that the head wants; there is
 * no client until they arrive. */
struct gcs_client *ray_access_client(struct ray_access *access, const struct ray_cluster *cluster,
				     const struct pod *const *pods, size_t pod_count,
				     const char **ret_problem);

/* The client of the last ray_access_client; NULL before the first. */
struct gcs_client *ray_access_present(const struct ray_access *access);

/* Ray refused the credentials, or its certificate was refused: credentials_refused. */
void ray_access_refused(struct ray_access *access);

/* Ray before 2.47, or autoscalerOptions.version v1: the SDK writes its requests to the key-value
 * store. An unknown version is taken for a new one. */
bool ray_access_requests_in_kv(const struct ray_cluster *object);

#endif
