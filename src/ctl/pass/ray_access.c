#include "ctl/pass/ray_access.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/model/identity.h"
#include "ctl/pass/credentials.h"
#include "ctl/shared/leader.h"
#include "gcs/gcs_address.h"
#include "gcs/gcs_client.h"

struct ray_access {
	const struct control *control;
	const char *key;
	struct gcs_client *client;
	struct credentials *credentials;
	struct err *problem; /* NULL: none so far; allocated on the first problem to save memory */
};

struct ray_access *ray_access_new(const struct control *control, const char *namespace_,
				  const char *key)
{
	struct ray_access *access = memory_alloc(sizeof(*access));

	access->control = control;
	access->key = key;
	access->credentials = credentials_new(control, namespace_, key);
	return access;
}

void ray_access_free(struct ray_access *access)
{
	if (!access)
		return;
	gcs_client_free(access->client);
	credentials_free(access->credentials);
	memory_free(access->problem);
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
		*ret_problem = problem_of(access)->text;
	}
	return head;
}

/* -1 with a problem text. *ret_head: NULL when it is not known. */
static int find_address(struct ray_access *access, const struct ray_cluster *cluster,
			const struct pod *const *pods, size_t count, const struct pod **ret_head,
			struct gcs_address *ret_address, const char **ret_problem)
{
	struct err err;

	*ret_head = find_head(access, cluster, pods, count, ret_problem);
	if (access->control->gcs_address) {
		*ret_address = *access->control->gcs_address;
		return 0;
	}
	if (!*ret_head)
		return -1;
	if (gcs_address_of_pod(*ret_head, ret_address, &err) == 0)
		return 0;
	*problem_of(access) = err;
	*ret_problem = access->problem->text;
	return -1;
}

/* Why no token may be sent to this head; NULL: it may. A Pod that has ended keeps its last address in
 * its status, and the address may be another tenant's by now. */
static const char *untrusted(struct ray_access *access, const struct ray_cluster *cluster,
			     const struct pod *head)
{
	const struct container_status *ray = pod_ray_container_status(head);

	if (cluster->head_pod_name[0] == '\0' && cluster->head_pod_ip[0] == '\0')
		return "status.head of the RayCluster names no head Pod, so Ray's token is sent to "
		       "none; KubeRay's operator sets it";
	if (strcmp(head->phase, "Running") == 0 && ray && ray->state == CONTAINER_RUNNING)
		return NULL;
	err_set(problem_of(access), ERR_RETRY,
		"the head Pod %s is not running (phase %s), so Ray's token is not sent to its "
		"address",
		head->name, head->phase[0] ? head->phase : "unknown");
	return problem_of(access)->text;
}

static const char *may_write(void *context)
{
	const struct ray_access *access = context;

	return leader_is_leading(access->control->leader) ? NULL : "this replica does not lead";
}

/* Each step may fail with a problem text: the head Pod, its address, the credentials, whether it may
 * have them; an address that the user gave is trusted. The client is
 * created once and reconfigured in every call; gcs_client_configure keeps the connection when nothing
 * differs. */
struct gcs_client *ray_access_client(struct ray_access *access, const struct ray_cluster *cluster,
				     const struct pod *const *pods, size_t pod_count,
				     const char **ret_problem)
{
	struct gcs_address address;
	struct gcs_config config;
	struct credentials_view view;
	const struct pod *head;
	const char *problem;

	if (find_address(access, cluster, pods, pod_count, &head, &address, ret_problem) < 0 ||
	    credentials_get(access->credentials, cluster, head, &view, ret_problem) < 0)
		return NULL;
	if (view.auth->token && !access->control->gcs_address) {
		problem = untrusted(access, cluster, head);
		if (problem) {
			*ret_problem = problem;
			return NULL;
		}
	}
	config = (struct gcs_config){ .cluster = access->key,
				      .host = address.host,
				      .port = address.port,
				      .token = view.auth->token,
				      .token_source = view.token_source,
				      .tls = view.auth->tls,
				      .tls_source = view.tls_source };
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
	credentials_refused(access->credentials);
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
