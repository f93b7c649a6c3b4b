#include "core/fight.h"

#include <string.h>

#define WINDOW_MS (600 * MS_PER_SECOND)

static const struct memory_since *remembered(const struct memory_state *memory, const char *group)
{
	for (size_t i = 0; i < memory->replica_fights.count; i++)
		if (strcmp(memory->replica_fights.at[i].key, group) == 0)
			return &memory->replica_fights.at[i];
	return NULL;
}

/* Our last launch set replicas to more than stands there now. */
static bool is_reverted(const struct memory_state *memory, const struct group *group)
{
	for (size_t i = 0; i < memory->launches.count; i++)
		if (strcmp(memory->launches.at[i].group, group->spec->name) == 0)
			return group->spec->replicas < memory->launches.at[i].base_replicas;
	return false;
}

void fight_update(struct situation *s)
{
	const struct memory_state *memory = s->snapshot->memory;

	for (size_t g = 0; memory != NULL && g < s->group_count; g++) {
		const struct group *group = &s->groups[g];
		const struct memory_since *old = remembered(memory, group->spec->name);
		struct memory_since mark = { group->spec->name, s->snapshot->now, 0 };

		if (old != NULL && old->since <= mark.since && mark.since - old->since < WINDOW_MS)
			mark = (struct memory_since){ group->spec->name, old->since, old->count };
		if (is_reverted(memory, group))
			mark.count++;
		if (mark.count > 0)
			VEC_PUSH(s->arena, &s->plan->memory.replica_fights, mark);
	}
}
