#include "feature/lint/objects/lint_document.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/namespace_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/text/yaml.h"
#include "core/model/claimed.h"
#include "core/model/time_zone.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_form.h"
#include "feature/lint/objects/lint_found.h"
#include "feature/lint/objects/lint_shape.h"

/* About 150 bytes of memory each. */
#define ELEMENTS_MAX 1000000

const struct json_limits lint_limits = {
	.bytes = LINT_FILE_BYTES_MAX,
	.depth = 100,
	.elements = ELEMENTS_MAX,
	.unique_names = true,
};

/* One document in progress. */
struct work {
	struct lint_report *report;
	const struct lint_context *context;
	const char *file;
	size_t file_number, document;
	/* Read once more, for its objects of rayscaler.dev and RayClusters that claim devices alone. */
	bool again;
	bool has_settings; /* it has some of them, so it is read again */
	bool live;         /* of an API server: without lines, and its claims are known */
	struct positions positions;
	struct arena arena; /* of this document */
};

/* One object in progress. */
struct subject {
	struct place place;    /* its root */
	const char *object;    /* "RayJob ray/demo" */
	const char *spec_path; /* "spec.rayClusterSpec" */
	const char *kind;      /* "RayJob" */
};

/* ---- the report ---- */

static struct lint_entry entry_of(const struct work *work, const char *object)
{
	return (struct lint_entry){ .file = work->file,
				    .file_number = work->file_number,
				    .document = work->document,
				    .object = object };
}

static void add_problem(struct work *work, const char *object, const char *path,
			const char *problem, struct position at)
{
	const struct lint_rule *rule = &lint_rules()[LINT_RULE_CANNOT_BE_READ];
	struct lint_entry entry = entry_of(work, object);

	entry.at = at;
	entry.finding = (struct lint_finding){ .severity = rule->severity,
					       .rule = rule->name,
					       .path = path,
					       .message = problem,
					       .fix = "" };
	lint_report_add(work->report, &entry);
}

void lint_problem_add(struct lint_report *report, const char *file, const char *object,
		      const char *problem)
{
	struct work work = { .report = report,
			     .file = arena_strdup(report->arena, file),
			     .file_number = report->files };

	add_problem(&work, object, "", problem, (struct position){ .line = 0 });
	report->objects += *object != '\0';
	report->files++;
}

/* ---- one object ---- */

static const char *text_of(const struct work *work, struct place object, const char *name)
{
	struct place member = place_member(&work->positions, object, name);

	return cJSON_IsString(member.json) ? member.json->valuestring : "";
}

/* The path in the real object: rules use paths of a RayCluster, whose spec may be nested here. */
static const char *real_path(struct work *work, const struct subject *subject, const char *path)
{
	if (strncmp(path, "spec", 4) != 0 || (path[4] != '.' && path[4] != '[' && path[4] != '\0'))
		return path;
	return arena_printf(&work->arena, "%s%s", subject->spec_path, path + 4);
}

static void add_findings(struct work *work, const struct subject *subject,
			 const struct lint_findings *findings, size_t shape_count)
{
	for (size_t i = 0; i < findings->list.count; i++) {
		struct lint_entry entry = entry_of(work, subject->object);

		if (lint_shape_hides(findings, shape_count, i))
			continue;
		entry.finding = findings->list.at[i];
		entry.finding.path = real_path(work, subject, entry.finding.path);
		if (!work->live)
			entry.at =
				position_find(&work->positions, subject->place, entry.finding.path);
		lint_report_add(work->report, &entry);
	}
}

/* The decoder's error begins with the path of the field. */
static void add_decode_error(struct work *work, const struct subject *subject,
			     const struct err *err)
{
	const char *end = strstr(err->text, ": "), *path = "", *text = err->text;

	if (end && strncmp(err->text, "top level", 9) != 0) {
		path = arena_strndup(&work->arena, err->text, (size_t)(end - err->text));
		path = real_path(work, subject, path);
		text = arena_printf(&work->arena, "%s: %s", lint_shown_path(path), end + 2);
	}
	add_problem(work, subject->object, path, text,
		    position_find(&work->positions, subject->place, path));
}

static void add_reference(struct cJSON *object, const char *name, const struct cJSON *value)
{
	if (value)
		CHECK(cJSON_AddItemReferenceToObject(object, name, memory_without_const(value)));
}

/* A RayCluster of references to the relevant parts, which the tree still owns. */
static struct cJSON *make_cluster(const struct work *work, const struct subject *subject,
				  struct place spec)
{
	static const char *const kept[] = { "name", "namespace", "labels", "annotations",
					    "ownerReferences" };
	struct place metadata = place_member(&work->positions, subject->place, "metadata");
	struct cJSON *cluster = cJSON_CreateObject(), *own;

	CHECK(cluster);
	own = cJSON_AddObjectToObject(cluster, "metadata");
	CHECK(own);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		add_reference(own, kept[i], place_member(&work->positions, metadata, kept[i]).json);
	add_reference(cluster, "apiVersion",
		      place_member(&work->positions, subject->place, "apiVersion").json);
	add_reference(cluster, "spec", spec.json);
	return cluster;
}

/* False: the name is missing; adds a finding unless the API server makes one. */
static bool check_name(struct work *work, const struct subject *subject,
		       struct lint_findings *findings)
{
	struct place given = place_member(&work->positions, subject->place, "metadata");

	struct place name = place_member(&work->positions, given, "name");

	if (*text_of(work, given, "name") != '\0')
		return true;
	if (name.json && !cJSON_IsString(name.json) && !cJSON_IsNull(name.json))
		return false; /* a finding of its type */
	if (*text_of(work, given, "generateName") == '\0')
		lint_add(&work->arena, findings, LINT_RULE_FIELD_INVALID, "metadata",
			 "the object has no metadata.name; the API server refuses it",
			 "name: NAME");
	return false;
}

/* Adds a placeholder for a missing name, because the decoder requires one. */
static void need_name(struct cJSON *cluster, struct work *work, const struct subject *subject,
		      struct lint_findings *findings)
{
	struct cJSON *metadata = cJSON_GetObjectItemCaseSensitive(cluster, "metadata");

	if (check_name(work, subject, findings))
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "name");
	CHECK(cJSON_AddStringToObject(metadata, "name", "-"));
}

/* Its claims may be in a file that is not read yet. */
static bool is_for_later(struct work *work, const struct ray_cluster *cluster)
{
	bool later = !work->again && !work->live && claimed_by_cluster(cluster);

	work->has_settings = work->has_settings || later;
	return later;
}

static void remember_group(struct work *work, const struct subject *subject, size_t feature,
			   const struct ray_cluster *cluster, size_t i, int64_t gpus)
{
	const struct worker_group *group = &cluster->groups[i];
	struct lint_kept_group kept = { .entry = entry_of(work, subject->object),
					.feature = feature };
	const char *path = arena_printf(&work->arena, "spec.workerGroupSpecs[%zu]%s", i,
					lint_features[feature]->group_path);

	path = real_path(work, subject, path);
	kept.entry.finding.path = path;
	kept.entry.at = position_find(&work->positions, subject->place, path);
	kept.group = (struct object_kept_group){
		.namespace_ = cluster->namespace_,
		.name = group->name,
		.path = path,
		.spec = &group->template.spec,
		.min_gpus = resource_product(gpus, group->min_replicas),
	};
	lint_report_remember_group(work->report, &kept);
}

/* Objects of all files, to compare others with. */
static void remember(struct work *work, const struct subject *subject,
		     const struct ray_cluster *cluster)
{
	const int64_t *gpus = lint_gpus_of_groups(cluster, work->context, &work->arena);

	lint_report_remember(work->report, cluster, gpus);
	for (size_t i = 0; i < cluster->group_count; i++)
		for (size_t f = 0; lint_features[f]; f++)
			if (lint_features[f]->keeps(&cluster->groups[i], work->context->devices))
				remember_group(work, subject, f, cluster, i, gpus[i]);
}

/* They are judged when all Namespaces of the files are known. */
static void check_security(struct work *work, const struct subject *subject,
			   const struct cJSON *tree, const char *namespace_,
			   struct lint_findings *findings)
{
	struct lint_violations violations;

	lint_security_check(tree, &work->arena, findings, &violations);
	VEC_EACH(const struct lint_violation, violation, &violations.list) {
		struct lint_kept_violation kept = { .entry = entry_of(work, subject->object),
						    .namespace_ = namespace_,
						    .restricted = violation->restricted };

		kept.entry.finding.path = real_path(work, subject, violation->path);
		kept.entry.finding.message = violation->what;
		kept.entry.finding.fix = violation->write;
		if (!work->live)
			kept.entry.at = position_find(&work->positions, subject->place,
						      kept.entry.finding.path);
		lint_report_remember_violation(work->report, &kept);
	}
}

static void check_cluster(struct work *work, const struct subject *subject, struct place spec)
{
	AUTO(json_done) struct cJSON *tree = make_cluster(work, subject, spec);
	struct lint_findings findings = { .list = { .at = NULL } };
	struct ray_cluster cluster;
	size_t shape_count;
	struct err err;

	lint_shape_check(tree, ray_cluster_fields, "RayCluster", &work->arena, &findings);
	shape_count = findings.list.count;
	need_name(tree, work, subject, &findings);
	if (ray_cluster_decode(tree, "", &work->arena, &cluster, &err)) {
		if (work->again)
			return;
		add_decode_error(work, subject, &err);
	} else if (work->again && !claimed_by_cluster(&cluster)) {
		return;
	} else if (is_for_later(work, &cluster)) {
		remember(work, subject, &cluster);
		return;
	} else {
		lint_cluster(&cluster, work->context, &work->arena, &findings);
		lint_refused_cluster(subject->kind, tree, &work->arena, &findings);
		lint_void_cluster(subject->kind, tree, &work->arena, &findings);
		lint_template_check(tree, &work->arena, &findings);
		lint_together_cluster(subject->kind, tree, &work->arena, &findings);
		check_security(work, subject, tree, cluster.namespace_, &findings);
		lint_schema_check("RayCluster", tree, &work->arena, &findings);
		if (!work->again)
			remember(work, subject, &cluster);
	}
	add_findings(work, subject, &findings, shape_count);
}

static const char *object_text(struct arena *arena, const char *kind, const char *namespace_,
			       const char *name)
{
	return arena_printf(arena, "%s%s%.253s%s%.253s", kind, *name != '\0' ? " " : "", namespace_,
			    *namespace_ != '\0' ? "/" : "", name);
}

static void add_one(struct work *work, const struct subject *subject, enum lint_severity severity,
		    enum lint_rule_id rule, const char *path, const char *message, const char *fix)
{
	struct lint_findings findings = { .list = { .at = NULL } };

	lint_add(&work->arena, &findings, rule, path, message, fix)->severity = severity;
	add_findings(work, subject, &findings, 0);
}

/* Objects of other kinds are skipped, but not those whose kind is probably misspelt. */
static void check_kind(struct work *work, struct place object)
{
	struct subject subject = { .place = object, .object = "", .spec_path = "" };
	bool misspelt = false;
	const char *problem = lint_kind_problem(text_of(work, object, "kind"),
						text_of(work, object, "apiVersion"), &work->arena,
						&misspelt);

	if (problem)
		add_one(work, &subject, misspelt ? LINT_ERROR : LINT_WARNING,
			LINT_RULE_UNKNOWN_FIELD, "kind", problem, "");
}

static void check_version(struct work *work, const struct subject *subject,
			  const struct lint_kind *kind)
{
	const char *fix,
		*problem = lint_kind_version_problem(
			kind, text_of(work, subject->place, "apiVersion"), &work->arena, &fix);

	if (problem)
		add_one(work, subject, LINT_ERROR, LINT_RULE_FIELD_INVALID, "apiVersion", problem,
			fix);
}

/* It acts on the RayCluster of its own name, which may be in other files, but hardly beside one of a near name. */
static void check_target(struct work *work, struct place metadata, struct lint_findings *findings)
{
	struct nearest nearest = nearest_start(text_of(work, metadata, "name"));
	const char *namespace_ = text_of(work, metadata, "namespace");
	char hint[NEAREST_HINT_SIZE];

	VEC_EACH(const struct lint_known_cluster, one, &work->report->clusters)
		if (strcmp(one->known.cluster.namespace_, namespace_) == 0)
			nearest_offer(&nearest, one->known.cluster.name);
	if (nearest.word)
		lint_add(&work->arena, findings, LINT_RULE_SETTING_WITHOUT_EFFECT, "metadata.name",
			 arena_printf(
				 &work->arena,
				 "no RayCluster of these files has the name %.63s, so nothing here "
				 "has an effect%s",
				 text_of(work, metadata, "name"), nearest_hint(&nearest, hint)),
			 "");
}

static void check_autoscaler(struct work *work, const struct subject *subject,
			     struct lint_findings *findings)
{
	struct place metadata = place_member(&work->positions, subject->place, "metadata");
	const struct lint_known *known = lint_report_cluster(work->report, work->file_number,
							     text_of(work, metadata, "namespace"),
							     text_of(work, metadata, "name"));
	struct autoscaler_object decoded;
	struct err err;

	(void)check_name(work, subject, findings);
	if (!known)
		check_target(work, metadata, findings);
	if (autoscaler_decode(subject->place.json, "", &work->arena, &decoded, &err))
		add_decode_error(work, subject, &err);
	else
		lint_settings(&decoded, known, work->context, &work->arena, findings);
}

static void add_problems(struct arena *arena, const struct object_problems *problems,
			 struct lint_findings *findings)
{
	VEC_EACH(const struct object_problem, problem, &problems->list)
		lint_add_problem(arena, findings, LINT_RULE_COUNT, problem);
}

/* One of a feature, in no namespace. */
static void check_own(struct work *work, const struct subject *subject,
		      const struct lint_kind *kind, struct lint_findings *findings)
{
	struct place metadata = place_member(&work->positions, subject->place, "metadata");
	struct object_problems problems = { .list = { .at = NULL } };
	struct err err;

	if (!place_member(&work->positions, subject->place, "spec").json)
		lint_add(&work->arena, findings, LINT_RULE_FIELD_INVALID, "",
			 "the object has no spec; the API server refuses it", "spec: {}");
	if (*text_of(work, metadata, "namespace") != '\0')
		lint_add(&work->arena, findings, LINT_RULE_SETTING_WITHOUT_EFFECT,
			 "metadata.namespace",
			 arena_printf(&work->arena,
				      "namespace has no effect: a %s is of the whole cluster; "
				      "remove it",
				      kind->kind),
			 "");
	if (!check_name(work, subject, findings))
		return;
	if (kind->of->check(work->report->states[kind->feature], subject->place.json, &work->arena,
			    &problems, &err))
		add_decode_error(work, subject, &err);
	else
		add_problems(&work->arena, &problems, findings);
}

/* Of what is compared with other objects; above the limit nothing is kept. */
static bool add_own(struct work *work, size_t feature, const struct cJSON *object, const char *kind,
		    const char *api_version, struct object_problems *problems)
{
	struct lint_report *report = work->report;

	return report->arena->used_bytes <= LINT_REPORT_BYTES_MAX &&
	       lint_features[feature]->add(report->states[feature], object, kind, api_version,
					   report->arena, problems);
}

/* An object of rayscaler.dev: compared with other objects, when all are known. The tree is changed. */
static void check_settings(struct work *work, struct subject *subject, const struct lint_kind *kind)
{
	struct lint_findings findings = { .list = { .at = NULL } };
	struct object_problems problems = { .list = { .at = NULL } };
	size_t shape_count;

	work->has_settings = true;
	if (!work->again) {
		work->report->autoscalers++;
		if (kind->of)
			(void)add_own(work, kind->feature, subject->place.json, kind->kind, "",
				      &problems);
		return;
	}
	subject->spec_path = "spec";
	lint_shape_check(memory_without_const(subject->place.json),
			 kind->of ? kind->of->fields : autoscaler_fields, kind->kind, &work->arena,
			 &findings);
	shape_count = findings.list.count;
	check_version(work, subject, kind);
	if (kind->of)
		check_own(work, subject, kind, &findings);
	else
		check_autoscaler(work, subject, &findings);
	add_findings(work, subject, &findings, shape_count);
}

/* One that features compare others with; false: it is of none of them. */
static bool add_other(struct work *work, struct place object)
{
	struct place metadata = place_member(&work->positions, object, "metadata");
	const char *kind = text_of(work, object, "kind");
	struct subject subject = { .place = object, .spec_path = "spec" };
	struct object_problems problems = { .list = { .at = NULL } };
	struct lint_findings findings = { .list = { .at = NULL } };
	bool known = false;

	for (size_t i = 0; lint_features[i]; i++)
		known |= add_own(work, i, object.json, kind, text_of(work, object, "apiVersion"),
				 &problems);
	subject.object = object_text(&work->arena, kind, text_of(work, metadata, "namespace"),
				     text_of(work, metadata, "name"));
	add_problems(&work->arena, &problems, &findings);
	add_findings(work, &subject, &findings, 0);
	return known;
}

/* Of these files; its labels say which Pods are refused. */
static void remember_namespace(struct lint_report *report, const struct cJSON *json)
{
	struct namespace namespace;
	struct err err;

	if (report->arena->used_bytes <= LINT_REPORT_BYTES_MAX &&
	    namespace_decode(json, "", report->arena, &namespace, &err) == 0)
		VEC_PUSH(report->arena, &report->namespaces, namespace);
}

/* The file to give in place of one that has no object of Kubernetes for lint; NULL: it is not known. */
static const char *instead_of(const struct work *work, struct place object)
{
	static const struct {
		const char *member, *instead;
	} files[] = {
		{ "available_node_types", "this is a file of Ray's cluster launcher; write a "
					  "RayCluster with headGroupSpec and workerGroupSpecs" },
		{ "cluster_name", "this is a file of Ray's cluster launcher; write a RayCluster "
				  "with headGroupSpec and workerGroupSpecs" },
		{ "worker",
		  "these may be values of a Helm chart; give what \"helm template CHART -f "
		  "FILE\" renders" },
		{ "image",
		  "these may be values of a Helm chart; give what \"helm template CHART -f "
		  "FILE\" renders" },
		{ "applications", "this is a config of Ray Serve; write it as serveConfigV2 of a "
				  "RayService" },
	};

	if (strcmp(text_of(work, object, "kind"), "Kustomization") == 0)
		return "this is a Kustomization; give what \"kubectl kustomize\" renders";
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (*text_of(work, object, "kind") == '\0' &&
		    place_member(&work->positions, object, files[i].member).json)
			return files[i].instead;
	return NULL;
}

static void check_other(struct work *work, struct place object)
{
	if (work->again)
		return;
	if (!add_other(work, object)) {
		if (strcmp(text_of(work, object, "kind"), "Namespace") == 0)
			remember_namespace(work->report, object.json);
		else
			check_kind(work, object);
	}
	if (!work->report->instead)
		work->report->instead = instead_of(work, object);
}

/* Refusals of KubeRay beside the spec of the RayCluster. */
static void check_refused(struct work *work, const struct subject *subject)
{
	struct subject whole = *subject;
	struct lint_findings findings = { .list = { .at = NULL } };

	whole.spec_path = "spec";
	lint_refused_object(subject->kind, subject->place.json, &work->arena, &findings);
	lint_void_object(subject->kind, subject->place.json, &work->arena, &findings);
	lint_serve_check(subject->kind, subject->place.json, &work->arena, &findings);
	lint_form_check(lint_found_follow((struct lint_found){ subject->place.json, "" },
					  "metadata", &work->arena),
			"metadata", LINT_RULE_FIELD_INVALID, "the object", &work->arena, &findings);
	if (strcmp(subject->kind, "RayCluster") != 0)
		lint_schema_check(subject->kind, memory_without_const(subject->place.json),
				  &work->arena, &findings);
	add_findings(work, &whole, &findings, 0);
}

/* Of a RayCronJob: Go's zones are those of the tzdata. */
static void check_zone(struct work *work, const struct subject *subject)
{
	const struct lint_context *context = work->context;
	struct lint_found root = { subject->place.json, "" };
	struct lint_found at = lint_found_follow(root, "spec timeZone", &work->arena);
	struct autoscaler_schedule schedule = { .time_zone = lint_found_text(at, &work->arena) };
	const struct autoscaler_object object = { .schedules = &schedule, .schedule_count = 1 };
	const struct time_zone *zones;
	size_t count = 0;

	if (!context->time_zones || !strchr(schedule.time_zone, '/'))
		return;
	zones = context->time_zones(context->zones, &object, &work->arena, &count);
	for (size_t i = 0; i < count; i++)
		if (zones[i].problem && strcmp(zones[i].name, schedule.time_zone) == 0)
			add_one(work, subject, LINT_WARNING, LINT_RULE_TIME_ZONE_UNKNOWN, at.path,
				"timeZone is not in the tzdata of this machine, so KubeRay may not "
				"know it: write a name like Europe/Berlin",
				"");
}

/* The spec of a RayCluster in an object of this kind. */
static void check_holder(struct work *work, struct subject *subject, const struct lint_kind *kind)
{
	struct place spec = subject->place;

	work->report->objects += !work->again;
	subject->kind = kind->kind;
	if (!work->again)
		check_refused(work, subject);
	if (!work->again && strcmp(kind->kind, "RayCronJob") == 0)
		check_zone(work, subject);
	for (size_t i = 0; kind->path[i]; i++) {
		spec = place_member(&work->positions, spec, kind->path[i]);
		subject->spec_path =
			lint_path_member(&work->arena, subject->spec_path, kind->path[i]);
	}
	if (!work->again)
		check_version(work, subject, kind);
	if (spec.json)
		check_cluster(work, subject, spec);
	else if (lint_kind_is_cluster(kind) &&
		 !work->again) /* a RayJob may run on an existing RayCluster */
		add_one(work, subject, LINT_ERROR, LINT_RULE_FIELD_INVALID, "",
			"the object has no spec; the API server refuses it: add spec with "
			"headGroupSpec and workerGroupSpecs",
			"");
}

/* ---- questions to an API server ---- */

/* "rayclusters" */
static const char *plural_of(struct work *work, const char *kind)
{
	char *plural = arena_printf(&work->arena, "%ss", kind);

	for (char *at = plural; *at != '\0'; at++)
		*at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
	return plural;
}

static void ask(struct work *work, const struct subject *subject, struct lint_question *question,
		const char *path, const struct cJSON *body)
{
	question->entry = entry_of(work, subject->object);
	question->entry.finding.path = path;
	question->entry.at = position_find(&work->positions, subject->place, path);
	lint_report_ask(work->report, question, body);
}

/* One of the head, group NULL, or of a group, at `path`. */
static void ask_pod(struct work *work, const struct subject *subject, const struct cJSON *cluster,
		    const struct cJSON *group, const char *path)
{
	AUTO(json_done) struct cJSON *pod = lint_pod_make(cluster, group);
	struct place metadata = place_member(&work->positions, subject->place, "metadata");
	const char *name =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(group, "groupName"));
	struct lint_question question = {
		.what = group ? arena_printf(&work->arena, "a Pod of group %.63s",
					     name ? name : "") :
				"the head Pod",
		.api_version = "v1",
		.plural = "pods",
		.namespace_ = text_of(work, metadata, "namespace"),
		.name = "",
		.namespaced = true,
	};

	if (pod)
		ask(work, subject, &question, real_path(work, subject, path), pod);
}

static void ask_pods(struct work *work, const struct subject *subject, struct place spec)
{
	AUTO(json_done) struct cJSON *cluster = make_cluster(work, subject, spec);
	const struct cJSON *groups =
		cJSON_GetObjectItemCaseSensitive(spec.json, "workerGroupSpecs");
	size_t i = 0;

	ask_pod(work, subject, cluster, NULL, "spec.headGroupSpec");
	for (const struct cJSON *group = groups ? groups->child : NULL; group; group = group->next)
		ask_pod(work, subject, cluster, group,
			arena_printf(&work->arena, "spec.workerGroupSpecs[%zu]", i++));
}

/* Before the tree is changed. */
static void ask_object(struct work *work, const struct subject *object,
		       const struct lint_kind *kind)
{
	struct subject subject = *object;
	struct place metadata = place_member(&work->positions, subject.place, "metadata");
	struct place spec = subject.place;
	struct lint_question question = {
		.what = arena_printf(&work->arena, "the %s", kind->kind),
		.api_version = text_of(work, subject.place, "apiVersion"),
		.plural = plural_of(work, kind->kind),
		.namespace_ = text_of(work, metadata, "namespace"),
		.name = text_of(work, metadata, "name"),
		.namespaced = !kind->of,
	};

	if (work->again || !work->report->asks)
		return;
	ask(work, &subject, &question, "", subject.place.json);
	if (kind->is_settings)
		return;
	for (size_t i = 0; kind->path[i]; i++) {
		spec = place_member(&work->positions, spec, kind->path[i]);
		subject.spec_path =
			lint_path_member(&work->arena, subject.spec_path, kind->path[i]);
	}
	if (cJSON_IsObject(spec.json))
		ask_pods(work, &subject, spec);
}

static void check_object(struct work *work, struct place object)
{
	struct lint_kind kind;
	struct place metadata = place_member(&work->positions, object, "metadata");
	struct subject subject = { .place = object, .spec_path = "" };
	const char *name = text_of(work, metadata, "name");

	if (!lint_kind_find(text_of(work, object, "kind"), text_of(work, object, "apiVersion"),
			    &kind)) {
		check_other(work, object);
		return;
	}
	if (*name == '\0' && !kind.is_settings)
		name = text_of(work, metadata, "generateName");
	subject.object = object_text(&work->arena, kind.kind,
				     kind.of ? "" : text_of(work, metadata, "namespace"), name);
	ask_object(work, &subject, &kind);
	(kind.is_settings ? check_settings : check_holder)(work, &subject, &kind);
}

/* ---- documents ---- */

static bool is_list(const char *kind)
{
	size_t size = strlen(kind);

	return size >= 4 && strcmp(kind + size - 4, "List") == 0;
}

static void check_document(struct work *work, const struct cJSON *tree)
{
	struct place root = place_root(tree);
	struct place items = place_member(&work->positions, root, "items");

	if (cJSON_IsArray(tree)) {
		struct place first = place_first(&work->positions, root);

		if (first.json && *text_of(work, first, "kind") != '\0')
			add_problem(
				work, "", "",
				"a list of objects, which kubectl does not read; write it as items of "
				"kind: List with apiVersion: v1, or each object behind a line ---",
				position_find(&work->positions, root, ""));
		return;
	}
	if (!cJSON_IsArray(items.json) || !is_list(text_of(work, root, "kind"))) {
		check_object(work, root);
		return;
	}
	for (struct place e = place_first(&work->positions, items); e.json;
	     e = place_next(&work->positions, e))
		check_object(work, e);
}

/* The position is a separate field: it is removed from the message. */
static const char *without_place(const char *text, struct position at)
{
	char place[64];
	size_t size;

	snprintf(place, sizeof(place), "line %u, column %u: ", at.line, at.column);
	size = strlen(place);
	return strncmp(text, place, size) == 0 ? text + size : text;
}

static void add_text_error(struct work *work, const struct err *err, struct position at)
{
	const char *text = without_place(err->text, at);

	if (work->again)
		return;
	if (err->kind == ERR_LIMIT && at.line == 0)
		at = (struct position){ 1, 1 };
	add_problem(work, "", "", text, at);
}

static void next_document(struct work *work)
{
	work->document++;
	work->positions = (struct positions){ .arena = &work->arena };
	arena_reset(&work->arena);
}

/* `other`: the error of reading it as JSON, if it begins like JSON; it is reported when the text
 * cannot be read as YAML either. */
static void read_yaml(struct work *work, const char *text, size_t size, const struct err *other,
		      struct position other_at)
{
	struct yaml_stream *stream = yaml_stream_new(text, size, &lint_limits);
	struct cJSON *tree = NULL;
	struct err err;
	int is;

	while ((is = yaml_stream_next(stream, &work->positions, &tree, &err)) > 0) {
		check_document(work, tree);
		json_done(&tree);
		next_document(work);
	}
	if (is < 0 && other && work->document == 0)
		add_text_error(work, other, other_at);
	else if (is < 0)
		add_text_error(work, &err, work->positions.failure);
	yaml_stream_free(stream);
}

static bool looks_like_json(const char *text, size_t size)
{
	size_t start = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

	while (start < size && (text[start] == ' ' || text[start] == '\t' || text[start] == '\r' ||
				text[start] == '\n'))
		start++;
	/* "{{" begins a template. */
	return start < size &&
	       (text[start] == '[' ||
		(text[start] == '{' && (start + 1 == size || text[start + 1] != '{')));
}

static void read_text(struct work *work, const char *text, size_t size)
{
	struct cJSON *tree = NULL;
	struct err err;

	work->positions.arena = &work->arena;
	if (!looks_like_json(text, size)) {
		read_yaml(work, text, size, NULL, (struct position){ .line = 0 });
	} else if (json_parse_positions(text, size, &lint_limits, &work->positions, &tree, &err)) {
		read_yaml(work, text, size, &err, work->positions.failure);
	} else {
		check_document(work, tree);
		json_free(tree);
	}
	arena_done(&work->arena);
}

void lint_text_add(struct lint_report *report, const char *file, const char *text, size_t size,
		   const struct lint_context *context)
{
	struct work work = { .report = report,
			     .context = context,
			     .file = arena_strdup(report->arena, file),
			     .file_number = report->files,
			     .arena = ARENA_INIT };

	read_text(&work, text, size);
	if (work.has_settings && lint_report_keep_text(report, work.file, text, size))
		lint_problem_add(report, file, "",
				 "the files with objects of rayscaler.dev and claims are too large "
				 "together; those of this one are not checked: give fewer files");
	else
		report->files++;
}

#define ENFORCE "pod-security.kubernetes.io/enforce"

static const struct namespace *namespace_of(const struct lint_report *report, const char *name)
{
	return *name != '\0' ? VEC_FIND(&report->namespaces, name, name) : NULL;
}

/* The message of one in a Namespace of the files, or of the first one of an object whose Namespace is unknown. */
static const char *violation_text(const struct lint_kept_violation *violation, const char *level,
				  struct arena *arena)
{
	const struct lint_finding *finding = &violation->entry.finding;

	if (level)
		return arena_printf(arena,
				    "Pod Security %s forbids %s: %s; namespace %.63s enforces it, "
				    "and the API server refuses each Pod",
				    level, finding->message, finding->fix, violation->namespace_);
	return arena_printf(arena,
			    "Pod Security baseline forbids %s: %s, if the Namespace has the "
			    "label " ENFORCE "; the API server then refuses each Pod",
			    finding->message, finding->fix);
}

static bool is_of_same(const struct lint_entry *a, const struct lint_entry *b)
{
	return a->file_number == b->file_number && a->document == b->document &&
	       strcmp(a->object, b->object) == 0;
}

/* Errors where the files have the Namespace; where it is not known, the first one of baseline is a note. */
static void check_violations(struct lint_report *report)
{
	const struct lint_rule *rule = &lint_rules()[LINT_RULE_POD_REFUSED];
	const struct lint_entry *noted = NULL;

	VEC_EACH(const struct lint_kept_violation, violation, &report->violations) {
		const struct namespace *namespace = namespace_of(report, violation->namespace_);
		const char *level = namespace ? labels_value(&namespace->labels, ENFORCE) : NULL;
		struct lint_entry entry = violation->entry;
		bool refused = level &&
			       (strcmp(level, "restricted") == 0 ||
				(strcmp(level, "baseline") == 0 && !violation->restricted));

		if (!refused && (namespace || violation->restricted ||
				 (noted && is_of_same(noted, &violation->entry))))
			continue;
		if (!refused)
			noted = &violation->entry;
		entry.finding.rule = rule->name;
		entry.finding.severity = refused ? LINT_ERROR : LINT_INFO;
		entry.finding.message =
			violation_text(violation, refused ? level : NULL, report->arena);
		entry.finding.fix = "";
		lint_report_add(report, &entry);
	}
}

/* By the rule of the group itself. */
static bool is_reported(const struct lint_report *report, const char *rule,
			const struct lint_entry *group)
{
	VEC_EACH(const struct lint_entry, entry, &report->list)
		if (strcmp(entry->finding.rule, rule) == 0 && is_of_same(entry, group) &&
		    strcmp(entry->finding.path, group->finding.path) == 0)
			return true;
	return false;
}

static void check_groups(struct lint_report *report)
{
	VEC_EACH(const struct lint_kept_group, kept, &report->groups) {
		struct object_problems problems = { .list = { .at = NULL } };
		struct lint_findings findings = { .list = { .at = NULL } };

		lint_features[kept->feature]->group(report->states[kept->feature], &kept->group,
						    report->arena, &problems);
		add_problems(report->arena, &problems, &findings);
		VEC_EACH(const struct lint_finding, finding, &findings.list) {
			struct lint_entry entry = kept->entry;

			entry.finding = *finding;
			if (!lint_rules()[lint_rule_id(finding->rule)].in_controller ||
			    !is_reported(report, finding->rule, &entry))
				lint_report_add(report, &entry);
		}
	}
}

void lint_report_finish(struct lint_report *report, const struct lint_context *context)
{
	struct lint_context counted = *context;

	for (size_t i = 0; lint_features[i]; i++)
		if (lint_features[i]->count)
			counted.devices = lint_features[i]->count(report->states[i],
								  counted.devices, report->arena);
	check_violations(report);
	VEC_EACH(const struct lint_kept_text, kept, &report->texts) {
		struct work work = { .report = report,
				     .context = &counted,
				     .file = kept->file,
				     .file_number = kept->file_number,
				     .again = true,
				     .arena = ARENA_INIT };

		read_text(&work, kept->text, kept->size);
	}
	check_groups(report);
	lint_report_sort(report);
}

/* ---- live objects ---- */

void lint_live_add(struct lint_report *report, const char *text, const struct lint_context *context)
{
	struct work work = { .report = report,
			     .context = context,
			     .file = "",
			     .file_number = report->files,
			     .live = true,
			     .arena = ARENA_INIT };
	struct cJSON *tree = NULL;
	struct err err;

	work.positions.arena = &work.arena;
	if (json_parse_positions(text, strlen(text), &lint_limits, &work.positions, &tree, &err) ==
	    0)
		check_object(&work, place_root(tree));
	else
		add_text_error(&work, &err, (struct position){ .line = 0 });
	json_free(tree);
	report->files++;
	arena_done(&work.arena);
}
