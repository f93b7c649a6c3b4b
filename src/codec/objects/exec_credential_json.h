/* ExecCredential (client.authentication.k8s.io/v1, v1beta1): the input of a credential plugin in
 * KUBERNETES_EXEC_INFO, and its output. Decoded values live in the arena. No error repeats a value
 * of the answer: it may be a credential.
 * https://kubernetes.io/docs/reference/config-api/client-authentication.v1/ */
#ifndef CODEC_OBJECTS_EXEC_CREDENTIAL_JSON_H
#define CODEC_OBJECTS_EXEC_CREDENTIAL_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

#define EXEC_CREDENTIAL_MAX_BYTES ((size_t)64 << 10)

/* The cluster that the credentials are for; members "" are left out. */
struct exec_cluster {
	const char *server, *server_name;
	const char *ca_pem;
	const char *
		config; /* JSON text of the cluster's extension client.authentication.k8s.io/exec */
	bool insecure;
};

/* `cluster` NULL: not passed to the plugin. On one line. -1: the buf's ceiling. */
int exec_credential_request_write(const char *api_version, bool interactive,
				  const struct exec_cluster *cluster, struct buf *buf);

/* Members that are missing are "". */
struct exec_credential {
	const char *token;                     /* without white space and control characters */
	const char *certificate_pem, *key_pem; /* both or none */
	time_ms expires;                       /* TIME_NONE: not given */
};

/* ERR_INPUT or ERR_LIMIT with the path: not JSON of at most 64 KiB, another kind, another version
 * than `api_version`, neither token nor certificate, a certificate without key, an invalid time. */
int exec_credential_decode(const char *text, size_t size, const char *api_version,
			   struct arena *arena, struct exec_credential *ret_credential,
			   struct err *err);

#endif
