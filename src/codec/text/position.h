/* Positions of the values of a parsed text: line and column, beside a tree of codec/text/json or
 * codec/text/yaml. Optional: a parser that is given no struct positions records nothing. An entry
 * has 12 bytes and there is one per value that the text spells out, so the parser's limit on
 * elements is its bound. Entries are in the order of the text, which is the order of the tree; a
 * value that an alias repeats has one entry, the alias's. The tree must keep its members: do not
 * add or remove any. Must not be used to find values, only their positions. */
#ifndef CODEC_TEXT_POSITION_H
#define CODEC_TEXT_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

/* Both from 1, columns in characters; 0: unknown. */
struct position {
	uint32_t line, column;
};

struct position_entry {
	struct position at; /* of a member: of its name */
	uint32_t entries;   /* of the value itself and of all below it */
};

/* A value of the tree and its entry. */
struct place {
	const struct cJSON *json;
	size_t entry;
	bool repeated; /* below an alias: the entry is the alias's */
};

#define POSITION_DEPTH_KEPT 16
/* Limit of the steps between values for all searches of one tree together. */
#define POSITION_STEPS_MAX 50000000

struct positions {
	struct arena *arena; /* of the entries */
	VEC(struct position_entry) list;
	/* Position of the parser's last error; line 0: no error, or one without a position. */
	struct position failure;
	/* Internal: the end of the last search, so that searches that walk a list in order do not
	 * start at its beginning each time. */
	struct {
		const struct cJSON *parent;
		struct place place;
		size_t index;
	} last[POSITION_DEPTH_KEPT];
	size_t steps;
};

/* For parsers. The entry of a value is opened before those below it and closed after them; closing
 * takes the value that opening returned. NULL is fine and does nothing. */
void positions_clear(struct positions *positions); /* forgets entries and failure */
size_t positions_open(struct positions *positions, size_t line, size_t column);
void positions_close(struct positions *positions, size_t entry);
void positions_fail(struct positions *positions, size_t line, size_t column);
/* The position of the byte at `offset`, in a text that is at least that long. */
struct position position_of_byte(const char *text, size_t offset);
/* The tree's root; `json` NULL when the text was not parsed. */
struct place place_root(const struct cJSON *tree);
/* The first value of an array or an object, and the next one after a value; json NULL: there is
 * none. */
struct place place_first(const struct positions *positions, struct place parent);
struct place place_next(const struct positions *positions, struct place place);
/* The member of an object; json NULL: there is none. */
struct place place_member(const struct positions *positions, struct place parent, const char *name);

/* The position of the value at a path such as spec.workerGroupSpecs[0].limits["nvidia.com/gpu"]
 * below `from`, or of the nearest existing parent, or of the last one found within
 * POSITION_STEPS_MAX: a text that is built to be slow costs a second, not hours. */
struct position position_find(struct positions *positions, struct place from, const char *path);

#endif
