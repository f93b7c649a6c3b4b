#include "codec/text/yaml_write.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

static const struct json_limits limits = { .bytes = (size_t)1 << 30,
					   .depth = 100,
					   .elements = 10000000 };

static int on_bytes(void *context, unsigned char *bytes, size_t size)
{
	return buf_add(context, bytes, size) == 0;
}

/* `made` is 0 when the event could not be initialized: it is not emitted. libyaml frees the
 * event. */
static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int made)
{
	return made && yaml_emitter_emit(emitter, event);
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, bool quoted)
{
	yaml_event_t event;

	return emit(emitter, &event,
		    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
						 (int)strlen(text), !quoted, true,
						 quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE :
							  YAML_PLAIN_SCALAR_STYLE));
}

/* Words that every version of YAML reads as a string. */
static bool is_plain(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static const char others[] = "0123456789-_./";
	static const char *const words[] = { "true", "false", "null", "yes", "no", "on",
					     "off",  "y",     "n",    "nan", "inf" };

	if (*text == '\0' || !strchr(letters, *text) || strlen(text) > 60)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(text, words[i]) == 0)
			return false;
	}
	for (; *text != '\0'; text++) {
		if (!strchr(letters, *text) && !strchr(others, *text))
			return false;
	}
	return true;
}

static bool emit_value(yaml_emitter_t *emitter, const struct json_at *at);

static bool emit_members(yaml_emitter_t *emitter, const struct json_at *at, bool names)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if ((names && !emit_scalar(emitter, e.name, !is_plain(e.name))) ||
		    !emit_value(emitter, &e))
			return false;
	}
	return true;
}

static bool emit_object(yaml_emitter_t *emitter, const struct json_at *at)
{
	yaml_event_t event;

	return emit(emitter, &event,
		    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
							YAML_BLOCK_MAPPING_STYLE)) &&
	       emit_members(emitter, at, true) &&
	       emit(emitter, &event, yaml_mapping_end_event_initialize(&event));
}

static bool emit_array(yaml_emitter_t *emitter, const struct json_at *at)
{
	yaml_event_t event;

	return emit(emitter, &event,
		    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
							 YAML_BLOCK_SEQUENCE_STYLE)) &&
	       emit_members(emitter, at, false) &&
	       emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static bool emit_value(yaml_emitter_t *emitter, const struct json_at *at)
{
	char number[NUMBER_TEXT_SIZE];

	switch (json_type(at)) {
	case JSON_OBJECT:
		return emit_object(emitter, at);
	case JSON_ARRAY:
		return emit_array(emitter, at);
	case JSON_STRING:
		return emit_scalar(emitter, json_text_value(at), !is_plain(json_text_value(at)));
	case JSON_BOOLEAN:
		return emit_scalar(emitter, json_boolean_value(at) ? "true" : "false", false);
	case JSON_NUMBER:
		number_print(json_number_value(at), number);
		return emit_scalar(emitter, number, false);
	case JSON_MISSING:
	case JSON_NULL:
	case JSON_UNREADABLE:
		break;
	}
	return emit_scalar(emitter, "null", false);
}

static bool emit_document(yaml_emitter_t *emitter, const struct json_at *root)
{
	yaml_event_t event;

	return emit(emitter, &event,
		    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
	       emit(emitter, &event,
		    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
	       emit_value(emitter, root) &&
	       emit(emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
	       emit(emitter, &event, yaml_stream_end_event_initialize(&event));
}

int yaml_write(const char *json, size_t size, struct buf *buf, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .err = err };
	yaml_emitter_t emitter;

	if (json_parse(json, size, &limits, &tree, err))
		return -1;
	struct json_at root = json_root(tree, "", &reader);
	bool good = yaml_emitter_initialize(&emitter);
	if (good) {
		yaml_emitter_set_output(&emitter, on_bytes, buf);
		yaml_emitter_set_width(&emitter, -1);
		good = emit_document(&emitter, &root);
		yaml_emitter_delete(&emitter);
	}
	if (!good)
		return err_set(err, ERR_LIMIT, "cannot be written as YAML of at most %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
