#include "core/model/reason.h"

#include <string.h>

#include "base/check.h"

static const struct {
	const char *word;
	enum reason_table table;
	unsigned traits;
} rows[] = { [REASON_NONE] = { "", 0, 0 },
	     [REASON_UNKNOWN] = { "Unknown", 0, 0 },
#define ROW(identifier, word, table, traits) [REASON_##identifier] = { word, table, traits },
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_GROUPS, traits)
	     REASON_GROUP_TABLE(X)
#undef X
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_TERMINATIONS, traits)
		     REASON_TERMINATE_TABLE(X)
#undef X
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_WORKERS, traits)
			     REASON_WORKER_TABLE(X)
#undef X
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_DEMAND, traits)
				     REASON_DEMAND_TABLE(X)
#undef X
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_BACK_OFFS, traits)
					     REASON_CAUSE_TABLE(X)
#undef X
#define X(identifier, word, traits, ...) ROW(identifier, word, REASONS_OF_CONDITIONS, traits)
						     REASON_CONDITION_TABLE(X)
#undef X
};

const char *reason_word(enum reason reason)
{
	CHECK(reason <= REASON_UNKNOWN);
	return rows[reason].word;
}

bool reason_has(enum reason reason, unsigned traits)
{
	CHECK(reason <= REASON_UNKNOWN);
	return (rows[reason].traits & traits) != 0;
}

enum reason_table reason_table_of(enum reason reason)
{
	CHECK(reason > REASON_NONE && reason < REASON_UNKNOWN);
	return rows[reason].table;
}

enum reason reason_read(enum reason_table table, const char *word)
{
	for (enum reason reason = REASON_NONE + 1; reason < REASON_UNKNOWN; reason++)
		if (rows[reason].table == table && strcmp(rows[reason].word, word) == 0)
			return reason;
	return *word == '\0' ? REASON_NONE : REASON_UNKNOWN;
}
