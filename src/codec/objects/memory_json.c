#include "codec/objects/memory_json.h"

#include <string.h>

#include "core/decide/template_seen.h"

/* A memory written by this program never has more; a forged one must not cause overflow. */
#define COUNT_MAX INT32_MAX
#define SECONDS_MAX 31536000
#define TEXT_SIZE_MAX 1024 /* ours are cut to half of it */
#define FINGERPRINT_SIZE 16

/* ---- templates ---- */

const struct field memory_template_fields[] = {
	FIELD_TEXT(struct memory_template, fingerprint, "template", .flags = FIELD_ALWAYS,
		   .description = "Hash of what the template gives a worker in Ray."),
	FIELD_TIME(struct memory_template, since, "since",
		   .description = "When the template was last edited; older Pods have another "
				  "one."),
	FIELD_TEXT(struct memory_template, pod, "pod",
		   .description = "A worker that lacks a resource of the template."),
	FIELD_RESOURCES(struct memory_template, resources, "resources",
			.description = "Resources in Ray that differ from the template's; 0: "
				       "absent."),
	FIELD_LABELS(struct memory_template, labels, "labels",
		     .description = "Labels in Ray of all workers of the template."),
	FIELD_END,
};

static bool is_name(const char *text)
{
	return *text != '\0' && strlen(text) <= TEMPLATE_SEEN_NAME_SIZE_MAX;
}

static bool is_valid(const struct memory_template *template)
{
	if (strlen(template->fingerprint) != FINGERPRINT_SIZE ||
	    strlen(template->pod) > TEMPLATE_SEEN_NAME_SIZE_MAX ||
	    template->resources.count > TEMPLATE_SEEN_RESOURCES_MAX ||
	    template->labels.count > TEMPLATE_SEEN_RESOURCES_MAX)
		return false;
	for (size_t i = 0; i < template->resources.count; i++)
		if (!is_name(template->resources.at[i].name))
			return false;
	for (size_t i = 0; i < template->labels.count; i++)
		if (!is_name(template->labels.at[i].key) ||
		    strlen(template->labels.at[i].value) > TEMPLATE_SEEN_NAME_SIZE_MAX)
			return false;
	return true;
}

int memory_template_decode(const struct json_at *at, struct memory_template *ret_template)
{
	struct memory_template template = *ret_template;

	if (json_expect(at, JSON_OBJECT) ||
	    field_decode_all(at, memory_template_fields, &template) || !is_valid(&template))
		return -1;
	*ret_template = template;
	return 0;
}

/* ---- members: -1 drops the entry ---- */

/* A required one is not empty. */
static int text_decode(const struct json_at *at, const struct field *field, void *object)
{
	const void *value = (const char *)object + field->offset;
	const char *const *text = value;

	return field_decode(at, field, object) || strlen(*text) > TEXT_SIZE_MAX ||
	       (**text == '\0' && (field->flags & FIELD_REQUIRED));
}

static int since_decode(const struct json_at *at, const struct field *field, void *object)
{
	const void *value = (const char *)object + field->offset;

	return field_decode(at, field, object) || *(const time_ms *)value == TIME_NONE;
}

/* "" and what is not a short text count as missing. */
static int who_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct memory_mark *mark = object;

	if (text_decode(at, field, object) || *mark->who == '\0')
		mark->who = NULL;
	return 0;
}

/* ---- entries ---- */

#define NAME(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_REQUIRED, .read = text_decode)
#define TEXT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS, .read = text_decode)
#define SINCE(T, m, n) FIELD_TIME(T, m, n, .read = since_decode)
#define COUNT(T, m, n, maximum, f) FIELD_INTEGER(T, m, n, .most = (maximum), .flags = (f))
#define BACKOFF struct memory_backoff
#define LAUNCH struct memory_launch
#define MARK struct memory_mark

static const struct field backoff_fields[] = {
	NAME(BACKOFF, group, "group"),
	SINCE(BACKOFF, until, "until"),
	COUNT(BACKOFF, seconds, "seconds", SECONDS_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	TEXT(BACKOFF, cause, "cause"),
	TEXT(BACKOFF, message, "message"),
	FIELD_END,
};

static const struct field launch_fields[] = {
	NAME(LAUNCH, group, "group"),
	COUNT(LAUNCH, replicas, "replicas", COUNT_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	COUNT(LAUNCH, base_replicas, "baseReplicas", COUNT_MAX, FIELD_ALWAYS | FIELD_GIVEN),
	COUNT(LAUNCH, not_registered, "unjoined", COUNT_MAX, FIELD_ALWAYS),
	COUNT(LAUNCH, unneeded, "unneeded", COUNT_MAX, FIELD_ALWAYS),
	FIELD_TIME(LAUNCH, unneeded_since, "unneededSince", .flags = FIELD_ALWAYS),
	FIELD_TIME(LAUNCH, round, "round"),
	FIELD_END,
};

static const struct field mark_fields[] = {
	NAME(MARK, key, "key"),
	SINCE(MARK, since, "since"),
	COUNT(MARK, count, "count", JSON_INTEGER_MAX, 0),
	FIELD_TEXT(MARK, who, "who", .read = who_decode),
	FIELD_END,
};

static int template_decode(const struct json_at *at, const struct field *field, void *object)
{
	(void)field;
	return memory_template_decode(at, object);
}

static void write_template(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	(void)field;
	field_write_all(writer, memory_template_fields, object);
}

static const struct field template_entry_fields[] = {
	NAME(struct memory_template, group, "group"),
	FIELD_HOOK("template", .read = template_decode, .write = write_template), /* and the rest */
	FIELD_END,
};

/* The elements of the list `name` that the decoder accepts, at most MEMORY_ENTRIES_MAX; a mark gets
 * its kind from `initial`. */
#define DECODE_LIST(root, name, fields, list, ...)                                                 \
	do {                                                                                       \
		struct json_at array_ = json_member((root), (name));                               \
		size_t end_ = (list)->count + MEMORY_ENTRIES_MAX;                                  \
                                                                                                   \
		for (struct json_at e = json_first(&array_); e.json && (list)->count < end_;       \
		     json_next(&e)) {                                                              \
			__typeof__(*(list)->at) entry_ = { __VA_ARGS__ };                          \
                                                                                                   \
			if (json_expect(&e, JSON_OBJECT) == 0 &&                                   \
			    field_decode_all(&e, (fields), &entry_) == 0)                          \
				VEC_PUSH((root)->reader->arena, (list), entry_);                   \
		}                                                                                  \
	} while (0)

void memory_decode(const struct cJSON *json, struct arena *arena, struct memory_state *ret_memory)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "memory", &reader);
	struct memory_state memory = { .templates = { .at = NULL } };

	DECODE_LIST(&root, "backoffs", backoff_fields, &memory.backoffs);
	DECODE_LIST(&root, "launches", launch_fields, &memory.launches);
	for (enum mark_kind kind = 0; kind < MARK_KIND_COUNT; kind++)
		DECODE_LIST(&root, mark_rules[kind].list, mark_fields, &memory.marks, .kind = kind);
	DECODE_LIST(&root, "templates", template_entry_fields, &memory.templates);
	*ret_memory = memory;
}

static void write_marks(struct json_writer *writer, const struct field *field, const void *object)
{
	(void)field;
	for (enum mark_kind kind = 0; kind < MARK_KIND_COUNT; kind++) {
		const struct memory_mark *mark = memory_next_mark(object, kind, NULL);

		if (!mark)
			continue;
		json_write_array(writer, mark_rules[kind].list);
		for (; mark != NULL; mark = memory_next_mark(object, kind, mark))
			field_write_line(writer, mark_fields, mark);
		json_write_array_end(writer);
	}
}

void memory_write(struct json_writer *writer, const char *name, const struct memory_state *memory)
{
	static const struct field fields[] = {
		FIELD_LIST(struct memory_state, backoffs.at, backoffs.count, backoff_fields,
			   "backoffs", .flags = FIELD_LINE),
		FIELD_LIST(struct memory_state, launches.at, launches.count, launch_fields,
			   "launches", .flags = FIELD_LINE),
		FIELD_HOOK("marks", .write = write_marks), /* a list for each kind */
		FIELD_LIST(struct memory_state, templates.at, templates.count,
			   template_entry_fields, "templates", .flags = FIELD_LINE),
		FIELD_END,
	};

	field_write_object(writer, name, fields, memory);
}
