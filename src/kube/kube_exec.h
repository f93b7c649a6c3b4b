/* Credentials of an exec plugin: a program that a kubeconfig names (EKS, GKE and AKS use them) and
 * that prints credentials. Runs it as kubectl does, first while the configuration is loaded, then
 * beside the loop. The caller owns struct kube_exec. Used by kube_config only, whose header says
 * when the plugin runs.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
#ifndef KUBE_KUBE_EXEC_H
#define KUBE_KUBE_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/objects/exec_credential_json.h"
#include "kube/kubeconfig.h"
#include "net/loop.h"

/* A plugin may prompt its user, or wait for a slow login. */
#define KUBE_EXEC_DEADLINE_MS 60000
/* A plugin that fails is not run for every request. */
#define KUBE_EXEC_PAUSE_MS 5000

struct kube_exec;

/* The arguments are borrowed; `path` is the kubeconfig, for errors. deadline_ms 0:
 * KUBE_EXEC_DEADLINE_MS. */
struct kube_exec *kube_exec_new(const struct kubeconfig_exec *plugin, const char *path,
				int64_t deadline_ms);
/* Kills a plugin that runs. NULL is fine. */
void kube_exec_free(struct kube_exec *exec);

/* Exactly one of the two is NULL; both are valid until it returns. */
typedef void kube_exec_done(void *context, const struct exec_credential *credential,
			    const struct err *err);

/* Blocks until the plugin has ended. `cluster` is passed to it when the kubeconfig says so. `done`
 * is always called. ERR_FATAL with kubeconfig, user, command and fix. */
void kube_exec_run(struct kube_exec *exec, const struct exec_cluster *cluster, kube_exec_done *done,
		   void *context);
/* Starts the plugin; `done` is called from the loop. -1 with such an error: it was not started. */
int kube_exec_start(struct kube_exec *exec, struct loop *loop, const struct exec_cluster *cluster,
		    kube_exec_done *done, void *context, struct err *err);
bool kube_exec_runs(const struct kube_exec *exec);
void kube_exec_cancel(struct kube_exec *exec); /* kills it, no callback any more */

#endif
