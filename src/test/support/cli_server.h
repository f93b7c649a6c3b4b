/* An API server for commands of src/cli: answers by method and path from a table of routes, holds
 * watches, and keeps the last patch. With a RayCluster "ray/demo", a worker, a Lease, its Pod, and a
 * snapshot as a controller gives it. cli_server_start() points $KUBECONFIG at it. */
#ifndef TEST_SUPPORT_CLI_SERVER_H
#define TEST_SUPPORT_CLI_SERVER_H

#include <stdlib.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/summary_json.h"
#include "core/decide.h"
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

struct cli_server {
	struct scripted_server *http;
	char *directory;
	const struct route *routes;
	char patch[8192];
	int busy;  /* so many reads are answered with 429 first */
	int asked; /* requests in all */
	/* Of a Service with TLS: it accepts this token (NULL: no request), and so many requests reach
	 * a replica that does not lead first. */
	const char *token;
	int standbys;
	const char *user; /* of the kubeconfig; NULL: the token t */
};

extern struct cli_server cli_server;
extern struct cli_result result;

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
#define LEASE                                                                                       \
	{                                                                                           \
		"GET /apis/coordination.k8s.io/v1/namespaces/rayscaler-system/leases/rayscaler",    \
			0,                                                                          \
			"{'metadata':{'name':'rayscaler'},'spec':{'holderIdentity':'rayscaler-0'}}" \
	}
#define LEADER                                                                                                   \
	{                                                                                                        \
		"GET /api/v1/namespaces/rayscaler-system/pods/rayscaler-0", 0,                                   \
			"{'metadata':{'name':'rayscaler-0','namespace':'rayscaler-system'},'spec':{'containers'" \
			":[{'name':'rayscaler','ports':[{'name':'probes','containerPort':8081},"                 \
			"{'name':'metrics','containerPort':9090}]}]},'status':{'phase':'Running'}}"              \
	}

/* Two workers, one of them idle for 70 s, three bundles of one GPU wait, one of 16 fits nowhere. */
extern const char server_snapshot[];

/* As a controller answers for that snapshot. */
extern const char cluster_status[];

/* Each ends with a route without a request. */
extern const struct route with_controller[13];
extern const struct route without_controller[];

void cli_server_start(const struct route *routes);

/* The same with these members of *server set: token, standbys and user. */
void cli_server_start_with(const struct route *routes, const struct cli_server *server);

void cli_server_stop(void);

#define EXPECT(text, part)                                                                         \
	do {                                                                                       \
		if (!strstr((text), (part)))                                                       \
			fail_msg("\"%s\" is not in:\n%s", (part), (text));                         \
	} while (0)

/* No text of a peer may reach the terminal with a control character. */
void expect_clean(const char *text);

#endif
