#include "core/report/autoscaler_status.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/model/reason.h"

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
	const struct summary *known; /* the status of the object */
	struct summary *status;
};

static const char *cut(const struct maker *maker, const char *text)
{
	return arena_cut(maker->arena, text, TEXT_SHOWN_MAX);
}

static int64_t bounded(int64_t count)
{
	return count < COUNT_SHOWN_MAX ? count : COUNT_SHOWN_MAX;
}

/* A copy of the first elements of a list, at most `most`; their number is in *count. */
static void *shown(const struct maker *maker, const void *list, size_t *count, size_t size,
		   size_t most)
{
	maker->status->truncated = maker->status->truncated || *count > most;
	*count = *count < most ? *count : most;
	return arena_copy(maker->arena, list, *count, size);
}
#define SHOWN(list, count, most) shown(maker, list, &(count), sizeof(*(list)), most)

/* --- messages that are kept --- */

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

		while (text_is_digit(a[digits_a]))
			digits_a++;
		while (text_is_digit(b[digits_b]))
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
	const struct summary *old = maker->known;
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
		const char *maximum =
			group->max_replicas >= INT32_MAX ?
				"-" :
				arena_printf(arena, "%lld", (long long)group->max_replicas);

		text = arena_printf(arena, "%s%s%s %lld/%s", text, i > 0 ? ", " : "",
				    resource_name_text(arena, group->name),
				    (long long)summary_ready(group), maximum);
	}
	if (summary->group_count > GROUPS_IN_SUMMARY_MAX)
		text = arena_printf(arena, "%s, +%zu more", text,
				    summary->group_count - GROUPS_IN_SUMMARY_MAX);
	return text;
}

/* "1/2/4": now, target, maximum; "?" for unknown, "-" for no maximum. */
static const char *gpus_text(const struct summary *summary, struct arena *arena)
{
	const struct summary_gpus *gpus = &summary->gpus;

	return arena_printf(
		arena, "%s/%s/%s",
		summary->ray_reachable ? resource_amount_text(arena, gpus->running) : "?",
		resource_amount_text(arena, gpus->wanted),
		gpus->maximum == SUMMARY_UNLIMITED ? "-" :
						     resource_amount_text(arena, gpus->maximum));
}

/* --- groups --- */

static const struct memory_backoff *backoff_of(const struct maker *maker,
					       const struct memory_backoff *backoff)
{
	struct memory_backoff *copy;

	if (!backoff)
		return NULL;
	copy = ARENA_COPY(maker->arena, backoff, 1);
	copy->message = message_of(maker, backoff->message);
	return copy;
}

static const struct autoscaler_scale *last_scale_of(const struct maker *maker, const char *group)
{
	const struct autoscaler_status_input *input = maker->input;
	const struct autoscaler_scale *made =
		ARRAY_FIND(input->scales, input->scale_count, group, group);
	const struct summary_group *last;

	if (made) {
		struct autoscaler_scale *scale = ARENA_COPY(maker->arena, made, 1);

		scale->message = cut(maker, scale->message);
		return scale;
	}
	last = ARRAY_FIND(maker->known->groups, maker->known->group_count, name, group);
	return last ? last->last_scale : NULL;
}

static void set_groups(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct summary_group *groups = SHOWN(status->groups, status->group_count, GROUPS_SHOWN_MAX);

	for (size_t i = 0; i < status->group_count; i++) {
		struct summary_group *group = &groups[i];

		group->seen = VEC_FIND(&maker->input->plan->memory.templates, group, group->name);
		group->backoff = backoff_of(maker, group->backoff);
		group->last_scale = last_scale_of(maker, group->name);
		group->missing = bounded(group->missing);
		group->name = cut(maker, group->name);
	}
	status->groups = groups;
}

/* --- demand --- */

static void set_pending(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct resource *pending = SHOWN(status->pending, status->pending_count, LIST_SHOWN_MAX);

	for (size_t i = 0; i < status->pending_count; i++)
		pending[i].name = resource_name_text(maker->arena, pending[i].name);
	status->pending = pending;
	status->pending_bundles = bounded(status->pending_bundles);
}

static void set_requested(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct summary_request *requested =
		SHOWN(status->requested, status->requested_count, LIST_SHOWN_MAX);

	for (size_t i = 0; i < status->requested_count; i++) {
		struct ray_request *request = ARENA_COPY(maker->arena, requested[i].bundle, 1);
		struct bundle_entry *bundle =
			SHOWN(request->bundle, request->bundle_count, BUNDLE_SHOWN_MAX);
		for (size_t b = 0; b < request->bundle_count; b++)
			bundle[b].name = cut(maker, bundle[b].name);
		request->bundle = bundle;
		requested[i].bundle = request;
		requested[i].schedule = cut(maker, requested[i].schedule);
		requested[i].count = bounded(requested[i].count);
	}
	status->requested = requested;
}

static void set_unserved(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct summary_unserved *unserved =
		SHOWN(status->unserved, status->unserved_count, SIZE_MAX);

	for (size_t i = 0; i < status->unserved_count; i++) {
		unserved[i].count = bounded(unserved[i].count);
		unserved[i].message = message_of(maker, unserved[i].message);
	}
	status->unserved = unserved;
}

static void set_schedules(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct plan_schedule *schedules =
		SHOWN(status->schedules, status->schedule_count, SCHEDULES_SHOWN_MAX);

	for (size_t i = 0; i < status->schedule_count; i++)
		schedules[i].name = cut(maker, schedules[i].name);
	status->schedules = schedules;
}

/* --- times --- */

static time_ms decision_now(const struct autoscaler_status_input *input)
{
	return input->snapshot->now / MS_PER_SECOND * MS_PER_SECOND;
}

void autoscaler_status_renew(const struct autoscaler_status_input *input, struct summary *status)
{
	status->decided_at = decision_now(input);
	status->controller = input->controller;
	status->parts = input->parts;
}

/* The known time with its parts, or those of now when it is too old or, by another clock, too
 * far ahead. */
static void set_decision_time(const struct maker *maker)
{
	const struct autoscaler_status_input *input = maker->input;
	const struct ray_cluster *cluster = &input->snapshot->cluster;
	const struct summary *known = maker->known;
	uint64_t hash = hash_add(hash_text(cluster->namespace_), cluster->name);
	int64_t interval_ms =
		AUTOSCALER_RENEW_MS +
		(int64_t)((hash ^ hash >> 32) % (AUTOSCALER_RENEW_MAX_MS - AUTOSCALER_RENEW_MS));
	time_ms now = decision_now(input);

	if (input->sent && known->decided_at < input->sent->decided_at)
		known = input->sent;
	maker->status->decided_at = known->decided_at;
	maker->status->controller = known->controller;
	maker->status->parts = known->parts;
	if (known->controller && input->controller &&
	    strcmp(known->controller, input->controller) != 0)
		interval_ms /= 2;
	if (known->decided_at <= now - interval_ms || known->decided_at >= now + interval_ms)
		autoscaler_status_renew(input, maker->status);
}

/* --- conditions --- */

/* The time since when `status` has the condition with this value; TIME_NONE: it does not. */
static time_ms time_in(const struct summary *status, const struct summary_condition *condition)
{
	const struct summary_condition *before = summary_condition(status, condition->type);

	return before && !strcmp(before->status, condition->status) ? before->last_transition :
								      TIME_NONE;
}

/* The time of the last change of the condition's status. The status that was sent is newer than the object. */
static time_ms transition_of(const struct maker *maker, const struct summary_condition *condition)
{
	time_ms time = time_in(maker->input->sent, condition);

	if (time == TIME_NONE)
		time = time_in(maker->known, condition);
	return time == TIME_NONE ? decision_now(maker->input) : time;
}

static void set_conditions(const struct maker *maker)
{
	struct summary *status = maker->status;
	struct summary_condition *conditions =
		SHOWN(status->conditions, status->condition_count, SIZE_MAX);

	for (size_t i = 0; i < status->condition_count; i++) {
		conditions[i].message = message_of(maker, conditions[i].message);
		conditions[i].last_transition = transition_of(maker, &conditions[i]);
		conditions[i].observed_generation = maker->input->object->generation;
	}
	status->conditions = conditions;
}

struct summary autoscaler_status_of(const struct autoscaler_status_input *input,
				    struct arena *arena)
{
	const struct autoscaler_object *object = input->object;
	const struct summary *summary = input->summary;
	struct summary status = *summary;
	const struct maker maker = {
		.input = input,
		.arena = arena,
		.known = object->status ? object->status : &summary_none,
		.status = &status,
	};

	status.observed_generation = object->generation;
	status.observed_cluster_generation = input->snapshot->cluster.generation;
	status.last_scale_time = maker.known->last_scale_time;
	for (size_t i = 0; i < input->scale_count; i++)
		if (input->scales[i].time > status.last_scale_time)
			status.last_scale_time = input->scales[i].time;
	status.has_undecided_seconds = input->undecided_ms > 0;
	status.undecided_seconds = input->undecided_ms / MS_PER_SECOND;
	status.groups_text = groups_text(summary, arena);
	status.gpus_text = gpus_text(summary, arena);
	status.message = message_of(&maker, summary->message);
	set_decision_time(&maker);
	set_groups(&maker);
	set_pending(&maker);
	set_requested(&maker);
	set_unserved(&maker);
	set_schedules(&maker);
	set_conditions(&maker);
	/* Readers of the object rely on it. */
	CHECK(status.reason[0] != '\0' && status.message);
	CHECK(status.group_count == summary->group_count || status.truncated);
	CHECK(status.unserved_count == summary->unserved_count);
	return status;
}

struct summary autoscaler_status_sent(const struct summary *status, struct arena *arena)
{
	struct summary_condition *conditions =
		arena_array(arena, status->condition_count, sizeof(*conditions));

	for (size_t i = 0; i < status->condition_count; i++)
		conditions[i] = (struct summary_condition){
			.type = status->conditions[i].type,
			.status = status->conditions[i].status,
			.last_transition = status->conditions[i].last_transition,
		};
	return (struct summary){
		.decided_at = status->decided_at,
		.controller = status->controller,
		.parts = status->parts,
		.conditions = conditions,
		.condition_count = status->condition_count,
	};
}

struct summary autoscaler_status_orphan(const struct autoscaler_object *object, const char *message,
					time_ms now, struct arena *arena)
{
	struct summary_condition *condition = ARENA_PUT(
		arena, (struct summary_condition){ .type = "ScalingActive",
						   .status = "False",
						   .reason = reason_word(REASON_CLUSTER_MISSING),
						   .message = message,
						   .observed_generation = object->generation });
	struct summary status = summary_none;

	condition->last_transition = time_in(object->status, condition);
	if (condition->last_transition == TIME_NONE)
		condition->last_transition = now / MS_PER_SECOND * MS_PER_SECOND;
	status.observed_generation = object->generation;
	status.reason = condition->reason;
	status.message = message;
	status.conditions = condition;
	status.condition_count = 1;
	return status;
}
