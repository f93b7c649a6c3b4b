#include "cli/status_json.h"

#include "codec/objects/plan_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json_write.h"
#include "core/report/summary.h"

/* null: Ray was not reached. */
static void write_known(struct json_writer *writer, const char *name, bool known, int64_t amount)
{
	if (known)
		json_write_amount(writer, name, amount);
	else
		json_write_null(writer, name);
}

static void write_gpus(struct json_writer *writer, const struct summary_gpus *gpus, bool reachable)
{
	json_write_object_line(writer, "gpus");
	write_known(writer, "running", reachable, gpus->running);
	write_known(writer, "inUse", reachable, gpus->in_use);
	write_known(writer, "idle", reachable, gpus->idle);
	json_write_amount(writer, "starting", gpus->starting);
	json_write_amount(writer, "wanted", gpus->wanted);
	write_known(writer, "maximum", gpus->maximum != SUMMARY_UNLIMITED, gpus->maximum);
	json_write_object_end(writer);
}

static void write_pods(struct json_writer *writer, const int64_t *pods, int64_t missing)
{
	json_write_object_line(writer, "pods");
	for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++)
		json_write_integer(writer, worker_state_name((enum worker_state)state),
				   pods[state]);
	json_write_integer(writer, "Missing", missing);
	json_write_object_end(writer);
}

static void write_group(struct json_writer *writer, const struct summary_group *group,
			bool reachable)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "name", group->name);
	json_write_integer(writer, "minReplicas", group->min_replicas);
	json_write_integer(writer, "replicas", group->replicas);
	json_write_integer(writer, "targetReplicas", group->target_replicas);
	json_write_integer(writer, "maxReplicas", group->max_replicas);
	json_write_integer(writer, "hostsPerReplica", group->hosts);
	write_pods(writer, group->pods, group->missing);
	json_write_amount(writer, "gpusPerWorker", group->worker_gpus);
	write_gpus(writer, &group->gpus, reachable);
	json_write_time(writer, "idleSince", group->idle_since);
	plan_write_backoff(writer, group->backoff, false);
	json_write_text(writer, "reason", group->reason);
	json_write_text(writer, "message", group->message);
	json_write_text(writer, "waitingReason", group->waiting_reason);
	json_write_text(writer, "waitingMessage", group->waiting_message);
	json_write_object_end(writer);
}

static void write_pending(struct json_writer *writer, const struct summary *summary)
{
	if (!summary->ray_reachable) {
		json_write_null(writer, "pending");
		return;
	}
	json_write_object(writer, "pending");
	json_write_integer(writer, "bundles", summary->pending_bundles);
	json_write_object_line(writer, "resources");
	for (size_t i = 0; i < summary->pending_count; i++)
		json_write_amount(writer, summary->pending[i].name, summary->pending[i].amount);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_requested(struct json_writer *writer, const struct summary *summary)
{
	json_write_array(writer, "requested");
	for (size_t i = 0; i < summary->requested_count; i++) {
		const struct summary_request *request = &summary->requested[i];

		json_write_object_line(writer, NULL);
		json_write_text(writer, "source", demand_source_name(request->source));
		json_write_integer(writer, "count", request->count);
		ray_request_write(writer, "request", request->bundle);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_unserved(struct json_writer *writer, const struct summary *summary)
{
	json_write_array(writer, "unserved");
	for (size_t i = 0; i < summary->unserved_count; i++) {
		const struct summary_unserved *unserved = &summary->unserved[i];

		json_write_object_line(writer, NULL);
		json_write_text(writer, "reason", unserved->reason);
		json_write_boolean(writer, "infeasible", unserved->infeasible);
		json_write_integer(writer, "count", unserved->count);
		json_write_amount(writer, "gpus", unserved->gpus);
		json_write_text(writer, "message", unserved->message);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_cluster(struct json_writer *writer, const struct view_cluster *cluster)
{
	const struct summary *summary = cluster->summary;

	json_write_object(writer, NULL);
	json_write_text(writer, "namespace", cluster->namespace_);
	json_write_text(writer, "name", cluster->name);
	json_write_text(writer, "source", cluster->from_controller ? "controller" : "objects");
	json_write_text(writer, "problem", cluster->problem);
	json_write_time(writer, "decidedAt", cluster->snapshot.now);
	json_write_boolean(writer, "rayReachable", summary->ray_reachable);
	json_write_text(writer, "reason", summary->reason);
	json_write_text(writer, "message", summary->message);
	json_write_array(writer, "groups");
	for (size_t i = 0; i < summary->group_count; i++)
		write_group(writer, &summary->groups[i], summary->ray_reachable);
	json_write_array_end(writer);
	write_pods(writer, summary->pods, summary->missing);
	write_gpus(writer, &summary->gpus, summary->ray_reachable);
	write_pending(writer, summary);
	write_requested(writer, summary);
	write_unserved(writer, summary);
	plan_write_conditions(writer, summary->conditions, summary->condition_count, true);
	json_write_object_end(writer);
}

static void write_controller(struct json_writer *writer, const struct controller *controller)
{
	json_write_object_line(writer, "controller");
	json_write_boolean(writer, "reached", controller->found);
	json_write_text(writer, "where", controller->where);
	json_write_text(writer, "version", controller->version);
	json_write_text(writer, "problem", controller->problem);
	json_write_array(writer, "gpuCeilings");
	for (size_t i = 0; i < controller->ceiling_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "namespace", controller->ceilings[i].namespace_);
		json_write_amount(writer, "ceiling", controller->ceilings[i].amount);
		json_write_amount(writer, "counted", controller->ceilings[i].counted);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

int status_json_write(const struct status_answer *answer, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", SNAPSHOT_API_VERSION);
	json_write_text(&writer, "kind", "StatusList");
	write_controller(&writer, answer->controller);
	json_write_integer(&writer, "unreadable", (int64_t)answer->clusters->unreadable);
	json_write_array(&writer, "clusters");
	for (size_t i = 0; i < answer->clusters->count; i++)
		write_cluster(&writer, &answer->clusters->at[i]);
	json_write_array_end(&writer);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
