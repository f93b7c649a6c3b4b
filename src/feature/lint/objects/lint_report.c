#include "feature/lint/objects/lint_report.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "codec/objects/pod_spec_json.h"
#include "core/model/autoscaler_problem.h"
#include "feature_objects.h"

const struct object_kinds *const lint_features[] = { FEATURE_OBJECT_KINDS NULL };

void lint_report_init(struct lint_report *report, struct arena *arena)
{
	size_t count = sizeof(lint_features) / sizeof(lint_features[0]);

	*report = (struct lint_report){ .arena = arena,
					.states = arena_array(arena, count, sizeof(void *)) };
	for (size_t i = 0; lint_features[i]; i++)
		report->states[i] = arena_array(arena, 1, lint_features[i]->state_size);
}

#define TEXT(m) FIELD_TEXT(struct lint_entry, m, #m)

static const struct field entry_texts[] = {
	TEXT(object), TEXT(finding.path), TEXT(finding.message), TEXT(finding.fix), FIELD_END,
};

static const struct field group_texts[] = {
	FIELD_PART(struct lint_kept_group, entry, entry_texts, "entry"),
	FIELD_TEXT(struct lint_kept_group, group.namespace_, "namespace"),
	FIELD_TEXT(struct lint_kept_group, group.name, "name"),
	FIELD_TEXT(struct lint_kept_group, group.path, "path"),
	FIELD_POINTER(struct lint_kept_group, group.spec, pod_spec_fields, "spec"),
	FIELD_END,
};

static const struct field violation_texts[] = {
	FIELD_PART(struct lint_kept_violation, entry, entry_texts, "entry"),
	FIELD_TEXT(struct lint_kept_violation, namespace_, "namespace"),
	FIELD_END,
};

static const struct field question_texts[] = {
	FIELD_PART(struct lint_question, entry, entry_texts, "entry"),
	FIELD_TEXT(struct lint_question, what, "what"),
	FIELD_TEXT(struct lint_question, api_version, "apiVersion"),
	FIELD_TEXT(struct lint_question, plural, "plural"),
	FIELD_TEXT(struct lint_question, namespace_, "namespace"),
	FIELD_TEXT(struct lint_question, name, "name"),
	FIELD_TEXT(struct lint_question, body, "body"),
	FIELD_END,
};

void lint_report_add(struct lint_report *report, const struct lint_entry *entry)
{
	struct arena *arena = report->arena;

	report->counts[entry->finding.severity]++;
	if (report->list.count >= LINT_ENTRIES_MAX || arena->used_bytes > LINT_REPORT_BYTES_MAX)
		report->dropped++;
	else
		VEC_PUSH(arena, &report->list, *FIELD_COPY(entry_texts, entry, arena));
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

void lint_report_remember(struct lint_report *report, const struct ray_cluster *cluster,
			  const int64_t *gpus)
{
	struct arena *arena = report->arena;
	struct worker_group *groups;
	int64_t *kept;

	if (arena->used_bytes > LINT_REPORT_BYTES_MAX)
		return;
	groups = arena_array(arena, cluster->group_count, sizeof(*groups));
	kept = arena_array(arena, cluster->group_count, sizeof(*kept));
	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct worker_group *group = &cluster->groups[g];

		kept[g] = gpus[g];
		groups[g] = (struct worker_group){
			.name = arena_strdup(arena, group->name),
			.min_replicas = group->min_replicas,
			.max_replicas = group->max_replicas,
			.has_idle_timeout_seconds = group->has_idle_timeout_seconds,
			.idle_timeout_seconds = group->idle_timeout_seconds,
		};
	}
	VEC_PUSH(
		arena, &report->clusters,
		((struct lint_known_cluster){
			.file_number = report->files,
			.known = {
				.cluster = { .namespace_ = arena_strdup(arena, cluster->namespace_),
					     .name = arena_strdup(arena, cluster->name),
					     .upscaling_mode =
						     arena_strdup(arena, cluster->upscaling_mode),
					     .has_idle_timeout_seconds =
						     cluster->has_idle_timeout_seconds,
					     .idle_timeout_seconds = cluster->idle_timeout_seconds,
					     .groups = groups,
					     .group_count = cluster->group_count },
				.owner = autoscaler_problem_owner(cluster, arena),
				.gpus = kept,
			},
		}));
}

void lint_report_remember_group(struct lint_report *report, const struct lint_kept_group *group)
{
	if (report->arena->used_bytes <= LINT_REPORT_BYTES_MAX)
		VEC_PUSH(report->arena, &report->groups,
			 *FIELD_COPY(group_texts, group, report->arena));
}

void lint_report_remember_violation(struct lint_report *report,
				    const struct lint_kept_violation *violation)
{
	if (report->arena->used_bytes <= LINT_REPORT_BYTES_MAX)
		VEC_PUSH(report->arena, &report->violations,
			 *FIELD_COPY(violation_texts, violation, report->arena));
}

const struct lint_known *lint_report_cluster(const struct lint_report *report, size_t file_number,
					     const char *namespace_, const char *name)
{
	const struct lint_known *found = NULL;

	VEC_EACH(const struct lint_known_cluster, one, &report->clusters) {
		if (strcmp(one->known.cluster.name, name) != 0 ||
		    strcmp(one->known.cluster.namespace_, namespace_) != 0)
			continue;
		if (!found || one->file_number == file_number)
			found = &one->known;
	}
	return found;
}

int lint_report_keep_text(struct lint_report *report, const char *file, const char *text,
			  size_t size)
{
	if (report->kept_bytes + size > LINT_KEPT_BYTES_MAX)
		return -1;
	report->kept_bytes += size;
	VEC_PUSH(report->arena, &report->texts,
		 ((struct lint_kept_text){ .file = file,
					   .text = arena_strndup(report->arena, text, size),
					   .file_number = report->files,
					   .size = size }));
	return 0;
}

void lint_report_ask(struct lint_report *report, const struct lint_question *question,
		     const struct cJSON *body)
{
	struct lint_question full = *question;
	char *text;

	if (!report->asks)
		return;
	if (report->arena->used_bytes > LINT_REPORT_BYTES_MAX) {
		report->dropped++;
		return;
	}
	text = cJSON_PrintUnformatted(body);
	CHECK(text);
	full.body = text;
	VEC_PUSH(report->arena, &report->questions,
		 *FIELD_COPY(question_texts, &full, report->arena));
	cJSON_free(text);
}
