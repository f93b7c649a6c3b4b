/* The credentials for one cluster's Ray, and where they are read. Owned by ctl/pass/ray_access. Must
 * not judge whether Ray is reached, nor give anything of one namespace to a head of another.
 *
 * A sidecar reads what its own environment names (gcs/gcs_auth.h). A controller follows the head
 * (docs/internals/ray.md):
 *  - the token: of the Secret that the head's RAY_AUTH_TOKEN or token file comes from, else of the one
 *    that spec.authOptions names; with Kubernetes-delegated tokens a short-lived token of the
 *    ServiceAccount CREDENTIALS_ACCOUNT in the cluster's namespace, never one of our own;
 *  - TLS, where the head's RAY_USE_TLS is on: the Secret that cert-manager makes for the workers of a
 *    cluster with spec.tlsOptions, else the Secrets that the head's RAY_TLS files come from.
 * They are read once, and again after Ray or its certificate was refused (at most every 5 s) and
 * before a delegated token ends. Credentials that were read stay in use while a new read fails. */
#ifndef CTL_PASS_CREDENTIALS_H
#define CTL_PASS_CREDENTIALS_H

#include "core/model/kubernetes.h"
#include "ctl/shared/control.h"
#include "gcs/gcs_auth.h"

#define CREDENTIALS_ACCOUNT "rayscaler-gcs"

struct credentials;

/* key: "namespace/name". Both texts are borrowed. */
struct credentials *credentials_new(const struct control *control, const char *namespace_,
				    const char *key);
void credentials_free(struct credentials *credentials); /* NULL is fine */

/* The credentials to send, valid until the next call. */
struct credentials_view {
	const struct gcs_auth *auth;
	/* For the message when Ray refuses it: what was tried, and the cure; "": nothing is known. */
	const char *token_source, *tls_source;
};

/* `head` NULL: not known. 0, or -1 with *ret_problem (until the next call) while something is missing. */
int credentials_get(struct credentials *credentials, const struct ray_cluster *cluster,
		    const struct pod *head, struct credentials_view *ret_view,
		    const char **ret_problem);

/* Ray refused them, or they refused Ray: they are read again. */
void credentials_refused(struct credentials *credentials);

#endif
