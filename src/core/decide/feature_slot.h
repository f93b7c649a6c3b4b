/* Contents that a feature keeps beside a value of a decision, from the hook that finds them to those that read them, so that the
 * value has no member of a feature. `feature`: its struct decision_feature, whose address is the key; of contents that other
 * features read, what a header of core/decide declares for it. The list and its
 * contents live in the arena; a copy of the value may set others of its own. */
#ifndef CORE_DECIDE_FEATURE_SLOT_H
#define CORE_DECIDE_FEATURE_SLOT_H

#include "base/arena.h"
#include "base/check.h"

struct feature_slot {
	const void *feature;
	void *content;
	const struct feature_slot *next;
};

static inline void feature_slot_set(const struct feature_slot **slots, struct arena *arena,
				    const void *feature, void *content)
{
	*slots = ARENA_PUT(arena, (struct feature_slot){ feature, content, *slots });
}

/* The newest; NULL: none. */
static inline void *feature_slot_get(const struct feature_slot *slots, const void *feature)
{
	while (slots && slots->feature != feature)
		slots = slots->next;
	return slots ? slots->content : NULL;
}

/* Of a feature that has set it before. */
static inline void *feature_slot_need(const struct feature_slot *slots, const void *feature)
{
	void *content = feature_slot_get(slots, feature);

	CHECK(content);
	return content;
}

#endif
