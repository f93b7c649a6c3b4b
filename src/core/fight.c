#include "core/fight.h"

#include <string.h>

#include "core/reason.h"

/* Without another one for so long, and for as long as a back-off may hold us back, it is over. */
#define WINDOW_SECONDS 600

static const struct memory_since *remembered(const struct memory_state *memory, const char *group)
{
	for (size_t i = 0; memory != NULL && i < memory->replica_fights.count; i++)
		if (strcmp(memory->replica_fights.at[i].key, group) == 0)
			return &memory->replica_fights.at[i];
	return NULL;
}

/* Our last launch set replicas to more than stands there now. */
static bool is_launch_reverted(const struct memory_state *memory, const struct group *group)
{
	for (size_t i = 0; memory != NULL && i < memory->launches.count; i++)
		if (strcmp(memory->launches.at[i].group, group->spec->name) == 0)
			return group->spec->replicas < memory->launches.at[i].base_replicas;
	return false;
}

/* More workers live than replicas says, and none of them is on its way out: the operator made no more
 * than replicas once said. Above maxReplicas it is the maximum that was lowered. */
static bool is_below_living(const struct group *group)
{
	int64_t living = group->kept / group->hosts;

	if (living > group->spec->max_replicas)
		living = group->spec->max_replicas;
	return group->joined > 0 && group->spec->replicas < living;
}

static const struct memory_backoff *hold_of(const struct memory_state *memory, const char *group)
{
	for (size_t i = 0; memory != NULL && i < memory->backoffs.count; i++)
		if (strcmp(memory->backoffs.at[i].group, group) == 0 &&
		    strcmp(memory->backoffs.at[i].cause, REASON_REPLICAS_RESET) == 0)
			return &memory->backoffs.at[i];
	return NULL;
}

/* What is held back stays as it was set, which is no news; the first repair after that is the probe. */
static void count_revert(const struct situation *s, struct group *group, struct memory_since *mark)
{
	const struct memory_state *memory = s->snapshot->memory;
	const struct memory_backoff *hold = hold_of(memory, group->spec->name);
	bool launch = is_launch_reverted(memory, group);
	time_ms last = mark->since;

	if (!launch && !is_below_living(group))
		return;
	if (!launch && hold != NULL && s->snapshot->now < hold->until)
		return;
	mark->since = s->snapshot->now;
	if (!launch && hold != NULL && last < hold->until)
		return;
	group->reverts = ++mark->count;
}

void fight_update(struct situation *s)
{
	const struct memory_state *memory = s->snapshot->memory;
	int64_t window =
		(WINDOW_SECONDS + s->snapshot->settings.backoff_max_seconds) * MS_PER_SECOND;

	for (size_t g = 0; g < s->group_count; g++) {
		struct group *group = &s->groups[g];
		const struct memory_since *old = remembered(memory, group->spec->name);
		struct memory_since mark = { group->spec->name, s->snapshot->now, 0 };

		if (old != NULL && old->since <= mark.since && mark.since - old->since < window)
			mark = (struct memory_since){ group->spec->name, old->since, old->count };
		if (!group->frozen)
			count_revert(s, group, &mark);
		if (mark.count > 0)
			VEC_PUSH(s->arena, &s->plan->memory.replica_fights, mark);
	}
}

const char *fight_text(const struct situation *s, const struct memory_since *fight)
{
	const char *who = s->snapshot->cluster.groups_manager;

	return arena_printf(
		s->arena,
		"%s set replicas of group %s back %lld times: let one program own the field",
		who != NULL && who[0] != '\0' ? who : "somebody", fight->key,
		(long long)fight->count);
}
