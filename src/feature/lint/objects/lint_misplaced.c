#include "feature/lint/objects/lint_misplaced.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "codec/objects/autoscaler_json.h"
#include "core/model/field.h"
#include "feature/lint/objects/lint_report.h"
#include "feature/lint/objects/lint_schema_table.h"

/* ---- where the field of a name that is unknown in its place ---- */

/* A name in more lists has no place of its own, as "name" and "path". */
#define LISTS_MAX 3
#define HEAD_TEMPLATE "headGroupSpec.template"

static const struct lint_schema_field *fields_of(size_t list)
{
	return &lint_schema_fields[lint_schema_lists[list]];
}

static bool has(size_t list, const char *name)
{
	for (const struct lint_schema_field *field = fields_of(list); field->name; field++)
		if (strcmp(field->name, name) == 0)
			return true;
	return false;
}

static bool is_common(const char *name)
{
	size_t count = 0;

	for (size_t list = 0; list < lint_schema_list_count; list++)
		count += has(list, name);
	return count == 0 || count > LISTS_MAX;
}

/* A search from the spec of a kind, nearest lists first: where each list was found. */
struct search {
	size_t *queue; /* lists, in the order of finding */
	size_t *from;
	const char **by; /* member of `from`; NULL: not found yet */
	size_t count;
};

static void push(struct search *search, size_t list, size_t from, const char *by)
{
	if (search->by[list])
		return;
	search->by[list] = by;
	search->from[list] = from;
	search->queue[search->count++] = list;
}

/* "headGroupSpec.template.spec"; "" is the spec itself. */
static const char *path_of(const struct search *search, size_t list, struct arena *arena)
{
	const char *path = "";

	for (; *search->by[list] != '\0'; list = search->from[list])
		path = arena_printf(arena, "%s%s%s", search->by[list], *path != '\0' ? "." : "",
				    path);
	return path;
}

/* Most fields are meant for Ray's container, and not for one that KubeRay adds. */
static bool is_of_added(const char *name)
{
	return strcmp(name, "autoscalerOptions") == 0 || strcmp(name, "historyServerOptions") == 0;
}

static const char *find(const struct lint_schema_kind *kind, const char *name, bool of_added,
			struct arena *arena)
{
	struct search search = {
		.queue = arena_array(arena, lint_schema_list_count, sizeof(size_t)),
		.from = arena_array(arena, lint_schema_list_count, sizeof(size_t)),
		.by = arena_array(arena, lint_schema_list_count, sizeof(char *)),
	};

	push(&search, kind->members, kind->members, "");
	for (size_t i = 0; i < search.count; i++) {
		size_t list = search.queue[i];

		if (has(list, name))
			return path_of(&search, list, arena);
		for (const struct lint_schema_field *field = fields_of(list); field->name; field++)
			if (field->members != 0 && (of_added || !is_of_added(field->name)))
				push(&search, field->members, list, field->name);
	}
	return NULL;
}

/* Templates of the head and of groups are alike. */
static const char *place_text(const char *path, struct arena *arena)
{
	const char *shared = strstr(path, HEAD_TEMPLATE);

	if (shared)
		return arena_printf(arena, "write it into %s of the head or group",
				    shared + sizeof("headGroupSpec"));
	return arena_printf(arena, "write it into spec%s%s", *path != '\0' ? "." : "", path);
}

static const char *place_in(const struct lint_schema_kind *kind, const char *name,
			    struct arena *arena)
{
	const char *path = find(kind, name, false, arena);

	return path ? path : find(kind, name, true, arena);
}

static const char *of_definitions(const char *name, const char *kind, struct arena *arena)
{
	const struct lint_schema_kind *own = lint_schema_kinds;
	const char *path;

	if (is_common(name))
		return NULL;
	while (own->kind && strcmp(own->kind, kind) != 0)
		own++;
	path = own->kind ? place_in(own, name, arena) : NULL;
	if (path)
		return place_text(path, arena);
	for (const struct lint_schema_kind *other = lint_schema_kinds; other->kind; other++) {
		path = place_in(other, name, arena);
		if (path)
			return arena_printf(arena, "%s of a %s", place_text(path, arena),
					    other->kind);
	}
	return NULL;
}

/* Whether it is in the object `spec` of the table. */
static bool is_setting(const struct field *fields, const char *name)
{
	while (fields->name && strcmp(fields->name, "spec") != 0)
		fields++;
	for (fields = fields->name ? fields->members : fields; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return true;
	return false;
}

/* "write it into template.spec.affinity of the head or group", in the arena; `kind`: of the object that has it. NULL: the name
 * is unknown, or too many places have it. */
static const char *elsewhere(const char *name, const char *kind, struct arena *arena)
{
	const char *place = of_definitions(name, kind, arena);

	if (!place && strcmp(kind, AUTOSCALER_KIND) != 0 && is_setting(autoscaler_fields, name))
		return "write it into spec of the " AUTOSCALER_KIND " of this name";
	if (place)
		return place;
	for (size_t i = 0; lint_features[i]; i++) {
		const struct object_kinds *own = lint_features[i];

		if (own->kind && strcmp(kind, own->kind) != 0 && is_setting(own->fields, name))
			return arena_printf(arena, "write it into spec of a %s", own->kind);
	}
	return NULL;
}

/* ---- misplaced names ---- */

/* Names are separated by blanks, and begin and end with one. */
static const struct {
	const char *names, *place;
	const char *kind; /* NULL: any but one of a feature */
} places[] = {
	{ " scaleTargetRef clusterName clusterRef rayClusterName targetRef ",
	  "remove it: a RayClusterAutoscaler has the name and namespace of its RayCluster",
	  AUTOSCALER_KIND },
	{ " end stop until ", "write duration, such as 9h", AUTOSCALER_KIND },
	{ " cron ", "write start, with five fields such as 0 8 * * 1-5", AUTOSCALER_KIND },
	{ " maxGpus max_gpus maxGPU ", "write maxGPUs", AUTOSCALER_KIND },
	{ " groupName group ", "write name, the groupName of the RayCluster", AUTOSCALER_KIND },
	{ " spec ", "remove it: jobTemplate has the fields of the spec of a RayJob", "RayCronJob" },
	{ " nodeSelector tolerations affinity containers initContainers volumes serviceAccountName "
	  "imagePullSecrets priorityClassName runtimeClassName schedulerName hostNetwork hostIPC hostPID dnsPolicy "
	  "restartPolicy terminationGracePeriodSeconds topologySpreadConstraints resourceClaims nodeName "
	  "automountServiceAccountToken enableServiceLinks schedulingGates overhead activeDeadlineSeconds ",
	  "write it into template.spec of the head or group", NULL },
	{ " image imagePullPolicy command args env envFrom ports volumeMounts livenessProbe readinessProbe "
	  "startupProbe lifecycle workingDir ",
	  "write it into template.spec.containers of the head or group", NULL },
	{ " service ", "write headService or serviceType into headGroupSpec", NULL },
	{ " workerGroups workerGroup worker_nodes workerNodes workerPods workerSpec worker podTypes ",
	  "write workerGroupSpecs into spec of the RayCluster, a list of groups", NULL },
	{ " head headNode head_node headPod headPodType headSpec ",
	  "write headGroupSpec into spec of the RayCluster", NULL },
	{ " autoscaling enableAutoscaling autoscalingEnabled enabled ",
	  "write enableInTreeAutoscaling into spec of the RayCluster", NULL },
	{ " autoscaler autoscalerConfig ", "write autoscalerOptions into spec of the RayCluster",
	  NULL },
	{ " securityContext ",
	  "write it into template.spec of the head or group, or into one of its containers", NULL },
	{ " metadata ", "write it into template of the head or group", NULL },
	{ " name ", "write groupName of a group, or name into metadata", NULL },
	{ " count size replicaCount numReplicas num_replicas desiredReplicas ",
	  "write replicas of the group", NULL },
	{ " shmSize shm_size sharedMemory ",
	  "write a volume emptyDir: {medium: Memory, sizeLimit: SIZE} and its mount at /dev/shm",
	  NULL },
	{ " gpuType gpu_type acceleratorType accelerator_type accelerator ",
	  "write a nodeSelector for the model into template.spec of the group", NULL },
	{ " << ", "write it without quotes", NULL },
	{ " limits requests claims ", "write it into resources of the container", NULL },
	{ " cpu memory nvidia.com/gpu amd.com/gpu google.com/tpu ephemeral-storage ",
	  "write it into limits and requests there", NULL },
	{ " minWorkers min_workers ", "write minReplicas of the group", NULL },
	{ " maxWorkers max_workers ", "write maxReplicas of the group", NULL },
	{ " initialWorkers initial_workers numWorkers num_workers workers ",
	  "write replicas of the group", NULL },
	{ " idleTimeoutMinutes idle_timeout_minutes ",
	  "write idleTimeoutSeconds, in seconds, into spec.autoscalerOptions", NULL },
	{ " upscalingSpeed upscaling_speed ", "write upscalingMode into spec.autoscalerOptions",
	  NULL },
	{ " idleTimeoutSeconds ", "write it into spec.autoscalerOptions, or into the group", NULL },
	{ " upscalingMode ", "write it into spec.autoscalerOptions", NULL },
	{ " rayVersion enableInTreeAutoscaling autoscalerOptions headGroupSpec workerGroupSpecs ",
	  "write it into spec of the RayCluster", NULL },
	{ " groupName minReplicas maxReplicas replicas numOfHosts scaleStrategy ",
	  "write it into an element of workerGroupSpecs", NULL },
	{ " num-cpus num-gpus object-store-memory dashboard-host numCpus numGpus num_cpus num_gpus ",
	  "write it into rayStartParams of the head or group, with \"-\" and in quotes", NULL },
	{ " rayClusterSpec rayClusterConfig ",
	  "write rayClusterSpec into a RayJob, rayClusterConfig into a RayService", NULL },
	{ " serveConfig serveDeploymentGraphConfig ",
	  "write serveConfigV2, the text of a Serve config file", NULL },
	{ " runtimeEnv runtime_env ", "write runtimeEnvYAML, a text", NULL },
	{ " deletionPolicy ", "write deletionStrategy", NULL },
	{ " spec ", "write it into template of the head or group", NULL },
	{ " rayStartParams template ",
	  "write it into headGroupSpec or an element of workerGroupSpecs", NULL },
	{ " taint taints ", "write tolerations into template.spec of the head or group", NULL },
	{ " gpu gpus gpuCount numGPUs accelerators ",
	  "write nvidia.com/gpu into limits of the container", NULL },
	{ " hosts hostCount numHosts hostsPerReplica ", "write numOfHosts of the group", NULL },
	{ " spotInstances spot nodePool instanceType machineType ",
	  "write a nodeSelector for the Nodes into template.spec of the group", NULL },
	{ " parallelism completions ", "this is a field of a Job: a RayJob has one entrypoint",
	  NULL },
	{ " annotations labels ", "write it into metadata or template.metadata", NULL },
	{ " available_node_types head_node_type provider auth cluster_name setup_commands "
	  "setupCommands initialization_commands head_start_ray_commands "
	  "worker_start_ray_commands headStartRayCommands workerStartRayCommands file_mounts ",
	  "this is a file of Ray's cluster launcher: a RayCluster has workerGroupSpecs", NULL },
};

static bool names(const char *list, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
		if (at > list && at[-1] == ' ' && at[size] == ' ')
			return true;
	return false;
}

const char *lint_misplaced(const char *name, const char *kind, struct arena *arena)
{
	static const struct object_cure none = { NULL, NULL };
	const struct object_cure *cures = &none;

	if (*name == '\0')
		return NULL;
	for (size_t i = 0; lint_features[i]; i++)
		if (lint_features[i]->kind && strcmp(lint_features[i]->kind, kind) == 0)
			cures = lint_features[i]->cures;
	for (size_t i = 0; cures[i].names; i++)
		if (names(cures[i].names, name))
			return cures[i].cure;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((places[i].kind ? strcmp(places[i].kind, kind) == 0 : cures == &none) &&
		    names(places[i].names, name))
			return places[i].place;
	return elsewhere(name, kind, arena);
}
