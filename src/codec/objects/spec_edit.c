#include "codec/objects/spec_edit.h"

#include "base/check.h"
#include "codec/schema/field_names.h"
#include "core/model/settings.h"

/* The members of spec that decisions read. */
static const struct field *spec_fields(const struct field *table)
{
	const struct field *spec = field_find(table, "spec");

	CHECK(spec);
	return spec->members;
}

const struct field *spec_edit_row(const struct field *table, const char *name)
{
	return field_find(spec_fields(table), name);
}

int spec_edit_check(const struct field *table, const struct json_steps *steps, const char *path,
		    struct arena *arena, struct err *err)
{
	const struct field *fields = spec_fields(table);

	for (size_t i = 0; i < steps->count; i++) {
		const struct field *row;

		if (!fields)
			break;
		if (steps->at[i].bracket)
			continue;
		row = field_find(fields, steps->at[i].name);
		if (!row)
			return err_set(err, ERR_INPUT,
				       "%.80s: %.80s is not a member that a decision reads%s", path,
				       steps->at[i].name,
				       field_names_hint(fields, steps->at[i].name, arena));
		fields = row->members;
	}
	return 0;
}

int spec_edit_refuse(const struct field *clusters, const struct field *autoscalers,
		     const char *path, const char *first, struct arena *arena, struct err *err)
{
	const struct field *autoscaler = spec_fields(autoscalers);
	struct nearest nearest = nearest_start(first);
	const struct settings_row *settings;
	char hint[NEAREST_HINT_SIZE];
	size_t count;

	settings = settings_rows(&count);
	nearest_offer(&nearest, "gpuPools");
	field_names_offer(&nearest, autoscaler);
	field_names_offer(&nearest, spec_fields(clusters));
	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, settings[i].name);
	if (nearest.word)
		return err_set(err, ERR_NOT_FOUND, "%.80s is not known%s", path,
			       nearest_hint(&nearest, hint));
	return err_set(err, ERR_NOT_FOUND,
		       "%.80s is not known; give a member of spec of a RayCluster, as "
		       "workerGroupSpecs[NAME].maxReplicas, of a RayClusterAutoscaler (%s), of a "
		       "GPUPool, as " GPU_POOLS_PATH
		       ", a flag of \"rayscaler run\", as packing, or "
		       "pools[NAME] or prices[NAME]",
		       path, field_names_text(autoscaler, arena));
}

static int set_one(struct cJSON *tree, const struct json_steps *steps, const char *value,
		   struct err *err)
{
	struct json_steps all = { .at = { { .name = "spec" } }, .count = 1 };

	for (size_t i = 0; i < steps->count && all.count < JSON_STEPS_MAX; i++)
		all.at[all.count++] = steps->at[i];
	return json_edit_set(tree, &all, value, err);
}

int spec_edit_set(struct cJSON *const *trees, size_t count, const struct json_steps *steps,
		  const char *value, struct err *err)
{
	struct err first = { .kind = ERR_NONE };
	size_t changed = 0;

	for (size_t i = 0; i < count; i++) {
		struct err own = { .kind = ERR_NONE };

		changed += set_one(trees[i], steps, value, &own) == 0;
		if (own.kind == ERR_INPUT || (own.kind != ERR_NONE && first.kind == ERR_NONE))
			first = own;
		if (own.kind == ERR_INPUT)
			break;
	}
	if (first.kind == ERR_NONE || (first.kind != ERR_INPUT && changed > 0))
		return 0;
	*err = first;
	return -1;
}
