/* Labels and annotations: those that have an effect in another place, and unknown names (rule annotation-invalid). */
#include <string.h>

#include "base/nearest.h"
#include "core/capacity/resize_limits.h"
#include "feature/lint/core/lint_subject.h"

#define PREFIX "rayscaler.dev/"
#define NEAR_ERRORS 2

/* Where a key has an effect. */
enum place {
	OBJECT_ANNOTATION = 1 << 0, /* of the RayCluster */
	OBJECT_LABEL = 1 << 1,
	POD_ANNOTATION = 1 << 2, /* of the template */
	POD_LABEL = 1 << 3,
	GROUP_LABEL = 1 << 4, /* the field labels of the group */
	SETTING = 1 << 5,     /* a field of the RayClusterAutoscaler */
};

static const struct {
	const char *key;
	unsigned places;
} keys[] = {
	{ ANNOTATION_MANAGED, OBJECT_ANNOTATION },
	{ ANNOTATION_REQUEST_RESOURCES, OBJECT_ANNOTATION },
	{ ANNOTATION_RESIZE, OBJECT_ANNOTATION },
	{ ANNOTATION_DO_NOT_DISRUPT, POD_ANNOTATION },
	{ KARPENTER_ANNOTATION, POD_ANNOTATION },
	{ "cluster-autoscaler.kubernetes.io/safe-to-evict", POD_ANNOTATION },
	{ PREFIX "paused", SETTING },
	{ KUEUE_LABEL_QUEUE, OBJECT_LABEL | POD_LABEL },
	{ "kueue.x-k8s.io/priority-class", OBJECT_LABEL | POD_LABEL },
	{ KUEUE_ANNOTATION_ELASTIC_JOB, OBJECT_ANNOTATION },
	{ "ray.io/overwrite-container-cmd", OBJECT_ANNOTATION },
	{ "ray.io/ft-enabled", OBJECT_ANNOTATION },
	{ "ray.io/external-storage-namespace", OBJECT_ANNOTATION },
	{ "ray.io/gcs-ft-deletion-timeout", OBJECT_ANNOTATION },
	{ "ray.io/initializing-timeout", OBJECT_ANNOTATION },
	{ "ray.io/disable-provisioned-head-restart", OBJECT_ANNOTATION },
	{ "ray.io/gang-scheduling-enabled", OBJECT_LABEL },
	{ "ray.io/priority-class-name", OBJECT_LABEL },
	{ "ray.io/scheduler-name", OBJECT_LABEL },
	{ "ray.io/accelerator-type", GROUP_LABEL | POD_LABEL },
	{ "ray.io/market-type", GROUP_LABEL | POD_LABEL },
	{ "gpu-fraction", POD_ANNOTATION },
	{ "gpu-memory", POD_ANNOTATION },
	{ "kai.scheduler/queue", OBJECT_LABEL | POD_LABEL },
	{ "volcano.sh/queue-name", OBJECT_LABEL },
	{ "yunikorn.apache.org/queue", OBJECT_LABEL | POD_LABEL },
};

/* Of the first of the places. */
static const char *cure_of(unsigned places)
{
	static const struct {
		enum place place;
		const char *cure;
	} cures[] = {
		{ OBJECT_ANNOTATION, "write it into metadata.annotations" },
		{ OBJECT_LABEL, "write it into metadata.labels" },
		{ POD_ANNOTATION, "write it into template.metadata.annotations of the group" },
		{ GROUP_LABEL, "write it into labels of the group" },
		{ SETTING, "write paused: true into the RayClusterAutoscaler of this name" },
	};
	size_t i = 0;

	while (!(cures[i].place & places))
		i++;
	return cures[i].cure;
}

/* True: it has an effect in another place, and none here. */
static bool report_misplaced(struct lint_subject *subject, const char *path, const char *key,
			     enum place here)
{
	bool on_object = here == OBJECT_ANNOTATION || here == OBJECT_LABEL;
	bool is_label = here == OBJECT_LABEL || here == POD_LABEL;
	unsigned places = here;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].key, key) == 0)
			places = keys[i].places;
	if (places & here)
		return false;
	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path, "",
			    "%s %.100s has no effect on a %s: %s%s",
			    is_label ? "label" : "annotation", key,
			    on_object ? "RayCluster" : "Pod", cure_of(places),
			    on_object || !(places & (OBJECT_ANNOTATION | OBJECT_LABEL)) ?
				    "" :
				    " of the RayCluster")
		->severity = LINT_ERROR;
	return true;
}

/* One that is near a known key, or of a domain like rayscaler's. */
static void check_near(struct lint_subject *subject, const char *path, const char *key,
		       bool is_label)
{
	struct nearest nearest = nearest_start(key);
	bool is_own = strncmp(key, "rayscaler.", 10) == 0 &&
		      strncmp(key, PREFIX, sizeof(PREFIX) - 1) != 0;
	const char *name = strchr(key, '/');

	if (!name || strncmp(key, PREFIX, sizeof(PREFIX) - 1) == 0 ||
	    strncmp(key, "ray.io/", 7) == 0)
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, key) == 0)
			return;
		if (nearest_distance(key, keys[i].key) <= NEAR_ERRORS)
			nearest_offer(&nearest, keys[i].key);
	}
	if (!nearest.word && !is_own)
		return;
	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path, "",
			    "%s %.100s is unknown and has no effect; did you mean %s%s?",
			    is_label ? "label" : "annotation", key,
			    nearest.word ? nearest.word : PREFIX, nearest.word ? "" : name + 1);
}

static void check_misplaced(struct lint_subject *subject, const char *path,
			    const struct labels *labels, enum place here)
{
	VEC_EACH(const struct label, label, labels) {
		const char *at = lint_path_member(subject->arena, path, label->key);

		if (!report_misplaced(subject, at, label->key, here))
			check_near(subject, at, label->key,
				   here == OBJECT_LABEL || here == POD_LABEL);
	}
}

/* Those that an object of ray.io may have; of KubeRay: ray-operator/controllers/ray/utils/constant.go and its
 * apiserver, 1.7.0. */
static const struct {
	const char *prefix, *names[20];
} known_annotations[] = {
	{ PREFIX, { ANNOTATION_MANAGED, ANNOTATION_REQUEST_RESOURCES, ANNOTATION_SUSPENDED } },
	{ "ray.io/",
	  { ANNOTATION_RESIZE, "ray.io/ft-enabled", "ray.io/external-storage-namespace",
	    "ray.io/gcs-ft-deletion-timeout", "ray.io/overwrite-container-cmd",
	    "ray.io/initializing-timeout", "ray.io/enable-serve-service",
	    "ray.io/disable-provisioned-head-restart", "ray.io/cronjob-scheduled-timestamp",
	    "ray.io/hash-without-replicas-and-workers-to-delete",
	    "ray.io/upgrade-strategy-recreate-hash", "ray.io/num-worker-groups",
	    "ray.io/kuberay-version", "ray.io/compute-template", "ray.io/compute-image",
	    "ray.io/creation-timestamp", "ray.io/update-timestamp" } },
};

/* Of a prefix of which all names are known. */
static void check_known(struct lint_subject *subject, const char *path, const char *key)
{
	struct nearest nearest = nearest_start(key);
	char hint[NEAREST_HINT_SIZE];
	size_t of = 0, count = sizeof(known_annotations) / sizeof(known_annotations[0]);
	while (of < count && strncmp(key, known_annotations[of].prefix,
				     strlen(known_annotations[of].prefix)) != 0)
		of++;
	if (of == count)
		return;
	for (const char *const *name = known_annotations[of].names; *name; name++) {
		if (strcmp(key, *name) == 0)
			return;
		nearest_offer(&nearest, *name);
	}
	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path, "",
			    "annotation %.100s is unknown and has no effect%s", key,
			    nearest.word ? nearest_hint(&nearest, hint) :
			    of == 0      ? "; write settings into a RayClusterAutoscaler of this "
					   "name, or remove it" :
					   "; correct the name, or remove it");
}

/* No label of a RayCluster is rayscaler's. */
static void check_label(struct lint_subject *subject, const char *key)
{
	if (strncmp(key, PREFIX, strlen(PREFIX)) == 0 &&
	    !ARRAY_FIND(keys, sizeof(keys) / sizeof(keys[0]), key, key))
		lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID,
				    lint_path_member(subject->arena, "metadata.labels", key), "",
				    "label %.100s is unknown and has no effect: remove it", key);
}

/* ---- parts of GPUs ---- */

static void report_part(struct lint_subject *subject, const char *name, const char *why)
{
	const char *path =
		arena_printf(subject->arena, "%s.template.metadata.annotations", subject->path);

	lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID,
			    lint_path_member(subject->arena, path, name), "",
			    "%s %s; KAI refuses each Pod of %s", name, why, subject->title)
		->severity = LINT_ERROR;
}

static bool is_fraction(const struct lint_subject *subject, const char *text)
{
	const struct quantity *part = quantities_find(&subject->pod->gpu_shares, "gpu-fraction");

	return part && text[strspn(text, "0123456789.")] == '\0' && text[0] < '1' &&
	       part->amount > 0;
}

/* As KAI's admission webhook does. */
static void check_gpu_part(struct lint_subject *subject)
{
	const struct labels *annotations = &subject->template->annotations;
	const char *fraction = labels_value(annotations, "gpu-fraction");
	const char *memory = labels_value(annotations, "gpu-memory");
	const struct container *container = subject->container;

	if (fraction && !is_fraction(subject, fraction))
		report_part(
			subject, "gpu-fraction",
			arena_printf(subject->arena,
				     "must be above 0 and below 1, is \"%.32s\": write \"0.5\", "
				     "or whole GPUs as limits of nvidia.com/gpu",
				     fraction));
	if (memory &&
	    (memory[strspn(memory, "0123456789")] != '\0' || strspn(memory, "0") == strlen(memory)))
		report_part(
			subject, "gpu-memory",
			arena_printf(subject->arena,
				     "must be a whole number of MiB, is \"%.32s\": write \"4000\"",
				     memory));
	if (fraction && memory)
		report_part(subject, "gpu-memory", "is there beside gpu-fraction: remove one");
	if ((fraction || memory) && container &&
	    (lint_quantity(&container->limits, "nvidia.com/gpu") ||
	     lint_quantity(&container->requests, "nvidia.com/gpu")))
		report_part(subject, fraction ? "gpu-fraction" : "gpu-memory",
			    "is there beside nvidia.com/gpu, a whole GPU: remove one");
}

/* Those of a template, and once those of the RayCluster. */
void lint_annotation_invalid(struct lint_subject *subject)
{
	const struct labels *annotations = &subject->cluster->annotations;
	const char *template = arena_printf(subject->arena, "%s.template.metadata", subject->path);

	check_gpu_part(subject);
	check_misplaced(subject, lint_path_member(subject->arena, template, "labels"),
			&subject->template->labels, POD_LABEL);
	check_misplaced(subject, lint_path_member(subject->arena, template, "annotations"),
			&subject->template->annotations, POD_ANNOTATION);
	if (subject->group)
		return;
	check_misplaced(subject, "metadata.labels", &subject->cluster->labels, OBJECT_LABEL);
	VEC_EACH(const struct label, label, &subject->cluster->labels)
		check_label(subject, label->key);
	for (size_t i = 0; i < annotations->count; i++) {
		const char *key = annotations->at[i].key, *value = annotations->at[i].value;
		const char *path = lint_path_member(subject->arena, "metadata.annotations", key);
		if (report_misplaced(subject, path, key, OBJECT_ANNOTATION))
			continue;
		check_known(subject, path, key);
		check_near(subject, path, key, false);
		if (strcmp(key, ANNOTATION_MANAGED) == 0 && strcmp(value, "true") != 0 &&
		    strcmp(value, "false") != 0)
			lint_report_finding(subject, LINT_RULE_ANNOTATION_INVALID, path,
					    ANNOTATION_MANAGED ": \"false\"  # or \"true\"",
					    ANNOTATION_MANAGED
					    " must be \"true\" or \"false\", is \"%.64s\"; "
					    "the RayCluster is not scaled",
					    value)
				->severity = LINT_ERROR;
	}
}
