/* In-place resize of CPU and memory of running workers and the head, as Ray's autoscaler does it
 * (ray 2.60, autoscaler/v2/instance_manager/cloud_providers/kuberay/ippr_provider.py): which Pods may
 * grow, which are being resized, and what is done next. GPUs are never resized. All that is known of a
 * resize is on the Pod, in the form of Ray's annotation, so a restart loses nothing. */
#include <string.h>

#include "base/check.h"
#include "core/capacity/resize_limits.h"
#include "core/decide/feature.h"
#include "core/model/reason.h"
#include "feature/in_place_resize/core/resize_pod.h"

extern const struct decision_feature in_place_resize_decisions;

#define MESSAGES_MAX 3
#define LIMITED_MAX 2
#define TIME_TEXT_END_S INT64_C(253402300800) /* the year 10000 */

struct resize_offer {
	const char *problem; /* NULL, or why nothing, or not all, is resized */
	bool off;
	struct resize_pod **pods; /* parallel to problem.nodes; NULL: it cannot be resized */
	/* NULL, or the last group whose new workers do not count with their largest size. */
	const char *limited_group;
};

/* Where it is asked for. */
static struct resize_offer *resize_of(const struct offer *offer)
{
	return feature_slot_need(offer->slots, &in_place_resize_decisions);
}

/* ---- the offer ---- */

static const struct pod *pod_of(const struct offer *offer, const struct schedule_node *node)
{
	return node->head ? offer->facts->head_pod : offer->facts->workers[node->worker].pod;
}

static const struct schedule_size *size_new(const struct offer *offer, struct plan_size size)
{
	struct schedule_size *copy =
		ARENA_PUT(offer->arena, (struct schedule_size){ size.cpu, size.memory });

	return copy;
}

/* NULL: the Pod of the node cannot be resized, or there is none. */
static struct resize_pod *read_pod(const struct offer *offer, const struct schedule_node *node)
{
	const char *group = node->type == SCHEDULE_NO_INDEX ? "" :
							      offer->problem.types[node->type].name;
	const struct pod *pod = pod_of(offer, node);
	const struct resize_group *limits = resize_limits_find(&offer->snapshot->cluster, group);
	struct resize_pod *state;

	if (!pod || !limits ||
	    resize_limits_problem(&offer->snapshot->cluster, limits, offer->arena))
		return NULL;
	state = ARENA_NEW(offer->arena, struct resize_pod);
	return resize_pod_read(pod, limits, offer->snapshot->now, offer->facts->due, offer->arena,
			       state) ?
		       state :
		       NULL;
}

/* A requested worker without a Pod counts as the launch did that requested it. */
static void offer_node(struct offer *offer, const struct schedule_type *types,
		       struct schedule_node *node, const struct resize_pod *state)
{
	if (!pod_of(offer, node) && node->type != SCHEDULE_NO_INDEX)
		node->resizing = types[node->type].resizable;
	if (!state)
		return;
	if (resize_pod_is_under_way(state, node->registered))
		node->resizing = size_new(offer, state->desired);
	else if (resize_pod_may_grow(state))
		node->resizable = size_new(offer, state->most);
}

/* By type: idle workers whose Nodes had less room than they were asked for. */
static size_t *count_limited(const struct offer *offer)
{
	size_t *counts = arena_array(offer->arena, offer->problem.type_count + 1, sizeof(*counts));

	for (size_t i = 0; i < offer->problem.node_count; i++) {
		const struct schedule_node *node = &offer->problem.nodes[i];
		const struct resize_pod *state = resize_of(offer)->pods[i];

		if (state && !node->head && resize_pod_was_limited(state) &&
		    offer->workers[node->worker].removal != REMOVAL_FORBIDDEN)
			counts[node->type]++;
	}
	return counts;
}

/* A new worker of the type counts with its largest size, which it is resized to when it runs. Not while
 * LIMITED_MAX workers that were to grow so are idle, because their Nodes had no room: each more would be another one. */
static void offer_type(struct offer *offer, size_t index, size_t limited,
		       struct schedule_type *type)
{
	struct capacity *capacity = index > 0 ? &offer->groups[index - 1].seen_capacity : NULL;
	const struct resize_group *limits =
		resize_limits_find(&offer->snapshot->cluster, type->name);
	struct schedule_size size;

	if (!limits || resize_limits_problem(&offer->snapshot->cluster, limits, offer->arena))
		return;
	if (limited >= LIMITED_MAX) {
		resize_of(offer)->limited_group = type->name;
		return;
	}
	size.cpu = resources_amount(&type->resources, "CPU", 0);
	size.memory = resources_amount(&type->resources, "memory", 0);
	size.cpu = size.cpu > limits->max_cpu ? size.cpu : limits->max_cpu;
	size.memory = size.memory > limits->max_memory ? size.memory : limits->max_memory;
	type->resizable = size_new(offer, (struct plan_size){ size.cpu, size.memory });
	if (capacity)
		capacity->resources = schedule_resized(offer->arena, &capacity->resources,
						       &capacity->resources, &size);
}

static const char *problem_of(const struct offer *offer)
{
	const struct ray_cluster *cluster = &offer->snapshot->cluster;

	if (cluster->resize->problem)
		return arena_printf(offer->arena, "metadata.annotations[" ANNOTATION_RESIZE "]: %s",
				    cluster->resize->problem);
	for (size_t i = 0; i < cluster->resize->group_count; i++) {
		const char *problem =
			resize_limits_problem(cluster, &cluster->resize->groups[i], offer->arena);

		if (problem)
			return problem;
	}
	return NULL;
}

static void offer_sizes(struct offer *offer)
{
	struct schedule_problem *problem = &offer->problem;
	size_t nodes = problem->node_count, types = problem->type_count;
	struct schedule_node *changed_nodes = ARENA_COPY(offer->arena, problem->nodes, nodes);
	struct schedule_type *changed_types = ARENA_COPY(offer->arena, problem->types, types);
	struct resize_offer *resize = resize_of(offer);
	const size_t *limited;

	resize->pods = arena_array(offer->arena, nodes + 1, sizeof(*resize->pods));
	for (size_t i = 0; i < nodes; i++)
		resize->pods[i] = read_pod(offer, &changed_nodes[i]);
	limited = count_limited(offer);
	for (size_t i = 0; i < types; i++)
		offer_type(offer, i, limited[i], &changed_types[i]);
	for (size_t i = 0; i < nodes; i++)
		offer_node(offer, changed_types, &changed_nodes[i], resize->pods[i]);
	problem->types = changed_types;
	problem->nodes = changed_nodes;
}

static void offer(struct offer *offer)
{
	struct resize_offer *resize;

	if (!offer->snapshot->cluster.resize)
		return;
	resize = ARENA_NEW(offer->arena, struct resize_offer);
	feature_slot_set(&offer->slots, offer->arena, &in_place_resize_decisions, resize);
	resize->off = !offer->snapshot->settings.in_place_resize;
	resize->problem = resize->off ? "the annotation " ANNOTATION_RESIZE
					" has no effect: resizes are not carried out" :
					problem_of(offer);
	if (!resize->off && !offer->snapshot->cluster.resize->problem)
		offer_sizes(offer);
}

/* ---- the plan ---- */

static const char *change_text(struct arena *arena, const char *name, int64_t now, int64_t wanted)
{
	char from[RESOURCE_AMOUNT_TEXT_SIZE], to[RESOURCE_AMOUNT_TEXT_SIZE];

	resource_amount_print(now, from);
	resource_amount_print(wanted, to);
	return arena_printf(arena, "%s from %s to %s", name, from, to);
}

static const char *resize_text(struct arena *arena, const struct resize_pod *state)
{
	const struct plan_size *now = &state->current, *wanted = &state->desired;
	const char *cpu = change_text(arena, "CPU", now->cpu, wanted->cpu);
	const char *memory = change_text(arena, "memory", now->memory, wanted->memory);

	if (now->cpu == wanted->cpu && now->memory == wanted->memory)
		return state->progress == RESIZE_QUEUED ? "taken back" : "Ray is informed";
	if (now->memory == wanted->memory)
		return cpu;
	return now->cpu == wanted->cpu ? memory : arena_printf(arena, "%s, %s", cpu, memory);
}

static void add(const struct choice *choice, const struct schedule_node *node,
		const struct resize_pod *state, enum resize_action action, struct plan *plan)
{
	const struct facts *facts = choice->facts;
	const struct ray_node *ray = node->head ? facts->head_node :
						  facts->workers[node->worker].node;
	struct plan_resize *resize = VEC_ADD(choice->arena, &plan->resizes);

	*resize = (struct plan_resize){
		.pod = state->pod->name,
		.group = choice->packing->problem.types[node->type].name,
		.action = action,
		.now = state->current,
		.wanted = state->desired,
		.reason = action == RESIZE_SYNC ? REASON_RESIZE_DONE : state->reason,
		.message = state->message ? state->message : "",
		.object = state->pod,
		.ray_node_id = ray->id,
		.asked = state->asked,
		.raylet = { resources_amount(&ray->total, "CPU", -1),
			    resources_amount(&ray->total, "memory", -1) },
		.has_cpu_limit = state->has_cpu_limit,
		.has_memory_limit = state->has_memory_limit,
		.gap = state->gap,
		.status = state->status,
	};
	CHECK(resize->wanted.cpu > 0 && resize->wanted.memory > 0);
	resize->status.raylet_id = ray->id;
	if (action == RESIZE_SYNC)
		resize->status.resizing_at = 0;
	else if (!resize->status.resizing_at)
		resize->status.resizing_at = choice->snapshot->now / MS_PER_SECOND;
}

static void write_node(const struct choice *choice, size_t index, struct plan *plan)
{
	const struct schedule_node *node = &choice->packing->problem.nodes[index];
	const struct schedule_node_result *result = &choice->packing->result->nodes[index];
	struct resize_pod *state = resize_of(choice->offer)->pods[index];

	if (!state || !node->running || result->status != SCHEDULE_KEEP)
		return;
	if (state->progress == RESIZE_LIMITED)
		resize_pod_settle(state, result->resized, choice->arena);
	else if (result->resized && resize_pod_queue(state, state->most)) {
		state->reason = REASON_RESIZE_FOR_DEMAND;
		state->message = resize_text(choice->arena, state);
	}
	if (state->progress == RESIZE_QUEUED)
		add(choice, node, state, RESIZE_REQUEST, plan);
	else if (resize_pod_is_applied(state))
		add(choice, node, state, RESIZE_SYNC, plan);
}

/* A record of a Pod may have any number. */
static const char *moment(struct arena *arena, int64_t seconds)
{
	bool known = seconds > 0 && seconds < TIME_TEXT_END_S;

	return known ? time_text(arena, seconds * MS_PER_SECOND) : "an unknown time";
}

/* "CPU from 2 to 6, since 2026-11-20T10:00:00Z, at most until 2026-11-20T10:05:00Z". */
static const char *under_way_text(struct arena *arena, const struct resize_pod *state)
{
	int64_t since = state->status.resizing_at;
	const char *text = resize_text(arena, state);

	if (since)
		text = arena_printf(arena, "%s, since %s, at most until %s", text,
				    moment(arena, since),
				    moment(arena, since + state->timeout_seconds));
	return state->pending[0] != '\0' ? arena_printf(arena, "%s, %.200s", text, state->pending) :
					   text;
}

/* "its Node has room for CPU 4"; "" where it is not known to have less than was asked for. */
static const char *room_text(struct arena *arena, const struct resize_status *status)
{
	char cpu[RESOURCE_AMOUNT_TEXT_SIZE], memory[RESOURCE_AMOUNT_TEXT_SIZE];
	bool both = status->suggested_cpu && status->suggested_memory;

	if (!status->suggested_cpu && !status->suggested_memory)
		return "";
	resource_amount_print(status->suggested_cpu, cpu);
	resource_amount_print(status->suggested_memory, memory);
	return arena_printf(arena, "its Node has room for %s%s%s%s%s",
			    status->suggested_cpu ? "CPU " : "", status->suggested_cpu ? cpu : "",
			    both ? ", " : "", status->suggested_memory ? "memory " : "",
			    status->suggested_memory ? memory : "");
}

static const char *state_text(struct arena *arena, const struct resize_pod *state)
{
	const struct resize_status *status = &state->status;
	bool under_way = status->resizing_at || state->progress == RESIZE_QUEUED;
	const char *text = under_way ? under_way_text(arena, state) : room_text(arena, status);

	if (!status->last_failed_at)
		return text;
	return arena_printf(arena, "%s%snot resized again, failed at %s: %.200s", text,
			    text[0] != '\0' ? ", " : "", moment(arena, status->last_failed_at),
			    status->last_failed_reason[0] != '\0' ? status->last_failed_reason :
								    "without a reason");
}

/* Of the first few that are being resized, or whose resize has failed. */
static const char *progress_text(const struct choice *choice)
{
	const struct resize_offer *resize = resize_of(choice->offer);
	const char *text = "";
	size_t count = 0;

	for (size_t i = 0; i < choice->packing->problem.node_count; i++) {
		const struct resize_pod *state = resize->pods[i];
		const char *own = state ? state_text(choice->arena, state) : "";

		if (own[0] == '\0' || count++ >= MESSAGES_MAX)
			continue;
		text = arena_printf(choice->arena, "%s%s%.253s: %s", text, count > 1 ? "; " : "",
				    state->pod->name, own);
	}
	if (count > MESSAGES_MAX)
		text = arena_printf(choice->arena, "%s; and %zu more", text, count - MESSAGES_MAX);
	if (!resize->limited_group)
		return text;
	return arena_printf(
		choice->arena,
		"%s; no new worker of %.253s to be resized: the Nodes of idle ones had no room",
		text, resize->limited_group);
}

static void write(const struct choice *choice, struct plan *plan)
{
	const struct resize_offer *resize =
		feature_slot_get(choice->offer->slots, &in_place_resize_decisions);
	const char *progress = "";

	if (!resize)
		return;
	if (resize->pods) {
		for (size_t i = 0; i < choice->packing->problem.node_count; i++)
			write_node(choice, i, plan);
		progress = progress_text(choice);
	}
	plan_add_condition(choice->arena, plan, CONDITION_IN_PLACE_RESIZE, !resize->problem,
			   resize->off     ? REASON_RESIZE_OFF :
			   resize->problem ? REASON_RESIZE_INVALID :
					     REASON_RESIZE_ON,
			   resize->problem     ? resize->problem :
			   progress[0] != '\0' ? progress :
						 "no worker is being resized")
		->notice = !resize->problem;
}

const struct decision_feature in_place_resize_decisions = { .offer = offer, .write = write };
