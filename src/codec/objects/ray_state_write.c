#include "codec/objects/ray_state_write.h"

#include <stdio.h>
#include <string.h>

#include "codec/text/base64.h"
#include "codec/text/number.h"

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (*text != '\0')
		json_write_text(writer, name, text);
}

/* int64 is a string in proto3 JSON. */
static void write_int64(struct json_writer *writer, const char *name, int64_t value)
{
	char text[NUMBER_TEXT_SIZE];

	if (value == 0)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)value);
	json_write_text(writer, name, text);
}

static void write_strings(struct json_writer *writer, const char *name,
			  const struct strings *strings)
{
	if (strings->count == 0)
		return;
	json_write_array(writer, name);
	for (size_t i = 0; i < strings->count; i++)
		json_write_text(writer, NULL, strings->at[i]);
	json_write_array_end(writer);
}

static void write_affinity(struct json_writer *writer, const char *name, const struct label *label)
{
	json_write_object(writer, name);
	write_text(writer, "labelName", label->key);
	write_text(writer, "labelValue", label->value);
	json_write_object_end(writer);
}

static void write_placements(struct json_writer *writer, const struct ray_request *request)
{
	if (request->placement_count == 0)
		return;
	json_write_array(writer, "placementConstraints");
	for (size_t i = 0; i < request->placement_count; i++) {
		const struct placement_constraint *constraint = &request->placements[i];

		json_write_object(writer, NULL);
		if (constraint->has_anti_affinity)
			write_affinity(writer, "antiAffinity", &constraint->anti_affinity);
		if (constraint->has_affinity)
			write_affinity(writer, "affinity", &constraint->affinity);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_operator(struct json_writer *writer, int32_t operation)
{
	if (operation == LABEL_OPERATOR_IN)
		json_write_text(writer, "operator", "LABEL_OPERATOR_IN");
	else if (operation == LABEL_OPERATOR_NOT_IN)
		json_write_text(writer, "operator", "LABEL_OPERATOR_NOT_IN");
	else if (operation != LABEL_OPERATOR_UNSPECIFIED)
		json_write_integer(writer, "operator", operation);
}

static void write_selector(struct json_writer *writer, const struct label_selector *selector)
{
	json_write_object(writer, NULL);
	if (selector->count > 0) {
		json_write_array(writer, "labelConstraints");
		for (size_t i = 0; i < selector->count; i++) {
			const struct label_constraint *constraint = &selector->constraints[i];

			json_write_object(writer, NULL);
			write_text(writer, "labelKey", constraint->key);
			write_operator(writer, constraint->operation);
			write_strings(writer, "labelValues", &constraint->values);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
}

void ray_bundle_write(struct json_writer *writer, const char *name,
		      const struct ray_request *request)
{
	json_write_object(writer, name);
	for (size_t i = 0; i < request->bundle_count; i++)
		json_write_double(writer, request->bundle[i].name, request->bundle[i].received);
	json_write_object_end(writer);
}

void ray_request_write(struct json_writer *writer, const char *name,
		       const struct ray_request *request)
{
	json_write_object(writer, name);
	if (request->bundle_count > 0)
		ray_bundle_write(writer, "resourcesBundle", request);
	write_placements(writer, request);
	if (request->selector_count > 0) {
		json_write_array(writer, "labelSelectors");
		for (size_t i = 0; i < request->selector_count; i++)
			write_selector(writer, &request->selectors[i]);
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
}

static void write_requests(struct json_writer *writer, const char *name,
			   const struct ray_request *requests, size_t count)
{
	if (count == 0)
		return;
	json_write_array(writer, name);
	for (size_t i = 0; i < count; i++)
		ray_request_write(writer, NULL, &requests[i]);
	json_write_array_end(writer);
}

void ray_gang_write(struct json_writer *writer, const char *name, const struct ray_gang *gang)
{
	json_write_object(writer, name);
	write_requests(writer, "requests", gang->requests, gang->request_count);
	write_text(writer, "details", gang->details);
	if (gang->selector_count > 0) {
		json_write_array(writer, "bundleSelectors");
		for (size_t i = 0; i < gang->selector_count; i++) {
			json_write_object(writer, NULL);
			write_requests(writer, "resourceRequests", gang->selectors[i].requests,
				       gang->selectors[i].count);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
}

static void write_counted(struct json_writer *writer, const char *name,
			  const struct ray_request_count *requests, size_t count)
{
	if (count == 0)
		return;
	json_write_array(writer, name);
	for (size_t i = 0; i < count; i++) {
		json_write_object(writer, NULL);
		ray_request_write(writer, "request", &requests[i].request);
		write_int64(writer, "count", requests[i].count);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* ---- nodes ---- */

static int hex_value(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static void write_node_id(struct json_writer *writer, const char *hex, struct arena *arena)
{
	size_t size = strlen(hex) / 2;
	char *bytes = arena_alloc(arena, size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(hex_value(hex[2 * i]) * 16 + hex_value(hex[2 * i + 1]));
	write_text(writer, "nodeId", base64_encode(bytes, size, arena));
}

static void write_resources(struct json_writer *writer, const char *name,
			    const struct resources *resources)
{
	if (resources->count == 0)
		return;
	json_write_object(writer, name);
	for (size_t i = 0; i < resources->count; i++)
		json_write_amount(writer, resources->at[i].name, resources->at[i].amount);
	json_write_object_end(writer);
}

static void write_labels(struct json_writer *writer, const char *name, const struct labels *labels)
{
	if (labels->count == 0)
		return;
	json_write_object(writer, name);
	for (size_t i = 0; i < labels->count; i++)
		json_write_text(writer, labels->at[i].key, labels->at[i].value);
	json_write_object_end(writer);
}

static void write_node(struct json_writer *writer, const struct ray_node *node, struct arena *arena)
{
	static const char *const statuses[] = {
		[RAY_NODE_UNSPECIFIED] = "",      [RAY_NODE_RUNNING] = "RUNNING",
		[RAY_NODE_DEAD] = "DEAD",         [RAY_NODE_IDLE] = "IDLE",
		[RAY_NODE_DRAINING] = "DRAINING",
	};

	json_write_object(writer, NULL);
	write_node_id(writer, node->id, arena);
	write_text(writer, "instanceId", node->instance_id);
	write_text(writer, "rayNodeTypeName", node->type_name);
	write_resources(writer, "availableResources", &node->available);
	write_resources(writer, "totalResources", &node->total);
	write_labels(writer, "dynamicLabels", &node->dynamic_labels);
	write_text(writer, "status", statuses[node->status]);
	write_int64(writer, "idleDurationMs", node->idle_duration_ms);
	write_text(writer, "nodeIpAddress", node->ip_address);
	write_strings(writer, "nodeActivity", &node->activity);
	write_labels(writer, "labels", &node->labels);
	json_write_object_end(writer);
}

void ray_state_write(struct json_writer *writer, const char *name, const struct ray_state *state,
		     struct arena *arena)
{
	json_write_object(writer, name);
	write_int64(writer, "clusterResourceStateVersion", state->version);
	write_int64(writer, "lastSeenAutoscalerStateVersion",
		    state->last_seen_autoscaler_state_version);
	if (state->node_count > 0) {
		json_write_array(writer, "nodeStates");
		for (size_t i = 0; i < state->node_count; i++)
			write_node(writer, &state->nodes[i], arena);
		json_write_array_end(writer);
	}
	write_counted(writer, "pendingResourceRequests", state->requests, state->request_count);
	if (state->gang_count > 0) {
		json_write_array(writer, "pendingGangResourceRequests");
		for (size_t i = 0; i < state->gang_count; i++)
			ray_gang_write(writer, NULL, &state->gangs[i]);
		json_write_array_end(writer);
	}
	if (state->constraint_count > 0) {
		json_write_array(writer, "clusterResourceConstraints");
		for (size_t i = 0; i < state->constraint_count; i++) {
			json_write_object(writer, NULL);
			write_counted(writer, "resourceRequests", state->constraints[i].requests,
				      state->constraints[i].count);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
	}
	write_text(writer, "clusterSessionName", state->session_name);
	json_write_object_end(writer);
}
