#include "cli/shared/object_summary.h"

#include <string.h>

#include "codec/text/quantity.h"
#include "core/model/reason.h"

const struct autoscaler_status *object_summary_status(const struct autoscaler_object *object)
{
	return object && object->status.reason && *object->status.reason != '\0' ? &object->status :
										   NULL;
}

/* A status may hold any number. */
static int64_t count_of(int64_t number)
{
	return number < 0 ? 0 : number < INT32_MAX ? number : INT32_MAX;
}

static int64_t amount_of(const char *text, int64_t unknown)
{
	const char *problem;
	int64_t amount;

	return text && quantity_parse(text, &amount, &problem) == 0 ? amount : unknown;
}

static void set_recorded(struct summary_group *group, const struct autoscaler_status_group *from)
{
	group->target_replicas = count_of(from->target_replicas);
	group->missing = count_of(from->missing);
	group->pods[WORKER_PENDING] = count_of(from->pending);
	group->pods[WORKER_STARTING] = count_of(from->starting);
	group->pods[WORKER_RUNNING] = count_of(from->running);
	group->pods[WORKER_IDLE] = count_of(from->idle);
	group->pods[WORKER_DRAINING] = count_of(from->draining);
	group->pods[WORKER_GONE] = count_of(from->gone);
	for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++)
		group->pod_count += group->pods[state];
	group->pending =
		group->missing + group->pods[WORKER_PENDING] + group->pods[WORKER_STARTING];
	group->worker_gpus = amount_of(from->gpus_per_worker, SUMMARY_UNLIMITED);
	if (from->backoff && from->backoff->until != TIME_NONE)
		group->backoff = from->backoff;
}

static void set_groups(const struct ray_cluster *cluster, const struct autoscaler_status *status,
		       struct arena *arena, struct summary *summary)
{
	struct summary_group *groups = arena_array(arena, cluster->group_count, sizeof(*groups));

	for (size_t i = 0; i < cluster->group_count; i++) {
		const struct worker_group *from = &cluster->groups[i];
		const struct autoscaler_status_group *recorded;

		groups[i] = (struct summary_group){
			.name = from->name,
			.replicas = from->replicas,
			.target_replicas = from->replicas,
			.min_replicas = from->min_replicas,
			.max_replicas = from->max_replicas,
			.hosts = from->num_of_hosts > 0 ? from->num_of_hosts : 1,
			/* Unknown: null in JSON. */
			.worker_gpus = SUMMARY_UNLIMITED,
			.gpus = { .starting = SUMMARY_UNLIMITED,
				  .wanted = SUMMARY_UNLIMITED,
				  .maximum = SUMMARY_UNLIMITED },
			.idle_since = TIME_NONE,
			.reason = "",
			.message = "",
			.unserved_reason = "",
			.waiting_reason = "",
			.waiting_message = "",
		};
		recorded =
			status ? ARRAY_FIND(status->groups, status->group_count, name, from->name) :
				 NULL;
		if (recorded)
			set_recorded(&groups[i], recorded);
		for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++)
			summary->pods[state] += groups[i].pods[state];
		summary->pod_count += groups[i].pod_count;
		summary->missing += groups[i].missing;
	}
	summary->groups = groups;
	summary->group_count = cluster->group_count;
}

static enum demand_source source_of(const char *name)
{
	for (enum demand_source source = SOURCE_RAY; source < SOURCE_SCHEDULE; source++)
		if (strcmp(name, demand_source_name(source)) == 0)
			return source;
	return SOURCE_SCHEDULE;
}

static void set_requested(const struct autoscaler_status *status, struct arena *arena,
			  struct summary *summary)
{
	struct summary_request *requested =
		arena_array(arena, status->requested_count, sizeof(*requested));

	for (size_t i = 0; i < status->requested_count; i++) {
		const struct autoscaler_request *from = &status->requested[i];
		struct ray_request *bundle = ARENA_NEW(arena, struct ray_request);
		struct bundle_entry *entries =
			arena_array(arena, from->bundle.count, sizeof(*entries));

		for (size_t b = 0; b < from->bundle.count; b++) {
			int64_t amount = amount_of(from->bundle.at[b].value, 0);

			entries[b] = (struct bundle_entry){ from->bundle.at[b].key,
							    (double)amount / RESOURCE_UNIT,
							    amount };
		}
		bundle->bundle = entries;
		bundle->bundle_count = from->bundle.count;
		requested[i] = (struct summary_request){ source_of(from->source), from->schedule,
							 bundle, count_of(from->count) };
	}
	summary->requested = requested;
	summary->requested_count = status->requested_count;
}

static void set_unserved(const struct autoscaler_status *status, struct arena *arena,
			 struct summary *summary)
{
	size_t count = status->infeasible_count + status->unserved_count;
	struct summary_unserved *unserved = arena_array(arena, count, sizeof(*unserved));

	for (size_t i = 0; i < count; i++) {
		bool infeasible = i < status->infeasible_count;
		const struct autoscaler_unserved *from =
			infeasible ? &status->infeasible[i] :
				     &status->unserved[i - status->infeasible_count];

		unserved[i] = (struct summary_unserved){ from->reason, infeasible,
							 count_of(from->count),
							 amount_of(from->gpus, 0), from->message };
	}
	summary->unserved = unserved;
	summary->unserved_count = count;
}

static void set_schedules(const struct autoscaler_status *status, struct arena *arena,
			  struct summary *summary)
{
	struct plan_schedule *schedules =
		arena_array(arena, status->schedule_count, sizeof(*schedules));

	for (size_t i = 0; i < status->schedule_count; i++)
		schedules[i] =
			(struct plan_schedule){ .name = status->schedules[i].name,
						.active = status->schedules[i].active,
						.next_change = status->schedules[i].next_change,
						.never_starts = status->schedules[i].never_starts };
	summary->schedules = schedules;
	summary->schedule_count = status->schedule_count;
}

static void set_status(const struct autoscaler_status *status, struct arena *arena,
		       struct summary *summary)
{
	struct plan_condition *conditions =
		arena_array(arena, status->condition_count, sizeof(*conditions));
	struct resource *pending = arena_array(arena, status->demand_count, sizeof(*pending));

	for (size_t i = 0; i < status->demand_count; i++)
		pending[i] = (struct resource){ status->demand[i].key,
						amount_of(status->demand[i].value, 0) };
	summary->decided_at = status->last_decision_time;
	summary->ray_reachable = status->gpus_running != NULL;
	summary->reason = status->reason;
	summary->message = status->message;
	summary->gpus.starting = amount_of(status->gpus_starting, SUMMARY_UNLIMITED);
	summary->gpus.wanted = amount_of(status->gpus_target, SUMMARY_UNLIMITED);
	summary->gpus.maximum = amount_of(status->gpus_max, SUMMARY_UNLIMITED);
	summary->pending_bundles = count_of(status->pending_bundles);
	summary->pending = pending;
	summary->pending_count = status->demand_count;
	set_requested(status, arena, summary);
	set_unserved(status, arena, summary);
	set_schedules(status, arena, summary);
	for (size_t i = 0; i < status->condition_count; i++)
		conditions[i] = (struct plan_condition){ .type = status->conditions[i].type,
							 .status = status->conditions[i].status,
							 .reason = status->conditions[i].reason,
							 .message = status->conditions[i].message };
	summary->conditions = conditions;
	summary->condition_count = status->condition_count;
}

static void set_unreadable(const struct ray_cluster *cluster, struct arena *arena,
			   struct summary *summary)
{
	struct plan_condition *condition = ARENA_NEW(arena, struct plan_condition);

	*condition = (struct plan_condition){ .type = "ScalingActive",
					      .status = "False",
					      .reason = REASON_CLUSTER_UNREADABLE,
					      .message = cluster->unreadable };
	summary->reason = condition->reason;
	summary->message = condition->message;
	summary->conditions = condition;
	summary->condition_count = 1;
}

const struct summary *object_summary(const struct ray_cluster *cluster,
				     const struct autoscaler_status *status, struct arena *arena)
{
	struct summary *summary = ARENA_NEW(arena, struct summary);

	*summary = (struct summary){ .decided_at = TIME_NONE,
				     .gpus = { .starting = SUMMARY_UNLIMITED,
					       .wanted = SUMMARY_UNLIMITED,
					       .maximum = SUMMARY_UNLIMITED },
				     .reason = "",
				     .message = "" };
	set_groups(cluster, status, arena, summary);
	if (status)
		set_status(status, arena, summary);
	if (cluster->unreadable)
		set_unreadable(cluster, arena, summary);
	return summary;
}
