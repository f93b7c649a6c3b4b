/* Marks of memory: the old ones by kind and key, and the new ones, which each value of the chain
 * collects and new_memory() of decide.c puts together. Live in the arena of the pass. */
#ifndef CORE_DECIDE_MARK_H
#define CORE_DECIDE_MARK_H

#include "core/decide/facts.h"

/* Sorts the marks of the snapshot's memory; sets facts->old_marks. */
void mark_index(struct facts *facts);
/* NULL: none. O(log marks). */
const struct memory_mark *mark_find(const struct facts *facts, enum mark_kind kind,
				    const char *key);
/* Of the old mark; now when there is none, or when the clock was set back behind it. */
time_ms mark_since(const struct facts *facts, enum mark_kind kind, const char *key);
/* Adds the old marks of the kinds that this pass could not judge. cut: the packing was. */
void mark_keep_unjudged(const struct facts *facts, bool cut, struct memory_state *memory);

#endif
