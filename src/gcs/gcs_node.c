#include "gcs/gcs_node.h"

#include "codec/text/number.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_state.h"
#include "ray.pb-c.h"

/* A map of amounts. A value that is not an amount is 0 and a problem of the node; a negative
 * `available` is 0 (Ray lends out CPUs of blocked tasks, so that it can fall below 0). */
static void gcs_read_amount(struct gcs_reader *reader, const char *member, const char *key,
			    double value, struct ray_node *node, struct resource *ret)
{
	const char *problem;

	ret->name = gcs_reader_text(reader, key);
	ret->amount = amount_from_double(value, &problem);
	if (!problem)
		return;
	problem = gcs_reader_problem(reader, member, key, problem);
	if (!node->problem)
		node->problem = problem;
}

static void gcs_read_amounts(struct gcs_reader *reader, const Ray__NodeState *message,
			     struct ray_node *node)
{
	size_t total_count = message->n_total_resources;
	size_t available_count = message->n_available_resources;
	struct resource *total = arena_array(reader->arena, total_count, sizeof(*total));
	struct resource *available =
		arena_array(reader->arena, available_count, sizeof(*available));

	for (size_t i = 0; i < total_count; i++)
		gcs_read_amount(reader, "totalResources", message->total_resources[i]->key,
				message->total_resources[i]->value, node, &total[i]);
	for (size_t i = 0; i < available_count; i++) {
		double value = message->available_resources[i]->value;

		gcs_read_amount(reader, "availableResources", message->available_resources[i]->key,
				value < 0 ? 0 : value, node, &available[i]);
	}
	node->total = resources_sort(total, total_count);
	node->available = resources_sort(available, available_count);
}

static void gcs_read_node_labels(struct gcs_reader *reader, const Ray__NodeState *message,
				 struct ray_node *node)
{
	struct label *labels = arena_array(reader->arena, message->n_labels, sizeof(*labels));
	struct label *dynamic =
		arena_array(reader->arena, message->n_dynamic_labels, sizeof(*dynamic));

	for (size_t i = 0; i < message->n_labels; i++) {
		labels[i].key = gcs_reader_text(reader, message->labels[i]->key);
		labels[i].value = gcs_reader_text(reader, message->labels[i]->value);
	}
	for (size_t i = 0; i < message->n_dynamic_labels; i++) {
		dynamic[i].key = gcs_reader_text(reader, message->dynamic_labels[i]->key);
		dynamic[i].value = gcs_reader_text(reader, message->dynamic_labels[i]->value);
	}
	node->labels = labels_sort(labels, message->n_labels);
	node->dynamic_labels = labels_sort(dynamic, message->n_dynamic_labels);
}

static enum ray_node_status gcs_node_status(int status)
{
	if (status >= RAY_NODE_UNSPECIFIED && status <= RAY_NODE_DRAINING)
		return (enum ray_node_status)status;
	return RAY_NODE_UNSPECIFIED;
}

static bool gcs_node_is_above(struct gcs_reader *reader, const Ray__NodeState *message)
{
	const struct {
		const char *member;
		size_t count, limit;
		const char *unit;
	} lists[] = {
		{ "totalResources", message->n_total_resources, GCS_STATE_NODE_RESOURCES_MAX,
		  "resources" },
		{ "availableResources", message->n_available_resources,
		  GCS_STATE_NODE_RESOURCES_MAX, "resources" },
		{ "labels", message->n_labels, GCS_STATE_NODE_LABELS_MAX, "labels" },
		{ "dynamicLabels", message->n_dynamic_labels, GCS_STATE_NODE_LABELS_MAX, "labels" },
		{ "nodeActivity", message->n_node_activity, GCS_STATE_NODE_ACTIVITY_MAX, "texts" },
		{ "nodeId", message->node_id.len, GCS_STATE_NODE_ID_MAX_BYTES, "bytes" },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (gcs_reader_is_above(reader, lists[i].member, lists[i].count, lists[i].limit,
					lists[i].unit))
			return true;
	return false;
}

static void gcs_node_convert(struct gcs_reader *reader, const Ray__NodeState *message,
			     struct ray_node *ret)
{
	if (gcs_node_is_above(reader, message))
		return;
	ret->id = gcs_message_hex(reader->arena, message->node_id);
	ret->instance_id = gcs_reader_text(reader, message->instance_id);
	ret->type_name = gcs_reader_text(reader, message->ray_node_type_name);
	gcs_read_amounts(reader, message, ret);
	gcs_read_node_labels(reader, message, ret);
	ret->status = gcs_node_status((int)message->status);
	ret->idle_duration_ms = ray_idle_duration_ms(message->idle_duration_ms);
	ret->ip_address = gcs_reader_text(reader, message->node_ip_address);
	ret->activity =
		gcs_reader_strings(reader, message->node_activity, message->n_node_activity);
}

int gcs_node_read(struct gcs_reader *reader, struct gcs_bytes body, struct ray_node *ret)
{
	size_t size = gcs_bytes_size(&body);

	if (gcs_reader_is_above(reader, "", size, GCS_STATE_NODE_BYTES_MAX, "bytes"))
		return -1;
	const Ray__NodeState *message = gcs_message_unpack(&ray__node_state__descriptor, body.at,
							   size, &reader->entry, reader->err);
	if (message)
		gcs_node_convert(reader, message, ret);
	reader->failed |= !message;
	arena_reset(&reader->entry);
	return gcs_reader_check(reader);
}
