/* Address of the API server and credentials: in-cluster files or a kubeconfig. The caller owns
 * struct kube_config; results of its getters belong to it. Reads small local files (1 MiB at most
 * each), so it may block for the disk only, but for kube_config_load, which also waits for an exec
 * plugin. Sends no requests (kube_client does).
 *
 * Used from a kubeconfig: clusters[].cluster.{server, certificate-authority[-data],
 * insecure-skip-tls-verify, tls-server-name}, users[].user.{token, tokenFile,
 * client-certificate[-data], client-key[-data], exec}, contexts[].context.{cluster, user,
 * namespace}. Refused, with the entry and the fix in the text: auth-provider plugins, username and
 * password, impersonation (as), proxy-url, and $KUBECONFIG with more than one file. Relative file
 * names are relative to the kubeconfig. As with kubectl, *-data overrides the file, tokenFile
 * overrides token.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
#ifndef KUBE_KUBE_CONFIG_H
#define KUBE_KUBE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "net/https.h"
#include "net/loop.h"

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_config;

struct kube_config_options {
	const char *kubeconfig; /* NULL or "": in-cluster, else $KUBECONFIG, else ~/.kube/config */
	const char *context;    /* NULL or "": current-context; only with a kubeconfig */
	/* Holds the files token, ca.crt, namespace. NULL: KUBE_SERVICE_ACCOUNT_DIR. */
	const char *service_account_dir;
	int64_t exec_deadline_ms; /* of an exec plugin; 0: KUBE_EXEC_DEADLINE_MS, 60 s */
	int64_t exec_pause_ms;    /* before it is run again; 0: KUBE_EXEC_PAUSE_MS, 5 s */
};

/* In-cluster means: KUBERNETES_SERVICE_HOST is set and the token file exists; the port is
 * KUBERNETES_SERVICE_PORT_HTTPS, KUBERNETES_SERVICE_PORT or 443. ERR_FATAL names file, entry and
 * fix. */
struct kube_config *kube_config_load(const struct kube_config_options *options, struct err *err);
void kube_config_free(struct kube_config *config); /* NULL is fine */

const char *kube_config_server(const struct kube_config *config); /* no "/" at the end */
/* Of the context or the ServiceAccount; "default" when neither sets one. */
const char *kube_config_namespace(const struct kube_config *config);
/* "in-cluster" or "kubeconfig FILE, context NAME": for logs and errors. */
const char *kube_config_source(const struct kube_config *config);
bool kube_config_plain(const struct kube_config *config); /* http:// */

struct kube_credentials {
	const char *token; /* NULL: none */
	struct https_tls tls;
	uint64_t version; /* changes with each change of the credentials */
};

/* The credentials for the next request; valid until the next call. Checks size and time of the
 * token, CA and certificate files at most once a second of now_ms (monotonic) and reads changed
 * ones. While a file cannot be read the last good content is used (a rotation replaces files in
 * several steps), and the error of the first request that is refused for it says so. */
const struct kube_credentials *kube_config_credentials(struct kube_config *config, int64_t now_ms);

/* The server answered 401: the next kube_config_credentials reads all files, changed or not, and
 * the next kube_config_renew runs the exec plugin. */
void kube_config_refused(struct kube_config *config);
/* Why a file could not be read or the exec plugin failed, "" without a problem. */
const char *kube_config_problem(const struct kube_config *config);

/* A user of the credentials that can wait for new ones. Owned by the caller; the members without
 * `item` are set before kube_config_join and unchanged until kube_config_leave. */
struct kube_config_user {
	struct loop *loop;      /* the same of all users of one kube_config */
	loop_callback *renewed; /* the exec plugin has ended, with or without success */
	void *context;
	struct list_item item;
};
void kube_config_join(struct kube_config *config, struct kube_config_user *user);
/* An exec plugin that runs is killed when the last user leaves. */
void kube_config_leave(struct kube_config *config, struct kube_config_user *user);

/* Called before each request. True: the exec plugin runs, and `renewed` of all users will be
 * called; then the request should be sent with the present credentials. It is started when its
 * credentials have expired or were refused, but not within 5 s of the last time, and runs beside
 * the loop. When it fails the last good credentials are used and kube_config_problem says why. */
bool kube_config_renew(struct kube_config *config, const struct kube_config_user *user);

#endif
