#include "codec/objects/memory_json.h"

#include <stdbool.h>
#include <string.h>

#include "codec/objects/template_json.h"
#include "codec/text/json.h"
#include "codec/text/rfc3339.h"

/* A memory written by this program never has more; a forged one must not cause overflow. */
#define COUNT_MAX INT32_MAX
#define SECONDS_MAX 31536000
#define TEXT_SIZE_MAX 1024 /* ours are cut to half of it */

/* 0 when it exists, is an integer and 0 to maximum. */
static int read_count(const struct json_at *at, const char *name, int64_t maximum,
		      int64_t *ret_value)
{
	bool has;

	if (json_integer(at, name, &has, ret_value) || !has || *ret_value < 0 ||
	    *ret_value > maximum)
		return -1;
	return 0;
}

/* As read_count; 0 when it is missing. */
static int read_optional_count(const struct json_at *at, const char *name, int64_t maximum,
			       int64_t *ret_value)
{
	struct json_at member = json_member(at, name);

	*ret_value = 0;
	return json_type(&member) == JSON_MISSING ? 0 : read_count(at, name, maximum, ret_value);
}

static int read_short(const struct json_at *at, const char *name, const char **ret_text)
{
	return json_text(at, name, ret_text) || strlen(*ret_text) > TEXT_SIZE_MAX ? -1 : 0;
}

static int read_name(const struct json_at *at, const char *name, const char **ret_text)
{
	return read_short(at, name, ret_text) || **ret_text == '\0' ? -1 : 0;
}

static int read_since(const struct json_at *at, const char *name, time_ms *ret_time)
{
	return rfc3339_decode(at, name, ret_time) || *ret_time == TIME_NONE ? -1 : 0;
}

static int backoff_decode(const struct json_at *at, struct memory_backoff *ret)
{
	return json_expect(at, JSON_OBJECT) || read_name(at, "group", &ret->group) ||
	       read_since(at, "until", &ret->until) ||
	       read_count(at, "seconds", SECONDS_MAX, &ret->seconds) ||
	       read_short(at, "cause", &ret->cause) || read_short(at, "message", &ret->message);
}

static int launch_decode(const struct json_at *at, struct memory_launch *ret)
{
	return json_expect(at, JSON_OBJECT) || read_name(at, "group", &ret->group) ||
	       read_count(at, "replicas", COUNT_MAX, &ret->replicas) ||
	       read_count(at, "baseReplicas", COUNT_MAX, &ret->base_replicas) ||
	       read_optional_count(at, "unjoined", COUNT_MAX, &ret->not_registered) ||
	       read_optional_count(at, "unneeded", COUNT_MAX, &ret->unneeded) ||
	       rfc3339_decode(at, "unneededSince", &ret->unneeded_since) ||
	       rfc3339_decode(at, "round", &ret->round);
}

/* "" counts as missing. */
static void read_who(const struct json_at *at, const char **ret_who)
{
	struct json_at member = json_member(at, "who");
	const char *who = "";

	if (json_type(&member) == JSON_STRING && read_short(at, "who", &who) == 0 && *who != '\0')
		*ret_who = who;
}

static int since_decode(const struct json_at *at, struct memory_since *ret)
{
	if (json_expect(at, JSON_OBJECT) || read_name(at, "key", &ret->key) ||
	    read_since(at, "since", &ret->since) ||
	    read_optional_count(at, "count", JSON_INTEGER_MAX, &ret->count))
		return -1;
	read_who(at, &ret->who);
	return 0;
}

static int template_decode(const struct json_at *at, struct memory_template *ret)
{
	return json_expect(at, JSON_OBJECT) || read_name(at, "group", &ret->group) ||
	       template_json_decode(at, ret);
}

/* The elements of the list `name` that the decoder accepts. */
#define DECODE_LIST(root, name, decode, list)                                                      \
	do {                                                                                       \
		struct json_at array_ = json_member((root), (name));                               \
                                                                                                   \
		for (struct json_at e = json_first(&array_);                                       \
		     e.json && (list)->count < MEMORY_ENTRIES_MAX; json_next(&e)) {                \
			__typeof__(*(list)->at) entry_ = { 0 };                                    \
                                                                                                   \
			if (decode(&e, &entry_) == 0)                                              \
				VEC_PUSH((root)->reader->arena, (list), entry_);                   \
		}                                                                                  \
	} while (0)

void memory_decode(const struct cJSON *json, struct arena *arena, struct memory_state *ret_memory)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "memory", &reader);
	struct memory_state memory = { .templates = { .at = NULL } };

	DECODE_LIST(&root, "backoffs", backoff_decode, &memory.backoffs);
	DECODE_LIST(&root, "launches", launch_decode, &memory.launches);
	DECODE_LIST(&root, "rayletGone", since_decode, &memory.raylet_gone);
	DECODE_LIST(&root, "unjoined", since_decode, &memory.not_registered);
	DECODE_LIST(&root, "settling", since_decode, &memory.start_grace);
	DECODE_LIST(&root, "stuckDemand", since_decode, &memory.stuck_demand);
	DECODE_LIST(&root, "replicaFights", since_decode, &memory.replica_conflicts);
	DECODE_LIST(&root, "replicaRaises", since_decode, &memory.replica_raises);
	DECODE_LIST(&root, "lowered", since_decode, &memory.lowered);
	DECODE_LIST(&root, "leaving", since_decode, &memory.disrupted);
	DECODE_LIST(&root, "raySessions", since_decode, &memory.ray_sessions);
	DECODE_LIST(&root, "templates", template_decode, &memory.templates);
	*ret_memory = memory;
}

static void write_backoff(struct json_writer *writer, const struct memory_backoff *backoff)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "group", backoff->group);
	json_write_time(writer, "until", backoff->until);
	json_write_integer(writer, "seconds", backoff->seconds);
	json_write_text(writer, "cause", backoff->cause);
	json_write_text(writer, "message", backoff->message);
	json_write_object_end(writer);
}

static void write_launch(struct json_writer *writer, const struct memory_launch *launch)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "group", launch->group);
	json_write_integer(writer, "replicas", launch->replicas);
	json_write_integer(writer, "baseReplicas", launch->base_replicas);
	json_write_integer(writer, "unjoined", launch->not_registered);
	json_write_integer(writer, "unneeded", launch->unneeded);
	json_write_time(writer, "unneededSince", launch->unneeded_since);
	if (launch->round != TIME_NONE)
		json_write_time(writer, "round", launch->round);
	json_write_object_end(writer);
}

static void write_since(struct json_writer *writer, const struct memory_since *since)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "key", since->key);
	json_write_time(writer, "since", since->since);
	if (since->count != 0)
		json_write_integer(writer, "count", since->count);
	if (since->who)
		json_write_text(writer, "who", since->who);
	json_write_object_end(writer);
}

static void write_template(struct json_writer *writer, const struct memory_template *template)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "group", template->group);
	template_json_write(writer, template);
	json_write_object_end(writer);
}

#define WRITE_LIST(writer, name, write, list)                                                      \
	do {                                                                                       \
		if ((list)->count == 0)                                                            \
			break;                                                                     \
		json_write_array((writer), (name));                                                \
		for (size_t i_ = 0; i_ < (list)->count; i_++)                                      \
			write((writer), &(list)->at[i_]);                                          \
		json_write_array_end((writer));                                                    \
	} while (0)

void memory_write(struct json_writer *writer, const char *name, const struct memory_state *memory)
{
	json_write_object(writer, name);
	WRITE_LIST(writer, "backoffs", write_backoff, &memory->backoffs);
	WRITE_LIST(writer, "launches", write_launch, &memory->launches);
	WRITE_LIST(writer, "rayletGone", write_since, &memory->raylet_gone);
	WRITE_LIST(writer, "unjoined", write_since, &memory->not_registered);
	WRITE_LIST(writer, "settling", write_since, &memory->start_grace);
	WRITE_LIST(writer, "stuckDemand", write_since, &memory->stuck_demand);
	WRITE_LIST(writer, "replicaFights", write_since, &memory->replica_conflicts);
	WRITE_LIST(writer, "replicaRaises", write_since, &memory->replica_raises);
	WRITE_LIST(writer, "lowered", write_since, &memory->lowered);
	WRITE_LIST(writer, "leaving", write_since, &memory->disrupted);
	WRITE_LIST(writer, "raySessions", write_since, &memory->ray_sessions);
	WRITE_LIST(writer, "templates", write_template, &memory->templates);
	json_write_object_end(writer);
}
