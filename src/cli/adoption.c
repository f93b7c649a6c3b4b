#include "cli/adoption.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/plan_text.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/text.h"
#include "core/model/autoscaler_container.h"
#include "core/model/resources.h"

#define OPTIONS_PATH "/spec/autoscalerOptions"
/* As process 1 sleep ignores SIGTERM, so that the head Pod would end 30 s after its deletion; timeout, of the same
 * package, ends it at once. */
#define PARK_COMMAND "[\"timeout\"]"
#define PARK_ARGS "[\"infinity\", \"sleep\", \"infinity\"]"
#define PARK_RESOURCES                                                                             \
	"{\"requests\":{\"cpu\":\"1m\",\"memory\":\"4Mi\"},"                                       \
	"\"limits\":{\"cpu\":\"50m\",\"memory\":\"16Mi\"}}"
#define ANNOTATION_FAULT_TOLERANCE "ray.io/ft-enabled"
/* Of the head: how often its GCS asks each raylet for pending demand, 1000 by default. The value below is measured in
 * docs/internals/performance.md. */
#define PULL_VARIABLE "RAY_gcs_pull_resource_loads_period_milliseconds"

/* ---- lines ---- */

static bool is_there(const struct json_at *at)
{
	return json_type(at) != JSON_MISSING && json_type(at) != JSON_NULL;
}

/* `after` NULL: the member is removed. */
static void change(struct adoption *adoption, const struct json_at *options, const char *member,
		   const char *after)
{
	const struct json_at value = json_member(options, member);
	const char *before = is_there(&value) ? json_print(&value) : NULL;

	if (!before && !after)
		return;
	CHECK(adoption->line_count < sizeof(adoption->lines) / sizeof(adoption->lines[0]));
	adoption->lines[adoption->line_count++] =
		(struct adoption_line){ .member = member, .before = before, .after = after };
}

static bool has_amount(const struct quantities *quantities, const char *name, int64_t amount)
{
	const struct quantity *quantity = quantities_find(quantities, name);

	return quantity && quantity->valid && quantity->amount == amount;
}

/* Whether they are PARK_RESOURCES and nothing else. */
static bool is_park_resources(const struct json_at *resources, const struct container *container)
{
	const int64_t mebibyte = 1024 * 1024 * RESOURCE_UNIT;
	const struct quantities *requests = &container->requests, *limits = &container->limits;

	return json_count(resources) == 2 && requests->count == 2 && limits->count == 2 &&
	       has_amount(requests, "cpu", RESOURCE_UNIT / 1000) &&
	       has_amount(requests, "memory", 4 * mebibyte) &&
	       has_amount(limits, "cpu", RESOURCE_UNIT / 20) &&
	       has_amount(limits, "memory", 16 * mebibyte);
}

static void change_adopt(struct adoption *adoption, const struct json_at *options)
{
	const struct container *container = &adoption->cluster.autoscaler_options;

	change(adoption, options, "command", PARK_COMMAND);
	change(adoption, options, "args", PARK_ARGS);
	if (autoscaler_may_be_v2(&adoption->cluster))
		change(adoption, options, "version", "\"v2\"");
	if (autoscaler_container_is_ours(container)) /* it has no sleep */
		change(adoption, options, "image", NULL);
	if (container->limits.count + container->requests.count == 0)
		change(adoption, options, "resources", PARK_RESOURCES);
}

/* Resources of the user remain. */
static void change_release(struct adoption *adoption, const struct json_at *options)
{
	const struct json_at resources = json_member(options, "resources");

	change(adoption, options, "command", NULL);
	change(adoption, options, "args", NULL);
	if (autoscaler_container_is_ours(&adoption->cluster.autoscaler_options))
		change(adoption, options, "image", NULL);
	if (is_park_resources(&resources, &adoption->cluster.autoscaler_options))
		change(adoption, options, "resources", NULL);
	else if (is_there(&resources))
		adoption->kept = json_print(&resources);
	adoption->empties = adoption->line_count == json_count(options);
}

/* Whether a container of the head sets PULL_VARIABLE. */
static bool sets_pull_period(const struct json_at *spec)
{
	const struct json_at head = json_member(spec, "headGroupSpec");
	const struct json_at template = json_member(&head, "template");
	const struct json_at pod = json_member(&template, "spec");
	const struct json_at containers = json_member(&pod, "containers");

	for (struct json_at one = json_first(&containers); one.json; json_next(&one)) {
		const struct json_at env = json_member(&one, "env");

		for (struct json_at variable = json_first(&env); variable.json;
		     json_next(&variable)) {
			const char *name;

			if (json_shown(&variable, "name", &name) == 0 &&
			    strcmp(name, PULL_VARIABLE) == 0)
				return true;
		}
	}
	return false;
}

/* ---- reasons to change nothing ---- */

/* The object that KubeRay made the RayCluster of: "RayService demo"; NULL: none. */
static const char *owner_of(const struct json_at *root, struct arena *arena)
{
	const struct json_at metadata = json_member(root, "metadata");
	const struct json_at owners = json_member(&metadata, "ownerReferences");

	for (struct json_at one = json_first(&owners); one.json; json_next(&one)) {
		const char *kind, *name;

		if (json_shown(&one, "kind", &kind) || json_shown(&one, "name", &name))
			continue;
		if (strcmp(kind, "RayService") == 0 || strcmp(kind, "RayJob") == 0)
			return arena_printf(arena, "%s %s", kind, name);
	}
	return NULL;
}

static const char *refusal(const struct adoption *adoption, bool release, const char *owner,
			   enum autoscaler_runs runs, struct arena *arena)
{
	if (owner)
		return arena_printf(arena,
				    "it is made from %s, and the next one would not have the "
				    "lines: change spec.%s.autoscalerOptions there",
				    owner,
				    strncmp(owner, "RayJob", 6) == 0 ? "rayClusterSpec" :
								       "rayClusterConfig");
	if (!release && !adoption->cluster.enable_in_tree_autoscaling)
		return "spec.enableInTreeAutoscaling is not true, so it has no container "
		       "autoscaler: set it first";
	if (!release && runs == AUTOSCALER_RUNS_SIDECAR)
		return "rayscaler is its sidecar; \"release\" it first if a controller is to "
		       "scale it";
	return NULL;
}

int adoption_make(const struct cJSON *json, bool release, struct arena *arena,
		  struct adoption *ret_adoption, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	const struct json_at root = json_root(json, "", &reader);
	const struct json_at spec = json_member(&root, "spec");
	const struct json_at options = json_member(&spec, "autoscalerOptions");
	enum autoscaler_runs runs;

	*ret_adoption = (struct adoption){ .options = NULL };
	if (ray_cluster_decode(json, "", arena, &ret_adoption->cluster, err))
		return -1;
	if (is_there(&options))
		ret_adoption->options = json_print(&options);
	runs = autoscaler_options_run(&ret_adoption->cluster);
	ret_adoption->unchanged =
		refusal(ret_adoption, release, owner_of(&root, arena), runs, arena);
	ret_adoption->refused = ret_adoption->unchanged != NULL;
	ret_adoption->sets_pull_period = release || sets_pull_period(&spec);
	if (ret_adoption->refused)
		return 0;
	if (!release && runs == AUTOSCALER_RUNS_NOTHING)
		ret_adoption->unchanged =
			"its container autoscaler is parked already by spec.autoscalerOptions";
	else if (release && runs == AUTOSCALER_RUNS_OTHER)
		ret_adoption->unchanged =
			"its container autoscaler is neither parked nor rayscaler";
	else if (release)
		change_release(ret_adoption, &options);
	else
		change_adopt(ret_adoption, &options);
	return 0;
}

void adoption_compare_head(struct adoption *adoption, bool release, const struct pod *pod)
{
	adoption->head_is_unknown = !pod;
	if (!pod)
		return;
	ARRAY_EACH(const struct container, container, pod->spec.containers,
		   pod->spec.container_count) {
		enum autoscaler_runs runs = autoscaler_container_runs(container);

		if (strcmp(container->name, AUTOSCALER_CONTAINER) == 0)
			adoption->head_is_older = release ? runs != AUTOSCALER_RUNS_OTHER :
							    runs != AUTOSCALER_RUNS_NOTHING;
	}
}

/* ---- text ---- */

static void add_line(struct buf *buf, const char *sign, const char *member, const char *value)
{
	if (value)
		text_add_line(buf, "%s %s: %s", sign, member, value);
}

static bool survives(const struct ray_cluster *cluster)
{
	const char *enabled = labels_value(&cluster->annotations, ANNOTATION_FAULT_TOLERANCE);

	return cluster->gcs_fault_tolerance || (enabled && strcmp(enabled, "true") == 0);
}

static void add_head(const struct ray_cluster *cluster, const char *before, struct buf *buf)
{
	if (cluster->head_pod_name[0] == '\0') {
		buf_add_string(buf, "It has no head Pod yet; the next one has the change.\n");
		return;
	}
	text_add_line(buf, "%s:", before);
	text_add_line(buf, "    kubectl delete pod %s -n %s", cluster->head_pod_name,
		      cluster->namespace_);
	buf_add_string(buf, survives(cluster) ?
				    "Workers and detached actors survive that (GCS fault "
				    "tolerance is on).\n" :
				    "That ends its jobs and actors (GCS fault tolerance is off): "
				    "choose the time.\n");
}

void adoption_write_text(const struct adoption *adoption, struct buf *buf)
{
	const struct ray_cluster *cluster = &adoption->cluster;

	plan_text_cluster(buf, cluster->namespace_, cluster->name);
	if (adoption->unchanged) {
		text_add_line(buf, "unchanged: %s", adoption->unchanged);
		if (adoption->head_is_older)
			add_head(cluster, "The last step, because the head Pod is older than that",
				 buf);
		else if (adoption->head_is_unknown)
			add_head(cluster, "The head Pod cannot be read; if it is older than that",
				 buf);
		return;
	}
	buf_add_string(buf, "spec.autoscalerOptions:\n");
	for (size_t i = 0; i < adoption->line_count; i++) {
		add_line(buf, "-", adoption->lines[i].member, adoption->lines[i].before);
		add_line(buf, "+", adoption->lines[i].member, adoption->lines[i].after);
	}
	add_line(buf, " ", "resources", adoption->kept);
	if (adoption->kept)
		buf_add_string(buf, "Ray's autoscaler needs about 500m CPU and 512Mi.\n");
	add_head(cluster, "Takes effect with the next head Pod; KubeRay makes it after", buf);
	if (!adoption->sets_pull_period)
		buf_add_string(
			buf,
			"Ray shows new demand up to 1 s late. With up to 100 nodes, set in the "
			"head's Ray container:\n"
			"    " PULL_VARIABLE "=250\n");
}

/* ---- patch ---- */

/* `value` NULL: none. */
static void write_op(struct json_writer *writer, const char *op, const char *path,
		     const char *value)
{
	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "op", op }, { "path", path });
	if (value)
		json_write_raw(writer, "value", value);
	json_write_object_end(writer);
}

static void write_lines(const struct adoption *adoption, struct json_writer *writer)
{
	ARRAY_EACH(const struct adoption_line, line, adoption->lines, adoption->line_count) {
		char path[64];

		snprintf(path, sizeof(path), OPTIONS_PATH "/%s", line->member);
		write_op(writer, line->after ? "add" : "remove", path, line->after);
	}
}

/* Without autoscalerOptions the version of the object is tested. */
void adoption_write_patch(const struct adoption *adoption, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_array(&writer, NULL);
	if (adoption->options) {
		write_op(&writer, "test", OPTIONS_PATH, adoption->options);
	} else {
		JSON_WRITE_TEXTS_LINE(&writer, NULL, { "op", "test" },
				      { "path", "/metadata/resourceVersion" },
				      { "value", adoption->cluster.resource_version });
		write_op(&writer, "add", OPTIONS_PATH, "{}");
	}
	if (adoption->empties)
		write_op(&writer, "remove", OPTIONS_PATH, NULL);
	else
		write_lines(adoption, &writer);
	json_write_array_end(&writer);
}
