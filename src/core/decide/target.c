#include "core/decide/target.h"

static int64_t ceil_divide(int64_t value, int64_t by)
{
	return value > 0 ? (value + by - 1) / by : 0;
}

static int64_t clamp(const struct group *group, int64_t replicas)
{
	if (replicas < group->spec->min_replicas)
		replicas = group->spec->min_replicas;
	return replicas > group->spec->max_replicas ? group->spec->max_replicas : replicas;
}

/* Pods that exist or are requested after the removals of this decision. */
static int64_t present_pods(const struct group *group)
{
	return group->kept - group->removed_pods + group->missing - group->removed_missing -
	       group->missing_taken * group->hosts;
}

int64_t target_base(const struct group *group)
{
	return ceil_divide(present_pods(group), group->hosts);
}

int64_t target_floor(const struct group *group)
{
	return clamp(group, target_base(group));
}

void target_remove(struct group *group, int64_t pods)
{
	int64_t missing =
		group->missing - group->removed_missing - group->missing_taken * group->hosts;
	int64_t absent = group->hosts - pods;

	group->removed++;
	group->removed_pods += pods;
	if (absent > 0 && missing > 0)
		group->removed_missing += absent < missing ? absent : missing;
}

void target_launches(struct group *group)
{
	if (group->frozen)
		return;
	int64_t base = target_floor(group);
	int64_t wanted = clamp(group, ceil_divide(present_pods(group) + group->packed_launches,
						  group->hosts));
	int64_t to_launch = wanted * group->hosts - present_pods(group);
	int64_t room = group->spec->max_replicas * group->hosts - present_pods(group) -
		       (group->leaving - group->leaving_named);
	/* Only after the disrupted Pods are deleted. */
	if (group->leaving > 0 && to_launch > room)
		to_launch = room;
	group->launch_replicas = wanted > base ? wanted - base : 0;
	group->to_launch = to_launch > 0 ? to_launch : 0;
}

/* The operator counts disrupted Pods until they are deleted: see leaving.h. */
static int64_t beside_leaving(const struct group *group, int64_t wanted)
{
	int64_t leaving = ceil_divide(group->leaving - group->leaving_named, group->hosts);
	int64_t stays = group->kept - group->removed_pods - group->recycled * group->hosts;
	int64_t beside = wanted * group->hosts > stays ? wanted + leaving : wanted;
	int64_t later = wanted + group->replacements_waiting;
	return clamp(group, beside > later ? beside : later);
}

/* Another writer controls replicas: a back-off holds the raise (fight.h). */
static void hold_raise(struct group *group, int64_t *replicas)
{
	int64_t there = group->spec->replicas;

	if (!group->raises_held || group->patch_replicas <= there)
		return;
	group->patch_replicas = there;
	group->wanted_replicas = there < group->wanted_replicas ? there : group->wanted_replicas;
	*replicas = group->wanted_replicas;
	group->to_launch = 0;
}

/* The operator creates at most maxReplicas whatever replicas is, so leaving it high is safe. */
static void hold_lower(struct group *group)
{
	int64_t there = group->spec->replicas;

	if (group->lowers_held && there > group->spec->max_replicas &&
	    group->patch_replicas == group->spec->max_replicas)
		group->patch_replicas = there;
}

void target_finish(struct group *group)
{
	if (group->frozen) {
		group->wanted_replicas = group->spec->replicas;
		group->patch_replicas = group->target_replicas = group->spec->replicas;
		return;
	}
	/* minReplicas is not held back by a cap: the operator creates that many anyway. */
	int64_t floor = target_floor(group);
	int64_t replicas = target_base(group) + group->allowed_replicas;
	if (replicas < floor + group->allowed_replicas && group->allowed_replicas > 0)
		replicas = floor + group->allowed_replicas;
	group->wanted_replicas = clamp(group, replicas);
	group->patch_replicas = beside_leaving(group, group->wanted_replicas);
	hold_raise(group, &replicas);
	hold_lower(group);
	group->target_replicas = clamp(group, replicas - group->drained) + group->patch_replicas -
				 group->wanted_replicas;
	group->at_maximum = replicas > group->spec->max_replicas || group->replacements_at_max ||
			    group->kept > group->spec->max_replicas * group->hosts;
	group->at_minimum = group->held_by_minimum ||
			    replicas - group->drained < group->spec->min_replicas;
}
