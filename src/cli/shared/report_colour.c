#include "cli/shared/report_colour.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/shared/table.h"
#include "core/model/reason.h"

#define WORD_MAX 64
#define TITLE_MIN 3 /* letters */

/* The first row of a word counts. */
static const struct {
	const char *word;
	enum table_colour colour;
} words[] = { { REASON_DEMAND_READ, TABLE_GOOD },
	      { REASON_READY_FOR_NEW_SCALE, TABLE_GOOD },
	      { REASON_DESIRED_WITHIN_RANGE, TABLE_GOOD },
	      { REASON_HEAD_STARTING, TABLE_BUSY },
	      { REASON_AUTOSCALING_DISABLED, TABLE_BUSY },
	      { REASON_UNMANAGED, TABLE_BUSY },
	      { REASON_MANAGED_ELSEWHERE, TABLE_BUSY },
	      { REASON_SUSPENDED, TABLE_BUSY },
	      { REASON_DELETING, TABLE_BUSY },
	      { REASON_PAUSED, TABLE_BUSY },
	      { REASON_TOO_MANY_REPLICAS, TABLE_BUSY },
	      { REASON_TOO_FEW_REPLICAS, TABLE_BUSY },
#define X(identifier, colour) { REASON_##identifier, colour },
	      FEATURE_COLOURS(X)
#undef X
#define X(identifier, word, ...) { word, TABLE_BUSY },
		      REASON_GROUP_TABLE(X) REASON_TERMINATE_TABLE(X)
#undef X
#define X(identifier, word, ...) { word, TABLE_BAD },
			      REASON_DEMAND_TABLE(X) REASON_CAUSE_TABLE(X) REASON_CONDITION_TABLE(X)
#undef X
};

static enum table_colour colour_of(const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].colour;
	return TABLE_PLAIN;
}

/* The capitals at the start of a line: "GROUP  REPLICAS", or "PENDING" of "PENDING  waits in Ray". */
static size_t title_size(const char *line)
{
	size_t size = 0;

	while (isupper((unsigned char)line[size]) || line[size] == ' ')
		size++;
	while (size > 0 && line[size - 1] == ' ')
		size--;
	return line[0] != ' ' && size >= TITLE_MIN ? size : 0;
}

/* The letters at the start of the text. */
static size_t word_size(const char *text)
{
	size_t size = 0;

	while (size < WORD_MAX && isalpha((unsigned char)text[size]))
		size++;
	return size;
}

/* A reason ends its line, or a colon follows it. */
static enum table_colour word_colour(const char *text, size_t size)
{
	char word[WORD_MAX + 1];

	if (text[size] != ':' && text[size] != '\n')
		return TABLE_PLAIN;
	snprintf(word, sizeof(word), "%.*s", (int)size, text);
	return colour_of(word);
}

static void add_part(struct buf *buf, enum table_colour colour, const char *text, size_t size)
{
	char part[WORD_MAX + 1];

	snprintf(part, sizeof(part), "%.*s", (int)size, text);
	table_add_text(buf, colour, part, true);
}

void report_colour_add(struct buf *buf, const char *text, bool colours)
{
	bool line_start = true;

	if (!colours) {
		buf_add_string(buf, text);
		return;
	}
	while (*text != '\0') {
		size_t size = line_start ? title_size(text) : 0;
		enum table_colour colour = TABLE_TITLE;

		if (size == 0) {
			size = word_size(text);
			colour = word_colour(text, size);
		}
		size = size > WORD_MAX ? WORD_MAX : size;
		line_start = *text == '\n';
		if (size > 0)
			add_part(buf, colour, text, size);
		else
			buf_add_char(buf, *text);
		text += size > 0 ? size : 1;
	}
}
