#include "core/report/explain.h"

#include <string.h>

#include "core/decide/capacity_check.h"
#include "core/decide/demand.h"
#include "core/decide/packing.h"
#include "core/decide/patch.h"
#include "core/model/reason.h"

#define SHAPES_MAX 3 /* named in one message */

struct words {
	enum reason reason;
	const char *message;
};

struct shape {
	const struct ray_request *request;
	int64_t count;
	enum schedule_phase phase;
};

struct shapes {
	struct shape at[SHAPES_MAX];
	size_t count;
	int64_t more; /* bundles of further shapes */
	int64_t total;
	bool requested;                       /* some are of request_resources or the annotation */
	const struct plan_schedule *schedule; /* some are of this one; NULL: of none */
};

static void add_shape(struct shapes *shapes, const struct schedule_placement *item)
{
	shapes->total += item->count;
	VEC_EACH(struct shape, shape, shapes) {
		if (shape->phase == item->phase &&
		    demand_compare_requests(shape->request, item->bundle) == 0) {
			shape->count += item->count;
			return;
		}
	}
	if (shapes->count < SHAPES_MAX)
		shapes->at[shapes->count++] =
			(struct shape){ item->bundle, item->count, item->phase };
	else
		shapes->more += item->count;
}

/* The demand placed on the new workers of the group: `requests` selects request_resources or
 * pending demand. */
static struct shapes shapes_on_new(const struct choice *choice, const struct group *group,
				   bool requests)
{
	struct shapes shapes = { .count = 0 };
	ARRAY_EACH(const struct schedule_node_result, node, choice->packing->result->nodes,
		   choice->packing->result->node_count) {
		if (node->worker != SCHEDULE_NO_INDEX || node->type != group->index + 1)
			continue;
		ARRAY_EACH(const struct schedule_placement, item, node->placements,
			   node->placement_count) {
			if ((item->phase == SCHEDULE_PHASE_CONSTRAINT) != requests)
				continue;
			add_shape(&shapes, item);
			const struct plan_schedule *schedule =
				requests ? packing_schedule_of(choice->packing, item) : NULL;
			shapes.schedule = schedule ? schedule : shapes.schedule;
			shapes.requested |= !schedule;
		}
	}
	return shapes;
}

static const char *shapes_text(const struct choice *choice, const struct shapes *shapes,
			       const char *adjective)
{
	const char *text = "";
	for (size_t i = 0; i < shapes->count; i++) {
		const struct shape *shape = &shapes->at[i];
		const char *separator = i == 0                                      ? "" :
					i + 1 == shapes->count && shapes->more == 0 ? " and " :
										      ", ";
		const char *gang = shape->phase == SCHEDULE_PHASE_GANG ? " of placement groups" :
									 "";
		text = arena_printf(choice->arena, "%s%s%lld %s bundle%s%s %s", text, separator,
				    (long long)shape->count, adjective,
				    shape->count == 1 ? "" : "s", gang,
				    demand_bundle_text(choice->arena, shape->request));
	}
	if (shapes->more > 0)
		text = arena_printf(choice->arena, "%s and %lld more", text,
				    (long long)shapes->more);
	return text;
}

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

static const char *held_back_text(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	int64_t held = own->launch_replicas - own->allowed_replicas;
	if (held <= 0)
		return "";
	return arena_printf(choice->arena, "; %lld of them later, %s",
			    (long long)(held * group->hosts),
			    own->packing->later > 0 ? "when the others have Nodes" :
						      "as many workers are still starting");
}

static const char *starved_text(const struct choice *choice)
{
	if (choice->packing->starved_bundles == 0)
		return "";
	return arena_printf(
		choice->arena,
		"; %lld bundle%s fit%s on living workers by the numbers, but %s pending "
		"for %lld s",
		(long long)choice->packing->starved_bundles,
		plural(choice->packing->starved_bundles),
		choice->packing->starved_bundles == 1 ? "s" : "",
		choice->packing->starved_bundles == 1 ? "stays" : "stay",
		(long long)packing_starved_seconds(choice->packing));
}

/* The first disrupted worker of the group and its reason. */
static const char *disruption_text(const struct choice *choice, const struct group *group)
{
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &choice->facts->workers[group->first_worker + i];

		if (worker->disrupted)
			return arena_printf(choice->arena, "%s: %s", worker->pod_name,
					    worker->disruption_why);
	}
	return "";
}

/* The reason when disrupted workers, bounds or repairs change replicas, in order of precedence; ""
 * when they do not. */
static struct words words_of_bounds(const struct choice *choice, const struct group *group)
{
	int64_t replicas = group->spec->replicas,
		patched = choice->groups[group->index].patch_replicas;
	if (patched < replicas && group->disrupted > 0 && replicas <= group->spec->max_replicas)
		return (struct words){
			REASON_SCALE_DOWN_LEAVING,
			arena_printf(choice->arena,
				     "%lld worker%s about to be terminated need%s no (further) "
				     "replacement; %s",
				     (long long)group->disrupted, plural(group->disrupted),
				     group->disrupted == 1 ? "s" : "",
				     disruption_text(choice, group))
		};
	if (patched < replicas)
		return (struct words){
			REASON_SCALE_DOWN_MAX_REPLICAS,
			arena_printf(choice->arena, "replicas %lld is above maxReplicas %lld",
				     (long long)replicas, (long long)group->spec->max_replicas)
		};
	if (patched > replicas && patched <= group->spec->min_replicas)
		return (struct words){
			REASON_SCALE_UP_MIN_REPLICAS,
			arena_printf(choice->arena, "replicas %lld is below minReplicas %lld",
				     (long long)replicas, (long long)group->spec->min_replicas)
		};
	if (patched > replicas)
		return (struct words){ REASON_REPLICAS_REPAIRED,
				       arena_printf(choice->arena,
						    "replicas %lld is below the %lld that live",
						    (long long)replicas, (long long)patched) };
	int64_t finished = patch_finished_names(choice->facts, group);
	if (finished > 0)
		return (struct words){ REASON_WORKERS_TO_DELETE_CLEARED,
				       arena_printf(
					       choice->arena,
					       "%lld deleted worker%s taken out of workersToDelete",
					       (long long)finished, plural(finished)) };
	return (struct words){ REASON_NONE, "" };
}

static struct words words_of_replacement(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	return (struct words){
		REASON_SCALE_UP_REPLACEMENT,
		arena_printf(choice->arena, "%lld worker%s in use %s about to be terminated; %s",
			     (long long)own->packing->launches_for_disruption,
			     plural(own->packing->launches_for_disruption),
			     own->packing->launches_for_disruption == 1 ? "is" : "are",
			     disruption_text(choice, group))
	};
}

static struct words words_of_warm(const struct choice *choice, const struct group *group,
				  const char *held)
{
	const struct group_choice *own = &choice->groups[group->index];
	const struct plan_schedule *schedule = own->packing->warm_schedule;
	int64_t lacking = own->packing->launches_for_warm;

	return (struct words){ REASON_SCALE_UP_WARM_WORKERS,
			       arena_printf(
				       choice->arena, "warmWorkers %lld%s lacks %lld worker%s%s",
				       (long long)own->packing->warm,
				       !schedule ? "" :
						   arena_printf(choice->arena, " of schedule %.64s",
								schedule->name),
				       (long long)lacking, plural(lacking), held) };
}

/* Nodes and devices are mentioned only when none of them can hold the new Pods now. */
static const char *capacity_check_text(const struct choice *choice, const struct group *group)
{
	const struct capacity_check_group *capacity_check =
		capacity_check_of_launch(choice->health->capacity_check, group->index);
	const char *lack = choice->offer->groups[group->index].device_lack;
	bool silent = capacity_check->text[0] == '\0' || capacity_check->fits_now;

	return arena_printf(choice->arena, "%s%s%s%s", lack ? "; " : "", lack ? lack : "",
			    silent ? "" : "; ", silent ? "" : capacity_check->text);
}

static struct words words_of_minimum(const struct choice *choice, const struct group *group,
				     const char *held)
{
	int64_t launch = choice->groups[group->index].to_launch;

	if (group->schedule)
		return (struct words){ REASON_SCALE_UP_SCHEDULE,
				       arena_printf(choice->arena, "%s lacks %lld worker%s%s",
						    group->minimum_text, (long long)launch,
						    plural(launch), held) };
	return (struct words){ REASON_SCALE_UP_MIN_REPLICAS,
			       arena_printf(choice->arena, "minReplicas %lld lacks %lld worker%s%s",
					    (long long)group->spec->min_replicas, (long long)launch,
					    plural(launch), held) };
}

static struct words words_of_bundles(const struct choice *choice, const struct shapes *shapes,
				     int64_t launch, const char *held)
{
	return (struct words){ REASON_SCALE_UP_SCHEDULE,
			       arena_printf(choice->arena, "%s: %s need%s %lld new worker%s%s",
					    plan_schedule_bundles(shapes->schedule, choice->arena),
					    shapes_text(choice, shapes, "requested"),
					    shapes->total == 1 ? "s" : "", (long long)launch,
					    plural(launch), held) };
}

static struct words words_of_launch(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	bool requests = !own->packing->launches_for_demand && own->packing->launches_for_request;
	const char *held = arena_printf(choice->arena, "%s%s", held_back_text(choice, group),
					capacity_check_text(choice, group));
	int64_t launch = own->to_launch;
	if (!own->packing->launches_for_demand && !own->packing->launches_for_request &&
	    !own->packing->launches_for_min)
		return own->packing->launches_for_disruption > 0 ?
			       words_of_replacement(choice, group) :
		       own->packing->launches_for_warm > 0 ? words_of_warm(choice, group, held) :
							     words_of_bounds(choice, group);
	if (!own->packing->launches_for_demand && !own->packing->launches_for_request)
		return words_of_minimum(choice, group, held);
	struct shapes shapes = shapes_on_new(choice, group, requests);
	if (requests && !shapes.requested && shapes.schedule)
		return words_of_bundles(choice, &shapes, launch, held);
	return (struct words){
		requests ? REASON_SCALE_UP_REQUEST : REASON_SCALE_UP_DEMAND,
		arena_printf(choice->arena, "%s need%s %lld new worker%s%s%s",
			     shapes_text(choice, &shapes, requests ? "requested" : "pending"),
			     shapes.total == 1 ? "s" : "", (long long)launch, plural(launch), held,
			     requests ? "" : starved_text(choice))
	};
}

/* The number of drains for this reason, and the shortest idle time among them. */
static int64_t count_drains(const struct choice *choice, const struct group *group,
			    enum reason reason, int64_t *ret_shortest_ms)
{
	int64_t count = 0;

	*ret_shortest_ms = INT64_MAX;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &choice->facts->workers[group->first_worker + i];
		const struct worker_choice *own = &choice->workers[worker->index];

		if (own->action != TERMINATE_DRAIN ||
		    (own->reason != reason &&
		     !(reason == REASON_IDLE && reason_has(own->reason, TRAIT_IDLE))))
			continue;
		count++;
		if (worker->node->idle_duration_ms < *ret_shortest_ms)
			*ret_shortest_ms = worker->node->idle_duration_ms;
	}
	return count;
}

/* The message of the first one that ends for the reason. */
static struct words words_of_first(const struct choice *choice, const struct group *group,
				   int64_t count, enum reason of, enum reason reason)
{
	const char *message = "";

	for (size_t i = group->worker_count; i > 0; i--) {
		const struct worker_choice *own = &choice->workers[group->first_worker + i - 1];

		if (own->action != TERMINATE_NONE && own->reason == of)
			message = own->message;
	}
	return (struct words){ reason, arena_printf(choice->arena, "%lld worker%s: %s",
						    (long long)count, plural(count), message) };
}

static struct words words_of_drain(const struct choice *choice, const struct group *group)
{
	int64_t shortest;
	int64_t above = count_drains(choice, group, REASON_ABOVE_MAX_REPLICAS, &shortest);
	int64_t released = count_drains(choice, group, REASON_RELEASED_FOR_OTHERS, &shortest);
	int64_t parts = count_drains(choice, group, REASON_PART_OF_GANG, &shortest);
	int64_t idle = count_drains(choice, group, REASON_IDLE, &shortest);

	if (above > 0)
		return (struct words){ REASON_SCALE_DOWN_MAX_REPLICAS,
				       arena_printf(choice->arena,
						    "%lld idle worker%s above maxReplicas %lld",
						    (long long)above, plural(above),
						    (long long)group->spec->max_replicas) };
	if (idle == 0 && released > 0)
		return words_of_first(choice, group, released, REASON_RELEASED_FOR_OTHERS,
				      REASON_SCALE_DOWN_RELEASED);
	if (idle == 0 && parts > 0)
		return words_of_first(choice, group, parts, REASON_PART_OF_GANG,
				      REASON_SCALE_DOWN_GANG);
	if (idle == 0)
		return (struct words){ REASON_WORKER_RECYCLED,
				       "hosts of a replica whose other hosts were deleted" };
	return (struct words){
		REASON_SCALE_DOWN_IDLE,
		arena_printf(choice->arena, "%lld worker%s idle for %s%lld s, longer than %lld s",
			     (long long)idle, plural(idle), idle == 1 ? "" : "at least ",
			     (long long)(shortest / MS_PER_SECOND),
			     (long long)(choice->health->groups[group->index].idle_timeout_ms /
					 MS_PER_SECOND))
	};
}

/* The reason of the deletes and stops of the group. */
static struct words words_of_removal(const struct choice *choice, const struct group *group)
{
	enum reason first = REASON_NONE;
	int64_t count = 0;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &choice->facts->workers[group->first_worker + i];
		const struct worker_choice *own = &choice->workers[worker->index];
		if (own->action != TERMINATE_DELETE && own->action != TERMINATE_STOP)
			continue;
		count++;
		if (!first || own->reason == REASON_DRAINED)
			first = own->reason;
	}
	if (count == 0)
		return (struct words){ REASON_NONE, "" };
	if (first == REASON_DRAINED)
		return (struct words){ REASON_SCALE_DOWN_DRAINED,
				       arena_printf(choice->arena,
						    "%lld drained worker%s with nothing in use",
						    (long long)count, plural(count)) };
	if (first == REASON_RELEASED_FOR_OTHERS)
		return words_of_first(choice, group, count, REASON_RELEASED_FOR_OTHERS,
				      REASON_SCALE_DOWN_RELEASED);
	if (first == REASON_ABOVE_MAX_REPLICAS)
		return (struct words){ REASON_SCALE_DOWN_MAX_REPLICAS,
				       arena_printf(choice->arena,
						    "%lld worker%s above maxReplicas %lld",
						    (long long)count, plural(count),
						    (long long)group->spec->max_replicas) };
	return (struct words){ REASON_WORKER_RECYCLED,
			       arena_printf(choice->arena,
					    "%lld worker%s whose raylet is dead or never registered",
					    (long long)count, plural(count)) };
}

static struct words words_of_cancelling(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (own->backed_off_taken > 0)
		return (struct words){
			REASON_SCALE_DOWN_BACK_OFF,
			arena_printf(choice->arena,
				     "%lld replica%s cancelled, the group provides no capacity: %s",
				     (long long)own->backed_off_taken,
				     plural(own->backed_off_taken),
				     own->health->backoff ? own->health->backoff->message : "")
		};
	return (struct words){ REASON_SCALE_DOWN_UNNEEDED,
			       arena_printf(choice->arena,
					    "%lld launched replica%s that nothing needs any more",
					    (long long)own->cancelled, plural(own->cancelled)) };
}

static struct words words_of(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (group->frozen)
		return (struct words){ REASON_NONE, "" };
	if (own->to_launch > 0)
		return words_of_launch(choice, group);
	if (own->backed_off_taken > 0 || own->cancelled > 0)
		return words_of_cancelling(choice, group);
	struct words removal = words_of_removal(choice, group);
	if (removal.reason)
		return removal;
	if (own->drained > 0)
		return words_of_drain(choice, group);
	return words_of_bounds(choice, group);
}

void explain_groups(const struct choice *choice, struct plan *plan)
{
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count) {
		const struct group_choice *own = &choice->groups[group->index];
		struct words words = words_of(choice, group);

		VEC_PUSH(choice->arena, &plan->groups,
			 ((struct plan_group){
				 .name = group->spec->name,
				 .replicas = group->spec->replicas,
				 .patch_replicas = own->patch_replicas,
				 .target_replicas = own->target_replicas,
				 .to_launch = own->to_launch,
				 .worker_gpus = own->offer->seen_capacity.gpu_amount,
				 .missing = group->missing,
				 .min_replicas = group->min_replicas,
				 .reason = words.reason,
				 .message = words.message,
				 .backoff = own->health->backed_off ? own->health->backoff : NULL,
			 }));
	}
}
