/* The GCS address of a head Pod. Pure. The caller owns the Pod; the address points into it. Must
 * not be used for Services: only the Pod IP is an address of the head itself. */
#ifndef GCS_GCS_ADDRESS_H
#define GCS_GCS_ADDRESS_H

#include "base/err.h"
#include "core/model/kubernetes.h"

#define GCS_DEFAULT_PORT 6379

struct gcs_address {
	const char *host; /* the Pod IP; valid as long as the Pod */
	int port;
};

/* The Pod IP, and the port of the Ray container (index 0) named gcs-server, else the one named
 * gcs, else GCS_DEFAULT_PORT (KubeRay: constant.go, DefaultGcsServerPortName).
 * ERR_RETRY: the Pod has no IP yet, or it has ended and its address may be another Pod's. ERR_INPUT: the port is out of range. */
int gcs_address_of_pod(const struct pod *head, struct gcs_address *ret_address, struct err *err);

#endif
