#include "ctl/pass/act.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "ctl/pass/observe.h"
#include "gcs/gcs_client.h"
#include "net/log.h"

void act_drains(const struct plan *plan, size_t limit, struct arena *arena,
		struct act_drains *ret_drains)
{
	*ret_drains = (struct act_drains){ 0 };
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		VEC_EACH(const struct plan_termination, end, &group->terminate) {
			if (end->action != TERMINATE_DRAIN || ret_drains->list.count >= limit)
				continue;
			VEC_PUSH(arena, &ret_drains->list,
				 ((struct act_drain){
					 .node_id = end->ray_node_id,
					 .pod = end->pod,
					 .message = end->message,
					 .deadline = end->busy && end->deadline == TIME_NONE ?
							     GCS_DEADLINE_UNKNOWN :
							     end->deadline }));
		}
	}
}

bool act_launches_only(const struct plan *plan)
{
	VEC_EACH(const struct plan_group, group, &plan->groups)
		if (group->terminate.count > 0 || group->patch_replicas < group->replicas)
			return false;
	return plan->cluster.action == CLUSTER_KEEP;
}

bool act_needs_fresh_pods(const struct plan *plan)
{
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		for (size_t j = 0; j < group->terminate.count; j++)
			if (group->terminate.at[j].action == TERMINATE_DELETE &&
			    group->terminate.at[j].ray_node_id[0] == '\0')
				return true;
	}
	return false;
}

bool act_needs_fresh_state(const struct plan *plan)
{
	for (size_t i = 0; i < plan->groups.count; i++)
		for (size_t j = 0; j < plan->groups.at[i].terminate.count; j++)
			if (plan->groups.at[i].terminate.at[j].needs_fresh_state)
				return true;
	return false;
}

int act_write_patch(const struct plan *plan, const char *uid, struct arena *arena, struct buf *buf,
		    struct err *err)
{
	struct plan guarded = *plan;

	guarded.patch = (__typeof__(guarded.patch)){ .at = NULL };
	if (uid[0])
		VEC_PUSH(arena, &guarded.patch,
			 ((struct patch_op){ .op = "test",
					     .path = "/metadata/uid",
					     .kind = PATCH_VALUE_STRING,
					     .string = uid }));
	for (size_t i = 0; i < plan->patch.count; i++)
		VEC_PUSH(arena, &guarded.patch, plan->patch.at[i]);
	return plan_write_patch(&guarded, buf, err);
}

bool act_deletes(const struct plan *plan)
{
	return plan->cluster.action == CLUSTER_DELETE;
}

int act_write_delete(const struct ray_cluster *cluster, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	if (cluster->uid[0] == '\0' || cluster->resource_version[0] == '\0')
		return err_set(err, ERR_INPUT, "the RayCluster has no uid or resourceVersion");
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_object(&writer, "preconditions");
	JSON_WRITE_TEXTS(&writer, { "uid", cluster->uid },
			 { "resourceVersion", cluster->resource_version });
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	return 0;
}

int act_decode_cluster(const char *body, size_t size, struct arena *arena,
		       struct ray_cluster *ret_cluster, struct err *err)
{
	static const struct json_limits limits = {
		.bytes = ACT_CLUSTER_MAX, .depth = 200, .elements = 1000000, .foreign = true
	};
	AUTO(json_done) struct cJSON *json = NULL;

	if (json_parse(body, size, &limits, &json, err) < 0)
		return err_prefix(err, "RayCluster");
	return ray_cluster_decode(json, "rayCluster", arena, ret_cluster, err);
}

static size_t count_deletions(const struct plan_group *group)
{
	size_t count = 0;

	for (size_t i = 0; i < group->terminate.count; i++)
		count += group->terminate.at[i].action != TERMINATE_DRAIN;
	return count;
}

void act_scaled(const struct plan *plan, struct arena *arena, struct act_scaled_list *ret_list)
{
	*ret_list = (struct act_scaled_list){ .action_message = "" };
	if (plan->cluster.message && plan->cluster.action != CLUSTER_READ_WORK) {
		ret_list->action = plan->cluster.action;
		ret_list->action_message = arena_strdup(arena, plan->cluster.message);
	}
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		size_t deletions = count_deletions(group);

		if (group->replicas == group->target_replicas && deletions == 0)
			continue;
		VEC_PUSH(arena, &ret_list->groups,
			 ((struct act_scaled){ .group = arena_strdup(arena, group->name),
					       .reason = reason_word(group->reason),
					       .message = arena_strdup(arena, group->message),
					       .replicas = group->replicas,
					       .target_replicas = group->target_replicas,
					       .workers_to_delete = deletions }));
	}
}

void act_log_scaled(const struct act_scaled_list *list, const char *cluster)
{
	if (list->action != CLUSTER_KEEP)
		log_info("idle termination", "cluster", cluster, "action",
			 cluster_action_name(list->action), "why", list->action_message, NULL);
	VEC_EACH(const struct act_scaled, scaled, &list->groups) {
		char from[32], to[32], deleted[32];

		snprintf(from, sizeof(from), "%lld", (long long)scaled->replicas);
		snprintf(to, sizeof(to), "%lld", (long long)scaled->target_replicas);
		snprintf(deleted, sizeof(deleted), "%zu", scaled->workers_to_delete);
		log_info("scaled", "cluster", cluster, "group", scaled->group, "replicas", from,
			 "targetReplicas", to, "workersToDelete", deleted, "reason", scaled->reason,
			 "why", scaled->message, NULL);
	}
	for (size_t i = 0; i < list->lines.count; i++)
		log_info(list->lines.at[i], "cluster", cluster, NULL);
}
