#include "core/decide/conflict.h"

#include <string.h>

#include "core/decide/mark.h"
#include "core/model/in_force.h"
#include "core/model/reason.h"

/* A conflict ends when there is no revert for this time plus the longest back-off. */
#define WINDOW_SECONDS 600
#define DOUBLINGS_MAX 30

static int64_t window_ms(const struct facts *facts)
{
	return (WINDOW_SECONDS + in_force_backoff_max_seconds(facts->snapshot)) * MS_PER_SECOND;
}

/* The mark of the group, while it counts; NULL for none. */
static const struct memory_mark *find(const struct facts *facts, enum mark_kind kind,
				      const struct group *group)
{
	const struct memory_mark *mark = mark_find(facts, kind, group->spec->name);

	return mark && due_reached(facts->due, mark->since) &&
			       !due_passed(facts->due, mark->since, window_ms(facts)) ?
		       mark :
		       NULL;
}

static void count_round(const struct facts *facts, struct memory_mark *mark)
{
	const char *who = facts->snapshot->cluster.groups_manager;

	mark->since = facts->snapshot->now;
	mark->count++;
	/* After this program's next patch, it is the last writer itself: the name is kept. */
	if (who && who[0] != '\0')
		mark->who = who;
}

/* --- raises that are set back --- */

/* The last launch of this program set replicas higher than the spec has it now. */
static bool is_launch_reverted(const struct memory_state *memory, const struct group *group)
{
	const struct memory_launch *launch =
		memory ? VEC_FIND(&memory->launches, group, group->spec->name) : NULL;
	return launch && group->spec->replicas < launch->base_replicas;
}

/* More workers exist, including starting ones, than replicas asks for, and none of them is being
 * deleted: the operator created only as many as replicas once asked for. Above maxReplicas, the
 * lowered maximum explains the difference. */
static bool is_below_workers(const struct group *group)
{
	int64_t living = group->kept / group->hosts;

	if (living > group->spec->max_replicas)
		living = group->spec->max_replicas;
	return group->spec->replicas < living;
}

static const struct memory_backoff *hold_of(const struct memory_state *memory, const char *group)
{
	const struct memory_backoff *found = memory ? VEC_FIND(&memory->backoffs, group, group) :
						      NULL;

	return found && found->cause == REASON_REPLICAS_RESET ? found : NULL;
}

/* While a back-off holds raises, a low replicas is not a new revert. The first raise after it is
 * the probe. */
static void count_revert(struct health *health, const struct group *group, struct memory_mark *mark)
{
	struct group_health *own = &health->groups[group->index];
	const struct memory_state *memory = health->snapshot->memory;
	const struct memory_backoff *hold = hold_of(memory, group->spec->name);
	bool launch = is_launch_reverted(memory, group);
	time_ms last = mark->since;

	if (!launch && !is_below_workers(group))
		return;
	if (!launch && hold && !due_reached(health->facts->due, hold->until))
		return;
	if (!launch && hold && last < hold->until) {
		mark->since = health->snapshot->now;
		return;
	}
	count_round(health->facts, mark);
	own->reverts = mark->count;
	own->reverts_by = mark->who;
}

/* --- lowerings that are set back --- */

static int64_t hold_ms(const struct facts *facts, int64_t rounds)
{
	int64_t doublings = rounds - CONFLICT_REVERTS_MIN;
	int64_t seconds = in_force_backoff_seconds(facts->snapshot, 0);

	for (int64_t i = 0; i < doublings && i < DOUBLINGS_MAX; i++)
		seconds = in_force_backoff_seconds(facts->snapshot, seconds);
	return seconds * MS_PER_SECOND;
}

static bool is_raised_again(const struct facts *facts, const struct group *group)
{
	const struct memory_mark *lowered = find(facts, MARK_LOWERED, group);

	return lowered && group->spec->replicas > lowered->count;
}

static void hold_lowering(struct health *health, const struct group *group,
			  const struct memory_mark *mark)
{
	struct group_health *own = &health->groups[group->index];
	int64_t hold;

	if (mark->count < CONFLICT_REVERTS_MIN)
		return;
	hold = hold_ms(health->facts, mark->count);
	own->lowers_held = !due_passed(health->facts->due, mark->since, hold);
	own->idle_timeout_ms += hold;
}

/* --- both --- */

static struct memory_mark mark_of(const struct facts *facts, const struct group *group,
				  enum mark_kind kind)
{
	const struct memory_mark *old = find(facts, kind, group);

	return old ? *old :
		     (struct memory_mark){ kind, group->spec->name, facts->snapshot->now, 0, NULL };
}

void conflict_update(struct health *health)
{
	for (size_t g = 0; g < health->facts->group_count; g++) {
		const struct group *group = &health->facts->groups[g];
		struct memory_mark reverted = mark_of(health->facts, group, MARK_REPLICA_CONFLICT);
		struct memory_mark raised = mark_of(health->facts, group, MARK_REPLICA_RAISE);

		health->groups[g].idle_timeout_ms = group->idle_timeout_ms;
		if (!group->frozen) {
			count_revert(health, group, &reverted);
			if (is_raised_again(health->facts, group))
				count_round(health->facts, &raised);
			hold_lowering(health, group, &raised);
		}
		if (reverted.count > 0)
			VEC_PUSH(health->arena, &health->memory.marks, reverted);
		if (raised.count > 0)
			VEC_PUSH(health->arena, &health->memory.marks, raised);
	}
}

void conflict_remember(struct choice *choice)
{
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count) {
		struct group_choice *own = &choice->groups[group->index];
		const struct memory_mark *old = find(choice->facts, MARK_LOWERED, group);
		int64_t there = group->spec->replicas;

		if (!group->frozen && own->patch_replicas < there)
			VEC_PUSH(choice->arena, &choice->memory.marks,
				 ((struct memory_mark){ .kind = MARK_LOWERED,
							.key = group->spec->name,
							.since = choice->snapshot->now,
							.count = own->patch_replicas }));
		else if (old && there <= old->count &&
			 (group->frozen || own->patch_replicas <= old->count))
			VEC_PUSH(choice->arena, &choice->memory.marks, *old);
	}
}

static const char *name_of(const struct memory_mark *conflict)
{
	return conflict->who ? conflict->who : "another writer";
}

const char *conflict_text(const struct facts *facts, const struct memory_mark *conflict)
{
	return arena_printf(
		facts->arena,
		"%s set replicas of group %s back %lld times: let one program own the field",
		name_of(conflict), conflict->key, (long long)conflict->count);
}

const char *conflict_raise_text(const struct facts *facts, const struct memory_mark *conflict)
{
	return arena_printf(facts->arena,
			    "%s raised replicas of group %s again %lld times after it was lowered: "
			    "let one program own the field; idle workers stay longer meanwhile",
			    name_of(conflict), conflict->key, (long long)conflict->count);
}
