#include "feature/record/cli/ray_direct.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "cli/shared/api_connection.h"
#include "codec/text/number.h"
#include "ctl/pass/ray_access.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/record/ctl/work_page.h"
#include "feature/record/objects/ray_work_json.h"
#include "gcs/gcs_address.h"
#include "gcs/gcs_client.h"
#include "kube/kube_client.h"
#include "net/loop.h"

#define ACCESS_MS 10000
#define ACCESS_STEP_MS 50
#define CALL_MS 10000
#define ALL_MS (CALL_MS + 5000) /* large replies are decoded afterwards */
#define PORT_MAX 65535
#define HOST_SIZE 64

struct call {
	struct ray_direct *direct;
	struct gcs_call *call; /* NULL: ended */
	struct arena arena;    /* of the reply */
	struct list_answer answer;
};

struct ray_direct {
	struct connection *connection;
	struct options options;
	struct control control;
	struct ray_access *access;
	char *namespace_, *key; /* of the RayCluster of `access` */
	char host[HOST_SIZE];   /* of `address` */
	struct gcs_address address;
	struct call lists[RAY_LISTS], state, requests;
	struct err problem; /* of the state; ERR_NONE: it was read */
	struct ray_state merged;
	size_t waiting;
};

/* ---- the address ---- */

/* Of "head" the host is "". */
static int read_address(const char *address, char host[HOST_SIZE], int *ret_port, struct err *err)
{
	const char *colon = strrchr(address, ':'), *start = address;
	unsigned char bytes[sizeof(struct in6_addr)];
	size_t size = colon ? (size_t)(colon - address) : 0;
	bool brackets = size >= 2 && address[0] == '[' && colon[-1] == ']';
	int64_t port = 0;

	host[0] = '\0';
	if (strcmp(address, RAY_DIRECT_HEAD) == 0)
		return 0;
	if (brackets) {
		start++;
		size -= 2;
	}
	if (size > 0 && size < HOST_SIZE && number_parse_integer(colon + 1, &port) == 0 &&
	    port >= 1 && port <= PORT_MAX) {
		memcpy(host, start, size);
		host[size] = '\0';
		*ret_port = (int)port;
		if (inet_pton(brackets ? AF_INET6 : AF_INET, host, bytes) == 1)
			return 0;
	}
	return err_set(
		err, ERR_INPUT,
		"--gcs: \"%.60s\" must be an IP address with a port, like 127.0.0.1:6379, or "
		"head",
		address);
}

int ray_direct_check(const char *address, struct err *err)
{
	char host[HOST_SIZE];
	int port;

	return read_address(address, host, &port, err);
}

static bool has_rays_variables(void)
{
	static const char *const names[] = { "RAY_AUTH_MODE", "RAY_AUTH_TOKEN",
					     "RAY_AUTH_TOKEN_PATH", "RAY_USE_TLS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			return true;
	return false;
}

struct ray_direct *ray_direct_new(struct connection *connection, const char *address)
{
	struct ray_direct *direct = memory_alloc(sizeof(*direct));
	struct err err;

	CHECK(read_address(address, direct->host, &direct->address.port, &err) == 0);
	direct->address.host = direct->host;
	direct->connection = connection;
	options_init(&direct->options);
	if (has_rays_variables()) /* as a sidecar, which has them */
		direct->options.cluster_name = RAY_DIRECT_HEAD;
	direct->control = (struct control){ .loop = api_connection_loop(connection),
					    .kube = api_connection_client(connection),
					    .options = &direct->options };
	if (direct->host[0] != '\0')
		direct->control.gcs_address = &direct->address;
	return direct;
}

static void end_calls(struct ray_direct *direct)
{
	struct call *calls[RAY_LISTS + 2] = { &direct->state, &direct->requests };

	for (size_t i = 0; i < RAY_LISTS; i++)
		calls[i + 2] = &direct->lists[i];
	for (size_t i = 0; i < RAY_LISTS + 2; i++) {
		if (calls[i]->call)
			gcs_call_cancel(calls[i]->call);
		arena_done(&calls[i]->arena);
		*calls[i] = (struct call){ .direct = direct };
	}
	direct->waiting = 0;
}

void ray_direct_free(struct ray_direct *direct)
{
	if (!direct)
		return;
	end_calls(direct);
	ray_access_free(direct->access);
	options_done(&direct->options);
	memory_free(direct->namespace_);
	memory_free(direct->key);
	memory_free(direct);
}

/* ---- the client ---- */

static void use_cluster(struct ray_direct *direct, const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (direct->access)
		return;
	direct->namespace_ = memory_strdup(cluster->namespace_);
	direct->key =
		memory_strdup(arena_printf(&scratch, "%s/%s", cluster->namespace_, cluster->name));
	direct->access = ray_access_new(&direct->control, direct->namespace_, direct->key);
}

/* Waits for the Secrets. */
static struct gcs_client *open_client(struct ray_direct *direct, const struct snapshot *snapshot,
				      struct err *err)
{
	const char *problem = "";
	struct gcs_client *client;

	use_cluster(direct, &snapshot->cluster);
	for (int64_t waited_ms = 0; waited_ms <= ACCESS_MS; waited_ms += ACCESS_STEP_MS) {
		client = ray_access_client(direct->access, &snapshot->cluster, snapshot->pods,
					   snapshot->pod_count, &problem);
		if (client)
			return client;
		if (kube_client_pending(direct->control.kube) == 0 ||
		    api_connection_interrupted(direct->connection))
			break;
		(void)api_connection_wait(direct->connection, NULL, NULL, ACCESS_STEP_MS);
	}
	err_set(err, ERR_RETRY, "Ray cannot be read: %s", problem);
	return NULL;
}

/* ---- calls ---- */

static void ended(struct call *call)
{
	call->call = NULL;
	call->direct->waiting--;
	api_connection_wake(call->direct->connection);
}

static void list_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct call *call = context;

	call->answer.reply = *reply;
	call->answer.problem = err ? arena_strdup(&call->arena, err->text) : "";
	ended(call);
}

static void state_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct call *call = context;

	call->answer.reply = *reply;
	call->direct->problem = err ? *err : (struct err){ .kind = ERR_NONE };
	ended(call);
}

static bool all_read(void *context)
{
	return ((struct ray_direct *)context)->waiting == 0;
}

static int ask(struct ray_direct *direct, struct gcs_client *client, struct err *err)
{
	struct call *state = &direct->state, *requests = &direct->requests;

	direct->waiting = RAY_LISTS + 2;
	for (size_t i = 0; i < RAY_LISTS; i++) {
		struct call *list = &direct->lists[i];

		list->call = gcs_client_get_list(client, CALL_MS, (enum ray_list)i, work_page.use,
						 &list->arena, list_read, list);
	}
	state->call = gcs_client_get_state(client, CALL_MS, &state->arena, state_read, state);
	requests->call =
		gcs_client_get_kv_requests(client, CALL_MS, &requests->arena, list_read, requests);
	if (!api_connection_wait(direct->connection, all_read, direct, ALL_MS))
		return err_set(err, ERR_TIMEOUT, "Ray did not answer within %d s", ALL_MS / 1000);
	if (direct->problem.kind == ERR_DENIED)
		ray_access_refused(direct->access);
	*err = direct->problem;
	return err->kind == ERR_NONE ? 0 : -1;
}

/* ---- the answer ---- */

/* As the controller answers, so that rows are checked in one place. */
static int make_page(struct ray_direct *direct, struct arena *arena, struct ray_work_page *ret_page,
		     struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf text = BUF_INIT(RAY_WORK_BYTES_MAX);
	struct list_answer answers[RAY_LISTS];
	struct ray_work_page page = { .at = loop_wall(direct->control.loop), .problem = "" };
	struct json_writer writer;

	for (size_t i = 0; i < RAY_LISTS; i++)
		answers[i] = direct->lists[i].answer;
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	work_page.write(&page, answers, "", &scratch, &writer);
	json_write_object_end(&writer);
	if (text.overflowed)
		return err_set(err, ERR_LIMIT, "the work has more than %zu bytes",
			       RAY_WORK_BYTES_MAX);
	return ray_work_read(buf_string(&text), text.size, arena, ret_page, err);
}

static const struct ray_state *merge_requests(struct ray_direct *direct)
{
	const struct ray_constraint *stored = direct->requests.answer.reply.constraint;

	direct->merged = *direct->state.answer.reply.state;
	if (stored && direct->merged.constraint_count == 0) {
		direct->merged.constraints = stored;
		direct->merged.constraint_count = 1;
	}
	return &direct->merged;
}

int ray_direct_read(struct ray_direct *direct, struct snapshot *snapshot, struct arena *arena,
		    struct ray_work_page *ret_page, struct err *err)
{
	struct gcs_client *client;

	end_calls(direct);
	client = open_client(direct, snapshot, err);
	if (!client)
		return -1;
	if (ask(direct, client, err) || make_page(direct, arena, ret_page, err)) {
		end_calls(direct);
		return -1;
	}
	snapshot->ray_state = merge_requests(direct);
	return 0;
}
