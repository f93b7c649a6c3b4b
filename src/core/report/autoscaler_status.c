#include "core/report/autoscaler_status.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/model/reason.h"
#include "core/report/metering.h"

#define TEXT_SHOWN_MAX 515 /* bytes */
#define GROUPS_SHOWN_MAX 100
#define GROUPS_IN_SUMMARY_MAX 3
#define LIST_SHOWN_MAX 20
#define SCHEDULES_SHOWN_MAX 32
#define BUNDLE_SHOWN_MAX 16
/* A greater number does not survive a JSON reader. */
#define COUNT_SHOWN_MAX (INT64_C(1) << 53)

struct maker {
	const struct autoscaler_status_input *input;
	struct arena *arena;
	struct autoscaler_status *status;
};

static const char *cut(const struct maker *maker, const char *text)
{
	return text_cut(maker->arena, text, TEXT_SHOWN_MAX);
}

static const char *amount(const struct maker *maker, int64_t value)
{
	return resource_amount_text(maker->arena, value);
}

static int64_t bounded(int64_t count)
{
	return count < COUNT_SHOWN_MAX ? count : COUNT_SHOWN_MAX;
}

static size_t shown(const struct maker *maker, size_t count, size_t most)
{
	maker->status->truncated = maker->status->truncated || count > most;
	return count < most ? count : most;
}

/* --- messages that are kept --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "61 s" of "idle for 61 s": a duration that changes with the clock. */
static bool is_duration_end(const char *text)
{
	return text[0] == ' ' && text[1] == 's' && !(text[2] >= 'a' && text[2] <= 'z');
}

/* Are the texts equal apart from durations? Otherwise a message would change with every second. */
static bool same_message(const char *a, const char *b)
{
	while (*a && *b) {
		size_t digits_a = 0, digits_b = 0;

		while (is_digit(a[digits_a]))
			digits_a++;
		while (is_digit(b[digits_b]))
			digits_b++;
		if (digits_a > 0 && digits_b > 0 && is_duration_end(a + digits_a) &&
		    is_duration_end(b + digits_b)) {
			a += digits_a;
			b += digits_b;
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

/* A message of the existing status that is the same, else `text`. */
static const char *message_of(const struct maker *maker, const char *text)
{
	const struct autoscaler_status *old = &maker->input->object->status;
	const char *new_text = cut(maker, text);

#define KEEP(message)                                                                              \
	do {                                                                                       \
		const char *message_ = (message);                                                  \
		if (message_ && same_message(message_, new_text))                                  \
			return message_;                                                           \
	} while (0)
	KEEP(old->message);
	for (size_t i = 0; i < old->group_count; i++)
		KEEP(old->groups[i].backoff ? old->groups[i].backoff->message : NULL);
	for (size_t i = 0; i < old->infeasible_count; i++)
		KEEP(old->infeasible[i].message);
	for (size_t i = 0; i < old->unserved_count; i++)
		KEEP(old->unserved[i].message);
	for (size_t i = 0; i < old->condition_count; i++)
		KEEP(old->conditions[i].message);
#undef KEEP
	return new_text;
}

/* --- texts for tables --- */

/* "gpu-group 1/4, cpu-group 0/-, +2 more". */
static const char *groups_text(const struct summary *summary, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < summary->group_count && i < GROUPS_IN_SUMMARY_MAX; i++) {
		const struct summary_group *group = &summary->groups[i];
		int64_t running = (group->pods[WORKER_RUNNING] + group->pods[WORKER_IDLE] +
				   group->pods[WORKER_DRAINING]) /
				  group->hosts;
		const char *maximum =
			group->max_replicas >= INT32_MAX ?
				"-" :
				arena_printf(arena, "%lld", (long long)group->max_replicas);

		text = arena_printf(arena, "%s%s%s %lld/%s", text, i > 0 ? ", " : "",
				    resource_name_text(arena, group->name), (long long)running,
				    maximum);
	}
	if (summary->group_count > GROUPS_IN_SUMMARY_MAX)
		text = arena_printf(arena, "%s, +%zu more", text,
				    summary->group_count - GROUPS_IN_SUMMARY_MAX);
	return text;
}

/* The amounts, and "1/2/4": now, target, maximum; "?" for unknown, "-" for no maximum. */
static void set_gpus(const struct maker *maker)
{
	const struct summary *summary = maker->input->summary;
	const struct summary_gpus *gpus = &summary->gpus;
	struct autoscaler_status *status = maker->status;

	if (summary->ray_reachable) {
		status->gpus_running = amount(maker, gpus->running);
		status->gpus_pending = amount(maker, summary->pending_gpus);
	}
	if (gpus->maximum != SUMMARY_UNLIMITED)
		status->gpus_max = amount(maker, gpus->maximum);
	status->gpus_starting = amount(maker, gpus->starting);
	status->gpus_target = amount(maker, gpus->wanted);
	status->gpus_text = arena_printf(maker->arena, "%s/%s/%s",
					 status->gpus_running ? status->gpus_running : "?",
					 status->gpus_target,
					 status->gpus_max ? status->gpus_max : "-");
}

/* --- groups --- */

static const struct memory_backoff *backoff_of(const struct maker *maker,
					       const struct memory_backoff *backoff)
{
	struct memory_backoff *copy;

	if (!backoff)
		return NULL;
	copy = ARENA_NEW(maker->arena, struct memory_backoff);
	*copy = *backoff;
	copy->message = message_of(maker, backoff->message);
	return copy;
}

static const struct autoscaler_scale *last_scale_of(const struct maker *maker, const char *group)
{
	const struct autoscaler_status_input *input = maker->input;
	const struct autoscaler_status *old = &input->object->status;

	const struct autoscaler_scale *made =
		ARRAY_FIND(input->scales, input->scale_count, group, group);
	const struct autoscaler_status_group *last;

	if (made) {
		struct autoscaler_scale *scale = ARENA_NEW(maker->arena, struct autoscaler_scale);

		*scale = *made;
		scale->message = cut(maker, scale->message);
		return scale;
	}
	last = ARRAY_FIND(old->groups, old->group_count, name, group);
	return last ? last->last_scale : NULL;
}

static void set_groups(const struct maker *maker)
{
	const struct summary *summary = maker->input->summary;
	size_t count = shown(maker, summary->group_count, GROUPS_SHOWN_MAX);
	struct autoscaler_status_group *groups = arena_array(maker->arena, count, sizeof(*groups));

	for (size_t i = 0; i < count; i++) {
		const struct summary_group *group = &summary->groups[i];
		const struct memory_template *seen =
			VEC_FIND(&maker->input->plan->memory.templates, group, group->name);

		groups[i] = (struct autoscaler_status_group){
			.name = cut(maker, group->name),
			.replicas = group->replicas,
			.target_replicas = group->target_replicas,
			.min_replicas = group->min_replicas,
			.max_replicas = group->max_replicas,
			.missing = group->missing,
			.pending = group->pods[WORKER_PENDING],
			.starting = group->pods[WORKER_STARTING],
			.running = group->pods[WORKER_RUNNING],
			.idle = group->pods[WORKER_IDLE],
			.draining = group->pods[WORKER_DRAINING],
			.gone = group->pods[WORKER_GONE],
			.gpus_per_worker = amount(maker, group->worker_gpus),
			.backoff = backoff_of(maker, group->backoff),
			.last_scale = last_scale_of(maker, group->name),
			.seen = seen,
		};
	}
	maker->status->groups = groups;
	maker->status->group_count = count;
}

/* --- demand --- */

static void set_demand(const struct maker *maker)
{
	const struct summary *summary = maker->input->summary;
	size_t count = shown(maker, summary->pending_count, LIST_SHOWN_MAX);
	struct label *demand = arena_array(maker->arena, count, sizeof(*demand));

	for (size_t i = 0; i < count; i++)
		demand[i] =
			(struct label){ resource_name_text(maker->arena, summary->pending[i].name),
					amount(maker, summary->pending[i].amount) };
	maker->status->pending_bundles = bounded(summary->pending_bundles);
	maker->status->demand = demand;
	maker->status->demand_count = count;
}

static void set_requested(const struct maker *maker)
{
	const struct summary *summary = maker->input->summary;
	size_t count = shown(maker, summary->requested_count, LIST_SHOWN_MAX);
	struct autoscaler_request *requested = arena_array(maker->arena, count, sizeof(*requested));

	for (size_t i = 0; i < count; i++) {
		const struct ray_request *bundle = summary->requested[i].bundle;
		size_t size = shown(maker, bundle->bundle_count, BUNDLE_SHOWN_MAX);
		struct label *amounts = arena_array(maker->arena, size, sizeof(*amounts));

		for (size_t b = 0; b < size; b++)
			amounts[b] = (struct label){ cut(maker, bundle->bundle[b].name),
						     amount(maker, bundle->bundle[b].amount) };
		requested[i].source = demand_source_name(summary->requested[i].source);
		requested[i].schedule = cut(maker, summary->requested[i].schedule);
		requested[i].count = bounded(summary->requested[i].count);
		requested[i].bundle = labels_sort(amounts, size);
	}
	maker->status->requested = requested;
	maker->status->requested_count = count;
}

static void set_unserved(const struct maker *maker)
{
	const struct summary *summary = maker->input->summary;
	struct autoscaler_status *status = maker->status;
	struct autoscaler_unserved *items =
		arena_array(maker->arena, summary->unserved_count, sizeof(*items));

	/* The infeasible ones are the first. */
	for (size_t i = 0; i < summary->unserved_count; i++) {
		const struct summary_unserved *from = &summary->unserved[i];

		items[i] =
			(struct autoscaler_unserved){ .reason = from->reason,
						      .count = bounded(from->count),
						      .gpus = amount(maker, from->gpus),
						      .message = message_of(maker, from->message) };
		if (from->infeasible)
			status->infeasible_count++;
	}
	status->infeasible = items;
	status->unserved = items + status->infeasible_count;
	status->unserved_count = summary->unserved_count - status->infeasible_count;
}

static void set_schedules(const struct maker *maker)
{
	const struct plan *plan = maker->input->plan;
	size_t count = shown(maker, plan->schedule_count, SCHEDULES_SHOWN_MAX);
	struct autoscaler_status_schedule *schedules =
		arena_array(maker->arena, count, sizeof(*schedules));

	for (size_t i = 0; i < count; i++)
		schedules[i] = (struct autoscaler_status_schedule){
			.name = cut(maker, plan->schedules[i].name),
			.active = plan->schedules[i].active,
			.next_change = plan->schedules[i].next_change,
			.never_starts = plan->schedules[i].never_starts,
		};
	maker->status->schedules = schedules;
	maker->status->schedule_count = count;
}

/* --- times --- */

static time_ms decision_now(const struct autoscaler_status_input *input)
{
	return input->snapshot->now / MS_PER_SECOND * MS_PER_SECOND;
}

void autoscaler_status_renew(const struct autoscaler_status_input *input,
			     struct autoscaler_status *status)
{
	status->last_decision_time = decision_now(input);
	status->controller = input->controller;
	status->parts = input->parts;
}

/* The known time with its metering, or those of now when it is too old or, by another clock, too
 * far ahead. */
static void set_decision_time(const struct maker *maker)
{
	const struct autoscaler_status_input *input = maker->input;
	const struct ray_cluster *cluster = &input->snapshot->cluster;
	const struct autoscaler_status *known = &input->object->status;
	uint64_t hash = hash_add(hash_text(cluster->namespace_), cluster->name);
	int64_t interval_ms =
		AUTOSCALER_RENEW_MS +
		(int64_t)((hash ^ hash >> 32) % (AUTOSCALER_RENEW_MAX_MS - AUTOSCALER_RENEW_MS));
	time_ms now = decision_now(input);

	maker->status->last_decision_time = known->last_decision_time;
	maker->status->controller = known->controller;
	maker->status->parts = known->parts;
	if (input->sent && known->last_decision_time < input->sent->last_decision_time) {
		maker->status->last_decision_time = input->sent->last_decision_time;
		maker->status->controller = input->sent->controller;
		maker->status->parts = input->sent->parts;
	}
	if (maker->status->controller && input->controller &&
	    strcmp(maker->status->controller, input->controller) != 0)
		interval_ms /= 2;
	if (maker->status->last_decision_time <= now - interval_ms ||
	    maker->status->last_decision_time >= now + interval_ms)
		autoscaler_status_renew(input, maker->status);
}

/* --- conditions --- */

/* The time since when `status` has the condition with this value; TIME_NONE: it does not. */
static time_ms time_in(const struct autoscaler_status *status,
		       const struct plan_condition *condition)
{
	const struct autoscaler_condition *before =
		status ? autoscaler_condition_find(status, condition->type) : NULL;

	return before && !strcmp(before->status, condition->status) ? before->last_transition :
								      TIME_NONE;
}

/* The time of the last change of the condition's status. The status that was sent is newer than the object. */
static time_ms transition_of(const struct maker *maker, const struct plan_condition *condition)
{
	const struct autoscaler_status_input *input = maker->input;
	time_ms time = time_in(input->sent, condition);

	if (time == TIME_NONE)
		time = time_in(&input->object->status, condition);
	return time == TIME_NONE ? decision_now(input) : time;
}

static void set_conditions(const struct maker *maker)
{
	const struct plan *plan = maker->input->plan;
	struct autoscaler_condition *conditions =
		arena_array(maker->arena, plan->conditions.count, sizeof(*conditions));

	for (size_t i = 0; i < plan->conditions.count; i++) {
		const struct plan_condition *from = &plan->conditions.at[i];

		conditions[i] = (struct autoscaler_condition){
			.type = from->type,
			.status = from->status,
			.reason = from->reason,
			.message = message_of(maker, from->message),
			.last_transition = transition_of(maker, from),
			.observed_generation = maker->input->object->generation,
		};
	}
	maker->status->conditions = conditions;
	maker->status->condition_count = plan->conditions.count;
}

/* Readers of the object rely on it: lists within the limits of the CRD, all demand that is not
 * served in one of two lists, `truncated` with every shortened list. */
static void check_status(const struct maker *maker)
{
	const struct autoscaler_status *status = maker->status;
	const struct summary *summary = maker->input->summary;

	CHECK(status->reason[0] != '\0' && status->message);
	CHECK(status->group_count <= GROUPS_SHOWN_MAX);
	CHECK(status->group_count == summary->group_count || status->truncated);
	CHECK(status->demand_count <= LIST_SHOWN_MAX && status->requested_count <= LIST_SHOWN_MAX);
	CHECK(status->schedule_count <= SCHEDULES_SHOWN_MAX);
	CHECK(status->infeasible_count + status->unserved_count == summary->unserved_count);
	for (size_t i = 0; i < status->condition_count; i++)
		CHECK(status->conditions[i].last_transition != TIME_NONE);
}

struct autoscaler_status autoscaler_status_of(const struct autoscaler_status_input *input,
					      struct arena *arena)
{
	struct autoscaler_status status = {
		.observed_generation = input->object->generation,
		.observed_cluster_generation = input->snapshot->cluster.generation,
		.reason = input->summary->reason,
		.last_scale_time = input->object->status.last_scale_time,
		.has_undecided_seconds = input->undecided_ms > 0,
		.undecided_seconds = input->undecided_ms / MS_PER_SECOND,
		.groups_text = groups_text(input->summary, arena),
	};
	const struct maker maker = { input, arena, &status };

	for (size_t i = 0; i < input->scale_count; i++)
		if (input->scales[i].time > status.last_scale_time)
			status.last_scale_time = input->scales[i].time;
	status.message = message_of(&maker, input->summary->message);
	set_decision_time(&maker);
	set_gpus(&maker);
	set_groups(&maker);
	set_demand(&maker);
	set_requested(&maker);
	set_unserved(&maker);
	set_schedules(&maker);
	set_conditions(&maker);
	check_status(&maker);
	return status;
}

struct autoscaler_status autoscaler_status_sent(const struct autoscaler_status *status,
						struct arena *arena)
{
	struct autoscaler_condition *conditions =
		arena_array(arena, status->condition_count, sizeof(*conditions));

	for (size_t i = 0; i < status->condition_count; i++)
		conditions[i] = (struct autoscaler_condition){
			.type = status->conditions[i].type,
			.status = status->conditions[i].status,
			.last_transition = status->conditions[i].last_transition,
		};
	return (struct autoscaler_status){
		.last_decision_time = status->last_decision_time,
		.controller = status->controller,
		.parts = status->parts,
		.conditions = conditions,
		.condition_count = status->condition_count,
	};
}

struct autoscaler_status autoscaler_status_orphan(const struct autoscaler_object *object,
						  const char *message, time_ms now,
						  struct arena *arena)
{
	const struct plan_condition missing = { .type = "ScalingActive", .status = "False" };
	struct autoscaler_condition *condition = ARENA_NEW(arena, struct autoscaler_condition);
	time_ms since = time_in(&object->status, &missing);

	*condition = (struct autoscaler_condition){
		.type = missing.type,
		.status = missing.status,
		.reason = REASON_CLUSTER_MISSING,
		.message = message,
		.last_transition = since == TIME_NONE ? now / MS_PER_SECOND * MS_PER_SECOND : since,
		.observed_generation = object->generation,
	};
	return (struct autoscaler_status){
		.observed_generation = object->generation,
		.reason = REASON_CLUSTER_MISSING,
		.message = message,
		.last_decision_time = TIME_NONE,
		.last_scale_time = TIME_NONE,
		.conditions = condition,
		.condition_count = 1,
	};
}
