#include "test/support/cli_server.h"

struct cli_server cli_server;
struct cli_result result;

const char server_snapshot[] =
	"apiVersion: rayscaler.dev/v1alpha1\n"
	"kind: Snapshot\n"
	"now: '2026-11-21T10:00:00Z'\n"
	"rayCluster:\n"
	"  metadata: {namespace: ray, name: demo}\n"
	"  spec:\n"
	"    enableInTreeAutoscaling: true\n"
	"    autoscalerOptions: {idleTimeoutSeconds: 600}\n"
	"    workerGroupSpecs:\n"
	"    - groupName: gpu\n"
	"      replicas: 2\n"
	"      minReplicas: 1\n"
	"      maxReplicas: 4\n"
	"      template: {spec: {containers: [{name: ray-worker, resources: {limits: "
	"{cpu: '1', nvidia.com/gpu: '2'}}}]}}\n"
	"pods:\n"
	"- metadata: {namespace: ray, name: demo-head, labels: {ray.io/cluster: demo, "
	"ray.io/node-type: head, ray.io/group: headgroup}}\n"
	"  status: {phase: Running}\n"
	"- metadata: {namespace: ray, name: w1, labels: {ray.io/cluster: demo, "
	"ray.io/node-type: worker, ray.io/group: gpu}}\n"
	"  status: {phase: Running}\n"
	"- metadata: {namespace: ray, name: w2, labels: {ray.io/cluster: demo, "
	"ray.io/node-type: worker, ray.io/group: gpu}}\n"
	"  status: {phase: Running}\n"
	"rayState:\n"
	"  nodeStates:\n"
	"  - {nodeId: AQ==, instanceId: demo-head, rayNodeTypeName: headgroup, status: RUNNING, "
	"totalResources: {'node:__internal_head__': 1}, "
	"availableResources: {'node:__internal_head__': 1}}\n"
	"  - {nodeId: Ag==, instanceId: w1, rayNodeTypeName: gpu, status: RUNNING, "
	"totalResources: {CPU: 1, GPU: 2}, availableResources: {CPU: 0, GPU: 0}, "
	"nodeActivity: [Resource GPU currently in use.]}\n"
	"  - {nodeId: Aw==, instanceId: w2, rayNodeTypeName: gpu, status: IDLE, "
	"idleDurationMs: '70000', totalResources: {CPU: 1, GPU: 2}, "
	"availableResources: {CPU: 1, GPU: 2}}\n"
	"  pendingResourceRequests:\n"
	"  - {request: {resourcesBundle: {GPU: 1}}, count: '5'}\n"
	"  - {request: {resourcesBundle: {GPU: 16}}, count: '1'}\n";

const char cluster_status[] = "";

static char *made_status(void)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot read;
	struct err err;
	const struct plan *plan;
	struct buf buf;

	buf_init(&buf, SNAPSHOT_BYTES_MAX);
	if (snapshot_read(server_snapshot, sizeof(server_snapshot) - 1, &arena, &read, &err))
		fail_msg("%s", err.text);
	plan = decide(&read, &arena);
	summary_write_answer(&read, plan, summary_of(&read, plan, &arena), &buf);
	return buf.data;
}

const struct route with_controller[13] = {
	OBJECTS,
	LEASE,
	LEADER,
	{ "GET " PROXY "/status/ray/demo", 0, cluster_status },
	{ "GET " PROXY "/status", 0, "{'kind':'Status','version':'0.1.0','leader':true}" },
	{ "GET " PROXY "/snapshot/ray/demo", 0, server_snapshot },
	{ "PATCH " NS "/rayclusters/demo", 0, RAY_CLUSTER },
	{ NULL, 0, NULL },
};
const struct route without_controller[] = {
	OBJECTS,
	{ "PATCH " NS "/rayclusters/demo", 0, RAY_CLUSTER },
	{ "GET /api/v1/namespaces/rayscaler-system/pods?labelSelector="
	  "app.kubernetes.io%2Fname%3Drayscaler",
	  0, LIST("") },
	{ NULL, 0, NULL },
};

static char *quotes(const char *text)
{
	char *copy = text == cluster_status ? made_status() : memory_strdup(text);

	if (text == server_snapshot || text == cluster_status)
		return copy;
	for (char *c = copy; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return copy;
}

/* The answer of a replica behind the Service that refuses or does not lead; true: it has answered. */
static bool serve_secure(struct cli_server *own, struct exchange *exchange)
{
	const char *header = exchange_header(exchange, "Rayscaler-Authorization");
	bool list = strstr(exchange->path, "/proxy/status") != NULL &&
		    !strstr(exchange->path, "/proxy/status/");
	char wanted[64];

	if (!own->token || !strstr(exchange->path, "/services/https"))
		return false;
	(void)snprintf(wanted, sizeof(wanted), "Bearer %s", own->token);
	if (strcmp(header, wanted) != 0) {
		exchange_answer(exchange, 401, "", "this page needs a bearer token\n");
		return true;
	}
	if (own->standbys == 0)
		return false;
	own->standbys--;
	exchange_answer(exchange, list ? 200 : 421, "",
			list ? "{\"version\": \"0.0.9\", \"leader\": false, \"holder\": \"r\"}" :
			       "this replica does not lead\n");
	return true;
}

static void serve(struct exchange *exchange, void *context)
{
	struct cli_server *own = context;
	char line[5000];

	(void)snprintf(line, sizeof(line), "%s %s", exchange->method, exchange->path);
	own->asked++;
	if (own->busy > 0 && strcmp(exchange->method, "GET") == 0) {
		own->busy--;
		exchange_answer(
			exchange, 429, "Retry-After: 1\r\n",
			"{\"kind\":\"Status\",\"message\":\"storage is (re)initializing\"}");
		return;
	}
	if (serve_secure(own, exchange))
		return;
	if (strstr(line, "watch=true")) {
		exchange_open_stream(exchange);
		exchange_hold(exchange);
		return;
	}
	if (strcmp(exchange->method, "PATCH") == 0)
		(void)snprintf(own->patch, sizeof(own->patch), "%s %s", exchange->body,
			       exchange_header(exchange, "Content-Type"));
	for (const struct route *route = own->routes; route->request; route++) {
		if (strncmp(line, route->request, strlen(route->request)) == 0) {
			AUTO(memory_free_string) char *text = quotes(route->text);

			exchange_answer(exchange, route->status ? route->status : 200, "", text);
			return;
		}
	}
	exchange_answer(exchange, 404, "", "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
}

void cli_server_start(const struct route *routes)
{
	cli_server_start_with(routes, &(struct cli_server){ .token = NULL });
}

void cli_server_start_with(const struct route *routes, const struct cli_server *server)
{
	AUTO(memory_free_string) char *path = NULL;
	char text[500];

	cli_server = *server;
	cli_server.routes = routes;
	cli_server.directory = temp_directory();
	cli_server.http = server_start(serve, &cli_server);
	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
		       "users: [{name: u, user: {%s}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u, namespace: ray}}]\n",
		       cli_server.http->port, server->user ? server->user : "token: t");
	temp_write(cli_server.directory, "config", text);
	path = temp_path(cli_server.directory, "config");
	setenv("KUBECONFIG", path, 1);
}

void cli_server_stop(void)
{
	server_stop(cli_server.http);
	temp_done(cli_server.directory);
	unsetenv("KUBECONFIG");
}

void expect_clean(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 && *text != '\n')
			fail_msg("a control character is printed");
	}
}
