/* The law of schedules. Their windows are those of laws_random.c, far from NOW_MS at both ends. */
#include "laws_case.h"

#include "base/memory.h"

bool laws_is_active(const struct cJSON *schedule)
{
	return tree_is(schedule, "start", "0 8 * * *") && tree_is(schedule, "duration", "3h") &&
	       !TREE_AT(schedule, "timeZone");
}

static const struct cJSON *schedules_of(const struct cJSON *snapshot)
{
	return TREE_AT(snapshot, "autoscaler", "spec", "schedules");
}

static int64_t largest(const struct cJSON *list, const struct cJSON *group, int64_t count)
{
	TREE_EACH(warm, list)
		if (tree_is(group, "groupName", tree_text(warm, "group")) &&
		    tree_integer(warm, "count", 0) > count)
			count = tree_integer(warm, "count", 0);
	return count;
}

int64_t laws_warm_count(const struct cJSON *snapshot, const struct cJSON *group)
{
	int64_t count = largest(TREE_AT(snapshot, "autoscaler", "spec", "warmWorkers"), group, 0);

	TREE_EACH(schedule, schedules_of(snapshot))
		if (laws_is_active(schedule))
			count = largest(TREE_AT(schedule, "warmWorkers"), group, count);
	return count;
}

/* A limit may hold launches back. */
static bool is_limited(const struct cJSON *snapshot, const struct cJSON *planned)
{
	const struct cJSON *settings = TREE_AT(snapshot, "settings");

	return cJSON_IsObject(TREE_AT(planned, "backoff")) || TREE_AT(snapshot, "gpuBudget") ||
	       TREE_AT(settings, "max-gpus-per-cluster") ||
	       TREE_AT(settings, "max-starting-workers") ||
	       tree_is(TREE_AT(snapshot, "rayCluster", "spec", "autoscalerOptions"),
		       "upscalingMode", "Conservative");
}

static bool has_idle(const struct cJSON *planned)
{
	TREE_EACH(item, TREE_AT(planned, "toTerminate"))
		if (tree_is(item, "reason", "Idle"))
			return true;
	return false;
}

static void check_minimum(const struct cJSON *snapshot, const struct cJSON *plan,
			  const struct cJSON *wanted, struct laws_verdict *verdict)
{
	const struct cJSON *group = facts_group(snapshot, tree_text(wanted, "name"));
	int64_t minimum = tree_integer(wanted, "minReplicas", 0);
	int64_t maximum = tree_integer(group, "maxReplicas", INT32_MAX);

	if (!group || facts_group_is_frozen(snapshot, group))
		return;
	minimum = minimum < maximum ? minimum : maximum;
	TREE_EACH(planned, TREE_AT(plan, "groups")) {
		int64_t target = tree_integer(planned, "targetReplicas", 0);

		/* In back-off the replicas may be those of another writer. */
		if (tree_is(planned, "name", tree_text(wanted, "name")) && target < minimum &&
		    !cJSON_IsObject(TREE_AT(planned, "backoff")) &&
		    (has_idle(planned) || !is_limited(snapshot, planned)))
			laws_break(verdict, "schedules", "group %s: target %lld is below %lld",
				   tree_text(planned, "name"), (long long)target,
				   (long long)minimum);
	}
}

/* Schedules of which none is open, and of which all are known, change nothing. */
static void check_inactive(const struct cJSON *snapshot, const struct cJSON *plan,
			   struct laws_verdict *verdict)
{
	static const char *const SAME[] = { "groups",     "workers",    "patch",
					    "placements", "infeasible", "unserved" };
	struct cJSON *without = cJSON_Duplicate(snapshot, true), *other;
	AUTO(memory_free_string) char *text = NULL;

	cJSON_DeleteItemFromObjectCaseSensitive(TREE_AT(without, "autoscaler", "spec"),
						"schedules");
	text = laws_case_plan(without, true, verdict);
	other = cJSON_Parse(text ? text : "");
	for (size_t i = 0; other && i < sizeof(SAME) / sizeof(SAME[0]); i++)
		if (!cJSON_Compare(TREE_AT(plan, SAME[i]), TREE_AT(other, SAME[i]), true))
			laws_break(verdict, "schedules",
				   "%s differ without the schedules, which are not open", SAME[i]);
	cJSON_Delete(other);
	cJSON_Delete(without);
}

void laws_check_schedules(const struct cJSON *snapshot, const struct cJSON *plan,
			  struct laws_verdict *verdict)
{
	bool inactive = cJSON_GetArraySize(schedules_of(snapshot)) > 0;

	if (laws_is_gated(plan))
		return;
	TREE_EACH(schedule, schedules_of(snapshot)) {
		inactive = inactive && tree_is(schedule, "start", "0 12 * * *") &&
			   tree_is(schedule, "duration", "3h") && !TREE_AT(schedule, "timeZone");
		if (laws_is_active(schedule))
			TREE_EACH(wanted, TREE_AT(schedule, "groups"))
				check_minimum(snapshot, plan, wanted, verdict);
	}
	if (inactive)
		check_inactive(snapshot, plan, verdict);
}
