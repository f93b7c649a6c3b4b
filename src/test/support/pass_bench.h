/* The bench of ctl_pass_test: a scripted GCS, a scripted API server, and the objects that the caches
 * of a controller would hold. */
#ifndef TEST_SUPPORT_PASS_BENCH_H
#define TEST_SUPPORT_PASS_BENCH_H
#include "ctl/pass/pass.h"

#include "codec/objects/memory_json.h"
#include "codec/objects/pod_json.h"
#include "codec/text/json.h"
#include "ctl/pass/act.h"
#include "ctl/pass/observe.h"
#include "ctl/shared/options.h"
#include "net/work.h"
#include "test/support/gcs_bench.h"
#include "test/support/kube_script.h"

#define PATCHES_MAX 8

/* --- the API server: its thread writes, the test reads after the pass has ended --- */

extern struct api {
	_Atomic int gets, lists, patches;
	int statuses[PATCHES_MAX]; /* of the patches, in order; 0: 200, -1: no answer */
	const char *verb;          /* of the last patch, or "DELETE" */
	char bodies[PATCHES_MAX][2048];
	void (*on_get)(void); /* of the cluster; NULL: nothing */
	const char *cluster;  /* replies to GET and PATCH */
	const char *pods;     /* reply to LIST */
	/* The reply to LIST with this query instead; NULL: as above */
	const char *(*on_list)(const char *path);
	server_script *all;    /* answers every request; NULL: as below */
	server_script *leases; /* answers requests for Leases; NULL: as a GET of the cluster */
} api;

/* --- Ray: a head, and workers as the test sets them --- */

extern Ray__NodeState ray_nodes[3]; /* the head and two workers */
extern Ray__ClusterResourceState cluster_state;

extern struct fake_ray {
	bool accept, fail_drain, mute_state, mute_drain, mute_kv;
	unsigned drains, reads;
	void (*before)(const char *path); /* it answers; may be NULL */
	/* The lists and the store, NULL for an error; without it the state answers them. */
	const ProtobufCMessage *(*lists)(const char *path);
} ray;

void on_call(struct h2_server *server, struct h2_stream *stream);

void set_idle_worker(void);
void set_second_worker(void); /* like the first */

void set_pending_gpus(int64_t count);

/* --- the API objects of the caches; ' means " --- */

#define GROUP(replicas)                                                                            \
	"{'groupName': 'gpu', 'replicas': " replicas ", 'minReplicas': 0, 'maxReplicas': 5,"       \
	" 'rayStartParams': {}, 'template': {'spec': {'containers': [{'name': 'ray-worker',"       \
	" 'resources': {'limits': {'cpu': '1', 'nvidia.com/gpu': '1'}}}]}}}"
#define CLUSTER(replicas)                                                                          \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1}, 'spec': {'enableInTreeAutoscaling': true,"           \
	" 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers':"             \
	" [{'name': 'ray-head', 'resources': {'limits': {'cpu': '1'}}}]}}},"                       \
	" 'workerGroupSpecs': [" GROUP(replicas) "]}}"
#define POD(name, type, group, status)                                                             \
	"{'metadata': {'name': '" name "', 'namespace': 'a', 'labels': {'ray.io/cluster': "        \
	"'demo', 'ray.io/node-type': '" type "', 'ray.io/group': '" group "'}},"                   \
	" 'spec': {'containers': [{'name': 'ray-worker'}]}, 'status': " status "}"
#define RUNNING_SINCE(time)                                                                        \
	"{'phase': 'Running', 'podIP': '127.0.0.1', 'containerStatuses': [{'name':"                \
	" 'ray-worker', 'state': {'running': {'startedAt': '" time "'}}}]}"
#define RUNNING RUNNING_SINCE("2026-01-01T00:00:00Z")
/* Its start timeout has not passed at any time of the tests' clock. */
#define JUST_STARTED RUNNING_SINCE("2200-01-01T00:00:00Z")
#define HEAD_POD POD("demo-head", "head", "headgroup", RUNNING)
#define RESTARTED_HEAD_POD                                                                         \
	POD("demo-head", "head", "headgroup", RUNNING_SINCE("2026-01-02T00:00:00Z"))
#define WORKER_POD POD("demo-worker", "worker", "gpu", RUNNING)
#define SECOND_POD POD("demo-second", "worker", "gpu", RUNNING)
#define PENDING_POD POD("demo-worker", "worker", "gpu", "{'phase': 'Pending'}")
#define LIST(pods) "{'kind': 'PodList', 'metadata': {'resourceVersion': '9'}, 'items': [" pods "]}"

extern struct kube_script script;
extern struct options options;
extern struct control control;

extern struct pass_seen {
	struct arena arena;  /* of the result of current() */
	struct arena *cache; /* of the objects of the last view; NULL: none */
	const char *cluster, *pods, *stale;
	const struct node *node; /* NULL: no Nodes are known */
	struct pass *pass;
	int decisions, endings, views;
	struct pass_decision decision; /* the last one */
	void (*on_decided)(void);      /* NULL: nothing */
	void (*on_view)(void);         /* likewise */
	bool kv;                       /* the pass reads the requests of autoscaler v1 */
	bool read_work;                /* the pass reads the users of the cluster at first */
	bool ray_reached, undecided;
	enum pass_cost cost;  /* of the last pass, for the next one */
	int64_t cpu_factor;   /* likewise */
	int64_t small_ms;     /* 0: no decision on the loop */
	int64_t quick_ms;     /* 0: as usual */
	int64_t undecided_ms; /* of the last decision */
	uint64_t digest;      /* likewise */
	char active[1024];    /* the message of ScalingActive */
	const char *ray_note;
	struct poll_reading reading;
	char memory[4096];
	bool patched;
	int64_t generation; /* of the RayCluster that the patch was answered with */
	struct err err;
} seen;

/* The Pods of a list, in the arena. */
const struct pod **pass_bench_pods(const char *list, struct arena *arena, size_t *ret_count);
void pass_bench_view(void *context, struct arena *arena, struct observation *ret_view);

const struct ray_cluster *pass_bench_current(void *context);

void pass_bench_decided(void *context, const struct pass_decision *decision);

void pass_bench_ended(void *context, const struct pass_result *result);

int pass_bench_setup(void **state);

int pass_bench_teardown(void **state);

void start_pass(const char *memory);

bool pass_has_ended(void *context);

void run_pass(const char *memory);

void pass_bench_idle_worker(void);

#endif
