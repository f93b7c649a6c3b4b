/* The fields that are decoded, and the results of hostile values
 * (src/test/support/hostile_fields.h).
 *   kube_hostile_fields                  the generated part of src/test/data/hostile-fields.md
 *   kube_hostile_fields cases NAMESPACE PART PARTS
 *       every PARTS-th value of each field, a line each, separated by tabs: kind, apiVersion,
 *       field, value, name, the object, and a merge patch of its status when the field is in there
 *   kube_hostile_fields list KIND        reads a LIST reply; a line for each item: name, result
 *   kube_hostile_fields table            reads lines: kind, field, value, result; prints the same
 *                                        tables of them
 * For e2e/rayscaler_e2e/hostile/fields.py. */
#include "test/support/hostile_markdown.h"

#include "codec/objects/list_stream.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)

static enum hostile_result result;
static const char *result_key; /* of the object; "" when it has none */

static void on_change(void *context, enum kube_change change, const char *key, const void *old,
		      const void *new_object)
{
	(void)old;
	result = hostile_result_of(context, change, new_object);
	result_key = arena_strdup(&hostile_arena, key);
}

/* As an informer reads it. `problem`: NULL, or why the text is only a skeleton. */
static enum hostile_result read_text(const struct kube_type *type, const char *text, size_t size,
				     const char *problem)
{
	const struct kube_informer_callbacks callbacks = { .on_change = on_change,
							   .context = (void *)(uintptr_t)type };
	AUTO(json_done) struct cJSON *json = NULL;
	struct kube_store store;
	struct err unreadable, err;

	kube_store_init(&store, NULL, type, &callbacks);
	store.passing = true;
	result_key = "";
	foreign_object_parse(text, size, false, &json, &unreadable);
	if (!problem && unreadable.kind != ERR_NONE)
		problem = unreadable.text;
	if (kube_store_put(&store, json, problem, &err) < 0)
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
		field->results[m] = type->plural ? read_text(type, text, strlen(text), NULL) :
						   hostile_read_alone(type, text, &arena);
		free(text);
	}
}

static int print_tables(void)
{
	AUTO(buf_done) struct buf text;

	buf_init(&text, HOSTILE_MARKDOWN_MAX);
	hostile_write_markdown(&text);
	return fputs(buf_string(&text), stdout) < 0;
}

static int print_readers(void)
{
	for (size_t i = 0; i < HOSTILE_KINDS; i++)
		for (size_t f = 0; f < hostile_kinds[i].count; f++)
			try_field(hostile_types[i], &hostile_kinds[i].fields[f]);
	return print_tables();
}

/* ---- cases ---- */

static void set_text(struct cJSON *object, const char *name, const char *text)
{
	struct cJSON *member = cJSON_GetObjectItem(object, name);

	if (member)
		(void)cJSON_SetValuestring(member, text);
}

/* As a tenant may send it: with the given name, without a version. */
static void address(struct cJSON *tree, const char *namespace_, const char *name)
{
	struct cJSON *metadata = cJSON_GetObjectItem(tree, "metadata");

	set_text(metadata, "name", name);
	set_text(metadata, "namespace", namespace_);
	set_text(metadata, "resourceVersion", "");
	set_text(cJSON_GetObjectItem(tree, "involvedObject"), "namespace", namespace_);
	set_text(cJSON_GetObjectItem(tree, "regarding"), "namespace", namespace_);
}

static void print_case(const struct hostile_kind *kind, const struct hostile_field *field,
		       enum hostile_mutation mutation, const char *name)
{
	struct cJSON *status = cJSON_GetObjectItem(field->tree, "status");
	bool in_status = strncmp(field->path, "status", 6) == 0;
	char *body = in_status ? cJSON_PrintUnformatted(field->tree) :
				 hostile_text(field, mutation, field->tree);
	char *patch = in_status ? hostile_text(field, mutation, status) : NULL;

	printf("%s\t%s\t%s\t%s\t%s\t%s\t", kind->type->kind,
	       cJSON_GetStringValue(cJSON_GetObjectItem(field->tree, "apiVersion")), field->path,
	       hostile_mutation_names[mutation], name, body);
	if (patch)
		printf("{\"status\":%s}", patch);
	putchar('\n');
	free(body);
	free(patch);
}

static bool is_in_no_namespace(const struct kube_type *type)
{
	return type == &kube_type_node || type == &kube_type_namespace ||
	       type == &kube_type_gpu_pool || type == &kube_type_resource_slice ||
	       type == &kube_type_device_class || type == &kube_type_taint_rule;
}

static void print_cases(const char *namespace_, size_t part, size_t parts)
{
	size_t number = 0;

	for (size_t i = 0; i < HOSTILE_KINDS; i++) {
		const struct hostile_kind *kind = &hostile_kinds[i];

		for (size_t f = 0; f < kind->count; f++) {
			for (enum hostile_mutation m = 0; m < HOSTILE_MUTATIONS; m++) {
				char name[40];

				number++;
				if ((f + m) % parts != part ||
				    !hostile_applies(&kind->fields[f], m))
					continue;
				(void)snprintf(name, sizeof(name), "field-%zu", number);
				address(kind->fields[f].tree,
					is_in_no_namespace(kind->type) ? "" : namespace_, name);
				print_case(kind, &kind->fields[f], m, name);
			}
		}
	}
}

/* ---- lists and tables ---- */

static struct hostile_kind *kind_of(const char *name)
{
	for (size_t i = 0; i < HOSTILE_KINDS; i++) {
		if (strcmp(hostile_types[i]->kind, name) == 0)
			return &hostile_kinds[i];
	}
	fprintf(stderr, "%s is none of the kinds\n", name);
	exit(2);
}

static void on_item(void *context, const char *text, size_t size, const char *problem)
{
	enum hostile_result found = read_text(context, text, size, problem);
	const char *slash = strchr(result_key, '/');

	printf("%s\t%s\n", slash ? slash + 1 : result_key, hostile_result_names[found]);
}

static int read_list(const struct kube_type *type)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(list_stream_done) struct list_stream stream;
	char *piece = arena_alloc(&arena, LINE_MAX_BYTES);
	struct list_page page;
	struct err err;
	size_t size;

	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, on_item, (void *)(uintptr_t)type);
	while ((size = fread(piece, 1, LINE_MAX_BYTES, stdin)) > 0)
		list_stream_feed(&stream, piece, size);
	if (list_stream_end(&stream, &arena, &page, &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}

static size_t find_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	fprintf(stderr, "unknown: %s\n", name);
	exit(2);
}

static void take_result(const char *kind_name, const char *path, const char *value,
			const char *found)
{
	struct hostile_kind *kind = kind_of(kind_name);

	for (size_t i = 0; i < kind->count; i++) {
		if (strcmp(kind->fields[i].path, path) == 0)
			kind->fields[i].results[find_name(hostile_mutation_names, HOSTILE_MUTATIONS,
							  value)] =
				(enum hostile_result)find_name(hostile_result_names,
							       HOSTILE_RESULTS, found);
	}
}

static int read_table(void)
{
	char line[1024], *part[4];

	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line;

		for (size_t i = 0; i < 4; i++)
			part[i] = strsep(&rest, "\t\n");
		take_result(part[0], part[1], part[2], part[3]);
	}
	return print_tables();
}

int main(int argc, char **argv)
{
	const char *missing = hostile_load_all();
	int status = 0;

	if (missing) {
		fprintf(stderr, "%s\n", missing);
		return 1;
	}
	if (argc == 5 && strcmp(argv[1], "cases") == 0)
		print_cases(argv[2], strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "list") == 0)
		status = read_list(kind_of(argv[2])->type);
	else if (argc == 2 && strcmp(argv[1], "table") == 0)
		status = read_table();
	else
		status = print_readers();
	hostile_free_all();
	return status;
}
