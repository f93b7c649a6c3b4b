#include "gcs/gcs_state.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/number.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_reader.h"
#include "ray.pb-c.h"

/* The reply is walked twice: once to count the entries of its lists, without memory and up to the
 * first limit, then to read them one by one into arrays of that size. Only the innermost messages
 * (a node, a request) are unpacked by protobuf-c, one at a time. So the peak is our structs and one
 * entry, whatever the content of the reply. A singular message that occurs twice is merged, as
 * protobuf requires: both are read into the same struct. */

/* ---- protobuf bytes to struct ray_request, which equal bytes share, and to struct ray_node ---- */

static void gcs_read_bundle(struct gcs_reader *reader, const Ray__ResourceRequest *message,
			    struct ray_request *ret)
{
	struct bundle_entry *entries =
		arena_array(reader->arena, message->n_resources_bundle, sizeof(*entries));

	for (size_t i = 0; i < message->n_resources_bundle; i++) {
		const Ray__ResourceRequest__ResourcesBundleEntry *entry =
			message->resources_bundle[i];
		const char *problem;

		entries[i].name = gcs_reader_text(reader, entry->key);
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
		placements[i].anti_affinity.key =
			gcs_reader_text(reader, anti ? anti->label_name : "");
		placements[i].anti_affinity.value =
			gcs_reader_text(reader, anti ? anti->label_value : "");
		placements[i].has_affinity = affinity != NULL;
		placements[i].affinity.key =
			gcs_reader_text(reader, affinity ? affinity->label_name : "");
		placements[i].affinity.value =
			gcs_reader_text(reader, affinity ? affinity->label_value : "");
	}
	ret->placements = placements;
	ret->placement_count = count;
}

static void gcs_read_label_selector(struct gcs_reader *reader, const Ray__LabelSelector *message,
				    struct label_selector *ret)
{
	struct label_constraint *constraints =
		arena_array(reader->arena, message->n_label_constraints, sizeof(*constraints));

	for (size_t i = 0; i < message->n_label_constraints; i++) {
		const Ray__LabelSelectorConstraint *constraint = message->label_constraints[i];

		constraints[i].key = gcs_reader_text(reader, constraint->label_key);
		constraints[i].operation = (int32_t)constraint->operator_;
		constraints[i].values = gcs_reader_strings(reader, constraint->label_values,
							   constraint->n_label_values);
	}
	ret->constraints = constraints;
	ret->count = message->n_label_constraints;
}

static bool gcs_selector_is_above(struct gcs_reader *reader, const Ray__LabelSelector *selector)
{
	if (gcs_reader_is_above(reader, "labelSelectors.labelConstraints",
				selector->n_label_constraints, GCS_STATE_CONSTRAINTS_MAX,
				"constraints"))
		return true;
	for (size_t k = 0; k < selector->n_label_constraints; k++)
		if (gcs_reader_is_above(reader, "labelSelectors.labelConstraints.labelValues",
					selector->label_constraints[k]->n_label_values,
					GCS_STATE_CONSTRAINTS_MAX, "values"))
			return true;
	return false;
}

static bool gcs_request_is_above(struct gcs_reader *reader, const Ray__ResourceRequest *message)
{
	for (size_t i = 0; i < message->n_label_selectors; i++)
		if (gcs_selector_is_above(reader, message->label_selectors[i]))
			return true;
	return gcs_reader_is_above(reader, "resourcesBundle", message->n_resources_bundle,
				   GCS_STATE_BUNDLE_RESOURCES_MAX, "resources") ||
	       gcs_reader_is_above(reader, "placementConstraints", message->n_placement_constraints,
				   GCS_STATE_CONSTRAINTS_MAX, "constraints") ||
	       gcs_reader_is_above(reader, "labelSelectors", message->n_label_selectors,
				   GCS_STATE_CONSTRAINTS_MAX, "selectors");
}

static void gcs_request_convert(struct gcs_reader *reader, const Ray__ResourceRequest *message,
				struct ray_request *ret)
{
	struct label_selector *selectors;

	if (gcs_request_is_above(reader, message))
		return;
	gcs_read_bundle(reader, message, ret);
	gcs_read_placements(reader, message, ret);
	selectors = arena_array(reader->arena, message->n_label_selectors, sizeof(*selectors));
	for (size_t i = 0; i < message->n_label_selectors; i++)
		gcs_read_label_selector(reader, message->label_selectors[i], &selectors[i]);
	ret->selectors = selectors;
	ret->selector_count = message->n_label_selectors;
}

/* A request with a problem is not shared: each one is reported at its own place. */
static void gcs_request_share(struct gcs_reader *reader, struct gcs_intern_entry *entry,
			      const struct ray_request *request)
{
	if (request->problem || reader->failed)
		return;
	struct ray_request *shared = ARENA_NEW(&reader->equal, struct ray_request);
	*shared = *request;
	entry->value = shared;
}

/* The bytes must live as long as the reader. -1: the reader has failed. */
static int gcs_request_read(struct gcs_reader *reader, struct gcs_bytes body,
			    struct ray_request *ret)
{
	size_t size = gcs_bytes_size(&body);

	if (gcs_reader_is_above(reader, "", size, GCS_STATE_REQUEST_BYTES_MAX, "bytes"))
		return -1;
	struct gcs_intern_entry *entry = gcs_intern_find(&reader->requests, body.at, size);
	if (entry && entry->value) {
		*ret = *(const struct ray_request *)entry->value;
		return 0;
	}
	if (gcs_reader_is_above(reader, "", ++reader->shape_count, GCS_STATE_SHAPES_MAX,
				"distinct requests"))
		return -1;
	const Ray__ResourceRequest *message = gcs_message_unpack(
		&ray__resource_request__descriptor, body.at, size, &reader->entry, reader->err);
	if (message) {
		gcs_request_convert(reader, message, ret);
		if (entry)
			gcs_request_share(reader, entry, ret);
	}
	reader->failed |= !message;
	arena_reset(&reader->entry);
	return gcs_reader_check(reader);
}

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

/* -1: the reader has failed. */
static int gcs_read_node(struct gcs_reader *reader, struct gcs_bytes body, void *ret_node)
{
	size_t size = gcs_bytes_size(&body);

	if (gcs_reader_is_above(reader, "", size, GCS_STATE_NODE_BYTES_MAX, "bytes"))
		return -1;
	const Ray__NodeState *message = gcs_message_unpack(&ray__node_state__descriptor, body.at,
							   size, &reader->entry, reader->err);
	if (message)
		gcs_node_convert(reader, message, ret_node);
	reader->failed |= !message;
	arena_reset(&reader->entry);
	return gcs_reader_check(reader);
}

/* ---- lists ---- */

/* Counts the fields of the message with this offset. */
static size_t gcs_count(struct gcs_reader *reader, struct gcs_bytes bytes,
			const ProtobufCMessageDescriptor *message, size_t offset)
{
	size_t size = gcs_bytes_size(&bytes), count = 0;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	while ((field = gcs_wire_next_known(&bytes, message, &cut)))
		count += field->offset == offset;
	if (bytes.bad)
		(void)gcs_reader_refuse(reader, message, size);
	return count;
}

static const char *gcs_cut_text(struct gcs_reader *reader, const char *member,
				struct gcs_bytes bytes)
{
	size_t size = gcs_bytes_size(&bytes);
	const char *text;

	if (gcs_reader_is_above(reader, member, size, GCS_READER_TEXT_MAX, "bytes in one text"))
		return "";
	text = gcs_reader_text(reader, arena_strndup(&reader->entry, (const char *)bytes.at, size));
	arena_reset(&reader->entry);
	return text;
}

/* ---- counted requests ---- */

/* The bytes of the request; several occurrences are concatenated, which merges the messages. */
static struct gcs_bytes gcs_merge_requests(struct gcs_reader *reader, struct gcs_bytes counted,
					   size_t size)
{
	unsigned char *merged = arena_alloc(&reader->equal, size);
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;
	size_t used = 0;

	while ((field = gcs_wire_next_known(&counted, &ray__resource_request_by_count__descriptor,
					    &cut))) {
		size_t more = gcs_bytes_size(&cut.body);

		if (field->offset != offsetof(Ray__ResourceRequestByCount, request) || more == 0)
			continue;
		memcpy(merged + used, cut.body.at, more);
		used += more;
	}
	return gcs_bytes_of(merged, used);
}

/* Reads a ResourceRequestByCount in one walk. Nearly always it has one request, which is read in
 * place; only for several occurrences the bytes are copied, to merge them. The limit of the
 * request's size is checked before the copy. */
static int gcs_read_counted(struct gcs_reader *reader, struct gcs_bytes bytes, void *ret_request)
{
	struct ray_request_count *ret = ret_request;
	struct gcs_bytes counted = bytes, request = gcs_bytes_of(NULL, 0);
	const ProtobufCFieldDescriptor *field;
	size_t occurrences = 0, size = 0;
	struct gcs_field cut;

	while ((field = gcs_wire_next_known(&bytes, &ray__resource_request_by_count__descriptor,
					    &cut))) {
		if (field->offset == offsetof(Ray__ResourceRequestByCount, count)) {
			ret->count = (int64_t)cut.value;
		} else if (field->offset == offsetof(Ray__ResourceRequestByCount, request)) {
			request = cut.body;
			size += gcs_bytes_size(&request);
			occurrences++;
		}
	}
	if (bytes.bad)
		return gcs_reader_refuse(reader, &ray__resource_request_by_count__descriptor,
					 gcs_bytes_size(&counted));
	if (ret->count < 0) {
		reader->place.member = "";
		(void)gcs_reader_problem(reader, "count", "", "must not be negative");
		ret->count = 0;
	}
	reader->place.member = ".request";
	if (gcs_reader_is_above(reader, "", size, GCS_STATE_REQUEST_BYTES_MAX, "bytes"))
		return -1;
	if (occurrences > 1)
		request = gcs_merge_requests(reader, counted, size);
	return occurrences > 0 ? gcs_request_read(reader, request, &ret->request) : 0;
}

static int gcs_read_constraint(struct gcs_reader *reader, struct gcs_bytes bytes,
			       void *ret_constraint)
{
	struct ray_constraint *ret = ret_constraint;
	static const char list[] = "resourceRequests";
	const ProtobufCMessageDescriptor *message = &ray__cluster_resource_constraint__descriptor;
	size_t offset = offsetof(Ray__ClusterResourceConstraint, resource_requests);
	struct ray_request_count *requests;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	size_t count = gcs_count(reader, bytes, message, offset);
	if (gcs_reader_is_above(reader, list, count, GCS_STATE_REQUESTS_MAX, "requests") ||
	    reader->failed)
		return -1;
	requests = arena_array(reader->arena, count, sizeof(*requests));
	ret->requests = requests;
	reader->place.outer = reader->place.list;
	reader->place.outer_index = reader->place.index;
	reader->place.list = list;
	while ((field = gcs_wire_next_known(&bytes, message, &cut))) {
		reader->place.index = ret->count;
		if (field->offset == offset &&
		    gcs_read_counted(reader, cut.body, &requests[ret->count++]) < 0)
			return -1;
	}
	return 0;
}

/* ---- gangs ---- */

/* The requests of a message that lists them under `offset`. */
static int gcs_read_bundles(struct gcs_reader *reader, struct gcs_bytes bytes,
			    const ProtobufCMessageDescriptor *message, size_t offset,
			    struct bundle_selector *ret)
{
	size_t count = gcs_count(reader, bytes, message, offset);
	const ProtobufCFieldDescriptor *field;
	struct ray_request *requests;
	struct gcs_field cut;

	if (reader->failed ||
	    gcs_reader_is_above(reader, "", count, GCS_STATE_GANG_BUNDLES_MAX,
				"bundles in one gang") ||
	    gcs_reader_is_above(reader, "", reader->bundle_count += count, GCS_STATE_BUNDLES_MAX,
				"bundles of all gangs"))
		return -1;
	requests = arena_array(reader->arena, count, sizeof(*requests));
	ret->requests = requests;
	while ((field = gcs_wire_next_known(&bytes, message, &cut)))
		if (field->offset == offset &&
		    gcs_request_read(reader, cut.body, &requests[ret->count++]) < 0)
			return -1;
	return 0;
}

static void gcs_locality_convert(struct gcs_reader *reader, const Ray__LocalityRequirement *message,
				 struct locality *ret)
{
	const Ray__LabelSelector *selector = message->label_selector;

	if (message->locality_constraint) {
		ret->label = gcs_reader_text(reader, message->locality_constraint->label_name);
		ret->strategy = (int32_t)message->locality_constraint->placement_strategy;
	}
	if (selector && !gcs_selector_is_above(reader, selector))
		gcs_read_label_selector(reader, selector, &ret->selector);
}

static int gcs_read_locality(struct gcs_reader *reader, struct gcs_bytes bytes,
			     struct locality *ret)
{
	const ProtobufCMessageDescriptor *message = &ray__bundle_selector__descriptor;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	while (!reader->failed && (field = gcs_wire_next_known(&bytes, message, &cut))) {
		const Ray__LocalityRequirement *requirement;
		size_t size = gcs_bytes_size(&cut.body);

		if (field->offset != offsetof(Ray__BundleSelector, locality_requirement) ||
		    gcs_reader_is_above(reader, "localityRequirement", size,
					GCS_STATE_REQUEST_BYTES_MAX, "bytes"))
			continue;
		requirement = gcs_message_unpack(&ray__locality_requirement__descriptor,
						 cut.body.at, size, &reader->entry, reader->err);
		if (requirement)
			gcs_locality_convert(reader, requirement, ret);
		reader->failed |= !requirement;
		arena_reset(&reader->entry);
	}
	return gcs_reader_check(reader);
}

static bool gcs_has_problem(const struct bundle_selector *selector)
{
	for (size_t i = 0; i < selector->count; i++)
		if (selector->requests[i].problem)
			return true;
	return false;
}

/* Equal selectors share their requests; each is counted with the bundles of its requests. */
static int gcs_read_selector(struct gcs_reader *reader, struct gcs_bytes bytes,
			     struct bundle_selector *ret)
{
	size_t size = gcs_bytes_size(&bytes);
	struct gcs_intern_entry *entry = gcs_intern_find(&reader->selectors, bytes.at, size);
	struct bundle_selector *shared;

	if (entry && entry->value) {
		*ret = *(const struct bundle_selector *)entry->value;
		reader->bundle_count += ret->count;
		(void)gcs_reader_is_above(reader, "", reader->bundle_count, GCS_STATE_BUNDLES_MAX,
					  "bundles of all gangs");
		return gcs_reader_check(reader);
	}
	if (gcs_read_bundles(reader, bytes, &ray__bundle_selector__descriptor,
			     offsetof(Ray__BundleSelector, resource_requests), ret) < 0 ||
	    gcs_read_locality(reader, bytes, &ret->locality) < 0)
		return -1;
	if (entry && !gcs_has_problem(ret)) {
		shared = ARENA_NEW(&reader->equal, struct bundle_selector);
		*shared = *ret;
		entry->value = shared;
	}
	return 0;
}

/* Reads one gang: counts the bundle selectors to allocate their array, reads the flat list of
 * requests, then walks the message again for the details and the selectors. */
static int gcs_read_gang(struct gcs_reader *reader, struct gcs_bytes bytes, void *ret_gang)
{
	struct ray_gang *ret = ret_gang;
	const ProtobufCMessageDescriptor *message = &ray__gang_resource_request__descriptor;
	struct bundle_selector whole = { .count = 0 }, *selectors;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	size_t count = gcs_count(reader, bytes, message,
				 offsetof(Ray__GangResourceRequest, bundle_selectors));
	if (reader->failed || gcs_reader_is_above(reader, "bundleSelectors", count,
						  GCS_STATE_GANG_CHOICES_MAX, "bundle selectors"))
		return -1;
	selectors = arena_array(reader->arena, count, sizeof(*selectors));
	ret->selectors = selectors;
	ret->details = "";
	if (gcs_read_bundles(reader, bytes, message, offsetof(Ray__GangResourceRequest, requests),
			     &whole) < 0)
		return -1;
	ret->requests = whole.requests;
	ret->request_count = whole.count;
	while ((field = gcs_wire_next_known(&bytes, message, &cut))) {
		if (field->offset == offsetof(Ray__GangResourceRequest, details))
			ret->details = gcs_cut_text(reader, "details", cut.body);
		else if (field->offset == offsetof(Ray__GangResourceRequest, bundle_selectors) &&
			 gcs_read_selector(reader, cut.body, &selectors[ret->selector_count++]) < 0)
			return -1;
	}
	return gcs_reader_check(reader);
}

/* ---- the state ---- */

/* A list of the state. */
struct gcs_list_kind {
	size_t offset;          /* of its field in Ray__ClusterResourceState */
	size_t at, count, size; /* of its members in struct ray_state; of an element */
	const char *name, *unit;
	size_t limit;
	/* Reads the element at the reader's place. -1: the reader has failed. */
	int (*read)(struct gcs_reader *reader, struct gcs_bytes bytes, void *ret_element);
};

#define GCS_LIST(field, member, member_count, type)                                                \
	.offset = offsetof(Ray__ClusterResourceState, field),                                      \
	.at = offsetof(struct ray_state, member),                                                  \
	.count = offsetof(struct ray_state, member_count), .size = sizeof(type)
static const struct gcs_list_kind gcs_list_kinds[] = {
	{ GCS_LIST(node_states, nodes, node_count, struct ray_node), .name = "nodeStates",
	  .unit = "nodes", .limit = GCS_STATE_NODES_MAX, .read = gcs_read_node },
	{ GCS_LIST(pending_resource_requests, requests, request_count, struct ray_request_count),
	  .name = "pendingResourceRequests", .unit = "requests", .limit = GCS_STATE_REQUESTS_MAX,
	  .read = gcs_read_counted },
	{ GCS_LIST(pending_gang_resource_requests, gangs, gang_count, struct ray_gang),
	  .name = "pendingGangResourceRequests", .unit = "gangs", .limit = GCS_STATE_GANGS_MAX,
	  .read = gcs_read_gang },
	{ GCS_LIST(cluster_resource_constraints, constraints, constraint_count,
		   struct ray_constraint),
	  .name = "clusterResourceConstraints", .unit = "constraints",
	  .limit = GCS_STATE_CONSTRAINTS_MAX, .read = gcs_read_constraint },
};
#define GCS_LISTS (sizeof(gcs_list_kinds) / sizeof(gcs_list_kinds[0]))

/* The state, and its lists while they are filled. */
struct gcs_lists {
	struct ray_state state;
	size_t counted[GCS_LISTS];
	char *elements[GCS_LISTS];
};

/* The index of the list in this field; GCS_LISTS: it is none. */
static size_t gcs_list_in(const ProtobufCFieldDescriptor *field)
{
	size_t i = 0;

	while (i < GCS_LISTS && gcs_list_kinds[i].offset != field->offset)
		i++;
	return i;
}

/* The first walk: counts the entries of the four lists without memory, and fails at the first
 * entry above a limit. */
static int gcs_count_state(struct gcs_reader *reader, struct gcs_bytes bytes,
			   struct gcs_lists *lists)
{
	const ProtobufCMessageDescriptor *message = &ray__cluster_resource_state__descriptor;
	size_t size = gcs_bytes_size(&bytes);
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	while (!reader->failed && (field = gcs_wire_next_known(&bytes, message, &cut))) {
		size_t list = gcs_list_in(field);

		if (list < GCS_LISTS)
			(void)gcs_reader_is_above(reader, gcs_list_kinds[list].name,
						  ++lists->counted[list],
						  gcs_list_kinds[list].limit,
						  gcs_list_kinds[list].unit);
	}
	return bytes.bad ? gcs_reader_refuse(reader, message, size) : gcs_reader_check(reader);
}

/* The arrays have the counted sizes, so the element at the list's present count always exists. */
static int gcs_read_element(struct gcs_reader *reader, size_t list, struct gcs_bytes body,
			    struct gcs_lists *lists)
{
	const struct gcs_list_kind *kind = &gcs_list_kinds[list];
	void *count = (char *)&lists->state + kind->count;
	size_t index = (*(size_t *)count)++;

	reader->place = (struct gcs_place){ .list = kind->name, .index = index, .member = "" };
	return kind->read(reader, body, lists->elements[list] + index * kind->size);
}

/* The second walk: reads one field. */
static int gcs_read_field(struct gcs_reader *reader, const ProtobufCFieldDescriptor *field,
			  const struct gcs_field *cut, struct gcs_lists *lists)
{
	struct ray_state *state = &lists->state;
	size_t list = gcs_list_in(field);

	if (list < GCS_LISTS)
		return gcs_read_element(reader, list, cut->body, lists);
	switch (field->offset) {
	case offsetof(Ray__ClusterResourceState, cluster_resource_state_version):
		state->version = (int64_t)cut->value;
		return 0;
	case offsetof(Ray__ClusterResourceState, last_seen_autoscaler_state_version):
		state->last_seen_autoscaler_state_version = (int64_t)cut->value;
		return 0;
	case offsetof(Ray__ClusterResourceState, cluster_session_name):
		reader->place = (struct gcs_place){ .list = NULL };
		state->session_name = gcs_cut_text(reader, "clusterSessionName", cut->body);
		return gcs_reader_check(reader);
	default:
		return 0;
	}
}

static int gcs_read_state(struct gcs_reader *reader, struct gcs_bytes bytes,
			  struct gcs_lists *lists)
{
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	while ((field = gcs_wire_next_known(&bytes, &ray__cluster_resource_state__descriptor,
					    &cut)))
		if (gcs_read_field(reader, field, &cut, lists) < 0)
			return -1;
	return 0;
}

static void gcs_make_lists(struct gcs_reader *reader, struct gcs_lists *lists)
{
	for (size_t i = 0; i < GCS_LISTS; i++) {
		lists->elements[i] =
			arena_array(reader->arena, lists->counted[i], gcs_list_kinds[i].size);
		memcpy((char *)&lists->state + gcs_list_kinds[i].at, &lists->elements[i],
		       sizeof(lists->elements[i]));
	}
}

/* Counts (`reads` false) or reads the one state of the reply. */
static int gcs_walk(struct gcs_reader *reader, struct gcs_bytes reply, bool reads,
		    struct gcs_lists *lists)
{
	const ProtobufCMessageDescriptor *message =
		&ray__get_cluster_resource_state_reply__descriptor;
	size_t size = gcs_bytes_size(&reply), states = 0;
	struct gcs_field state;

	while (gcs_wire_next_known(&reply, message, &state)) {
		states++;
		if ((reads ? gcs_read_state(reader, state.body, lists) :
			     gcs_count_state(reader, state.body, lists)) < 0)
			return -1;
	}
	if (reply.bad)
		return gcs_reader_refuse(reader, message, size);
	/* An empty message is valid protobuf, but a GCS always sends a state: a reply without one
	 * must not be taken for a cluster without nodes. */
	if (states == 0)
		return err_set(reader->err, ERR_INPUT, "the reply has no cluster_resource_state");
	return 0;
}

static void gcs_reader_done(struct gcs_reader *reader)
{
	arena_done(&reader->entry);
	arena_done(&reader->equal);
}

int gcs_state_decode(const void *data, size_t size, const struct work_job *job, struct arena *arena,
		     struct ray_state *ret_state, struct err *err)
{
	struct gcs_bytes reply = gcs_bytes_of(data, size);
	struct gcs_lists lists = { .state = { .session_name = "" } };
	AUTO(gcs_reader_done)
	struct gcs_reader reader = {
		.job = job,
		.arena = arena,
		.ceiling_bytes = arena->used_bytes + GCS_READER_MEMORY_CEILING_BYTES,
		.err = err,
	};

	reader.entry.budget = reader.equal.budget = arena->budget;
	reader.texts.arena = reader.requests.arena = reader.selectors.arena = &reader.equal;
	if (gcs_walk(&reader, reply, false, &lists) < 0)
		return -1;
	gcs_make_lists(&reader, &lists);
	if (gcs_reader_check(&reader) < 0 || gcs_walk(&reader, reply, true, &lists) < 0)
		return -1;
	lists.state.problems =
		(struct strings){ .at = reader.problems.at, .count = reader.problems.count };
	lists.state.reply_bytes = size;
	*ret_state = lists.state;
	return 0;
}

/* ---- the digest: two replies are compared without decoding them ---- */

/* Numbers of fields in protobuf, as in src/gcs/ray.proto; that of node_state_version, which is not
 * read elsewhere, is in Ray's own autoscaler.proto. */
enum { REPLY_STATE = 1, STATE_VERSION = 1, STATE_LAST_SEEN = 2, STATE_NODES = 3 };
enum { NODE_VERSION = 7, NODE_IDLE = 9 };

/* Sums, because the order of fields must not matter. */

static uint64_t gcs_sum_node(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_wire_next(&bytes, &field))
		if (field.number != NODE_VERSION && field.number != NODE_IDLE)
			sum += gcs_wire_hash(field.whole);
	*ret_bad |= bytes.bad;
	return sum;
}

static uint64_t gcs_sum_state(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_wire_next(&bytes, &field)) {
		if (field.number == STATE_NODES && field.wire == GCS_WIRE_BYTES)
			sum += gcs_wire_mix(gcs_sum_node(field.body, ret_bad));
		else if (field.number != STATE_VERSION && field.number != STATE_LAST_SEEN)
			sum += gcs_wire_hash(field.whole);
	}
	*ret_bad |= bytes.bad;
	return sum;
}

uint64_t gcs_state_digest(const void *data, size_t size)
{
	const struct gcs_bytes all = gcs_bytes_of(data, size);
	struct gcs_bytes bytes = all;
	struct gcs_field field;
	uint64_t sum = 0;
	bool bad = false;

	while (gcs_wire_next(&bytes, &field))
		sum += field.number == REPLY_STATE && field.wire == GCS_WIRE_BYTES ?
			       gcs_wire_mix(gcs_sum_state(field.body, &bad)) :
			       gcs_wire_hash(field.whole);
	return bad || bytes.bad ? gcs_wire_hash(all) : sum;
}
