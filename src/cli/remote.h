/* The running controller as a command reaches it: through the API server's proxy to the Pod that
 * holds the Lease (Lease -> Pod -> pods/proxy), or straight with --controller-url.
 * The Lease may be missing where one replica runs without leader election: then the first running
 * Pod with the label app.kubernetes.io/name=rayscaler is taken. The Pod's port is its container
 * port `metrics`, else 8080. Not finding it is no error: commands then say what they cannot know. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/session.h"

#define REMOTE_NAMESPACE "rayscaler-system"

/* A ceiling over several clusters, as the controller counts under it; 1/10000 GPU. */
struct remote_ceiling {
	const char *namespace_; /* "": of all */
	int64_t amount, counted;
};

struct remote {
	bool found;
	const char *where;   /* "Pod rayscaler-system/rayscaler-0", or the URL */
	const char *version; /* "" unless found */
	const char *problem; /* why not found, with what can be done; "" when found */
	const char *base;    /* path or URL; NULL unless an address is known */
	bool straight;       /* base is a URL */
	const struct remote_ceiling *ceilings;
	size_t ceiling_count;
};

/* Asks for its /status. Everything lives in the arena. */
void remote_find(struct session *session, struct arena *arena, struct remote *ret_remote);

/* One Pod's port by way of the API server's proxy; it is not asked yet. */
void remote_pod(const char *namespace_, const char *pod, int32_t port, struct arena *arena,
		struct remote *ret_remote);

/* Sets path or url of a fetch to BASE/KIND/NAMESPACE/NAME; kind: "status" or "snapshot". */
void remote_address(const struct remote *remote, struct arena *arena, const char *kind,
		    const char *namespace_, const char *name, struct fetch *ret_fetch);

/* What --controller-url stands for: without a scheme it is http:// to a loopback address and
 * https:// to any other. ERR_INPUT for what is no URL, or holds credentials. */
int remote_url(const char *given, struct arena *arena, const char **ret_url, struct err *err);

#endif
