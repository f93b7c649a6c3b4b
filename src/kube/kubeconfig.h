/* One context out of a kubeconfig file, as plain data. Results live in the arena. Used by
 * kube_config only, whose header lists the supported and refused members. */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"

/* A PEM: the text of the *-data member, or else a file name ("" for none; relative ones are
 * resolved). */
struct kubeconfig_pem {
	const char *text, *file;
};

struct kubeconfig_variable {
	const char *name, *value;
};

/* users[].user.exec; "" is not given. */
struct kubeconfig_exec {
	const char *user;
	const char *api_version; /* client.authentication.k8s.io/v1 or v1beta1; NULL: no plugin */
	const char *command;     /* one with a slash is resolved */
	struct strings arguments;
	VEC(struct kubeconfig_variable) environment;
	/* "Never", "IfAvailable" or "Always" */
	const char *interactive_mode, *install_hint;
	bool provide_cluster_info;
	const char *cluster_config; /* JSON text; of the cluster */
};

struct kubeconfig {
	const char *context, *namespace_;
	const char *server, *server_name;
	bool insecure;
	const char *token, *token_file;
	struct kubeconfig_pem ca, certificate, key;
	struct kubeconfig_exec exec;
};

/* `context` NULL or "": current-context. ERR_INPUT or ERR_FATAL with file, entry and fix. */
int kubeconfig_read(const char *path, const char *context, struct arena *arena,
		    struct kubeconfig *ret_config, struct err *err);

#endif
