#include "core/decide/mark.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static int compare_keys(const void *wanted, const void *mark)
{
	const struct memory_mark *a = wanted;
	const struct memory_mark *b = *(const struct memory_mark *const *)mark;

	return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) :
				    strcmp(a->key, b->key);
}

static int compare_marks(const void *left, const void *right)
{
	const struct memory_mark *a = *(const struct memory_mark *const *)left;
	const struct memory_mark *b = *(const struct memory_mark *const *)right;
	int order = compare_keys(a, right);

	return order != 0 ? order : (a > b) - (a < b);
}

void mark_index(struct facts *facts)
{
	const struct memory_state *memory = facts->snapshot->memory;

	if (!memory)
		return;
	facts->old_marks =
		arena_array(facts->arena, memory->marks.count, sizeof(*facts->old_marks));
	facts->old_mark_count = memory->marks.count;
	for (size_t i = 0; i < memory->marks.count; i++)
		facts->old_marks[i] = &memory->marks.at[i];
	qsort(facts->old_marks, facts->old_mark_count, sizeof(*facts->old_marks), compare_marks);
}

const struct memory_mark *mark_find(const struct facts *facts, enum mark_kind kind, const char *key)
{
	const struct memory_mark wanted = { .kind = kind, .key = key };
	const struct memory_mark *const *found =
		SORT_FIND(&wanted, facts->old_marks, facts->old_mark_count, compare_keys);

	return found ? *found : NULL;
}

time_ms mark_since(const struct facts *facts, enum mark_kind kind, const char *key)
{
	const struct memory_mark *old = mark_find(facts, kind, key);

	return old && due_reached(facts->due, old->since) ? old->since : facts->snapshot->now;
}

void mark_keep_unjudged(const struct facts *facts, bool cut, struct memory_state *memory)
{
	for (size_t i = 0; i < facts->old_mark_count; i++) {
		const struct memory_mark *mark = &facts->snapshot->memory->marks.at[i];
		enum mark_kept kept = mark_rules[mark->kind].kept;

		if ((kept == MARK_KEPT_WITHOUT_RAY && !facts->ray_reachable) ||
		    (kept == MARK_KEPT_WITHOUT_PACKING && (!facts->ray_reachable || cut)) ||
		    (kept == MARK_KEPT_WITHOUT_TERMINATION &&
		     (facts->termination_forbidden || cut)))
			VEC_PUSH(facts->arena, &memory->marks, *mark);
	}
}
