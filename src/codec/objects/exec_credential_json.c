#include "codec/objects/exec_credential_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/base64.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"

#define KIND "ExecCredential"

static const struct json_limits limits = {
	.bytes = EXEC_CREDENTIAL_MAX_BYTES,
	.depth = 32,
	.elements = 1000,
};

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (text[0])
		json_write_text(writer, name, text);
}

static void write_cluster(struct json_writer *writer, const struct exec_cluster *cluster)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	json_write_object(writer, "cluster");
	json_write_text(writer, "server", cluster->server);
	write_text(writer, "tls-server-name", cluster->server_name);
	if (cluster->insecure)
		json_write_boolean(writer, "insecure-skip-tls-verify", true);
	write_text(writer, "certificate-authority-data",
		   base64_encode(cluster->ca_pem, strlen(cluster->ca_pem), &arena));
	if (cluster->config[0])
		json_write_raw(writer, "config", cluster->config);
	json_write_object_end(writer);
}

int exec_credential_request_write(const char *api_version, bool interactive,
				  const struct exec_cluster *cluster, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", api_version }, { "kind", KIND });
	json_write_object(&writer, "spec");
	json_write_boolean(&writer, "interactive", interactive);
	if (cluster)
		write_cluster(&writer, cluster);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return buf->overflowed ? -1 : 0;
}

static int check_type(const struct json_at *root, const char *api_version)
{
	struct json_at kind_at = json_member(root, "kind");
	struct json_at version_at = json_member(root, "apiVersion");
	const char *kind, *version;

	if (json_text(root, "kind", &kind) || json_text(root, "apiVersion", &version))
		return -1;
	if (strcmp(kind, KIND) != 0)
		return json_fail(&kind_at, "must be " KIND);
	if (strcmp(version, api_version) != 0)
		return json_fail(&version_at, "must be %s, as in the kubeconfig", api_version);
	return 0;
}

/* The token becomes a part of an HTTP header. */
static bool is_token(const char *token)
{
	for (; *token; token++) {
		if (*token <= ' ' || *token == 0x7f)
			return false;
	}
	return true;
}

static int pem_decode(const struct json_at *status, const char *name, const char **ret_pem)
{
	struct json_at at = json_member(status, name);

	if (json_text(status, name, ret_pem))
		return -1;
	if (**ret_pem && !strstr(*ret_pem, "-----BEGIN "))
		return json_fail(&at, "is not PEM text (-----BEGIN ...)");
	return 0;
}

static int expires_decode(const struct json_at *status, time_ms *ret_expires)
{
	struct json_at at = json_member(status, "expirationTimestamp");
	const char *text, *problem;

	if (json_text(status, "expirationTimestamp", &text))
		return -1;
	if (*text && rfc3339_parse(text, ret_expires, &problem) < 0)
		return json_fail(&at, "is not a time: %s", problem);
	return 0;
}

static int status_decode(const struct json_at *root, struct exec_credential *credential)
{
	struct json_at status, token_at;

	if (json_object(root, "status", &status))
		return -1;
	token_at = json_member(&status, "token");
	if (json_text(&status, "token", &credential->token) ||
	    pem_decode(&status, "clientCertificateData", &credential->certificate_pem) ||
	    pem_decode(&status, "clientKeyData", &credential->key_pem) ||
	    expires_decode(&status, &credential->expires))
		return -1;
	if (!is_token(credential->token))
		return json_fail(&token_at, "has white space or characters that are not ASCII");
	if (!*credential->certificate_pem != !*credential->key_pem)
		return json_fail(&status,
				 "has only one of clientCertificateData and clientKeyData");
	if (!*credential->token && !*credential->certificate_pem)
		return json_fail(&status, "has neither token nor clientCertificateData");
	return 0;
}

int exec_credential_decode(const char *text, size_t size, const char *api_version,
			   struct arena *arena, struct exec_credential *ret_credential,
			   struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	AUTO(json_done) struct cJSON *json = NULL;
	struct exec_credential credential = { .expires = TIME_NONE };
	struct json_at root;

	if (json_parse(text, size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) || check_type(&root, api_version) ||
	    status_decode(&root, &credential))
		return -1;
	*ret_credential = credential;
	return 0;
}
