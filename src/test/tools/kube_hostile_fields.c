/* The fields that are decoded, and what hostile values of them do (src/test/support/hostile_fields.h).
 *   kube_hostile_fields                      the generated part of docs/internals/hostile-objects.md */
#include "test/support/hostile_markdown.h"

static enum hostile_result result;

static void on_change(void *context, enum kube_change change, const char *key, const void *old,
		      const void *new_object)
{
	(void)key;
	(void)old;
	result = hostile_result_of(context, change, new_object);
}

/* As an informer reads it. */
static enum hostile_result read_text(const struct kube_type *type, const char *text)
{
	const struct kube_informer_callbacks callbacks = { .on_change = on_change,
							   .context = (void *)(uintptr_t)type };
	AUTO(json_done) struct cJSON *json = NULL;
	struct kube_store store;
	struct err problem, err;

	kube_store_init(&store, NULL, type, &callbacks);
	store.passing = true;
	foreign_object_parse(text, strlen(text), false, &json, &problem);
	if (kube_store_put(&store, json, problem.kind == ERR_NONE ? NULL : problem.text, &err) < 0)
		result = HOSTILE_NAMELESS;
	kube_store_done(&store);
	return result;
}

static void try_field(const struct kube_type *type, struct hostile_field *field)
{
	for (enum hostile_mutation m = 0; m < HOSTILE_MUTATIONS; m++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		char *text;

		if (!hostile_applies(field, m))
			continue;
		text = hostile_text(field, m, field->tree);
		field->results[m] = type->plural ? read_text(type, text) :
						   hostile_read_alone(type, text, &arena);
		free(text);
	}
}

static int print_table(void)
{
	AUTO(buf_done) struct buf text;

	for (size_t i = 0; i < HOSTILE_KINDS; i++)
		for (size_t f = 0; f < hostile_kinds[i].count; f++)
			try_field(hostile_types[i], &hostile_kinds[i].fields[f]);
	buf_init(&text, HOSTILE_MARKDOWN_MAX);
	hostile_write_markdown(&text);
	return fputs(buf_string(&text), stdout) < 0;
}

int main(void)
{
	const char *missing = hostile_load_all();
	int status;

	if (missing) {
		fprintf(stderr, "%s\n", missing);
		return 1;
	}
	status = print_table();
	hostile_free_all();
	return status;
}
