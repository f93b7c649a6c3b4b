#include "gcs/gcs_report.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"

/* The lists of a report; those of demand by its kind. */
enum { GCS_LAUNCHES = DEMAND_CONSTRAINT + 1, GCS_STARTING, GCS_REPORT_LISTS };

struct gcs_report {
	struct arena *arena;
	size_t bytes; /* of the entries so far */
	struct gcs_report_list {
		VEC(void *) messages;
	} lists[GCS_REPORT_LISTS];
};

static void *gcs_new(struct arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
	void *message = arena_alloc(arena, descriptor->sizeof_message);

	protobuf_c_message_init(descriptor, message);
	return message;
}

static bool gcs_report_is_full(const struct gcs_report *report, size_t list)
{
	return report->lists[list].messages.count >= GCS_REPORT_MAX_ENTRIES;
}

/* Leaves out an entry that is above a limit of the report. */
static void gcs_report_add(struct gcs_report *report, size_t list, void *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);

	if (gcs_report_is_full(report, list) || bytes > GCS_REPORT_MAX_BYTES - report->bytes)
		return;
	report->bytes += bytes;
	VEC_PUSH(report->arena, &report->lists[list].messages, message);
}

/* ---- requests, as they were received ---- */

static void gcs_fill_bundle(struct arena *arena, const struct ray_request *request,
			    Ray__ResourceRequest *message)
{
	size_t count = request->bundle_count;

	message->resources_bundle = arena_array(arena, count, sizeof(*message->resources_bundle));
	message->n_resources_bundle = count;
	for (size_t i = 0; i < count; i++) {
		Ray__ResourceRequest__ResourcesBundleEntry *entry =
			gcs_new(arena, &ray__resource_request__resources_bundle_entry__descriptor);

		entry->key = GCS_STRING(request->bundle[i].name);
		entry->value = request->bundle[i].received;
		message->resources_bundle[i] = entry;
	}
}

static void gcs_fill_placements(struct arena *arena, const struct ray_request *request,
				Ray__ResourceRequest *message)
{
	size_t count = request->placement_count;

	message->placement_constraints =
		arena_array(arena, count, sizeof(*message->placement_constraints));
	message->n_placement_constraints = count;
	for (size_t i = 0; i < count; i++) {
		const struct placement_constraint *placement = &request->placements[i];
		Ray__PlacementConstraint *entry =
			gcs_new(arena, &ray__placement_constraint__descriptor);

		if (placement->has_anti_affinity) {
			entry->anti_affinity =
				gcs_new(arena, &ray__anti_affinity_constraint__descriptor);
			entry->anti_affinity->label_name = GCS_STRING(placement->anti_affinity.key);
			entry->anti_affinity->label_value =
				GCS_STRING(placement->anti_affinity.value);
		}
		if (placement->has_affinity) {
			entry->affinity = gcs_new(arena, &ray__affinity_constraint__descriptor);
			entry->affinity->label_name = GCS_STRING(placement->affinity.key);
			entry->affinity->label_value = GCS_STRING(placement->affinity.value);
		}
		message->placement_constraints[i] = entry;
	}
}

static Ray__LabelSelector *gcs_make_selector(struct arena *arena,
					     const struct label_selector *selector)
{
	Ray__LabelSelector *message = gcs_new(arena, &ray__label_selector__descriptor);

	message->label_constraints =
		arena_array(arena, selector->count, sizeof(*message->label_constraints));
	message->n_label_constraints = selector->count;
	for (size_t i = 0; i < selector->count; i++) {
		const struct label_constraint *constraint = &selector->constraints[i];
		Ray__LabelSelectorConstraint *entry =
			gcs_new(arena, &ray__label_selector_constraint__descriptor);

		entry->label_key = GCS_STRING(constraint->key);
		entry->operator_ = (Ray__LabelSelectorOperator)constraint->operation;
		entry->label_values = memory_without_const(constraint->values.at);
		entry->n_label_values = constraint->values.count;
		message->label_constraints[i] = entry;
	}
	return message;
}

static Ray__ResourceRequest *gcs_make_request(struct arena *arena,
					      const struct ray_request *request)
{
	Ray__ResourceRequest *message = gcs_new(arena, &ray__resource_request__descriptor);

	gcs_fill_bundle(arena, request, message);
	gcs_fill_placements(arena, request, message);
	message->label_selectors =
		arena_array(arena, request->selector_count, sizeof(*message->label_selectors));
	message->n_label_selectors = request->selector_count;
	for (size_t i = 0; i < request->selector_count; i++)
		message->label_selectors[i] = gcs_make_selector(arena, &request->selectors[i]);
	return message;
}

static Ray__ResourceRequest **gcs_make_requests(struct arena *arena,
						const struct ray_request *requests, size_t count)
{
	Ray__ResourceRequest **messages = arena_array(arena, count, sizeof(*messages));

	for (size_t i = 0; i < count; i++)
		messages[i] = gcs_make_request(arena, &requests[i]);
	return messages;
}

static Ray__LocalityRequirement *gcs_make_locality(struct arena *arena,
						   const struct locality *locality)
{
	Ray__LocalityRequirement *message = gcs_new(arena, &ray__locality_requirement__descriptor);
	Ray__LocalityConstraint *constraint = gcs_new(arena, &ray__locality_constraint__descriptor);

	constraint->label_name = GCS_STRING(locality->label);
	constraint->placement_strategy = (Ray__PlacementStrategy)locality->strategy;
	message->locality_constraint = constraint;
	if (locality->selector.count > 0)
		message->label_selector = gcs_make_selector(arena, &locality->selector);
	return message;
}

static Ray__GangResourceRequest *gcs_make_gang(struct arena *arena, const struct ray_gang *gang)
{
	Ray__GangResourceRequest *message = gcs_new(arena, &ray__gang_resource_request__descriptor);

	message->requests = gcs_make_requests(arena, gang->requests, gang->request_count);
	message->n_requests = gang->request_count;
	message->details = GCS_STRING(gang->details);
	message->bundle_selectors =
		arena_array(arena, gang->selector_count, sizeof(*message->bundle_selectors));
	message->n_bundle_selectors = gang->selector_count;
	for (size_t i = 0; i < gang->selector_count; i++) {
		const struct bundle_selector *selector = &gang->selectors[i];
		Ray__BundleSelector *entry = gcs_new(arena, &ray__bundle_selector__descriptor);

		entry->resource_requests =
			gcs_make_requests(arena, selector->requests, selector->count);
		entry->n_resource_requests = selector->count;
		if (locality_is_given(&selector->locality))
			entry->locality_requirement = gcs_make_locality(arena, &selector->locality);
		message->bundle_selectors[i] = entry;
	}
	return message;
}

/* ---- the plan ---- */

static void *gcs_make_demand(struct arena *arena, const struct plan_demand *demand)
{
	Ray__ResourceRequestByCount *message;

	if (demand->kind == DEMAND_REQUEST)
		return gcs_make_request(arena, demand->request);
	if (demand->kind == DEMAND_GANG)
		return gcs_make_gang(arena, demand->gang);
	message = gcs_new(arena, &ray__resource_request_by_count__descriptor);
	message->request = gcs_make_request(arena, demand->request);
	message->count = demand->count;
	return message;
}

/* Once the limits are reached no entry is built: a plan may name 100,000 shapes. */
static void gcs_report_infeasible(struct gcs_report *report, const struct plan *plan)
{
	VEC_EACH(const struct plan_demand, demand, &plan->infeasible)
		/* The demand of the annotation is not from Ray. */
		if (demand->source == SOURCE_RAY && !gcs_report_is_full(report, demand->kind))
			gcs_report_add(report, demand->kind,
				       gcs_make_demand(report->arena, demand));
}

static void gcs_report_launches(struct gcs_report *report, const struct plan *plan, time_ms now)
{
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		if (group->to_launch <= 0)
			continue;
		Ray__PendingInstanceRequest *message =
			gcs_new(report->arena, &ray__pending_instance_request__descriptor);
		message->instance_type_name = GCS_STRING(group->name);
		message->ray_node_type_name = GCS_STRING(group->name);
		message->count = group->to_launch > INT32_MAX ? INT32_MAX :
								(int32_t)group->to_launch;
		message->request_ts = now / MS_PER_SECOND;
		gcs_report_add(report, GCS_LAUNCHES, message);
	}
}

static void gcs_report_starting(struct gcs_report *report, const struct plan *plan)
{
	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		if (worker->state != WORKER_PENDING && worker->state != WORKER_STARTING)
			continue;
		if (gcs_report_is_full(report, GCS_STARTING))
			break;
		Ray__PendingInstance *message =
			gcs_new(report->arena, &ray__pending_instance__descriptor);
		message->instance_type_name = GCS_STRING(worker->group);
		message->ray_node_type_name = GCS_STRING(worker->group);
		message->instance_id = GCS_STRING(worker->pod);
		message->details = arena_printf(report->arena, "%s: %s",
						worker_state_name(worker->state), worker->message);
		gcs_report_add(report, GCS_STARTING, message);
	}
}

/* Ray prints `details` of a pending instance, and the reason of a failed request only with -v. So demand that waits
 * for a pool is one such entry for each group, without a Pod. */
static void gcs_report_waiting(struct gcs_report *report, const struct plan *plan)
{
	const char *last = NULL;

	VEC_EACH(const struct plan_demand, demand, &plan->unserved) {
		if (!reason_has(demand->reason, TRAIT_POOL) || *demand->group == '\0' ||
		    (last && strcmp(last, demand->group) == 0))
			continue;
		if (gcs_report_is_full(report, GCS_STARTING))
			break;
		Ray__PendingInstance *message =
			gcs_new(report->arena, &ray__pending_instance__descriptor);
		last = demand->group;
		message->instance_type_name = GCS_STRING(demand->group);
		message->ray_node_type_name = GCS_STRING(demand->group);
		message->instance_id = GCS_STRING("no worker");
		message->details = arena_printf(report->arena, "%s: %s",
						reason_word(demand->reason), demand->message);
		gcs_report_add(report, GCS_STARTING, message);
	}
}

int64_t gcs_report_version(time_ms now, const struct ray_state *state, int64_t last_sent)
{
	int64_t seen = state->last_seen_autoscaler_state_version;
	int64_t known = seen > last_sent ? seen : last_sent;

	if (known == INT64_MAX)
		return known;
	return now > known ? now : known + 1;
}

int gcs_report_write(int64_t version, time_ms now, const struct ray_state *state,
		     const struct plan *plan, struct buf *bytes)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct gcs_report report = { .arena = &arena };
	const struct gcs_report_list *lists = report.lists;
	Ray__ReportAutoscalingStateRequest request = RAY__REPORT_AUTOSCALING_STATE_REQUEST__INIT;
	Ray__AutoscalingState message = RAY__AUTOSCALING_STATE__INIT;
	Ray__ClusterResourceConstraint constraint = RAY__CLUSTER_RESOURCE_CONSTRAINT__INIT;
	Ray__ClusterResourceConstraint *constraints[] = { &constraint };

	gcs_report_launches(&report, plan, now);
	gcs_report_starting(&report, plan);
	gcs_report_waiting(&report, plan);
	gcs_report_infeasible(&report, plan);
	message.last_seen_cluster_resource_state_version = state->version;
	message.autoscaler_state_version = version;
	message.pending_instance_requests = (void *)lists[GCS_LAUNCHES].messages.at;
	message.n_pending_instance_requests = lists[GCS_LAUNCHES].messages.count;
	message.pending_instances = (void *)lists[GCS_STARTING].messages.at;
	message.n_pending_instances = lists[GCS_STARTING].messages.count;
	message.infeasible_resource_requests = (void *)lists[DEMAND_REQUEST].messages.at;
	message.n_infeasible_resource_requests = lists[DEMAND_REQUEST].messages.count;
	message.infeasible_gang_resource_requests = (void *)lists[DEMAND_GANG].messages.at;
	message.n_infeasible_gang_resource_requests = lists[DEMAND_GANG].messages.count;
	constraint.resource_requests = (void *)lists[DEMAND_CONSTRAINT].messages.at;
	constraint.n_resource_requests = lists[DEMAND_CONSTRAINT].messages.count;
	if (constraint.n_resource_requests > 0) {
		message.infeasible_cluster_resource_constraints = constraints;
		message.n_infeasible_cluster_resource_constraints = 1;
	}
	request.autoscaling_state = &message;
	return gcs_message_pack(&request.base, bytes);
}
