#include "codec/text/position.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/text.h"

/* A larger number in a path is not an index. */
#define INDEX_MAX 100000000

/* ---- recording ---- */

static uint32_t clamp(size_t number)
{
	return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

void positions_clear(struct positions *positions)
{
	if (!positions)
		return;
	positions->list.count = 0;
	memset(positions->last, 0, sizeof(positions->last));
	positions->steps = 0;
	positions->failure = (struct position){ .line = 0 };
}

size_t positions_open(struct positions *positions, size_t line, size_t column)
{
	if (!positions)
		return 0;
	VEC_PUSH(positions->arena, &positions->list,
		 ((struct position_entry){ .at = { clamp(line), clamp(column) }, .entries = 1 }));
	return positions->list.count - 1;
}

void positions_close(struct positions *positions, size_t entry)
{
	if (positions)
		positions->list.at[entry].entries = clamp(positions->list.count - entry);
}

void positions_fail(struct positions *positions, size_t line, size_t column)
{
	if (positions)
		positions->failure = (struct position){ clamp(line), clamp(column) };
}

struct position position_of_byte(const char *text, size_t offset)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xC0) != 0x80) {
			column++;
		}
	}
	return (struct position){ clamp(line), clamp(column) };
}

/* ---- walking ---- */

struct place place_root(const struct cJSON *tree)
{
	return (struct place){ .json = tree };
}

struct place place_first(const struct positions *positions, struct place parent)
{
	struct place first = { .json = NULL, .entry = parent.entry, .repeated = parent.repeated };

	if (!cJSON_IsArray(parent.json) && !cJSON_IsObject(parent.json))
		return first;
	first.json = parent.json->child;
	if (!first.json || first.repeated)
		return first;
	if (parent.entry < positions->list.count && positions->list.at[parent.entry].entries > 1)
		first.entry++;
	else
		first.repeated = true;
	return first;
}

struct place place_next(const struct positions *positions, struct place place)
{
	place.json = place.json->next;
	if (!place.repeated && place.entry < positions->list.count)
		place.entry += positions->list.at[place.entry].entries;
	return place;
}

struct place place_member(const struct positions *positions, struct place parent, const char *name)
{
	struct place member = place_first(positions, parent);

	if (!cJSON_IsObject(parent.json))
		member.json = NULL;
	while (member.json && strcmp(member.json->string, name) != 0)
		member = place_next(positions, member);
	return member;
}

static struct position place_position(const struct positions *positions, struct place place)
{
	if (!place.json || place.entry >= positions->list.count)
		return (struct position){ .line = 0 };
	return positions->list.at[place.entry].at;
}

/* ---- paths ---- */

/* One step of a path: a name of `size` bytes, or (name NULL) an index. */
struct step {
	const char *name;
	size_t size, index;
};

/* Reads a step after "[": 0, and the path behind "]"; -1: not a step. */
static int bracket_step(const char **path, struct step *ret_step)
{
	const char *at = *path, *end;
	size_t index = 0;

	if (*at == '"') {
		end = strstr(at + 1, "\"]");
		if (!end)
			return -1;
		*ret_step = (struct step){ .name = at + 1, .size = (size_t)(end - at - 1) };
		*path = end + 2;
		return 0;
	}
	for (end = at; text_is_digit(*end) && index < INDEX_MAX; end++)
		index = index * 10 + (size_t)(*end - '0');
	if (end == at || *end != ']')
		return -1;
	*ret_step = (struct step){ .index = index };
	*path = end + 1;
	return 0;
}

static int next_step(const char **path, struct step *ret_step)
{
	const char *at = *path;

	if (*at == '[') {
		*path = at + 1;
		return bracket_step(path, ret_step);
	}
	at += *at == '.';
	size_t size = strcspn(at, ".[");
	if (size == 0)
		return -1;
	*ret_step = (struct step){ .name = at, .size = size };
	*path = at + size;
	return 0;
}

static bool is_step(const struct step *step, struct place place, size_t index)
{
	const char *name = place.json->string;

	if (!step->name)
		return index == step->index;
	return strlen(name) == step->size && memcmp(name, step->name, step->size) == 0;
}

/* Searches the siblings from `from` to the last one, or to `end`; json NULL: not found. */
static struct place search(struct positions *positions, const struct step *step, struct place from,
			   const struct cJSON *end, size_t *index)
{
	while (from.json && from.json != end && !is_step(step, from, *index)) {
		if (positions->steps >= POSITION_STEPS_MAX)
			return (struct place){ .json = NULL };
		positions->steps++;
		from = place_next(positions, from);
		++*index;
	}
	if (from.json == end)
		from.json = NULL;
	return from;
}

static struct place take_step(struct positions *positions, struct place parent,
			      const struct step *step, size_t depth)
{
	struct place place = place_first(positions, parent), from = place;
	size_t index = 0, at = depth % POSITION_DEPTH_KEPT;
	bool known = positions->last[at].parent == parent.json;

	if (!place.json || (step->name != NULL) != (bool)cJSON_IsObject(parent.json))
		return (struct place){ .json = NULL };
	if (known) {
		from = positions->last[at].place;
		index = positions->last[at].index;
	}
	struct place found = search(positions, step, from, NULL, &index);
	if (!found.json && known) {
		index = 0;
		found = search(positions, step, place, from.json, &index);
	}
	if (found.json) {
		positions->last[at].parent = parent.json;
		positions->last[at].place = found;
		positions->last[at].index = index;
	}
	return found;
}

struct position position_find(struct positions *positions, struct place from, const char *path)
{
	struct step step;

	for (size_t depth = 0; next_step(&path, &step) == 0; depth++) {
		struct place below = from;

		if (from.json)
			below = take_step(positions, from, &step, depth);
		if (!below.json)
			break;
		from = below;
	}
	return place_position(positions, from);
}
