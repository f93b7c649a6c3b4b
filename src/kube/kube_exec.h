/* Credentials of an exec plugin: a program that a kubeconfig names (EKS, GKE and AKS do) and that
 * prints them. Runs it as kubectl does, first while the configuration is loaded, then beside the
 * loop. The caller owns struct kube_exec. Must not be used by others than kube_config, whose header
 * says when the plugin is asked.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
#ifndef KUBE_KUBE_EXEC_H
#define KUBE_KUBE_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/objects/exec_credential_json.h"
#include "kube/kubeconfig.h"
#include "net/loop.h"

/* A plugin may ask its user, or a login that is slow. */
#define KUBE_EXEC_DEADLINE_MS 60000
/* One that gives nothing good is not run for every request. */
#define KUBE_EXEC_PAUSE_MS 5000

struct kube_exec;

/* What is given is copied; `path` is the kubeconfig, for errors. deadline_ms 0:
 * KUBE_EXEC_DEADLINE_MS. */
struct kube_exec *kube_exec_new(const struct kubeconfig_exec *from, const char *path,
				int64_t deadline_ms);
/* Kills a plugin that runs. NULL is fine. */
void kube_exec_free(struct kube_exec *exec);

/* Exactly one of the two is NULL; both die when it returns. */
typedef void kube_exec_done(void *context, const struct exec_credential *credential,
			    const struct err *err);

/* Blocks until the plugin has ended. `cluster` is told to it when the kubeconfig says so.
 * `done` is always called. ERR_FATAL with kubeconfig, user, command and cure. */
void kube_exec_run(struct kube_exec *exec, const struct exec_cluster *cluster, kube_exec_done *done,
		   void *context);
/* Starts the plugin; `done` is called from the loop. -1 with such an error: it was not started. */
int kube_exec_start(struct kube_exec *exec, struct loop *loop, const struct exec_cluster *cluster,
		    kube_exec_done *done, void *context, struct err *err);
bool kube_exec_runs(const struct kube_exec *exec);
void kube_exec_cancel(struct kube_exec *exec); /* kills it, no callback any more */

#endif
