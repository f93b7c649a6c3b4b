#include "codec/objects/ray_cluster_json.h"

#include <string.h>

#include "test/support/codec_support.h"

static int decode(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct ray_cluster cluster;

	return ray_cluster_decode(tree, "rayCluster", arena, &cluster, err);
}

static void check_manager(const char *fields, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *text =
		arena_printf(&arena,
			     "metadata: {name: d, managedFields: %s}\n"
			     "spec: {headGroupSpec: {template: {spec: {containers: []}}}}\n",
			     fields);
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct ray_cluster cluster;
	struct err err;

	if (ray_cluster_decode(tree, "", &arena, &cluster, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(cluster.groups_manager, wanted);
}

#define OWNS "fieldsV1: {'f:spec': {'f:workerGroupSpecs': {}}}"

/* Foreign and for a message only: nothing in it is an error. */
static void test_manager_of_the_worker_groups(void **state)
{
	(void)state;
	check_manager("null", "");
	check_manager("{}", "");
	check_manager("[1, null, {manager: 7, time: {}, fieldsV1: []}, {" OWNS "}]", "");
	check_manager("[{manager: a, time: null, " OWNS "}]", "a");
	check_manager("[{manager: a, time: '2026-11-20T10:00:00Z', fieldsV1: {'f:status': {}}}]",
		      "");
	check_manager("[{manager: a, time: '2026-11-20T10:00:01Z', " OWNS "},"
		      " {manager: b, time: '2026-11-20T10:00:00Z', " OWNS "},"
		      " {manager: rayscaler, time: '2026-11-20T10:00:02Z', " OWNS "}]",
		      "a");
}

static const char full[] =
	"apiVersion: ray.io/v1\n"
	"kind: RayCluster\n"
	"metadata: {namespace: ml, name: demo, uid: u-1, resourceVersion: '77', generation: 3,\n"
	"  labels: {b: '2', a: '1'}, annotations: {rayscaler.dev/managed: 'false'},\n"
	"  finalizers: [x], managedFields: [{foreign: [1, {x: null}]}]}\n"
	"spec:\n"
	"  enableInTreeAutoscaling: true\n"
	"  managedBy: ray.io/kuberay-operator\n"
	"  rayVersion: 2.60.0\n"
	"  suspend: false\n"
	"  autoscalerOptions: {idleTimeoutSeconds: 0, upscalingMode: Conservative, version: v2,\n"
	"    volumeMounts: {not: looked-at}}\n"
	"  authOptions: {mode: token, secretName: s, enableK8sTokenAuth: true}\n"
	"  tlsOptions: {enabled: true}\n"
	"  headGroupSpec:\n"
	"    rayStartParams: {num-cpus: '0'}\n"
	"    resources: {CPU: 4}\n"
	"    labels: {zone: a}\n"
	"    template: {metadata: {labels: {x: y}}, spec: {containers: [{name: head}]}}\n"
	"  workerGroupSpecs:\n"
	"  - groupName: gpu\n"
	"    replicas: 2\n"
	"    minReplicas: 1\n"
	"    maxReplicas: 5\n"
	"    numOfHosts: 4\n"
	"    idleTimeoutSeconds: 30\n"
	"    priority: -7\n"
	"    suspend: true\n"
	"    resources: {}\n"
	"    labels: {kind: a100}\n"
	"    rayStartParams: {resources: '\"{\\\"x\\\": 1}\"'}\n"
	"    scaleStrategy: {workersToDelete: [p1, p2], scaleGate: {quota: true}}\n"
	"    template:\n"
	"      spec:\n"
	"        containers:\n"
	"        - name: ray\n"
	"          image: rayproject/ray\n"
	"          command: [a]\n"
	"          args: [b, c]\n"
	"          env: [{name: A, value: x}, {name: B, valueFrom: {}}]\n"
	"          ports: [{name: gcs-server, containerPort: 6380}]\n"
	"          resources: {limits: {cpu: 2, nvidia.com/gpu: '1'}, requests: {memory: 1Gi}}\n"
	"        nodeSelector: {pool: gpu}\n"
	"        tolerations: [{key: k, operator: Exists, effect: NoSchedule}]\n"
	"        affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:\n"
	"          {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [v]}],\n"
	"            matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}\n"
	"        schedulingGates: [{name: kueue}]\n"
	"        schedulerName: volcano\n"
	"  - groupName: cpu\n"
	"status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate,\n"
	"  message: quota, lastTransitionTime: '2026-11-20T10:00:00Z'}]}\n";

static void check_gpu_group(const struct worker_group *group)
{
	const struct pod_spec *spec = &group->template.spec;
	const struct container *container = &spec->containers[0];

	assert_true(group->has_replicas && group->replicas == 2 && group->min_replicas == 1);
	assert_true(group->max_replicas == 5 && group->num_of_hosts == 4 && group->priority == -7);
	assert_true(group->has_idle_timeout_seconds && group->idle_timeout_seconds == 30);
	assert_true(group->suspend && group->has_resources && group->resources.count == 0);
	assert_string_equal(labels_value(&group->labels, "kind"), "a100");
	assert_string_equal(labels_value(&group->ray_start_params, "resources"),
			    "\"{\\\"x\\\": 1}\"");
	assert_true(group->has_scale_strategy && group->has_workers_to_delete);
	assert_string_equal(group->workers_to_delete.at[1], "p2");
	assert_string_equal(group->scale_gate, "{\"quota\":true}");
	assert_int_equal(container->args.count,
			 0); /* only those of a container autoscaler are kept */
	assert_string_equal(container->env[0].value, ""); /* no rule reads it */
	assert_string_equal(container->env[1].value, "");
	assert_string_equal(container->ports[0].name, "gcs-server");
	assert_int_equal(container->ports[0].port, 6380);
	assert_string_equal(container->limits.at[1].name, "nvidia.com/gpu");
	assert_true(container->limits.at[0].amount == 20000);
	assert_true(container->requests.at[0].amount == 10737418240000);
	assert_string_equal(labels_value(&spec->node_selector, "pool"), "gpu");
	assert_string_equal(spec->tolerations[0].operation, "Exists");
	assert_int_equal(spec->required_node_terms[0].count, 2);
	assert_false(spec->required_node_terms[0].expressions[0].is_field);
	assert_true(spec->required_node_terms[0].expressions[1].is_field);
	assert_string_equal(spec->scheduling_gates.at[0], "kueue");
	assert_string_equal(spec->scheduler_name, "volcano");
	assert_null(group->problem);
}

static void test_full(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_cluster cluster;
	struct err err;
	/* The tree is freed first: nothing may point into it. */
	struct cJSON *tree = codec_tree(full);

	(void)state;
	if (ray_cluster_decode(tree, "", &arena, &cluster, &err))
		fail_msg("%s", err.text);
	json_free(tree);
	assert_string_equal(cluster.api_version, "ray.io/v1");
	assert_string_equal(cluster.namespace_, "ml");
	assert_string_equal(cluster.name, "demo");
	assert_string_equal(cluster.uid, "u-1");
	assert_string_equal(cluster.resource_version, "77");
	assert_true(cluster.generation == 3 && !cluster.deleting && !cluster.suspend);
	assert_string_equal(cluster.labels.at[0].key, "a");
	assert_string_equal(labels_value(&cluster.annotations, ANNOTATION_MANAGED), "false");
	assert_true(cluster.enable_in_tree_autoscaling && cluster.tls_enabled);
	assert_string_equal(cluster.managed_by, "ray.io/kuberay-operator");
	assert_true(cluster.has_idle_timeout_seconds && cluster.idle_timeout_seconds == 0);
	assert_string_equal(cluster.upscaling_mode, "Conservative");
	assert_string_equal(cluster.autoscaler_version, "v2");
	assert_string_equal(cluster.auth_mode, "token");
	assert_string_equal(cluster.auth_secret_name, "s");
	assert_true(cluster.auth_kubernetes_tokens && cluster.head_has_resources);
	assert_string_equal(cluster.head_template.spec.containers[0].name, "head");
	assert_int_equal(cluster.group_count, 2);
	check_gpu_group(&cluster.groups[0]);
	assert_string_equal(cluster.conditions[0].reason, "FailedCreate");
	assert_true(cluster.conditions[0].last_transition == 1795168800000);
	assert_int_equal(cluster.problems.count, 0);
}

static void test_defaults(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		"{metadata: {name: d, deletionTimestamp: '2026-11-20T10:00:00Z'}, spec: "
		"{workerGroupSpecs: [{groupName: g, replicas: null, scaleStrategy: {}}]}}");
	struct ray_cluster cluster;
	struct err err;

	(void)state;
	assert_int_equal(ray_cluster_decode(tree, "", &arena, &cluster, &err), 0);
	assert_true(cluster.deleting && !cluster.enable_in_tree_autoscaling);
	assert_false(cluster.groups[0].has_replicas);
	assert_true(cluster.groups[0].replicas == 0 && cluster.groups[0].min_replicas == 0);
	assert_true(cluster.groups[0].max_replicas == 2147483647);
	assert_true(cluster.groups[0].num_of_hosts == 1);
	assert_false(cluster.groups[0].has_idle_timeout_seconds || cluster.groups[0].has_resources);
	assert_true(cluster.groups[0].has_scale_strategy);
	assert_false(cluster.groups[0].has_workers_to_delete);
	assert_string_equal(cluster.groups[0].scale_gate, "");
	assert_string_equal(cluster.groups[0].template.spec.node_name, "");
	assert_string_equal(cluster.managed_by, "");
	assert_string_equal(cluster.api_version, "");
}

static void test_problems(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		"metadata: {name: d, creationTimestamp: yesterday}\n"
		"spec:\n"
		"  autoscalerOptions: {idleTimeoutSeconds: -1}\n"
		"  workerGroupSpecs:\n"
		"  - {groupName: a, replicas: -1, minReplicas: 3000000000, numOfHosts: 0}\n"
		"  - {groupName: a}\n"
		"  - {}\n"
		"  - groupName: b\n"
		"    template: {spec: {containers: [{resources: {limits: {cpu: x}},\n"
		"      ports: [{containerPort: 70000}]}]}}\n");
	static const char *const wanted[] = {
		"rc.metadata.creationTimestamp: \"yesterday\" is not an RFC 3339",
		"rc.spec.autoscalerOptions.idleTimeoutSeconds: must not be negative, is -1",
		"rc.spec.workerGroupSpecs[0].replicas: must be 0 to 2147483647, is -1",
		"rc.spec.workerGroupSpecs[0].minReplicas: must be 0 to 2147483647, is 3000000000",
		"rc.spec.workerGroupSpecs[0].numOfHosts: must be 1 to 2147483647, is 0",
		"rc.spec.workerGroupSpecs[1].groupName: an earlier group has this name",
		"rc.spec.workerGroupSpecs[2].groupName: is required",
		("rc.spec.workerGroupSpecs[3].template.spec.containers[0].resources.limits.cpu: "
		 "\"x\" is not a quantity"),
		"rc.spec.workerGroupSpecs[3].template.spec.containers[0].ports[0]: containerPort",
	};
	struct ray_cluster cluster;
	struct err err;

	(void)state;
	assert_int_equal(ray_cluster_decode(tree, "rc", &arena, &cluster, &err), 0);
	assert_int_equal(cluster.problems.count, SUPPORT_COUNT(wanted));
	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++) {
		if (strncmp(cluster.problems.at[i], wanted[i], strlen(wanted[i])) != 0)
			fail_msg("%s", cluster.problems.at[i]);
	}
	assert_false(cluster.has_idle_timeout_seconds);
	assert_string_equal(cluster.groups[0].problem, cluster.problems.at[2]);
	assert_true(cluster.groups[0].replicas == 0 && cluster.groups[0].num_of_hosts == 1);
	assert_true(cluster.groups[0].min_replicas == INT32_MAX);
	assert_non_null(cluster.groups[1].problem);
	assert_non_null(cluster.groups[2].problem);
	/* An invalid quantity is marked itself; it is not a problem of its group. */
	assert_null(cluster.groups[3].problem);
	assert_false(cluster.groups[3].template.spec.containers[0].limits.at[0].valid);
}

#define G(member) "{metadata: {name: d}, spec: {workerGroupSpecs: [{groupName: g, " member "}]}}"
#define P "rayCluster.spec.workerGroupSpecs[0]"
#define S(member) "{metadata: {name: d}, spec: {" member "}}"

static const struct codec_bad wrong_types[] = {
	{ "[]", "rayCluster: must be an object, is an array" },
	{ "{}", "rayCluster.metadata.name: is missing, must be a string" },
	{ "metadata: []", "rayCluster.metadata: must be an object, is an array" },
	{ "metadata: {name: 1}", "rayCluster.metadata.name: must be a string, is a number" },
	{ "metadata: {name: ''}", "rayCluster.metadata.name: must not be empty" },
	{ "kind: Pod", "rayCluster.kind: must be RayCluster, is \"Pod\"" },
	{ "kind: 1", "rayCluster.kind: must be a string" },
	{ "{metadata: {name: d}, apiVersion: 1}", "rayCluster.apiVersion: must be a string" },
	{ "{metadata: {name: d, namespace: {}}}", "rayCluster.metadata.namespace: must be" },
	{ "{metadata: {name: d, uid: 1}}", "rayCluster.metadata.uid: must be a string" },
	{ "{metadata: {name: d, resourceVersion: 7}}",
	  "rayCluster.metadata.resourceVersion: must be a string, is a number; put it" },
	{ "{metadata: {name: d, generation: x}}", "rayCluster.metadata.generation: must be" },
	{ "{metadata: {name: d, labels: []}}", "rayCluster.metadata.labels: must be" },
	{ "{metadata: {name: d, labels: {a/b: 1}}}",
	  "rayCluster.metadata.labels[\"a/b\"]: must be a string, is a number; put it in" },
	{ "{metadata: {name: d, annotations: 1}}", "rayCluster.metadata.annotations: must" },
	{ "{metadata: {name: d, deletionTimestamp: 5}}",
	  "rayCluster.metadata.deletionTimestamp: must be a string" },
	{ "{metadata: {name: d}, spec: 1}", "rayCluster.spec: must be an object" },
	{ "{metadata: {name: d}, status: []}", "rayCluster.status: must be an object" },
	{ "{metadata: {name: d}, status: {conditions: {}}}",
	  "rayCluster.status.conditions: must be an array" },
	{ "{metadata: {name: d}, status: {conditions: [1]}}",
	  "rayCluster.status.conditions[0]: must be an object, is a number" },
	{ "{metadata: {name: d}, status: {conditions: [{status: true}]}}",
	  "rayCluster.status.conditions[0].status: must be a string, is a boolean; put" },
	{ S("enableInTreeAutoscaling: 'true'"),
	  "rayCluster.spec.enableInTreeAutoscaling: must be a boolean, is a string" },
	{ S("suspend: 1"), "rayCluster.spec.suspend: must be a boolean, is a number" },
	{ S("managedBy: 1"), "rayCluster.spec.managedBy: must be a string" },
	{ S("rayVersion: 2.6"), "rayCluster.spec.rayVersion: must be a string" },
	{ S("autoscalerOptions: []"), "rayCluster.spec.autoscalerOptions: must be" },
	{ S("autoscalerOptions: {idleTimeoutSeconds: '60'}"),
	  "rayCluster.spec.autoscalerOptions.idleTimeoutSeconds: must be an integer, is a "
	  "string" },
	{ S("autoscalerOptions: {env: 5}"), "rayCluster.spec.autoscalerOptions.env: must be" },
	{ S("autoscalerOptions: {resources: x}"),
	  "rayCluster.spec.autoscalerOptions.resources: must be" },
	{ S("gcsFaultToleranceOptions: 7"), "rayCluster.spec.gcsFaultToleranceOptions: must be" },
	{ S("autoscalerOptions: {upscalingMode: 1}"),
	  "rayCluster.spec.autoscalerOptions.upscalingMode: must be a string" },
	{ S("authOptions: {mode: 1}"), "rayCluster.spec.authOptions.mode: must be" },
	{ S("authOptions: {enableK8sTokenAuth: x}"),
	  "rayCluster.spec.authOptions.enableK8sTokenAuth: must be a boolean" },
	{ S("tlsOptions: 1"), "rayCluster.spec.tlsOptions: must be an object" },
	{ S("headGroupSpec: 1"), "rayCluster.spec.headGroupSpec: must be an object" },
	{ S("headGroupSpec: {rayStartParams: {num-cpus: 0}}"),
	  "rayCluster.spec.headGroupSpec.rayStartParams.num-cpus: must be a string, is a "
	  "number; put it in quotes" },
	{ S("workerGroupSpecs: {}"), "rayCluster.spec.workerGroupSpecs: must be an array" },
	{ S("workerGroupSpecs: [1]"), P ": must be an object, is a number" },
	{ S("workerGroupSpecs: [{groupName: 1}]"), P ".groupName: must be a string" },
	{ G("maxReplicas: '5'"), P ".maxReplicas: must be an integer, is a string" },
	{ G("maxReplicas: 1.5"), P ".maxReplicas: must be an integer, is 1.5" },
	{ G("minReplicas: true"), P ".minReplicas: must be an integer, is a boolean" },
	{ G("replicas: []"), P ".replicas: must be an integer, is an array" },
	{ G("numOfHosts: x"), P ".numOfHosts: must be an integer" },
	{ G("idleTimeoutSeconds: x"), P ".idleTimeoutSeconds: must be an integer" },
	{ G("priority: x"), P ".priority: must be an integer" },
	{ G("suspend: x"), P ".suspend: must be a boolean" },
	{ G("resources: x"), P ".resources: must be an object" },
	{ G("resources: {CPU: []}"), P ".resources.CPU: must be a quantity" },
	{ G("labels: {a: 1}"), P ".labels.a: must be a string" },
	{ G("rayStartParams: []"), P ".rayStartParams: must be an object" },
	{ G("rayStartParams: {num-gpus: 1}"), P ".rayStartParams.num-gpus: must be a string" },
	{ G("scaleStrategy: []"), P ".scaleStrategy: must be an object" },
	{ G("scaleStrategy: {workersToDelete: p}"),
	  P ".scaleStrategy.workersToDelete: must be an array, is a string" },
	{ G("scaleStrategy: {workersToDelete: [1]}"),
	  P ".scaleStrategy.workersToDelete[0]: must be a string, is a number" },
	{ G("template: 1"), P ".template: must be an object" },
	{ G("template: {metadata: 1}"), P ".template.metadata: must be an object" },
	{ G("template: {spec: []}"), P ".template.spec: must be an object" },
	{ G("template: {spec: {containers: {}}}"), P ".template.spec.containers: must be" },
	{ G("template: {spec: {containers: [x]}}"), P ".template.spec.containers[0]: must" },
	{ G("template: {spec: {containers: [{name: 1}]}}"),
	  P ".template.spec.containers[0].name: must be a string" },
	{ G("template: {spec: {containers: [{resources: {limits: {cpu: true}}}]}}"),
	  P ".template.spec.containers[0].resources.limits.cpu: must be a quantity" },
	{ G("template: {spec: {containers: [{resources: 1}]}}"),
	  P ".template.spec.containers[0].resources: must be an object" },
	{ G("template: {spec: {containers: [{ports: [{containerPort: x}]}]}}"),
	  P ".template.spec.containers[0].ports[0].containerPort: must be an integer" },
	{ G("template: {spec: {containers: [{env: [{name: 1}]}]}}"),
	  P ".template.spec.containers[0].env[0].name: must be a string" },
	{ G("template: {spec: {containers: [{command: x}]}}"),
	  P ".template.spec.containers[0].command: must be an array" },
	{ G("template: {spec: {containers: [{name: autoscaler, args: [1]}]}}"),
	  P ".template.spec.containers[0].args[0]: must be a string" },
	{ G("template: {spec: {nodeSelector: {a: true}}}"),
	  P ".template.spec.nodeSelector.a: must be a string" },
	{ G("template: {spec: {tolerations: [{key: 1}]}}"),
	  P ".template.spec.tolerations[0].key: must be a string" },
	{ G("template: {spec: {affinity: {nodeAffinity: "
	    "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
	    "[{matchExpressions: [{values: x}]}]}}}}}"),
	  P ".template.spec.affinity.nodeAffinity."
	    "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
	    "matchExpressions[0].values: must be an array" },
	{ G("template: {spec: {schedulingGates: [x]}}"),
	  P ".template.spec.schedulingGates[0]: must be an object" },
};

static void test_wrong_types(void **state)
{
	(void)state;
	codec_check_bad(wrong_types, SUPPORT_COUNT(wrong_types), decode);
}

/* Invalid members that are not used do not stop a cluster from being managed. */
static void test_foreign_rubbish(void **state)
{
	struct err err;
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	if (decode("{metadata: {name: d, finalizers: 5, ownerReferences: x}, status: {state: 5, "
		   "head: [], desiredWorkerReplicas: x}, spec: {gcsFaultToleranceOptions: {backend: "
		   "7}, headServiceAnnotations: [], autoscalerOptions: {volumeMounts: 5}, "
		   "headGroupSpec: {serviceType: 5, template: {spec: {volumes: 7, initContainers: "
		   "x}}}, workerGroupSpecs: [{groupName: g, future: [], scaleStrategy: {f: 1}, "
		   "template: {spec: {containers: [{livenessProbe: 5, resources: {c: 1}}]}}}]}}",
		   &arena, &err))
		fail_msg("%s", err.text);
}

static void test_too_many_groups(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *text = memory_alloc(20000);
	struct err err;
	size_t at =
		(size_t)snprintf(text, 20000, "{metadata: {name: d}, spec: {workerGroupSpecs: [");

	(void)state;
	for (int i = 0; i < 1001; i++)
		at += (size_t)snprintf(text + at, 20000 - at, "{},");
	snprintf(text + at, 20000 - at, "]}}");
	assert_int_equal(decode(text, &arena, &err), -1);
	assert_string_equal(
		err.text, "rayCluster.spec.workerGroupSpecs: must not have more than 1000 groups");
}

/* `spec`: members beside networkPolicy. */
static int64_t closed_port(const char *policy, const char *spec)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *text = memory_alloc(2000);
	AUTO(json_done) struct cJSON *tree = NULL;
	struct ray_cluster cluster;
	struct err err;

	snprintf(text, 2000, "{metadata: {name: d}, spec: {networkPolicy: %s%s}}", policy, spec);
	tree = codec_tree(text);
	if (ray_cluster_decode(tree, "", &arena, &cluster, &err))
		fail_msg("%s: %s", text, err.text);
	return cluster.closed_gcs_port;
}

#define RULE(ports)                                                                                \
	"{mode: DenyAllIngress, head: {ingressRules: [{ports: [{port: 8265}]}, " ports "]}}"
#define HEAD_PORT                                                                                  \
	", headGroupSpec: {rayStartParams: {port: '7000'}, template: {spec: {containers: [{name: " \
	"h, ports: [{name: x, containerPort: 1}, {name: gcs-server, containerPort: 6380}]}]}}}"

static void test_network_policy(void **state)
{
	(void)state;
	assert_int_equal(closed_port("null", ""), 0);
	assert_int_equal(closed_port("{}", ""), 6379);
	assert_int_equal(closed_port("{mode: DenyAll, head: {egressRules: [{}]}}", ""), 6379);
	assert_int_equal(closed_port("{mode: DenyAllIngress, worker: {ingressRules: [{}]}}", ""),
			 6379);
	assert_int_equal(closed_port("{mode: DenyAllEgress}", ""), 0);
	assert_int_equal(closed_port(RULE("{from: []}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: []}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: [{port: 6379}]}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: [{port: gcs-server}]}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: [{protocol: TCP}]}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: [{port: 6000, endPort: 7000}]}"), ""), 0);
	assert_int_equal(closed_port(RULE("{ports: [{port: 6000, endPort: 6378}]}"), ""), 6379);
	assert_int_equal(closed_port(RULE("{ports: [{port: dashboard}]}"), ""), 6379);
	/* The port of the head is the one that its container declares, else that of Ray. */
	assert_int_equal(closed_port(RULE("{ports: [{port: 6379}]}"), HEAD_PORT), 6380);
	assert_int_equal(closed_port(RULE("{ports: [{port: 6380}]}"), HEAD_PORT), 0);
	assert_int_equal(closed_port("{}", ", headGroupSpec: {rayStartParams: {port: '7000'}}"),
			 7000);
	/* Rubbish makes no cluster unreadable. */
	assert_int_equal(closed_port("7", ""), 0);
	assert_int_equal(closed_port("{mode: 7, head: [1], worker: x}", ""), 6379);
	assert_int_equal(closed_port("{head: {ingressRules: [7, {ports: 3}]}}", ""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manager_of_the_worker_groups),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_foreign_rubbish),
		cmocka_unit_test(test_too_many_groups),
		cmocka_unit_test(test_network_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
