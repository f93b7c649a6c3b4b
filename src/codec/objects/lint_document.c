#include "codec/objects/lint_document.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/sort.h"
#include "codec/objects/lint_shape.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/request_resources.h"
#include "codec/text/yaml.h"
#include "core/lint/lint_rule.h"

/* About 150 bytes of memory each. */
#define ELEMENTS_MAX 1000000
/* Limit of the wrong types that are remembered for one object. */
#define HIDING_MAX 100

const struct json_limits lint_limits = {
	.bytes = LINT_FILE_BYTES_MAX,
	.depth = 100,
	.elements = ELEMENTS_MAX,
	.unique_names = true,
};

/* The path of the RayCluster spec in other kinds. */
static const struct holder {
	const char *kind, *path[4]; /* member by member, NULL after the last */
} holders[] = {
	{ "RayCluster", { "spec" } },
	{ "RayJob", { "spec", "rayClusterSpec" } },
	{ "RayService", { "spec", "rayClusterConfig" } },
	{ "RayCronJob", { "spec", "jobTemplate", "rayClusterSpec" } },
};

/* One document in progress. */
struct work {
	struct lint_report *report;
	const struct lint_context *context;
	const char *file;
	size_t document;
	struct positions positions;
	struct arena arena; /* of this document */
};

/* One object in progress. */
struct subject {
	struct place place;    /* its root */
	const char *object;    /* "RayJob ray/demo" */
	const char *spec_path; /* "spec.rayClusterSpec" */
};

/* ---- the report ---- */

void lint_report_init(struct lint_report *report, struct arena *arena)
{
	*report = (struct lint_report){ .arena = arena };
}

static void add_entry(struct lint_report *report, const struct lint_entry *entry)
{
	struct arena *arena = report->arena;
	struct lint_entry *kept;

	report->counts[entry->finding.severity]++;
	if (report->list.count >= LINT_ENTRIES_MAX || arena->used_bytes > LINT_REPORT_BYTES_MAX) {
		report->dropped++;
		return;
	}
	kept = VEC_ADD(arena, &report->list);
	*kept = *entry;
	kept->object = arena_strdup(arena, entry->object);
	kept->finding.path = arena_strdup(arena, entry->finding.path);
	kept->finding.message = arena_strdup(arena, entry->finding.message);
	kept->finding.fix = arena_strdup(arena, entry->finding.fix);
}

static void add_problem(struct work *work, const char *object, const char *path,
			const char *problem, struct position at)
{
	const struct lint_rule *rule = &lint_rules()[LINT_RULE_CANNOT_BE_READ];

	add_entry(work->report, &(struct lint_entry){
					.file = work->file,
					.file_number = work->report->files,
					.document = work->document,
					.object = object,
					.at = at,
					.finding = { .severity = rule->severity,
						     .rule = rule->name,
						     .path = path,
						     .message = problem,
						     .fix = "" },
				});
}

void lint_problem_add(struct lint_report *report, const char *file, const char *object,
		      const char *problem)
{
	struct work work = { .report = report, .file = arena_strdup(report->arena, file) };

	add_problem(&work, object, "", problem, (struct position){ .line = 0 });
	report->objects += *object != '\0';
	report->files++;
}

static int compare_entries(const void *a, const void *b)
{
	const struct lint_entry *left = a, *right = b;

	if (left->file_number != right->file_number)
		return left->file_number < right->file_number ? -1 : 1;
	if (left->document != right->document)
		return left->document < right->document ? -1 : 1;
	if (left->at.line != right->at.line)
		return left->at.line < right->at.line ? -1 : 1;
	if (left->at.column != right->at.column)
		return left->at.column < right->at.column ? -1 : 1;
	return 0;
}

void lint_report_sort(struct lint_report *report)
{
	sort_stable(report->list.at, report->list.count, sizeof(*report->list.at), compare_entries);
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

static bool is_below(const char *path, const char *above)
{
	size_t size = strlen(above);

	return strncmp(path, above, size) == 0 &&
	       (path[size] == '\0' || path[size] == '.' || path[size] == '[');
}

/* True for a further finding on a value of the wrong type: rules saw its replacement. The first
 * `shape_count` findings are of types. */
static bool is_hidden(const struct lint_findings *findings, size_t shape_count, size_t i)
{
	const char *wrong = lint_rules()[LINT_RULE_WRONG_TYPE].name;
	bool hidden = false;

	if (i < shape_count)
		return false;
	for (size_t j = 0; j < shape_count && j < HIDING_MAX && !hidden; j++)
		hidden = strcmp(findings->list.at[j].rule, wrong) == 0 &&
			 is_below(findings->list.at[i].path, findings->list.at[j].path);
	return hidden;
}

static void add_findings(struct work *work, const struct subject *subject,
			 const struct lint_findings *findings, size_t shape_count)
{
	for (size_t i = 0; i < findings->list.count; i++) {
		struct lint_entry entry = {
			.file = work->file,
			.file_number = work->report->files,
			.document = work->document,
			.object = subject->object,
			.finding = findings->list.at[i],
		};

		if (is_hidden(findings, shape_count, i))
			continue;
		entry.finding.path = real_path(work, subject, entry.finding.path);
		entry.at = position_find(&work->positions, subject->place, entry.finding.path);
		add_entry(work->report, &entry);
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
		text = arena_printf(&work->arena, "%s: %s", lint_member_name(path), end + 2);
	}
	add_problem(work, subject->object, path, text,
		    position_find(&work->positions, subject->place, path));
}

static void add_reference(struct cJSON *object, const char *name, const struct cJSON *value)
{
	if (value)
		CHECK(cJSON_AddItemReferenceToObject(object, name, (struct cJSON *)value));
}

/* A RayCluster of references to the relevant parts, which the tree still owns. */
static struct cJSON *make_cluster(const struct work *work, const struct subject *subject,
				  struct place spec)
{
	static const char *const kept[] = { "name", "namespace", "labels", "annotations" };
	struct place metadata = place_member(&work->positions, subject->place, "metadata");
	struct cJSON *cluster = cJSON_CreateObject(), *own;

	CHECK(cluster != NULL);
	own = cJSON_AddObjectToObject(cluster, "metadata");
	CHECK(own != NULL);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		add_reference(own, kept[i], place_member(&work->positions, metadata, kept[i]).json);
	add_reference(cluster, "apiVersion",
		      place_member(&work->positions, subject->place, "apiVersion").json);
	add_reference(cluster, "spec", spec.json);
	return cluster;
}

/* Adds a placeholder for a missing name, because the decoder requires one, and a finding. */
static void need_name(struct cJSON *cluster, struct work *work, const struct subject *subject,
		      struct lint_findings *findings)
{
	struct cJSON *metadata = cJSON_GetObjectItemCaseSensitive(cluster, "metadata");
	const struct cJSON *name = cJSON_GetObjectItemCaseSensitive(metadata, "name");
	struct place given = place_member(&work->positions, subject->place, "metadata");

	if (cJSON_IsString(name) && *name->valuestring != '\0')
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "name");
	CHECK(cJSON_AddStringToObject(metadata, "name", "-"));
	if (*text_of(work, given, "generateName") == '\0')
		lint_add(&work->arena, findings, LINT_RULE_FIELD_INVALID, "metadata",
			 "the object has no metadata.name; the API server refuses it",
			 "name: NAME");
}

/* Runs the rules, and adds the parse error of the annotation that requests resources. */
static void run_rules(const struct ray_cluster *cluster, const struct lint_context *context,
		      struct arena *arena, struct lint_findings *findings)
{
	struct snapshot *snapshot = ARENA_NEW(arena, struct snapshot);
	struct lint_context own = *context;

	snapshot->cluster = *cluster;
	request_resources_observe(snapshot, arena);
	own.annotation_request = snapshot->annotation_request;
	own.annotation_problem = snapshot->annotation_problem;
	lint_cluster(cluster, &own, arena, findings);
}

static void check_cluster(struct work *work, const struct subject *subject, struct place spec)
{
	AUTO(json_done) struct cJSON *tree = make_cluster(work, subject, spec);
	struct lint_findings findings = { .list = { .at = NULL } };
	struct ray_cluster cluster;
	size_t shape_count;
	struct err err;

	lint_shape_check(tree, &work->arena, &findings);
	shape_count = findings.list.count;
	need_name(tree, work, subject, &findings);
	if (ray_cluster_decode(tree, "", &work->arena, &cluster, &err))
		add_decode_error(work, subject, &err);
	else
		run_rules(&cluster, work->context, &work->arena, &findings);
	add_findings(work, subject, &findings, shape_count);
}

static const char *object_text(struct arena *arena, const char *kind, const char *namespace_,
			       const char *name)
{
	return arena_printf(arena, "%s%s%.253s%s%.253s", kind, *name != '\0' ? " " : "", namespace_,
			    *namespace_ != '\0' ? "/" : "", name);
}

static void add_one(struct work *work, const struct subject *subject, enum lint_rule_id rule,
		    const char *path, const char *message)
{
	struct lint_findings findings = { .list = { .at = NULL } };

	lint_add(&work->arena, &findings, rule, path, message, "");
	add_findings(work, subject, &findings, 0);
}

static const struct holder *find_holder(const struct work *work, struct place object)
{
	const char *kind = text_of(work, object, "kind");
	const char *version = text_of(work, object, "apiVersion");

	if (*version != '\0' && strncmp(version, "ray.io/", 7) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		if (strcmp(kind, holders[i].kind) == 0)
			return &holders[i];
	}
	return NULL;
}

/* Objects of other kinds are skipped, but not those whose kind is probably misspelt. */
static void check_kind(struct work *work, struct place object)
{
	const char *kind = text_of(work, object, "kind");
	struct subject subject = { .place = object, .object = "", .spec_path = "" };
	struct nearest nearest = nearest_start(kind);
	char hint[NEAREST_HINT_SIZE];

	if (strncmp(text_of(work, object, "apiVersion"), "ray.io/", 7) != 0)
		return;
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++)
		nearest_offer(&nearest, holders[i].kind);
	add_one(work, &subject, LINT_RULE_UNKNOWN_FIELD, "kind",
		arena_printf(&work->arena,
			     "kind \"%.64s\" of ray.io is unknown, so it is skipped%s", kind,
			     nearest_hint(&nearest, hint)));
}

static void check_object(struct work *work, struct place object)
{
	const struct holder *holder = find_holder(work, object);
	struct place metadata = place_member(&work->positions, object, "metadata"), spec = object;
	struct subject subject = { .place = object, .spec_path = "" };
	const char *name;

	if (!holder) {
		check_kind(work, object);
		return;
	}
	work->report->objects++;
	for (size_t i = 0; holder->path[i]; i++) {
		spec = place_member(&work->positions, spec, holder->path[i]);
		subject.spec_path =
			lint_path_member(&work->arena, subject.spec_path, holder->path[i]);
	}
	name = text_of(work, metadata, "name");
	if (*name == '\0')
		name = text_of(work, metadata, "generateName");
	subject.object =
		object_text(&work->arena, holder->kind, text_of(work, metadata, "namespace"), name);
	if (spec.json)
		check_cluster(work, &subject, spec);
	else if (holder == &holders[0]) /* a RayJob may run on an existing RayCluster */
		add_one(work, &subject, LINT_RULE_FIELD_INVALID, "",
			"the object has no spec; the API server refuses it");
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
	return start < size && (text[start] == '{' || text[start] == '[');
}

void lint_text_add(struct lint_report *report, const char *file, const char *text, size_t size,
		   const struct lint_context *context)
{
	struct work work = { .report = report,
			     .context = context,
			     .file = arena_strdup(report->arena, file),
			     .arena = ARENA_INIT };
	struct cJSON *tree = NULL;
	struct err err;

	work.positions.arena = &work.arena;
	if (!looks_like_json(text, size)) {
		read_yaml(&work, text, size, NULL, (struct position){ .line = 0 });
	} else if (json_parse_positions(text, size, &lint_limits, &work.positions, &tree, &err)) {
		read_yaml(&work, text, size, &err, work.positions.failure);
	} else {
		check_document(&work, tree);
		json_free(tree);
	}
	report->files++;
	arena_done(&work.arena);
}

/* ---- live objects ---- */

void lint_live_add(struct lint_report *report, const struct ray_cluster *cluster,
		   const struct lint_context *context)
{
	struct work work = { .report = report, .file = "", .arena = ARENA_INIT };
	struct subject subject = { .spec_path = "spec" };
	struct lint_findings findings = { .list = { .at = NULL } };

	subject.object = object_text(&work.arena, "RayCluster", cluster->namespace_, cluster->name);
	report->objects++;
	run_rules(cluster, context, &work.arena, &findings);
	add_findings(&work, &subject, &findings, 0);
	report->files++;
	arena_done(&work.arena);
}
