#include "laws_stays.h"

#include "base/memory.h"
#include "codec/objects/autoscaler_spec_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/schema/field.h"
#include "core/model/settings.h"
#include "laws_random.h"

/* Near enough to the times of a random snapshot that a span ends soon. */
#define VALUE_MAX 150

static struct cJSON *child(struct cJSON *tree, const char *name)
{
	struct cJSON *found = TREE_AT(tree, name);

	return cJSON_IsObject(found) ? found : cJSON_AddObjectToObject(tree, name);
}

static void set_number(struct cJSON *object, const char *name, int64_t value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddNumberToObject(object, name, (double)value);
}

static void draw_settings(struct cJSON *snapshot, struct laws_random *random)
{
	struct cJSON *settings = child(snapshot, "settings");
	size_t count;
	const struct settings_row *rows = settings_rows(&count);

	for (size_t i = 0; i < count; i++) {
		int64_t value = rows[i].minimum + laws_random_below(random, VALUE_MAX);

		if (rows[i].kind == SETTINGS_INTEGER && laws_random_below(random, 3) == 0)
			set_number(settings, rows[i].name,
				   value < rows[i].maximum ? value : rows[i].maximum);
	}
}

/* The numbers of an object; lists only where the snapshot has elements. */
static void draw_fields(struct cJSON *object, const struct field *fields,
			struct laws_random *random)
{
	for (const struct field *field = fields; field->name; field++) {
		struct cJSON *member = TREE_AT(object, field->name);

		if (field->kind == FIELD_KIND_INTEGER && laws_random_below(random, 3) == 0)
			set_number(object, field->name, 1 + laws_random_below(random, VALUE_MAX));
		else if (field->kind == FIELD_KIND_POINTER && cJSON_IsObject(member))
			draw_fields(member, field->members, random);
		else if (field->kind == FIELD_KIND_LIST && cJSON_IsArray(member))
			for (struct cJSON *item = member->child; item; item = item->next)
				draw_fields(item, field->members, random);
	}
}

void laws_stays_check(const struct cJSON *snapshot, uint64_t seed, struct plan_stays *counts,
		      struct laws_verdict *verdict)
{
	struct cJSON *drawn = cJSON_Duplicate(snapshot, true);
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct laws_random random;
	struct snapshot decoded;
	const char *broken;

	laws_random_init(&random, seed + 1);
	draw_settings(drawn, &random);
	if (cJSON_IsObject(TREE_AT(drawn, "autoscaler")))
		draw_fields(child(child(drawn, "autoscaler"), "spec"), autoscaler_spec_fields,
			    &random);
	if (snapshot_decode(drawn, "", &arena, &decoded, &err)) {
		laws_break(verdict, "reads", "with other numbers: %s", err.text);
	} else {
		broken = plan_stays_check(&decoded, &arena, counts);
		if (broken)
			laws_break(verdict, "stays", "%s", broken);
	}
	cJSON_Delete(drawn);
}
