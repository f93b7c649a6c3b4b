#include "feature/requests/gcs/cluster_shape_call.h"

#include "gcs/gcs_call.h"
#include "gcs/gcs_message.h"

#define PATH "/ray.rpc.autoscaler.AutoscalerStateService/ReportClusterConfig"

/* Rounded up: Train refuses work for which 0 is reported. */
static uint64_t whole(int64_t amount)
{
	return ((uint64_t)amount + RESOURCE_UNIT - 1) / RESOURCE_UNIT;
}

static void fill_group(struct arena *arena, const struct shape_group *group,
		       Ray__NodeGroupConfig *ret_message)
{
	size_t count = group->resources.count;
	Ray__NodeGroupConfig__ResourcesEntry *entries = arena_array(arena, count, sizeof(*entries));

	ray__node_group_config__init(ret_message);
	ret_message->name = GCS_STRING(group->name);
	ret_message->min_count = (uint32_t)group->minimum;
	ret_message->max_count = (int32_t)group->maximum;
	ret_message->resources = arena_array(arena, count, sizeof(*ret_message->resources));
	ret_message->n_resources = count;
	for (size_t i = 0; i < count; i++) {
		ray__node_group_config__resources_entry__init(&entries[i]);
		entries[i].key = GCS_STRING(group->resources.at[i].name);
		entries[i].value = whole(group->resources.at[i].amount);
		ret_message->resources[i] = &entries[i];
	}
}

int cluster_shape_write(const struct cluster_shape *shape, struct buf *bytes)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__ReportClusterConfigRequest request = RAY__REPORT_CLUSTER_CONFIG_REQUEST__INIT;
	Ray__ClusterConfig config = RAY__CLUSTER_CONFIG__INIT;
	Ray__ClusterConfig__MaxResourcesEntry most = RAY__CLUSTER_CONFIG__MAX_RESOURCES_ENTRY__INIT;
	Ray__ClusterConfig__MaxResourcesEntry *limits[] = { &most };
	Ray__NodeGroupConfig *groups = arena_array(&arena, shape->count, sizeof(*groups));

	config.node_group_configs =
		arena_array(&arena, shape->count, sizeof(*config.node_group_configs));
	config.n_node_group_configs = shape->count;
	for (size_t i = 0; i < shape->count; i++) {
		fill_group(&arena, &shape->groups[i], &groups[i]);
		config.node_group_configs[i] = &groups[i];
	}
	if (shape->max_gpus >= 0) {
		most.key = (char *)"GPU";
		most.value = whole(shape->max_gpus);
		config.max_resources = limits;
		config.n_max_resources = 1;
	}
	request.cluster_config = &config;
	return gcs_message_pack(&request.base, bytes);
}

static void reply_read(struct gcs_call *call, const void *message UNUSED, size_t size UNUSED)
{
	gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
}

struct gcs_call *cluster_shape_send(struct gcs_client *client, int64_t timeout_ms,
				    const struct buf *bytes, gcs_done *done, void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms, PATH, reply_read, done, context);
	struct err err;

	call->writes = true;
	if (buf_add(&call->request, bytes->data, bytes->size) == 0) {
		gcs_call_send(call);
		return call;
	}
	err_set(&err, ERR_LIMIT, "the shape of the cluster is larger than %zu bytes",
		GCS_REQUEST_BUFFER_BYTES);
	gcs_call_fail_later(call, &err);
	return call;
}
