#include "gcs/gcs_state.h"

#include <string.h>

#include "base/memory.h"
#include "gcs/gcs_node.h"
#include "gcs/gcs_reader.h"
#include "gcs/gcs_request.h"
#include "ray.pb-c.h"

/* The reply is walked twice: once to count the entries of its lists, without memory and up to the
 * first limit, then to read them one by one into arrays of that size. Only the innermost messages
 * (a node, a request) are unpacked by protobuf-c, one at a time. So the peak is our structs and one
 * entry, whatever the content of the reply. A singular message that occurs twice is merged, as
 * protobuf requires: both are read into the same struct. */

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

	if (gcs_reader_is_above(reader, member, size, GCS_STATE_TEXT_MAX, "bytes in one text"))
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
static int gcs_read_counted(struct gcs_reader *reader, struct gcs_bytes bytes,
			    struct ray_request_count *ret)
{
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

static int gcs_read_constraint(struct gcs_reader *reader, struct gcs_bytes bytes, size_t index,
			       struct ray_constraint *ret)
{
	static const char list[] = "resourceRequests";
	const ProtobufCMessageDescriptor *message = &ray__cluster_resource_constraint__descriptor;
	size_t offset = offsetof(Ray__ClusterResourceConstraint, resource_requests);
	struct ray_request_count *requests;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	reader->place = (struct gcs_place){ .list = "clusterResourceConstraints",
					    .index = index,
					    .member = "" };
	size_t count = gcs_count(reader, bytes, message, offset);
	if (gcs_reader_is_above(reader, list, count, GCS_STATE_REQUESTS_MAX, "requests") ||
	    reader->failed)
		return -1;
	requests = arena_array(reader->arena, count, sizeof(*requests));
	ret->requests = requests;
	reader->place.outer = reader->place.list;
	reader->place.outer_index = index;
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
			     offsetof(Ray__BundleSelector, resource_requests), ret) < 0)
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
static int gcs_read_gang(struct gcs_reader *reader, struct gcs_bytes bytes, size_t index,
			 struct ray_gang *ret)
{
	const ProtobufCMessageDescriptor *message = &ray__gang_resource_request__descriptor;
	struct bundle_selector whole = { .count = 0 }, *selectors;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field cut;

	reader->place = (struct gcs_place){ .list = "pendingGangResourceRequests",
					    .index = index,
					    .member = "" };
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

/* The state, and its lists while they are filled. */
struct gcs_lists {
	struct ray_state state;
	size_t node_count, request_count, gang_count, constraint_count; /* as counted first */
	struct ray_node *nodes;
	struct ray_request_count *requests;
	struct ray_gang *gangs;
	struct ray_constraint *constraints;
};

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
		switch (field->offset) {
		case offsetof(Ray__ClusterResourceState, node_states):
			(void)gcs_reader_is_above(reader, "nodeStates", ++lists->node_count,
						  GCS_STATE_NODES_MAX, "nodes");
			break;
		case offsetof(Ray__ClusterResourceState, pending_resource_requests):
			(void)gcs_reader_is_above(reader, "pendingResourceRequests",
						  ++lists->request_count, GCS_STATE_REQUESTS_MAX,
						  "requests");
			break;
		case offsetof(Ray__ClusterResourceState, pending_gang_resource_requests):
			(void)gcs_reader_is_above(reader, "pendingGangResourceRequests",
						  ++lists->gang_count, GCS_STATE_GANGS_MAX,
						  "gangs");
			break;
		case offsetof(Ray__ClusterResourceState, cluster_resource_constraints):
			(void)gcs_reader_is_above(reader, "clusterResourceConstraints",
						  ++lists->constraint_count,
						  GCS_STATE_CONSTRAINTS_MAX, "constraints");
			break;
		default:
			break;
		}
	}
	return bytes.bad ? gcs_reader_refuse(reader, message, size) : gcs_reader_check(reader);
}

/* The second walk: reads one field. The arrays have the counted sizes, so the entry at the
 * list's present count always exists. */
static int gcs_read_field(struct gcs_reader *reader, const ProtobufCFieldDescriptor *field,
			  const struct gcs_field *cut, struct gcs_lists *lists)
{
	struct ray_state *state = &lists->state;
	size_t index;

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
	case offsetof(Ray__ClusterResourceState, node_states):
		reader->place = (struct gcs_place){ .list = "nodeStates",
						    .index = state->node_count,
						    .member = "" };
		return gcs_node_read(reader, cut->body, &lists->nodes[state->node_count++]);
	case offsetof(Ray__ClusterResourceState, pending_resource_requests):
		reader->place = (struct gcs_place){ .list = "pendingResourceRequests",
						    .index = state->request_count,
						    .member = "" };
		return gcs_read_counted(reader, cut->body,
					&lists->requests[state->request_count++]);
	case offsetof(Ray__ClusterResourceState, pending_gang_resource_requests):
		index = state->gang_count++;
		return gcs_read_gang(reader, cut->body, index, &lists->gangs[index]);
	case offsetof(Ray__ClusterResourceState, cluster_resource_constraints):
		index = state->constraint_count++;
		return gcs_read_constraint(reader, cut->body, index, &lists->constraints[index]);
	default:
		return 0;
	}
}

static void gcs_make_lists(struct gcs_reader *reader, struct gcs_lists *lists)
{
	struct arena *arena = reader->arena;

	lists->nodes = arena_array(arena, lists->node_count, sizeof(*lists->nodes));
	lists->requests = arena_array(arena, lists->request_count, sizeof(*lists->requests));
	lists->gangs = arena_array(arena, lists->gang_count, sizeof(*lists->gangs));
	lists->constraints =
		arena_array(arena, lists->constraint_count, sizeof(*lists->constraints));
	lists->state.nodes = lists->nodes;
	lists->state.requests = lists->requests;
	lists->state.gangs = lists->gangs;
	lists->state.constraints = lists->constraints;
}

/* Counts (`reads` false) or reads the one state of the reply. */
static int gcs_walk(struct gcs_reader *reader, struct gcs_bytes reply, bool reads,
		    struct gcs_lists *lists)
{
	const ProtobufCMessageDescriptor *message =
		&ray__get_cluster_resource_state_reply__descriptor;
	size_t size = gcs_bytes_size(&reply), states = 0;
	const ProtobufCFieldDescriptor *field;
	struct gcs_field outer, cut;

	while (gcs_wire_next_known(&reply, message, &outer)) {
		states++;
		if (!reads && gcs_count_state(reader, outer.body, lists) < 0)
			return -1;
		while (reads &&
		       (field = gcs_wire_next_known(
				&outer.body, &ray__cluster_resource_state__descriptor, &cut)))
			if (gcs_read_field(reader, field, &cut, lists) < 0)
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
		.ceiling_bytes = arena->used_bytes + GCS_STATE_MEMORY_CEILING_BYTES,
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
