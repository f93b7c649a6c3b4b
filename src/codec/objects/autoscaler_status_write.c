#include "codec/objects/autoscaler_status_write.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_status_json.h"
#include "codec/objects/template_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/utf8.h"

#define MESSAGE_SHOWN_MAX 512 /* bytes */
#define GROUPS_SHOWN_MAX 100
#define GROUPS_IN_SUMMARY_MAX 3
#define LIST_SHOWN_MAX 20
#define BUNDLE_SHOWN_MAX 16
#define BODY_MAX ((size_t)8 << 20) /* never reached: each part is bounded */

struct status_writer {
	const struct autoscaler_status_input *input;
	struct arena *arena;
	struct json_writer writer;
	bool truncated;
};

/* --- members that are kept --- */

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

static const char *cut(struct arena *arena, const char *text)
{
	size_t left = strlen(text), size = 0;

	if (left <= MESSAGE_SHOWN_MAX)
		return text;
	while (size < MESSAGE_SHOWN_MAX) {
		size_t length = utf8_length(text + size, left - size);

		size += length > 0 ? length : 1;
	}
	return arena_printf(arena, "%.*s...", (int)size, text);
}

static void write_message(struct status_writer *w, const char *message)
{
	const struct strings *before = &w->input->object->messages;
	const char *text = cut(w->arena, message);

	for (size_t i = 0; i < before->count; i++) {
		if (same_message(before->at[i], text)) {
			text = before->at[i];
			break;
		}
	}
	json_write_text(&w->writer, "message", text);
}

/* --- texts for tables --- */

static const char *replicas_text(struct arena *arena, int64_t maximum)
{
	return maximum >= INT32_MAX ? "-" : arena_printf(arena, "%lld", (long long)maximum);
}

static int64_t running_replicas(const struct summary_group *group)
{
	return (group->pods[WORKER_RUNNING] + group->pods[WORKER_IDLE] +
		group->pods[WORKER_DRAINING]) /
	       group->hosts;
}

/* "gpu-group 1/4, cpu-group 0/-, +2 more". */
static const char *groups_text(const struct summary *summary, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < summary->group_count && i < GROUPS_IN_SUMMARY_MAX; i++) {
		const struct summary_group *group = &summary->groups[i];

		text = arena_printf(arena, "%s%s%s %lld/%s", text, i > 0 ? ", " : "",
				    resource_name_text(arena, group->name),
				    (long long)running_replicas(group),
				    replicas_text(arena, group->max_replicas));
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

/* --- members --- */

static void write_amount(struct status_writer *w, const char *name, int64_t amount)
{
	json_write_text(&w->writer, name, resource_amount_text(w->arena, amount));
}

/* null removes the member in a merge patch. */
static void write_known_amount(struct status_writer *w, const char *name, bool known,
			       int64_t amount)
{
	if (known)
		write_amount(w, name, amount);
	else
		json_write_null(&w->writer, name);
}

static void write_gpus(struct status_writer *w)
{
	const struct summary *summary = w->input->summary;
	const struct summary_gpus *gpus = &summary->gpus;

	json_write_object(&w->writer, "summary");
	json_write_text(&w->writer, "groups", groups_text(summary, w->arena));
	json_write_text(&w->writer, "gpus", gpus_text(summary, w->arena));
	json_write_object_end(&w->writer);
	json_write_object(&w->writer, "gpus");
	write_known_amount(w, "running", summary->ray_reachable, gpus->running);
	write_amount(w, "starting", gpus->starting);
	write_amount(w, "target", gpus->wanted);
	write_known_amount(w, "max", gpus->maximum != SUMMARY_UNLIMITED, gpus->maximum);
	write_known_amount(w, "pending", summary->ray_reachable, summary->pending_gpus);
	json_write_object_end(&w->writer);
}

static void write_count(struct status_writer *w, const char *name, int64_t count)
{
	if (count > 0)
		json_write_integer(&w->writer, name, count);
}

static void write_pods(struct status_writer *w, const struct summary_group *group)
{
	json_write_object(&w->writer, "pods");
	write_count(w, "missing", group->missing);
	write_count(w, "pending", group->pods[WORKER_PENDING]);
	write_count(w, "starting", group->pods[WORKER_STARTING]);
	write_count(w, "running", group->pods[WORKER_RUNNING]);
	write_count(w, "idle", group->pods[WORKER_IDLE]);
	write_count(w, "draining", group->pods[WORKER_DRAINING]);
	write_count(w, "gone", group->pods[WORKER_GONE]);
	json_write_object_end(&w->writer);
}

static void write_backoff(struct status_writer *w, const struct plan_backoff *backoff)
{
	if (!backoff)
		return;
	json_write_object(&w->writer, "backoff");
	json_write_time(&w->writer, "until", backoff->until);
	json_write_integer(&w->writer, "seconds", backoff->seconds);
	json_write_text(&w->writer, "cause", backoff->cause);
	write_message(w, backoff->message);
	json_write_object_end(&w->writer);
}

static const struct autoscaler_scale *find_scale(const struct autoscaler_scale *scales,
						 size_t count, const char *group)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(scales[i].group, group))
			return &scales[i];
	return NULL;
}

static void write_last_scale(struct status_writer *w, const char *group)
{
	const struct autoscaler_status_input *input = w->input;
	const struct autoscaler_scale *scale = find_scale(input->scales, input->scale_count, group);

	if (!scale)
		scale = find_scale(input->object->scales, input->object->scale_count, group);
	if (!scale)
		return;
	json_write_object(&w->writer, "lastScale");
	if (scale->time != TIME_NONE)
		json_write_time(&w->writer, "time", scale->time);
	json_write_integer(&w->writer, "from", scale->from);
	json_write_integer(&w->writer, "to", scale->to);
	json_write_text(&w->writer, "reason", scale->reason);
	json_write_text(&w->writer, "message", cut(w->arena, scale->message));
	json_write_object_end(&w->writer);
}

static void write_seen(struct status_writer *w, const char *group)
{
	const struct memory_state *memory = &w->input->plan->memory;

	for (size_t i = 0; i < memory->templates.count; i++) {
		if (strcmp(memory->templates.at[i].group, group) != 0)
			continue;
		json_write_object(&w->writer, "seen");
		template_json_write(&w->writer, &memory->templates.at[i]);
		json_write_object_end(&w->writer);
		return;
	}
}

static void write_groups(struct status_writer *w)
{
	const struct summary *summary = w->input->summary;

	json_write_array(&w->writer, "groups");
	for (size_t i = 0; i < summary->group_count && i < GROUPS_SHOWN_MAX; i++) {
		const struct summary_group *group = &summary->groups[i];

		json_write_object(&w->writer, NULL);
		json_write_text(&w->writer, "name", cut(w->arena, group->name));
		json_write_integer(&w->writer, "replicas", group->replicas);
		json_write_integer(&w->writer, "targetReplicas", group->target_replicas);
		json_write_integer(&w->writer, "minReplicas", group->min_replicas);
		json_write_integer(&w->writer, "maxReplicas", group->max_replicas);
		write_pods(w, group);
		write_amount(w, "gpusPerWorker", group->worker_gpus);
		write_backoff(w, group->backoff);
		write_last_scale(w, group->name);
		write_seen(w, group->name);
		json_write_object_end(&w->writer);
	}
	json_write_array_end(&w->writer);
	w->truncated = w->truncated || summary->group_count > GROUPS_SHOWN_MAX;
}

static size_t shown(struct status_writer *w, size_t count, size_t most)
{
	w->truncated = w->truncated || count > most;
	return count < most ? count : most;
}

static void write_demand(struct status_writer *w)
{
	const struct summary *summary = w->input->summary;
	size_t count = shown(w, summary->pending_count, LIST_SHOWN_MAX);

	json_write_integer(&w->writer, "pendingBundles", summary->pending_bundles);
	json_write_array(&w->writer, "demand");
	for (size_t i = 0; i < count; i++) {
		json_write_object(&w->writer, NULL);
		json_write_text(&w->writer, "name",
				resource_name_text(w->arena, summary->pending[i].name));
		write_amount(w, "amount", summary->pending[i].amount);
		json_write_object_end(&w->writer);
	}
	json_write_array_end(&w->writer);
}

static void write_requested(struct status_writer *w)
{
	const struct summary *summary = w->input->summary;
	size_t count = shown(w, summary->requested_count, LIST_SHOWN_MAX);

	json_write_array(&w->writer, "requested");
	for (size_t i = 0; i < count; i++) {
		const struct summary_request *request = &summary->requested[i];
		const struct ray_request *bundle = request->bundle;
		size_t entries = shown(w, bundle->bundle_count, BUNDLE_SHOWN_MAX);

		json_write_object(&w->writer, NULL);
		json_write_text(&w->writer, "source", demand_source_name(request->source));
		json_write_integer(&w->writer, "count", request->count);
		json_write_object(&w->writer, "bundle");
		for (size_t b = 0; b < entries; b++)
			write_amount(w, cut(w->arena, bundle->bundle[b].name),
				     bundle->bundle[b].amount);
		json_write_object_end(&w->writer);
		json_write_object_end(&w->writer);
	}
	json_write_array_end(&w->writer);
}

static void write_unserved(struct status_writer *w, const char *name, bool infeasible)
{
	const struct summary *summary = w->input->summary;

	json_write_array(&w->writer, name);
	for (size_t i = 0; i < summary->unserved_count; i++) {
		const struct summary_unserved *item = &summary->unserved[i];

		if (item->infeasible != infeasible)
			continue;
		json_write_object(&w->writer, NULL);
		json_write_text(&w->writer, "reason", item->reason);
		json_write_integer(&w->writer, "count", item->count);
		write_amount(w, "gpus", item->gpus);
		write_message(w, item->message);
		json_write_object_end(&w->writer);
	}
	json_write_array_end(&w->writer);
}

/* The time of the last change of the condition's status. */
static time_ms transition_of(const struct status_writer *w, const struct plan_condition *condition)
{
	const struct autoscaler_object *object = w->input->object;
	const struct condition *before =
		condition_find(object->conditions, object->condition_count, condition->type);

	if (before && !strcmp(before->status, condition->status) &&
	    before->last_transition != TIME_NONE)
		return before->last_transition;
	return w->input->snapshot->now / MS_PER_SECOND * MS_PER_SECOND;
}

static void write_conditions(struct status_writer *w)
{
	const struct plan *plan = w->input->plan;

	json_write_array(&w->writer, "conditions");
	for (size_t i = 0; i < plan->conditions.count; i++) {
		const struct plan_condition *condition = &plan->conditions.at[i];

		json_write_object(&w->writer, NULL);
		json_write_text(&w->writer, "type", condition->type);
		json_write_text(&w->writer, "status", condition->status);
		json_write_text(&w->writer, "reason", condition->reason);
		write_message(w, condition->message);
		json_write_time(&w->writer, "lastTransitionTime", transition_of(w, condition));
		json_write_integer(&w->writer, "observedGeneration", w->input->object->generation);
		json_write_object_end(&w->writer);
	}
	json_write_array_end(&w->writer);
}

static time_ms last_scale_time(const struct autoscaler_status_input *input)
{
	time_ms last = input->object->last_scale_time;

	for (size_t i = 0; i < input->scale_count; i++)
		if (input->scales[i].time > last)
			last = input->scales[i].time;
	return last;
}

const char *autoscaler_status_write(const struct autoscaler_status_input *input,
				    struct arena *arena)
{
	struct status_writer w = { .input = input, .arena = arena };
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, BODY_MAX);
	json_write_init(&w.writer, &buf, JSON_STYLE_LINE);
	json_write_object(&w.writer, NULL);
	json_write_integer(&w.writer, "observedGeneration", input->object->generation);
	json_write_integer(&w.writer, "observedClusterGeneration",
			   input->snapshot->cluster.generation);
	json_write_text(&w.writer, "reason", input->summary->reason);
	write_message(&w, input->summary->message);
	json_write_time(&w.writer, "lastScaleTime", last_scale_time(input));
	if (input->undecided_ms > 0)
		json_write_integer(&w.writer, "undecidedIntervalSeconds",
				   input->undecided_ms / MS_PER_SECOND);
	else
		json_write_null(&w.writer, "undecidedIntervalSeconds");
	write_gpus(&w);
	write_groups(&w);
	write_demand(&w);
	write_requested(&w);
	write_unserved(&w, "infeasible", true);
	write_unserved(&w, "unserved", false);
	write_conditions(&w);
	json_write_boolean(&w.writer, "truncated", w.truncated);
	json_write_object_end(&w.writer);
	return arena_strndup(arena, buf_string(&buf), buf.size);
}

bool autoscaler_status_write_needed(const char *status_text, const struct autoscaler_object *object)
{
	static const struct json_limits limits = { .bytes = 4 * AUTOSCALER_STATUS_MAX,
						   .depth = 64,
						   .elements = 1000000 };
	AUTO(json_done) struct cJSON *ours = NULL;
	AUTO(json_done) struct cJSON *theirs = NULL;

	if (json_parse(status_text, strlen(status_text), &limits, &ours, NULL) < 0 ||
	    json_parse(object->status_text, strlen(object->status_text), &limits, &theirs, NULL) <
		    0)
		return true;
	return !json_same(ours, theirs);
}

/* --- bodies --- */

static const char *text_of(struct arena *arena, const struct buf *buf)
{
	return arena_strndup(arena, buf_string(buf), buf->size);
}

const char *autoscaler_status_write_object(const struct ray_cluster *cluster, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", "rayscaler.dev/v1alpha1");
	json_write_text(&writer, "kind", "RayClusterAutoscaler");
	json_write_object(&writer, "metadata");
	json_write_text(&writer, "namespace", cluster->namespace_);
	json_write_text(&writer, "name", cluster->name);
	json_write_object(&writer, "labels");
	json_write_text(&writer, "app.kubernetes.io/managed-by", "rayscaler");
	json_write_object_end(&writer);
	json_write_array(&writer, "ownerReferences");
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", cluster->api_version);
	json_write_text(&writer, "kind", "RayCluster");
	json_write_text(&writer, "name", cluster->name);
	json_write_text(&writer, "uid", cluster->uid);
	json_write_object_end(&writer);
	json_write_array_end(&writer);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return text_of(arena, &buf);
}

const char *autoscaler_status_write_patch(const char *status_text, const char *resource_version,
					  struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_object(&writer, "metadata");
	json_write_text(&writer, "resourceVersion", resource_version);
	json_write_object_end(&writer);
	json_write_raw(&writer, "status", status_text);
	json_write_object_end(&writer);
	return text_of(arena, &buf);
}
