/* The API objects of the fleet as KubeRay's operator and the kubelet write them, reduced to their
 * large parts: two containers' worth of environment, probes, statuses, managed fields. Header
 * only. */
#ifndef TEST_FLEET_OBJECTS_H
#define TEST_FLEET_OBJECTS_H

#include <cjson/cJSON.h>

#include "test/fleet/fleet.h"

#define FLEET_MANAGED(manager)                                                                     \
	"'managedFields': [{'manager': '" manager "', 'operation': 'Update', 'apiVersion': 'v1',"  \
	" 'time': '2026-01-01T00:00:00Z', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:metadata':"    \
	" {'f:labels': {'.': {}, 'f:ray.io/cluster': {}, 'f:ray.io/group': {}}}, 'f:spec':"        \
	" {'f:containers': {'k:{}': {'.': {}, 'f:env': {}, 'f:image': {}, 'f:name': {},"           \
	" 'f:resources': {}, 'f:volumeMounts': {}}}, 'f:restartPolicy': {}}}}]"
#define FLEET_ENV                                                                                  \
	"'env': [{'name': 'RAY_CLUSTER_NAME', 'valueFrom': {'fieldRef': {'apiVersion': 'v1',"      \
	" 'fieldPath': 'metadata.labels[ray.io/cluster]'}}}, {'name': 'RAY_CLOUD_INSTANCE_ID',"    \
	" 'valueFrom': {'fieldRef': {'apiVersion': 'v1', 'fieldPath': 'metadata.name'}}},"         \
	" {'name': 'RAY_NODE_TYPE_NAME', 'valueFrom': {'fieldRef': {'apiVersion': 'v1',"           \
	" 'fieldPath': 'metadata.labels[ray.io/group]'}}}, {'name': 'KUBERAY_GEN_RAY_START_CMD',"  \
	" 'value': 'ray start --block --num-cpus=1 --num-gpus=2 --memory=8589934592'},"            \
	" {'name': 'RAY_PORT', 'value': '6379'}, {'name': 'RAY_ADDRESS', 'value':"                 \
	" 'rc-head-svc.fleet.svc.cluster.local:6379'}, {'name': 'RAY_USAGE_STATS_EXTRA_TAGS',"     \
	" 'value': 'kuberay_version=v1.7.0;kuberay_crd=RayCluster'}, {'name':"                     \
	" 'REDIS_PASSWORD'}, {'name': 'RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE', 'value': '1'}]"
#define FLEET_PROBE(command)                                                                       \
	"{'exec': {'command': ['bash', '-c', '" command                                            \
	"']}, 'initialDelaySeconds': 30, 'timeoutSeconds': 2,"                                     \
	" 'periodSeconds': 5, 'successThreshold': 1, 'failureThreshold': 120}"

static void fleet_write_container(const struct fleet *fleet, bool head, struct buf *buf)
{
	fleet_add(buf, "{'name': '%s', 'image': 'rayproject/ray:2.60.0', " FLEET_ENV ",",
		  head ? "ray-head" : "ray-worker");
	fleet_add(buf, " 'command': ['/bin/bash', '-c', '--'], 'args': ['ulimit -n 65536; ray start"
		       " --block'], 'imagePullPolicy': 'IfNotPresent',");
	if (head)
		fleet_add(buf,
			  " 'ports': [{'name': 'gcs-server', 'containerPort': %d, 'protocol':"
			  " 'TCP'}, {'name': 'dashboard', 'containerPort': 8265}],",
			  fleet->gcs_port);
	fleet_add(
		buf,
		" 'livenessProbe': " FLEET_PROBE(
			"wget http://localhost:52365/api/local") ","
								 " 'readinessProbe': " FLEET_PROBE(
									 "wget http://localhost:52365/api/ready") ",");
	fleet_add(buf,
		  " 'resources': {'limits': {'cpu': '1', 'memory': '8Gi'%s}, 'requests':"
		  " {'cpu': '1', 'memory': '8Gi'%s}},",
		  head ? "" : ", 'nvidia.com/gpu': '2'", head ? "" : ", 'nvidia.com/gpu': '2'");
	fleet_add(buf, " 'terminationMessagePath': '/dev/termination-log', 'volumeMounts':"
		       " [{'name': 'shared-mem', 'mountPath': '/dev/shm'}]}");
}

static void fleet_write_pod_status(const struct fleet_cluster *cluster, unsigned index,
				   unsigned pod, struct buf *buf)
{
	uint32_t address = pod == 0 ? fleet_head_address(index) : UINT32_C(0x0a000000) + index;
	const char *name = pod == 0 ? "ray-head" : "ray-worker";

	if (pod >= cluster->running) {
		fleet_add(buf, "{'phase': 'Pending', 'qosClass': 'Guaranteed'}");
		return;
	}
	fleet_add(buf,
		  "{'phase': 'Running', 'conditions': [{'type': 'Initialized', 'status': 'True',"
		  " 'lastTransitionTime': '2026-01-01T00:00:00Z'}, {'type': 'Ready', 'status':"
		  " 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'}, {'type': 'PodScheduled',"
		  " 'status': 'True'}], 'hostIP': '10.0.0.1', 'podIP': '%u.%u.%u.%u',",
		  address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
	fleet_add(buf,
		  " 'podIPs': [{'ip': '10.0.0.1'}], 'startTime': '2026-01-01T00:00:00Z',"
		  " 'containerStatuses': [{'name': '%s', 'state': {'running': {'startedAt':"
		  " '2026-01-01T00:00:00Z'}}, 'lastState': {}, 'ready': true, 'restartCount': 0,"
		  " 'image': 'rayproject/ray:2.60.0', 'started': true}]}",
		  name);
}

static void fleet_write_notes(const cJSON *notes, struct buf *buf)
{
	char *text = cJSON_PrintUnformatted(notes);

	fleet_add(buf, " 'annotations': %s,", text);
	cJSON_free(text);
}

static void fleet_write_pod(const struct fleet *fleet, unsigned index, unsigned pod,
			    struct buf *buf)
{
	const struct fleet_cluster *cluster = &fleet->clusters[index];
	const char *group = pod == 0 ? "headgroup" : FLEET_GROUP;
	char name[64], owner[32];

	fleet_pod_name(index, pod, name, sizeof(name));
	fleet_cluster_name(index, owner, sizeof(owner));
	fleet_add(buf,
		  "{'kind': 'Pod', 'apiVersion': 'v1', 'metadata': {'name': '%s', 'namespace':"
		  " '" FLEET_NAMESPACE "', 'uid': '%08x-0000-4000-8000-%012x',"
		  " 'resourceVersion': '%llu', 'creationTimestamp': '2026-01-01T00:00:00Z',",
		  name, index, pod, (unsigned long long)cluster->pod_versions[pod]);
	fleet_add(buf,
		  " 'labels': {'app.kubernetes.io/created-by': 'kuberay-operator',"
		  " 'app.kubernetes.io/name': 'kuberay', 'ray.io/cluster': '%s', 'ray.io/group':"
		  " '%s', 'ray.io/identifier': '%s-%s', 'ray.io/is-ray-node': 'yes',"
		  " 'ray.io/node-type': '%s'},",
		  owner, group, owner, pod ? "worker" : "head", pod ? "worker" : "head");
	if (cluster->notes[pod])
		fleet_write_notes(cluster->notes[pod], buf);
	fleet_add(buf,
		  " 'ownerReferences': [{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'name':"
		  " '%s', 'uid': '%08x-0000-4000-8000-000000000000', 'controller': true}],"
		  " " FLEET_MANAGED("kuberay-operator") "}, 'spec': {",
		  owner, index);
	if (pod < cluster->running)
		fleet_add(buf, "'nodeName': 'node-%05u', ",
			  (index * fleet->pods + pod) / FLEET_PODS_PER_NODE);
	fleet_add(buf, "'restartPolicy': 'Never', 'schedulerName': 'default-scheduler', 'volumes':"
		       " [{'name': 'shared-mem', 'emptyDir': {'medium': 'Memory'}}],"
		       " 'containers': [");
	fleet_write_container(fleet, pod == 0, buf);
	fleet_add(buf, "]}, 'status': ");
	fleet_write_pod_status(cluster, index, pod, buf);
	fleet_add(buf, "}");
}

static void fleet_write_cluster(const struct fleet *fleet, unsigned index, struct buf *buf)
{
	const struct fleet_cluster *cluster = &fleet->clusters[index];
	uint32_t address = fleet_head_address(index);
	char name[32];

	fleet_cluster_name(index, name, sizeof(name));
	fleet_add(buf,
		  "{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': '%s',"
		  " 'namespace': '" FLEET_NAMESPACE "', 'uid': '%08x-0000-4000-8000-000000000000',"
		  " 'resourceVersion': '%llu', 'generation': %llu, 'creationTimestamp':"
		  " '2026-01-01T00:00:00Z', " FLEET_MANAGED("kubectl") "},",
		  name, index, (unsigned long long)cluster->version,
		  (unsigned long long)cluster->generation);
	fleet_add(buf, " 'spec': {'rayVersion': '2.60.0', 'enableInTreeAutoscaling': true,"
		       " 'autoscalerOptions': {'version': 'v2'}, 'headGroupSpec':"
		       " {'rayStartParams': {}, 'template': {'spec': {'containers': [");
	fleet_write_container(fleet, true, buf);
	fleet_add(buf,
		  "]}}}, 'workerGroupSpecs': [{'groupName': '" FLEET_GROUP "', 'replicas': %u,"
		  " 'minReplicas': 0, 'maxReplicas': %d, 'numOfHosts': 1, 'rayStartParams': {},"
		  " 'template': {'spec': {'containers': [",
		  cluster->replicas, FLEET_PODS_MAX - 1);
	fleet_write_container(fleet, false, buf);
	fleet_add(buf,
		  "]}}}]}, 'status': {'state': 'ready', 'desiredWorkerReplicas': %u,"
		  " 'availableWorkerReplicas': %u, 'observedGeneration': %llu, 'head': {'podName':"
		  " '%s-head', 'podIP': '%u.%u.%u.%u'}}}",
		  cluster->replicas, cluster->running - 1, (unsigned long long)cluster->generation,
		  name, address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

static void fleet_write_node(unsigned index, struct buf *buf)
{
	fleet_add(buf,
		  "{'kind': 'Node', 'apiVersion': 'v1', 'metadata': {'name': 'node-%05u', 'uid':"
		  " 'node-%05u', 'resourceVersion': '1', 'labels': {'kubernetes.io/hostname':"
		  " 'node-%05u', 'topology.kubernetes.io/zone': 'a'}}, 'spec': {}, 'status':"
		  " {'allocatable': {'cpu': '64', 'memory': '512Gi', 'nvidia.com/gpu': '100',"
		  " 'pods': '110'}, 'conditions': [{'type': 'Ready', 'status': 'True'}]}}",
		  index, index, index);
}

static void fleet_write_autoscaler(const struct fleet_cluster *cluster, struct buf *buf)
{
	char *text = cJSON_PrintUnformatted(cluster->autoscaler);

	if (buf_add_string(buf, text) < 0)
		abort();
	cJSON_free(text);
}

static unsigned fleet_nodes(const struct fleet *fleet)
{
	return fleet->count * fleet->pods / FLEET_PODS_PER_NODE + 1;
}

#endif
