#include "gcs/gcs_reader.h"

#include <string.h>

#include "base/budget.h"
#include "gcs/gcs_message.h"
#include "net/work.h"

/* A longer text rarely occurs twice. */
#define TEXT_SHARED_MAX 64
#define GROWTH 4

/* ---- equal bytes ---- */

static bool is_equal(const void *list, size_t place, const void *key)
{
	const struct gcs_intern_entry *entries = list;
	size_t size = gcs_bytes_size(key);

	return gcs_bytes_size(&entries[place].bytes) == size &&
	       (!size ||
		!memcmp(entries[place].bytes.at, ((const struct gcs_bytes *)key)->at, size));
}

struct gcs_intern_entry *gcs_intern_find(struct gcs_intern *intern, const void *bytes, size_t size)
{
	struct gcs_bytes key = gcs_bytes_of(bytes, size);
	uint32_t hash = (uint32_t)gcs_wire_hash(key);
	size_t wanted = slots_wanted(&intern->slots, GROWTH);

	if (wanted > 0)
		(void)slots_move(&intern->slots,
				 arena_array(intern->arena, wanted, sizeof(struct slot)), wanted);
	struct slot *slot = slots_find(&intern->slots, hash, GCS_INTERN_PROBES, is_equal,
				       intern->entries.at, &key);
	if (!slot)
		return NULL;
	if (!slot->entry) {
		slots_take(&intern->slots, slot, intern->entries.count, hash);
		VEC_PUSH(intern->arena, &intern->entries,
			 ((struct gcs_intern_entry){ .bytes = key }));
	}
	return &intern->entries.at[slot->entry - 1];
}

/* ---- places and problems ---- */

/* The text of the present place, in the entry's arena. */
static const char *place_text(struct gcs_reader *reader)
{
	const struct gcs_place *place = &reader->place;

	if (!place->list)
		return "clusterResourceState";
	if (place->outer)
		return arena_printf(&reader->entry, "%s[%zu].%s[%zu]%s", place->outer,
				    place->outer_index, place->list, place->index, place->member);
	return arena_printf(&reader->entry, "%s[%zu]%s", place->list, place->index, place->member);
}

const char *gcs_reader_problem(struct gcs_reader *reader, const char *member, const char *key,
			       const char *problem)
{
	const char *text = arena_printf(reader->arena, "%s.%s.%.200s: %s", place_text(reader),
					member, key, problem);

	if (reader->problems.count < GCS_READER_PROBLEMS_MAX)
		VEC_PUSH(reader->arena, &reader->problems, text);
	return text;
}

static void gcs_reader_limit(struct gcs_reader *reader, const char *member, size_t figure,
			     size_t limit, const char *unit)
{
	if (reader->failed)
		return;
	reader->failed = true;
	(void)err_set(reader->err, ERR_LIMIT,
		      "%s%s%s: %zu %s, above the limit of %zu; the whole reply is refused",
		      place_text(reader), *member ? "." : "", member, figure, unit, limit);
}

bool gcs_reader_is_above(struct gcs_reader *reader, const char *member, size_t figure, size_t limit,
			 const char *unit)
{
	if (figure <= limit)
		return false;
	gcs_reader_limit(reader, member, figure, limit, unit);
	return true;
}

int gcs_reader_check(struct gcs_reader *reader)
{
	if (reader->failed)
		return -1;
	if (reader->job && work_is_cancelled(reader->job)) {
		reader->failed = true;
		return err_set(reader->err, ERR_RETRY, "the reply is not needed any more");
	}
	if (reader->arena->over_budget || reader->equal.over_budget || reader->entry.over_budget) {
		reader->failed = true;
		(void)budget_refuse(reader->arena->budget, 0, reader->err);
		return err_prefix(reader->err, "%s", place_text(reader));
	}
	if (reader->arena->used_bytes + reader->equal.used_bytes <= reader->ceiling_bytes)
		return 0;
	reader->failed = true;
	return err_set(reader->err, ERR_LIMIT,
		       "%s: the state needs more than %zu bytes of memory; the whole "
		       "reply is refused",
		       place_text(reader), GCS_READER_MEMORY_CEILING_BYTES);
}

int gcs_reader_refuse(struct gcs_reader *reader, const ProtobufCMessageDescriptor *message,
		      size_t size)
{
	if (!reader->failed)
		gcs_message_refuse(message, size, reader->err);
	reader->failed = true;
	return -1;
}

const char *gcs_reader_text(struct gcs_reader *reader, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	struct gcs_intern_entry *known = NULL;

	if (size == 0)
		return "";
	if (gcs_reader_is_above(reader, "", size, GCS_READER_TEXT_MAX, "bytes in one text"))
		return "";
	if (size <= TEXT_SHARED_MAX)
		known = gcs_intern_find(&reader->texts, text, size);
	if (known && known->value)
		return known->value;
	const char *copy = arena_strndup(reader->arena, text, size);
	if (known)
		*known = (struct gcs_intern_entry){ gcs_bytes_of(copy, size), copy };
	return copy;
}

struct strings gcs_reader_strings(struct gcs_reader *reader, char **texts, size_t count)
{
	const char **copies = arena_array(reader->arena, count, sizeof(*copies));

	for (size_t i = 0; i < count; i++)
		copies[i] = gcs_reader_text(reader, texts[i]);
	return (struct strings){ .at = copies, .count = count };
}
