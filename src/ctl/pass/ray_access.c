#include "ctl/pass/ray_access.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "codec/objects/secret_json.h"
#include "codec/text/json.h"
#include "core/model/identity.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_address.h"
#include "gcs/gcs_auth.h"
#include "gcs/gcs_client.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define SECRET_MAX_BYTES ((size_t)2 << 20)
#define SECRET_RETRY_MS 5000
#define ENVIRONMENT_REREAD_MS 10000 /* projected tokens and certificates rotate */

struct ray_access {
	const struct control *control;
	char *namespace_, *name, *key;
	struct gcs_client *client;
	struct gcs_auth auth;
	char *secret_name; /* the Secret of auth.token; NULL: none read */
	struct kube_call *secret_read;
	int64_t next_read_ms; /* monotonic */
	struct err *problem;  /* NULL: none so far; allocated on the first problem to save memory */
};

struct ray_access *ray_access_new(const struct control *control, const char *namespace_,
				  const char *name)
{
	struct ray_access *access = memory_alloc(sizeof(*access));
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	access->control = control;
	access->namespace_ = memory_strdup(namespace_);
	access->name = memory_strdup(name);
	access->key = memory_strdup(arena_printf(&scratch, "%s/%s", namespace_, name));
	access->auth = GCS_AUTH_INIT;
	access->next_read_ms = INT64_MIN;
	return access;
}

void ray_access_free(struct ray_access *access)
{
	if (!access)
		return;
	kube_client_cancel(access->secret_read);
	gcs_client_free(access->client);
	gcs_auth_done(&access->auth);
	memory_free(access->problem);
	memory_free(access->secret_name);
	memory_free(access->namespace_);
	memory_free(access->name);
	memory_free(access->key);
	memory_free(access);
}

static struct err *problem_of(struct ray_access *access)
{
	if (!access->problem)
		access->problem = memory_alloc(sizeof(*access->problem));
	return access->problem;
}

/* With two candidates of which the status names one, that one is read: its demand counts, and the
 * decision terminates nothing. */
static const struct pod *find_head(struct ray_access *access, const struct ray_cluster *cluster,
				   const struct pod *const *pods, size_t count,
				   const char **ret_problem)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct identity_heads heads = { .named = NULL };
	const struct pod *head;
	const char *problem;

	for (size_t i = 0; i < count; i++)
		identity_heads_add(&heads, cluster, pods[i]);
	head = identity_head_of(&heads, cluster, &scratch, &problem);
	*ret_problem = "the head Pod does not exist";
	if (!head && problem) {
		err_set(problem_of(access), ERR_RETRY, "%s", problem);
		access->next_read_ms = INT64_MIN;
		*ret_problem = problem_of(access)->text;
	}
	return head;
}

/* -1 with a problem text. */
static int find_address(struct ray_access *access, const struct ray_cluster *cluster,
			const struct pod *const *pods, size_t count,
			struct gcs_address *ret_address, const char **ret_problem)
{
	const struct pod *head;
	struct err err;

	if (access->control->gcs_address) {
		*ret_address = *access->control->gcs_address;
		return 0;
	}
	head = find_head(access, cluster, pods, count, ret_problem);
	if (!head)
		return -1;
	if (gcs_address_of_pod(head, ret_address, &err) == 0)
		return 0;
	*problem_of(access) = err;
	access->next_read_ms = INT64_MIN;
	*ret_problem = problem_of(access)->text;
	return -1;
}

static int decode_token(struct ray_access *access, const struct kube_answer *answer,
			char **ret_token, struct err *err)
{
	static const struct json_limits limits = {
		.bytes = SECRET_MAX_BYTES, .depth = 50, .elements = 100000, .foreign = true
	};
	AUTO(json_done) struct cJSON *json = NULL;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *bytes;
	size_t size;

	if (json_parse(answer->body, answer->body_size, &limits, &json, err) < 0 ||
	    secret_decode(json, "", GCS_AUTH_SECRET_KEY, &scratch, &bytes, &size, err) < 0 ||
	    gcs_auth_parse_token(GCS_AUTH_SECRET_KEY, bytes, size, ret_token, err) < 0)
		return err_prefix(err, "Secret %s/%s", access->namespace_, access->secret_name);
	return 0;
}

static void secret_read(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct ray_access *access = context;
	char *token;

	access->secret_read = NULL;
	if (err) {
		*problem_of(access) = *err;
		if (answer->retry_after_ms > SECRET_RETRY_MS)
			access->next_read_ms =
				loop_monotonic_ms(access->control->loop) + answer->retry_after_ms;
		return;
	}
	if (decode_token(access, answer, &token, problem_of(access)) < 0)
		return;
	memory_free(access->auth.token);
	access->auth.token = token;
	problem_of(access)->kind = ERR_NONE;
}

static void read_secret(struct ray_access *access, const char *secret_name, int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (access->secret_read || now_ms < access->next_read_ms)
		return;
	if (!access->secret_name || strcmp(access->secret_name, secret_name) != 0) {
		memory_set_string(&access->secret_name, secret_name);
		memory_free(steal(&access->auth.token));
	}
	access->next_read_ms = now_ms + SECRET_RETRY_MS;
	err_set(problem_of(access), ERR_RETRY, "Secret %s/%s with Ray's token is being read",
		access->namespace_, secret_name);
	access->secret_read = kube_client_request(
		access->control->kube,
		&(struct kube_request){ .verb = KUBE_GET,
					.path = kube_path(&scratch, "v1", access->namespace_,
							  "secrets", secret_name, NULL),
					.flow = access->key },
		secret_read, access);
}

/* Configurations that a controller cannot use, whatever the head is. */
static int refuse(struct ray_access *access, const struct ray_cluster *cluster)
{
	if (cluster->auth_kubernetes_tokens)
		return err_set(
			problem_of(access), ERR_INPUT,
			"spec.authOptions.enableK8sTokenAuth is not supported by a controller; "
			"use spec.authOptions.secretName, or run rayscaler as the sidecar");
	if (cluster->tls_enabled)
		return err_set(
			problem_of(access), ERR_INPUT,
			"spec.tlsOptions is not supported by a controller; run rayscaler as the "
			"sidecar, which has the certificates of the head Pod");
	return 0;
}

/* Controller mode: the RayCluster names the Secret of the token. */
static int authorize_from_cluster(struct ray_access *access, const struct ray_cluster *cluster,
				  int64_t now_ms)
{
	const char *secret_name = cluster->auth_secret_name;

	if (strcmp(cluster->auth_mode, "token") != 0) {
		memory_free(steal(&access->auth.token));
		return 0;
	}
	if (secret_name[0] == '\0')
		secret_name = cluster->name;
	if (access->auth.token && !strcmp(access->secret_name, secret_name))
		return 0;
	read_secret(access, secret_name, now_ms);
	return access->auth.token ? 0 : -1;
}

/* Sidecar mode: KubeRay gives the container the same environment as the head's own processes. */
static int authorize_from_environment(struct ray_access *access, int64_t now_ms)
{
	if (now_ms < access->next_read_ms)
		return problem_of(access)->kind ? -1 : 0;
	access->next_read_ms = now_ms + ENVIRONMENT_REREAD_MS;
	problem_of(access)->kind = ERR_NONE;
	return gcs_auth_from_environment(&access->auth, problem_of(access));
}

static const char *may_write(void *context)
{
	const struct ray_access *access = context;

	return leader_is_leading(access->control->leader) ? NULL : "this replica does not lead";
}

/* Each step may fail with a problem text: the configuration, the head Pod, its address, the
 * token and TLS material. The client is created once and reconfigured in every call;
 * gcs_client_configure keeps the connection when nothing differs. */
struct gcs_client *ray_access_client(struct ray_access *access, const struct ray_cluster *cluster,
				     const struct pod *const *pods, size_t pod_count,
				     const char **ret_problem)
{
	int64_t now_ms = loop_monotonic_ms(access->control->loop);
	struct gcs_address address;
	struct gcs_config config;
	int status;

	if (!options_sidecar(access->control->options) && refuse(access, cluster) < 0) {
		*ret_problem = problem_of(access)->text;
		return NULL;
	}
	if (find_address(access, cluster, pods, pod_count, &address, ret_problem) < 0)
		return NULL;
	status = options_sidecar(access->control->options) ?
			 authorize_from_environment(access, now_ms) :
			 authorize_from_cluster(access, cluster, now_ms);
	if (status < 0) {
		*ret_problem = problem_of(access)->text;
		return NULL;
	}
	config = (struct gcs_config){ .cluster = access->key,
				      .host = address.host,
				      .port = address.port,
				      .token = access->auth.token,
				      .tls = access->auth.tls };
	config.may_write = may_write;
	config.may_write_context = access;
	if (!access->client)
		access->client = gcs_client_new(access->control->loop, &config);
	else
		gcs_client_configure(access->client, &config);
	return access->client;
}

struct gcs_client *ray_access_present(const struct ray_access *access)
{
	return access->client;
}

void ray_access_refused(struct ray_access *access)
{
	if (options_sidecar(access->control->options))
		access->next_read_ms = INT64_MIN;
	else if (access->secret_name)
		read_secret(access, access->secret_name, loop_monotonic_ms(access->control->loop));
}

bool ray_access_requests_in_kv(const struct ray_cluster *object)
{
	char *end;
	long major, minor;

	if (!strcmp(object->autoscaler_version, "v1"))
		return true;
	if (object->autoscaler_version[0] || object->ray_version[0] == '\0')
		return false;
	major = strtol(object->ray_version, &end, 10);
	if (end == object->ray_version || *end != '.')
		return false;
	minor = strtol(end + 1, NULL, 10);
	return major < 2 || (major == 2 && minor < 47);
}
