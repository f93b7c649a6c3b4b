/* An API server for commands of src/cli: answers by method and path from a table of routes, holds
 * watches, and keeps the last patch. With a RayCluster "ray/demo", a worker, a Lease, its Pod, and a
 * snapshot as a controller gives it. start() points $KUBECONFIG at it. Header only. */
#ifndef TEST_SUPPORT_CLI_SERVER_H
#define TEST_SUPPORT_CLI_SERVER_H

#include <stdlib.h>

#include "base/memory.h"
#include "test/support/cli_run.h"
#include "test/support/scripted_server.h"
#include "test/support/support.h"
#include "test/support/temp_files.h"

#define PROXY "/api/v1/namespaces/rayscaler-system/pods/http%3Arayscaler-0%3A9090/proxy"
#define NS "/apis/ray.io/v1/namespaces/ray"

/* The first route whose method and path fit answers; without one it is a 404. */
struct route {
	const char *request; /* "GET /path": the start of the request */
	int status;          /* 0: 200 */
	const char *text;    /* ' means " */
};

struct server {
	struct scripted_server *http;
	char *directory;
	const struct route *routes;
	char patch[8192];
	int busy;  /* so many reads are answered with 429 first */
	int asked; /* requests in all */
};

static struct server server;
static struct cli_result result;

#define RAY_CLUSTER                                                                                \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray',"             \
	"'name':'demo','uid':'u','resourceVersion':'5','annotations':{"                            \
	"'rayscaler.dev/request-resources':'[{\\'CPU\\': 1}]\\u001b[2J'}},'spec':{"                \
	"'enableInTreeAutoscaling':true,'workerGroupSpecs':[{'groupName':'gpu','replicas':1,"      \
	"'minReplicas':1,'maxReplicas':4,'template':{'spec':{'containers':[{'name':'ray-worker',"  \
	"'env':[{'name':'PASS','value':'hunter2'}],'resources':{'limits':{'cpu':'1',"              \
	"'nvidia.com/gpu':'2'}}}]}}}]}}"
#define OWNED                                                                                      \
	"'ownerReferences':[{'apiVersion':'ray.io/v1','kind':'RayCluster','name':'demo','uid':"    \
	"'u','controller':true}],"
#define POD                                                                                        \
	"{'metadata':{'namespace':'ray','name':'w1','resourceVersion':'6'," OWNED "'labels':{"     \
	"'ray.io/cluster':'demo','ray.io/node-type':'worker','ray.io/group':'gpu'}},'spec':{"      \
	"'containers':[{'name':'ray-worker'}],'nodeName':'n'},'status':{'phase':'Running',"        \
	"'containerStatuses':[{'name':'ray-worker','state':{'running':{}}}]}}"
#define LIST(items) "{'metadata':{'resourceVersion':'9'},'items':[" items "]}"
#define CLUSTERS                                                                                   \
	{                                                                                          \
		"GET /apis/ray.io/v1", 0, "{'resources':[{'name':'rayclusters'}]}"                 \
	}
#define OBJECTS                                                                                    \
	{ "GET " NS "/rayclusters/demo", 0, RAY_CLUSTER },                                         \
		{ "GET " NS "/rayclusters/", 404, "{'kind':'Status','reason':'NotFound'}" },       \
		{ "GET " NS "/rayclusters", 0, LIST(RAY_CLUSTER) },                                \
		{ "GET /api/v1/namespaces/ray/pods", 0, LIST(POD) }, CLUSTERS,                     \
	{                                                                                          \
		"GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}"                               \
	}
#define LEASE                                                                                      \
	{                                                                                          \
		"GET /apis/coordination.k8s.io/v1/namespaces/rayscaler-system/leases/rayscaler",   \
			0, "{'spec':{'holderIdentity':'rayscaler-0'}}"                             \
	}
#define LEADER                                                                                                   \
	{                                                                                                        \
		"GET /api/v1/namespaces/rayscaler-system/pods/rayscaler-0", 0,                                   \
			"{'metadata':{'name':'rayscaler-0','namespace':'rayscaler-system'},'spec':{'containers'" \
			":[{'name':'rayscaler','ports':[{'name':'probes','containerPort':8081},"                 \
			"{'name':'metrics','containerPort':9090}]}]},'status':{'phase':'Running'}}"              \
	}

/* Two workers, one of them idle for 70 s, three bundles of one GPU wait, one of 16 fits nowhere. */
static const char snapshot[] =
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

static const struct route with_controller[] = {
	OBJECTS,
	LEASE,
	LEADER,
	{ "GET " PROXY "/status", 0, "{'kind':'Status','version':'0.1.0','leader':true}" },
	{ "GET " PROXY "/snapshot/ray/demo", 0, snapshot },
	{ "PATCH " NS "/rayclusters/demo", 0, RAY_CLUSTER },
	{ NULL, 0, NULL },
};
static const struct route without_controller[] = {
	OBJECTS,
	{ "PATCH " NS "/rayclusters/demo", 0, RAY_CLUSTER },
	{ "GET /api/v1/namespaces/rayscaler-system/pods?labelSelector="
	  "app.kubernetes.io%2Fname%3Drayscaler",
	  0, LIST("") },
	{ NULL, 0, NULL },
};

static inline char *quotes(const char *text)
{
	char *copy = memory_strdup(text);

	if (text == snapshot)
		return copy;
	for (char *c = copy; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return copy;
}

static inline void serve(struct exchange *exchange, void *context)
{
	struct server *own = context;
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

static inline void start(const struct route *routes)
{
	AUTO(memory_free_string) char *path = NULL;
	char text[500];

	server = (struct server){ .routes = routes, .directory = temp_directory() };
	server.http = server_start(serve, &server);
	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
		       "users: [{name: u, user: {token: t}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u, namespace: ray}}]\n",
		       server.http->port);
	temp_write(server.directory, "config", text);
	path = temp_path(server.directory, "config");
	setenv("KUBECONFIG", path, 1);
}

static inline void stop(void)
{
	server_stop(server.http);
	temp_done(server.directory);
	unsetenv("KUBECONFIG");
}

#define EXPECT(text, part)                                                                         \
	do {                                                                                       \
		if (!strstr((text), (part)))                                                       \
			fail_msg("\"%s\" is not in:\n%s", (part), (text));                         \
	} while (0)

/* No text of a peer may reach the terminal with a control character. */
static inline void expect_clean(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 && *text != '\n')
			fail_msg("a control character is printed");
	}
}

#endif
