#include "gcs/gcs_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/number.h"
#include "codec/ray_state_json.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"

#define GCS_PATH_SIZE 256

/* Where results and problems go, and where in the message we are. */
struct gcs_reader {
	struct arena *arena;
	size_t ceiling_bytes; /* of arena->used_bytes */
	VEC(const char *) problems;
	char path[GCS_PATH_SIZE]; /* "nodeStates[3]" */
};

static void gcs_reader_at(struct gcs_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets where we are; cut when it is too long for a message of ours. */
static void gcs_reader_at(struct gcs_reader *reader, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(reader->path, sizeof(reader->path), format, arguments);
	va_end(arguments);
}

static const char *gcs_reader_problem(struct gcs_reader *reader, const char *member,
				      const char *key, const char *problem)
{
	const char *text =
		arena_printf(reader->arena, "%s.%s.%.200s: %s", reader->path, member, key, problem);

	if (reader->problems.count < GCS_STATE_PROBLEMS_MAX)
		VEC_PUSH(reader->arena, &reader->problems, text);
	return text;
}

static const char *gcs_text(struct gcs_reader *reader, const char *text)
{
	return text && *text ? arena_strdup(reader->arena, text) : "";
}

static struct strings gcs_strings(struct gcs_reader *reader, char **texts, size_t count)
{
	const char **copies = arena_array(reader->arena, count, sizeof(*copies));

	for (size_t i = 0; i < count; i++)
		copies[i] = gcs_text(reader, texts[i]);
	return (struct strings){ .at = copies, .count = count };
}

/* ---- requests ---- */

static void gcs_read_bundle(struct gcs_reader *reader, const Ray__ResourceRequest *message,
			    struct ray_request *ret)
{
	struct bundle_entry *entries =
		arena_array(reader->arena, message->n_resources_bundle, sizeof(*entries));

	for (size_t i = 0; i < message->n_resources_bundle; i++) {
		const Ray__ResourceRequest__ResourcesBundleEntry *entry =
			message->resources_bundle[i];
		const char *problem;

		entries[i].name = gcs_text(reader, entry->key);
		entries[i].received = entry->value;
		(void)amount_from_double(entry->value, &problem);
		if (problem)
			(void)gcs_reader_problem(reader, "resourcesBundle", entry->key, problem);
	}
	ray_request_set_bundle(ret, entries, message->n_resources_bundle, reader->arena);
}

static void gcs_read_placements(struct gcs_reader *reader, const Ray__ResourceRequest *message,
				struct ray_request *ret)
{
	size_t count = message->n_placement_constraints;
	struct placement_constraint *placements =
		arena_array(reader->arena, count, sizeof(*placements));

	for (size_t i = 0; i < count; i++) {
		const Ray__AntiAffinityConstraint *anti =
			message->placement_constraints[i]->anti_affinity;
		const Ray__AffinityConstraint *affinity =
			message->placement_constraints[i]->affinity;

		placements[i].has_anti_affinity = anti != NULL;
		placements[i].anti_affinity.key = gcs_text(reader, anti ? anti->label_name : "");
		placements[i].anti_affinity.value = gcs_text(reader, anti ? anti->label_value : "");
		placements[i].has_affinity = affinity != NULL;
		placements[i].affinity.key = gcs_text(reader, affinity ? affinity->label_name : "");
		placements[i].affinity.value =
			gcs_text(reader, affinity ? affinity->label_value : "");
	}
	ret->placements = placements;
	ret->placement_count = count;
}

static void gcs_read_selector(struct gcs_reader *reader, const Ray__LabelSelector *message,
			      struct label_selector *ret)
{
	struct label_constraint *constraints =
		arena_array(reader->arena, message->n_label_constraints, sizeof(*constraints));

	for (size_t i = 0; i < message->n_label_constraints; i++) {
		const Ray__LabelSelectorConstraint *constraint = message->label_constraints[i];

		constraints[i].key = gcs_text(reader, constraint->label_key);
		constraints[i].operation = (int32_t)constraint->operator_;
		constraints[i].values =
			gcs_strings(reader, constraint->label_values, constraint->n_label_values);
	}
	ret->constraints = constraints;
	ret->count = message->n_label_constraints;
}

static void gcs_read_request(struct gcs_reader *reader, const Ray__ResourceRequest *message,
			     struct ray_request *ret)
{
	struct label_selector *selectors;

	if (!message)
		return; /* an absent message is an empty one */
	gcs_read_bundle(reader, message, ret);
	gcs_read_placements(reader, message, ret);
	selectors = arena_array(reader->arena, message->n_label_selectors, sizeof(*selectors));
	for (size_t i = 0; i < message->n_label_selectors; i++)
		gcs_read_selector(reader, message->label_selectors[i], &selectors[i]);
	ret->selectors = selectors;
	ret->selector_count = message->n_label_selectors;
}

static const struct ray_request *gcs_read_requests(struct gcs_reader *reader,
						   Ray__ResourceRequest **messages, size_t count)
{
	struct ray_request *requests = arena_array(reader->arena, count, sizeof(*requests));

	for (size_t i = 0; i < count; i++)
		gcs_read_request(reader, messages[i], &requests[i]);
	return requests;
}

/* `list` is where the entries stand: "pendingResourceRequests". */
static const struct ray_request_count *gcs_read_counted(struct gcs_reader *reader, const char *list,
							Ray__ResourceRequestByCount **messages,
							size_t count)
{
	struct ray_request_count *counted = arena_array(reader->arena, count, sizeof(*counted));

	for (size_t i = 0; i < count; i++) {
		gcs_reader_at(reader, "%s[%zu].request", list, i);
		gcs_read_request(reader, messages[i]->request, &counted[i].request);
		counted[i].count = messages[i]->count;
		if (counted[i].count < 0) {
			gcs_reader_at(reader, "%s[%zu]", list, i);
			(void)gcs_reader_problem(reader, "count", "", "must not be negative");
			counted[i].count = 0;
		}
	}
	return counted;
}

/* ---- nodes ---- */

/* A map of amounts. What is no amount is 0 and a problem of the node; a negative `available` is
 * none (Ray lends out CPUs of blocked tasks and then has less than nothing). */
static void gcs_read_amount(struct gcs_reader *reader, const char *member, const char *key,
			    double value, struct ray_node *node, struct resource *ret)
{
	const char *problem;

	ret->name = gcs_text(reader, key);
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
		labels[i].key = gcs_text(reader, message->labels[i]->key);
		labels[i].value = gcs_text(reader, message->labels[i]->value);
	}
	for (size_t i = 0; i < message->n_dynamic_labels; i++) {
		dynamic[i].key = gcs_text(reader, message->dynamic_labels[i]->key);
		dynamic[i].value = gcs_text(reader, message->dynamic_labels[i]->value);
	}
	node->labels = labels_sort(labels, message->n_labels);
	node->dynamic_labels = labels_sort(dynamic, message->n_dynamic_labels);
}

static const char *gcs_hex(struct gcs_reader *reader, ProtobufCBinaryData bytes)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = arena_alloc(reader->arena, bytes.len * 2 + 1);

	for (size_t i = 0; i < bytes.len; i++) {
		hex[2 * i] = digits[bytes.data[i] >> 4];
		hex[2 * i + 1] = digits[bytes.data[i] & 15];
	}
	return hex;
}

static enum ray_node_status gcs_node_status(int status)
{
	if (status >= RAY_NODE_UNSPECIFIED && status <= RAY_NODE_DRAINING)
		return (enum ray_node_status)status;
	return RAY_NODE_UNSPECIFIED;
}

static void gcs_read_node(struct gcs_reader *reader, const Ray__NodeState *message,
			  struct ray_node *ret)
{
	ret->id = gcs_hex(reader, message->node_id);
	ret->instance_id = gcs_text(reader, message->instance_id);
	ret->type_name = gcs_text(reader, message->ray_node_type_name);
	gcs_read_amounts(reader, message, ret);
	gcs_read_node_labels(reader, message, ret);
	ret->status = gcs_node_status((int)message->status);
	ret->idle_duration_ms = message->idle_duration_ms;
	ret->ip_address = gcs_text(reader, message->node_ip_address);
	ret->activity = gcs_strings(reader, message->node_activity, message->n_node_activity);
}

/* ---- the whole ---- */

static int gcs_reader_check(const struct gcs_reader *reader, struct err *err)
{
	if (reader->arena->used_bytes > reader->ceiling_bytes)
		return err_set(err, ERR_LIMIT, "the state takes more than %zu bytes of memory",
			       GCS_STATE_MEMORY_CEILING_BYTES);
	return 0;
}

static int gcs_read_nodes(struct gcs_reader *reader, const Ray__ClusterResourceState *message,
			  struct ray_state *ret, struct err *err)
{
	struct ray_node *nodes = arena_array(reader->arena, message->n_node_states, sizeof(*nodes));

	for (size_t i = 0; i < message->n_node_states; i++) {
		gcs_reader_at(reader, "nodeStates[%zu]", i);
		gcs_read_node(reader, message->node_states[i], &nodes[i]);
		if (gcs_reader_check(reader, err) < 0)
			return -1;
	}
	ret->nodes = nodes;
	ret->node_count = message->n_node_states;
	return 0;
}

static void gcs_read_gang(struct gcs_reader *reader, const Ray__GangResourceRequest *message,
			  struct ray_gang *ret)
{
	struct bundle_selector *selectors =
		arena_array(reader->arena, message->n_bundle_selectors, sizeof(*selectors));

	for (size_t i = 0; i < message->n_bundle_selectors; i++) {
		const Ray__BundleSelector *selector = message->bundle_selectors[i];

		selectors[i].requests = gcs_read_requests(reader, selector->resource_requests,
							  selector->n_resource_requests);
		selectors[i].count = selector->n_resource_requests;
	}
	ret->selectors = selectors;
	ret->selector_count = message->n_bundle_selectors;
	ret->requests = gcs_read_requests(reader, message->requests, message->n_requests);
	ret->request_count = message->n_requests;
	ret->details = gcs_text(reader, message->details);
}

static int gcs_read_gangs(struct gcs_reader *reader, const Ray__ClusterResourceState *message,
			  struct ray_state *ret, struct err *err)
{
	size_t count = message->n_pending_gang_resource_requests;
	struct ray_gang *gangs = arena_array(reader->arena, count, sizeof(*gangs));

	for (size_t i = 0; i < count; i++) {
		gcs_reader_at(reader, "pendingGangResourceRequests[%zu]", i);
		gcs_read_gang(reader, message->pending_gang_resource_requests[i], &gangs[i]);
		if (gcs_reader_check(reader, err) < 0)
			return -1;
	}
	ret->gangs = gangs;
	ret->gang_count = count;
	return 0;
}

static int gcs_read_demand(struct gcs_reader *reader, const Ray__ClusterResourceState *message,
			   struct ray_state *ret, struct err *err)
{
	size_t count = message->n_cluster_resource_constraints;
	struct ray_constraint *constraints =
		arena_array(reader->arena, count, sizeof(*constraints));

	ret->request_count = message->n_pending_resource_requests;
	ret->requests = gcs_read_counted(reader, "pendingResourceRequests",
					 message->pending_resource_requests, ret->request_count);
	for (size_t i = 0; i < count; i++) {
		const Ray__ClusterResourceConstraint *constraint =
			message->cluster_resource_constraints[i];
		char list[80];

		(void)snprintf(list, sizeof(list),
			       "clusterResourceConstraints[%zu].resourceRequests", i);
		constraints[i].count = constraint->n_resource_requests;
		constraints[i].requests = gcs_read_counted(
			reader, list, constraint->resource_requests, constraints[i].count);
		if (gcs_reader_check(reader, err) < 0)
			return -1;
	}
	ret->constraints = constraints;
	ret->constraint_count = count;
	return gcs_reader_check(reader, err);
}

int gcs_state_decode(const void *data, size_t size, struct arena *arena,
		     struct ray_state *ret_state, struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const Ray__GetClusterResourceStateReply *reply;
	struct ray_state state = { .session_name = "" };
	struct gcs_reader reader = {
		.arena = arena,
		.ceiling_bytes = arena->used_bytes + GCS_STATE_MEMORY_CEILING_BYTES,
	};

	reply = gcs_message_unpack(&ray__get_cluster_resource_state_reply__descriptor, data, size,
				   &scratch, err);
	if (!reply)
		return -1;
	/* An empty message is complete, too, but a GCS always sends a state: without it nothing is
	 * known, which must not look like a cluster without nodes. */
	if (!reply->cluster_resource_state)
		return err_set(err, ERR_INPUT, "the reply has no cluster_resource_state");
	state.version = reply->cluster_resource_state->cluster_resource_state_version;
	state.last_seen_autoscaler_state_version =
		reply->cluster_resource_state->last_seen_autoscaler_state_version;
	state.session_name = gcs_text(&reader, reply->cluster_resource_state->cluster_session_name);
	if (gcs_read_nodes(&reader, reply->cluster_resource_state, &state, err) < 0 ||
	    gcs_read_demand(&reader, reply->cluster_resource_state, &state, err) < 0 ||
	    gcs_read_gangs(&reader, reply->cluster_resource_state, &state, err) < 0)
		return -1;
	state.problems =
		(struct strings){ .at = reader.problems.at, .count = reader.problems.count };
	state.reply_bytes = size;
	*ret_state = state;
	return 0;
}
