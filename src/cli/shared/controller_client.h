/* Controller client: reaches the running controller through the API server's proxy to its Service
 * (port `metrics`, TLS first), which needs no right on Pods, or directly with --controller-url. Behind
 * a Service any replica may answer, so a request is repeated until the leader does. Where the Service
 * cannot be used the client finds the Pod that holds the Lease (Lease -> Pod -> pods/proxy). The Lease
 * may be missing where one replica runs without leader election: then the first running Pod with the
 * label app.kubernetes.io/name=rayscaler is used. The Pod's port is its container port `metrics`, else
 * 8080. A controller that is not found is not an error: commands then report what is unknown.
 *
 * With TLS the controller asks for a bearer token. The client requests one of the ServiceAccount
 * SERVICE-status-reader, which may read the pages and nothing else, so that the token of a powerful
 * user stays here; a user who may not request it sends the own token of the kubeconfig. */
#ifndef CLI_SHARED_CONTROLLER_CLIENT_H
#define CLI_SHARED_CONTROLLER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "cli/shared/api_connection.h"
#include "codec/schema/field.h"

#define REMOTE_NAMESPACE "rayscaler-system"
#define REMOTE_SERVICE "rayscaler" /* the chart's, in a release of this name */
#define REMOTE_TRIES 16            /* of one request, until the leader answers */

/* A GPU quota with the GPUs that the controller counts under it; 1/10000 GPU. */
struct controller_client_ceiling {
	const char *namespace_; /* "": of all */
	int64_t amount, counted;
};

extern const struct field controller_client_ceiling_fields[];

struct controller {
	bool found;
	const char *where;   /* "Pod rayscaler-system/rayscaler-0", or the URL */
	const char *version; /* "" unless found */
	const char *problem; /* why not found, with the fix; "" when found */
	const char *base;    /* path or URL; NULL unless an address is known */
	bool straight;       /* base is a URL */
	bool shared;         /* base is a Service, behind which any replica may answer */
	const char *token;   /* for it; NULL: none */
	/* Not found: neither a holder of the Lease nor a Pod exists there. */
	bool absent;
	/* The last renewal of the Lease, if it is long expired; TIME_NONE: it is not, or unknown. */
	time_ms last_led;
	const struct controller_client_ceiling *ceilings;
	size_t ceiling_count;
};

/* Finds it and requests its /status. Everything lives in the arena. An error only when
 * --controller-url is given and no controller answers there. */
int controller_client_open(struct connection *connection, struct arena *arena,
			   struct controller *ret_controller_client, struct err *err);

/* One Pod's port through the API server's proxy, without TLS; sends no request yet. */
void controller_client_pod(const char *namespace_, const char *pod, int32_t port,
			   struct arena *arena, struct controller *ret_controller_client);

/* Sets path or url of a fetch to BASE/KIND/NAMESPACE/NAME; kind: "status" or "snapshot". */
void controller_client_address(const struct controller *controller, struct arena *arena,
			       const char *kind, const char *namespace_, const char *name,
			       struct fetch *ret_fetch);

/* The URL for the value of --controller-url: without a scheme it is http:// for a loopback address
 * and https:// for any other. ERR_INPUT for a value that is not a URL, or holds credentials. */
int controller_client_url(const char *given, struct arena *arena, const char **ret_url,
			  struct err *err);

#endif
