#include "core/decide/target.h"

static int64_t ceil_divide(int64_t value, int64_t by)
{
	return value > 0 ? (value + by - 1) / by : 0;
}

static int64_t clamp(const struct group_choice *choice, int64_t replicas)
{
	if (replicas < choice->group->spec->min_replicas)
		replicas = choice->group->spec->min_replicas;
	return replicas > choice->group->spec->max_replicas ? choice->group->spec->max_replicas :
							      replicas;
}

/* Pods that exist or are requested after the removals of this decision. */
static int64_t present_pods(const struct group_choice *choice)
{
	return choice->group->kept - choice->removed_pods + choice->group->missing -
	       choice->removed_missing - choice->missing_taken * choice->group->hosts;
}

int64_t target_base(const struct group_choice *choice)
{
	return ceil_divide(present_pods(choice), choice->group->hosts);
}

int64_t target_floor(const struct group_choice *choice)
{
	return clamp(choice, target_base(choice));
}

void target_remove(struct group_choice *choice, int64_t pods)
{
	int64_t missing = choice->group->missing - choice->removed_missing -
			  choice->missing_taken * choice->group->hosts;
	int64_t absent = choice->group->hosts - pods;

	choice->removed_pods += pods;
	if (absent > 0 && missing > 0)
		choice->removed_missing += absent < missing ? absent : missing;
}

/* Disrupted Pods that the operator counts after this decision. */
static int64_t counted_disrupted(const struct group_choice *choice)
{
	int64_t counted =
		choice->group->disrupted - choice->group->uncounted - choice->disruption_named;

	return counted > 0 ? counted : 0;
}

/* Pods that the packing launches, with the replacements of disrupted ones and warm workers. */
static int64_t packed_launches(const struct group_choice *choice)
{
	return choice->packing->launches +
	       (choice->packing->launches_for_disruption + choice->packing->launches_for_warm) *
		       choice->group->hosts;
}

void target_launches(struct group_choice *choice)
{
	if (choice->group->frozen)
		return;
	int64_t base = target_floor(choice);
	int64_t wanted = clamp(choice, ceil_divide(present_pods(choice) + packed_launches(choice),
						   choice->group->hosts));
	int64_t to_launch = wanted * choice->group->hosts - present_pods(choice);
	int64_t room = choice->group->spec->max_replicas * choice->group->hosts -
		       present_pods(choice) - counted_disrupted(choice);
	/* Only after the disrupted Pods are deleted. */
	if (choice->group->disrupted > 0 && to_launch > room)
		to_launch = room;
	choice->launch_replicas = wanted > base ? wanted - base : 0;
	choice->to_launch = to_launch > 0 ? to_launch : 0;
}

/* The operator counts disrupted Pods until they are deleted: see disruption.h. */
static int64_t beside_disruption(const struct group_choice *choice, int64_t wanted)
{
	int64_t disrupted = ceil_divide(counted_disrupted(choice), choice->group->hosts);
	int64_t stays = choice->group->kept - choice->removed_pods -
			choice->recycled * choice->group->hosts;
	int64_t beside = wanted * choice->group->hosts > stays ? wanted + disrupted : wanted;
	int64_t waiting = choice->packing->replacements_waiting;
	/* The operator creates those as the ones that it counts end. */
	int64_t later = wanted + (waiting < disrupted ? waiting : disrupted);
	return clamp(choice, beside > later ? beside : later);
}

/* Another writer controls replicas: a backoff holds the raise (conflict.h). */
static void hold_raise(struct group_choice *choice, int64_t *replicas)
{
	int64_t there = choice->group->spec->replicas;

	if (!choice->health->raises_held || choice->patch_replicas <= there)
		return;
	choice->patch_replicas = there;
	choice->wanted_replicas = there < choice->wanted_replicas ? there : choice->wanted_replicas;
	*replicas = choice->wanted_replicas;
	choice->to_launch = 0;
}

/* The operator creates at most maxReplicas whatever replicas is, so leaving it high is safe. */
static void hold_lower(struct group_choice *choice)
{
	int64_t there = choice->group->spec->replicas;

	if (choice->health->lowers_held && there > choice->group->spec->max_replicas &&
	    choice->patch_replicas == choice->group->spec->max_replicas)
		choice->patch_replicas = there;
}

/* A replica that is drained below the group's minimum, of a schedule as well, is recreated: it lost
 * hosts, and maxReplicas leaves no room for another beside it. */
static int64_t without_drained(const struct group_choice *choice, int64_t replicas)
{
	int64_t minimum = choice->group->min_replicas;
	int64_t left = replicas - choice->drained;

	if (left >= minimum)
		return left;
	return replicas < minimum ? replicas : minimum;
}

void target_finish(struct group_choice *choice)
{
	if (choice->group->frozen) {
		choice->wanted_replicas = choice->group->spec->replicas;
		choice->patch_replicas = choice->target_replicas = choice->group->spec->replicas;
		return;
	}
	/* minReplicas is not held back by a cap: the operator creates that many anyway. */
	int64_t floor = target_floor(choice);
	int64_t replicas = target_base(choice) + choice->allowed_replicas;
	if (replicas < floor + choice->allowed_replicas && choice->allowed_replicas > 0)
		replicas = floor + choice->allowed_replicas;
	choice->wanted_replicas = clamp(choice, replicas);
	choice->patch_replicas = beside_disruption(choice, choice->wanted_replicas);
	hold_raise(choice, &replicas);
	hold_lower(choice);
	choice->target_replicas = clamp(choice, without_drained(choice, replicas)) +
				  choice->patch_replicas - choice->wanted_replicas;
	choice->at_maximum = replicas > choice->group->spec->max_replicas ||
			     choice->packing->replacements_at_max ||
			     choice->group->kept >
				     choice->group->spec->max_replicas * choice->group->hosts;
	choice->at_minimum = choice->held_by_minimum ||
			     replicas - choice->drained < choice->group->min_replicas;
}
