#include "core/model/pod_status.h"

#include <string.h>

#define TEXT_MAX 256 /* of a container's last words, or of the scheduler's */

enum waiting_meaning {
	WAITING_IS_USUAL = 0,
	WAITING_IS_COUNTED, /* by the restarts */
	WAITING_MAY_PASS,   /* it is tried again, and the status has no count */
	WAITING_IS_FINAL,
};

/* Kubernetes 1.34, pkg/kubelet: kuberuntime, images, container, container_helpers. One that is not here is
 * from a newer kubelet: it may pass. */
static const struct waiting_row {
	const char *reason;
	enum waiting_meaning meaning;
} waiting_rows[] = {
	{ "", WAITING_IS_USUAL },
	{ "ContainerCreating", WAITING_IS_USUAL },
	{ "PodInitializing", WAITING_IS_USUAL },
	{ "CrashLoopBackOff", WAITING_IS_COUNTED },
	{ "InvalidImageName", WAITING_IS_FINAL },
	{ "ErrImageNeverPull", WAITING_IS_FINAL },
	{ "ErrImagePull", WAITING_MAY_PASS },
	{ "ImagePullBackOff", WAITING_MAY_PASS },
	{ "ImageInspectError", WAITING_MAY_PASS },
	{ "RegistryUnavailable", WAITING_MAY_PASS },
	{ "SignatureValidationFailed", WAITING_MAY_PASS },
	{ "CreateContainerConfigError", WAITING_MAY_PASS }, /* a ConfigMap or Secret is missing */
	{ "CreateContainerError", WAITING_MAY_PASS },
	{ "RunContainerError", WAITING_MAY_PASS },
	{ "PreCreateHookError", WAITING_MAY_PASS },
	{ "PreStartHookError", WAITING_MAY_PASS },
	{ "PostStartHookError", WAITING_MAY_PASS },
};

static enum waiting_meaning meaning_of(const char *reason)
{
	const struct waiting_row *row = ARRAY_FIND(
		waiting_rows, sizeof(waiting_rows) / sizeof(waiting_rows[0]), reason, reason);

	return row ? row->meaning : WAITING_MAY_PASS;
}

/* The end of its last run, if it does not run; NULL: it runs, or has not run. */
static const struct container_end *end_of(const struct container_status *status)
{
	return status->state == CONTAINER_TERMINATED ? &status->end : status->last;
}

/* decides: it is an init container or the Ray container, which must not end. */
static enum pod_outlook outlook_of(const struct pod *pod, const struct container_status *status,
				   bool decides)
{
	bool never = strcmp(pod->spec.restart_policy, "Never") == 0;
	enum waiting_meaning meaning;

	if (status->state == CONTAINER_TERMINATED && (decides || status->end.exit_code != 0))
		return never || status->restart_count >= POD_RESTARTS_MAX ? POD_FAILS :
									    POD_RESTARTS;
	if (status->state != CONTAINER_WAITING)
		return POD_PROCEEDS;
	meaning = meaning_of(status->reason);
	if (meaning == WAITING_IS_USUAL)
		return POD_PROCEEDS;
	if (meaning == WAITING_IS_FINAL || status->restart_count >= POD_RESTARTS_MAX)
		return POD_FAILS;
	return meaning == WAITING_IS_COUNTED ? POD_RESTARTS : POD_RETRIES;
}

/* The container that the text names. */
struct found {
	const struct container_status *status; /* NULL: none has failed */
	bool is_init;
	enum pod_outlook outlook;
};

/* One that fails now comes before one that runs again after a failure, and in an ended Pod one with an exit
 * code before all others. */
static void look(const struct pod *pod, const struct container_status *status, bool decides,
		 struct found *found)
{
	enum pod_outlook outlook = outlook_of(pod, status, decides);
	bool ran_before = status->last && status->last->exit_code != 0;
	bool failed = status->state == CONTAINER_TERMINATED && status->end.exit_code != 0;

	if (outlook == POD_PROCEEDS && !ran_before)
		return;
	if (!found->status || (outlook != POD_PROCEEDS && found->outlook == POD_PROCEEDS) ||
	    (failed && found->status->end.exit_code == 0 && pod_has_ended(pod)))
		*found = (struct found){ status, false, decides ? outlook : POD_PROCEEDS };
}

static struct found find(const struct pod *pod)
{
	const struct container_status *ray = pod_ray_container_status(pod);
	struct found found = { NULL, false, POD_PROCEEDS };

	ARRAY_EACH(const struct container_status, status, pod->init_statuses,
		   pod->init_status_count) {
		look(pod, status, true, &found);
		found.is_init = found.status != NULL;
		if (found.outlook != POD_PROCEEDS)
			return found;
	}
	if (ray)
		look(pod, ray, true, &found);
	ARRAY_EACH(const struct container_status, status, pod->container_statuses,
		   pod->container_status_count) {
		if (status != ray)
			look(pod, status, false, &found);
	}
	return found;
}

/* Without the stop of a sentence, as another part may follow. */
static const char *and_message(struct arena *arena, const char *text, const char *message)
{
	const char *cut = arena_cut(arena, message, TEXT_MAX);
	size_t size = strlen(cut);

	if (size == 0)
		return text;
	if (cut[size - 1] == '.')
		size--;
	return arena_printf(arena, "%s%s%.*s", text, text[0] != '\0' ? ": " : "", (int)size, cut);
}

/* "Error, exit code 1, 6 restarts" */
static const char *end_text(const struct container_status *status, const struct container_end *end,
			    struct arena *arena)
{
	const char *text = arena_printf(arena, "%s%sexit code %lld", end->reason,
					end->reason[0] != '\0' ? ", " : "",
					(long long)end->exit_code);

	if (status->restart_count == 0)
		return text;
	return arena_printf(arena, "%s, %lld restart%s", text, (long long)status->restart_count,
			    status->restart_count == 1 ? "" : "s");
}

/* "container ray-worker: Error, exit code 1, 6 restarts (CrashLoopBackOff): ValueError: ...", or, where
 * something else than its end keeps it from running, "container ray-worker: RunContainerError: ...; its last run:
 * Error, exit code 1, 6 restarts: ValueError: ...". */
static const char *container_text(const struct found *found, struct arena *arena)
{
	const struct container_status *status = found->status;
	const struct container_end *end = end_of(status);
	const char *waits = status->state == CONTAINER_WAITING ? status->reason : "";
	bool has_cause = meaning_of(waits) > WAITING_IS_COUNTED;
	const char *text = arena_printf(arena, "%scontainer %s: ", found->is_init ? "init " : "",
					status->name);

	if (!end || has_cause)
		text = and_message(arena, arena_printf(arena, "%s%s", text, waits),
				   status->message);
	if (!end)
		return text;
	text = arena_printf(arena, "%s%s%s", text, has_cause ? "; its last run: " : "",
			    end_text(status, end, arena));
	if (waits[0] != '\0' && !has_cause)
		text = arena_printf(arena, "%s (%s)", text, waits);
	return and_message(arena, text, end->message);
}

/* The init container that runs now: those that stay beside the others are before it. */
static const struct container_status *running_init(const struct pod *pod)
{
	const struct container_status *found = NULL;

	ARRAY_EACH(const struct container_status, status, pod->init_statuses,
		   pod->init_status_count) {
		if (status->state == CONTAINER_RUNNING)
			found = status;
	}
	return found;
}

/* Of a Pod without a failure: why it does not run yet. */
static const char *waiting_text(const struct pod *pod, struct arena *arena)
{
	const struct container_status *ray = pod_ray_container_status(pod);
	const struct condition *scheduled =
		condition_find(pod->conditions, pod->condition_count, "PodScheduled");
	const struct container_status *init = running_init(pod);

	if (scheduled && strcmp(scheduled->status, "False") == 0 && scheduled->reason[0] != '\0')
		return and_message(arena, scheduled->reason, scheduled->message);
	if (pod->reason[0] != '\0' || pod->message[0] != '\0')
		return and_message(arena, pod->reason, pod->message);
	if (!ray || ray->state != CONTAINER_WAITING)
		return "";
	if (init && init->started_at != TIME_NONE && ray->message[0] == '\0')
		return arena_printf(arena, "%s: init container %s runs since %s", ray->reason,
				    init->name, time_text(arena, init->started_at));
	return and_message(arena, ray->reason, ray->message);
}

const char *pod_deletion_text(const struct pod *pod, struct arena *arena)
{
	time_ms asked = pod_deletion_asked(pod);

	if (asked == TIME_NONE)
		return "the Pod is being deleted and still there";
	return arena_printf(arena, "the Pod is deleted since %s and still there",
			    time_text(arena, asked));
}

bool pod_has_ended(const struct pod *pod)
{
	return strcmp(pod->phase, "Failed") == 0 || strcmp(pod->phase, "Succeeded") == 0;
}

struct pod_status pod_status_read(const struct pod *pod, struct arena *arena)
{
	struct found found = find(pod);
	const struct condition *target =
		condition_find(pod->conditions, pod->condition_count, "DisruptionTarget");
	const struct container_end *end = found.status ? end_of(found.status) : NULL;
	struct pod_status ret = { .outlook = found.outlook,
				  .failed = found.status || pod_has_ended(pod),
				  .text = found.status ? container_text(&found, arena) :
							 waiting_text(pod, arena),
				  .failed_at = end ? end->finished_at : TIME_NONE };

	if (!pod_has_ended(pod))
		return ret;
	ret.outlook = POD_ENDED;
	/* Its own reason says why the kubelet ended the containers; the condition says why it was asked to. */
	if (pod->reason[0] != '\0' || pod->message[0] != '\0')
		ret.text = and_message(arena, pod->reason, pod->message);
	else if (target && strcmp(target->status, "True") == 0 && target->reason[0] != '\0')
		ret.text = and_message(arena, target->reason, target->message);
	ret.text = and_message(arena, pod->phase, ret.text);
	return ret;
}

/* The runs of the container that have ended, and what is wrong now. */
struct failures {
	int64_t ends;
	enum pod_outlook outlook;
};

static struct failures failures_of(const struct pod *pod)
{
	struct found found = find(pod);
	struct failures ret = { 0, found.outlook };

	if (strcmp(pod->phase, "Failed") == 0)
		ret.outlook = POD_ENDED;
	if (found.status)
		ret.ends = found.status->restart_count +
			   (found.status->state != CONTAINER_RUNNING && end_of(found.status));
	return ret;
}

bool pod_status_is_news(const struct pod *old, const struct pod *pod)
{
	struct failures now = failures_of(pod), before = { 0, POD_PROCEEDS };

	if (old)
		before = failures_of(old);
	return now.ends > before.ends ||
	       (now.outlook > POD_RESTARTS && now.outlook > before.outlook);
}
