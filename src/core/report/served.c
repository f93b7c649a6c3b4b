#include "core/report/served.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "core/capacity/start_params.h"
#include "core/decide/demand.h"
#include "core/decide/offer.h"
#include "core/decide/packing.h"
#include "core/decide/pool.h"
#include "core/decide/template_seen.h"
#include "core/decide/worker.h"
#include "core/model/reason.h"
#include "core/report/possible.h"
#include "core/schedule/schedule.h"

struct verdict {
	bool infeasible;
	enum reason reason;
	const char *message;
	const char *group; /* that would serve it, NULL: none is to be named */
};

/* ---- undeclared devices ---- */

/* A device that a worker of a group holds and that Ray does not count, so that no demand scales up
 * the group: the line that declares it. The messages of a decision; feature/lint/core/lint_device has those
 * for a file. Pure; texts live in the arena. Must not change how devices count. */

/* Cores of one Inferentia2 or Trainium device. */
#define CORES_OF_NEURON_DEVICE 2

/* "mig-1g.5gb" of "nvidia.com/mig-1g.5gb": the name of a profile in Ray. */
static const char *short_name(const char *resource)
{
	const char *slash = strchr(resource, '/');

	return slash ? slash + 1 : resource;
}

/* Whether Ray would have the wanted resource if the group declared this device. */
static bool stands_for(const struct device_held *held, const char *wanted)
{
	if (strcmp(wanted, held->resource) == 0 || strcmp(wanted, short_name(held->resource)) == 0)
		return true;
	return !held->ray_resource && held->row->share != DEVICE_QUALIFIER &&
	       strcmp(wanted, held->row->ray_resource) == 0;
}

/* The number of `wanted` that a worker then has; a share of one device's memory is one GPU. */
static int64_t whole_count(const struct device_held *held, const char *wanted)
{
	int64_t count = (held->amount + RESOURCE_UNIT - 1) / RESOURCE_UNIT;

	if (strcmp(wanted, held->row->ray_resource) != 0)
		return count;
	count = device_count(held->row, held->amount);
	return held->row->kind == DEVICE_NEURON && held->row->share == DEVICE_WHOLE ?
		       count * CORES_OF_NEURON_DEVICE :
		       count;
}

/* KubeRay refuses a group that has resources in both places. */
static bool params_have_resources(const struct group *group)
{
	static const char *const names[] = { "num-cpus", "num-gpus", "memory", "resources" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (labels_value(&group->spec->ray_start_params, names[i]))
			return true;
	return false;
}

static const char *line(const struct offer *offer, const struct group *group,
			const struct device_held *held, const char *wanted)
{
	long long count = (long long)whole_count(held, wanted);

	if (group->spec->resources.count == 0 && strcmp(wanted, "GPU") == 0)
		return arena_printf(offer->arena,
				    "num-gpus: \"%lld\" into the rayStartParams of the group",
				    count);
	wanted = resource_name_text(offer->arena, wanted);
	if (group->spec->resources.count == 0 && params_have_resources(group))
		return arena_printf(
			offer->arena,
			"resources: \"'{\\\"%s\\\": %lld}'\" into the rayStartParams of the group",
			wanted, count);
	return arena_printf(offer->arena, "%s: \"%lld\" into the resources of the group", wanted,
			    count);
}

static const char *say(const struct offer *offer, const struct group *group, const char *wanted)
{
	const struct device_model *device = &offer->groups[group->index].seen_capacity.device;

	ARRAY_EACH(const struct device_held, held, device->held, device->held_count) {
		if (stands_for(held, wanted))
			return arena_printf(
				offer->arena,
				"; a worker of %s holds %s, which is not declared to Ray as "
				"%s: write %s",
				group->spec->name, resource_name_text(offer->arena, held->resource),
				resource_name_text(offer->arena, wanted),
				line(offer, group, held, wanted));
	}
	return "";
}

/* For a request that no group could serve: "; a worker of share holds aliyun.com/gpu-mem, which Ray
 * is not told to be GPU: write num-gpus: "1" into the rayStartParams of the group", of the first
 * group that holds such a device; "" for none. */
static const char *undeclared_text(const struct offer *offer, const struct ray_request *request)
{
	for (size_t g = 0; g < offer->facts->group_count; g++)
		ARRAY_EACH(const struct bundle_entry, entry, request->bundle,
			   request->bundle_count) {
			if (entry->amount == 0 ||
			    resources_amount(&offer->groups[g].seen_capacity.resources, entry->name,
					     0) != 0)
				continue;
			const char *text = say(offer, &offer->facts->groups[g], entry->name);
			if (*text != '\0')
				return text;
		}
	return "";
}

/* Of a resource that a group declares where `ray start` ignores it: "; GPU in the resources of rayStartParams of g has no
 * effect: write num-gpus: "2" there". */
static const char *ignored_text(const struct offer *offer, const struct ray_request *request)
{
	for (size_t g = 0; g < offer->facts->group_count; g++)
		VEC_EACH(const struct resource, item, &offer->groups[g].seen_capacity.ignored) {
			const struct bundle_entry *entry = ARRAY_FIND(
				request->bundle, request->bundle_count, name, item->name);

			if (entry && entry->amount > 0)
				return arena_printf(
					offer->arena,
					"; %s in the resources of group %s has no effect, as `ray "
					"start` ignores it there: write %s: \"%s\" into "
					"rayStartParams",
					item->name, offer->facts->groups[g].spec->name,
					start_params_entry(item, offer->arena).option,
					resource_amount_text(offer->arena, item->amount));
		}
	return "";
}

static bool is_implicit(const char *name)
{
	return strncmp(name, RAY_IMPLICIT_RESOURCE_PREFIX, strlen(RAY_IMPLICIT_RESOURCE_PREFIX)) ==
	       0;
}

/* Whether it requests more of a resource than any living node has; the nodes need no further
 * check. */
static bool is_beyond_living(const struct choice *choice, const struct ray_request *request)
{
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (!is_implicit(entry->name) &&
		    entry->amount >
			    resources_amount(&choice->packing->most_of_living, entry->name, 0))
			return true;
	}
	return false;
}

static bool fits_living(const struct choice *choice, const struct ray_request *request)
{
	if (is_beyond_living(choice, request))
		return false;
	ARRAY_EACH(const struct schedule_node, node, choice->packing->problem.nodes,
		   choice->packing->problem.node_count) {
		if (node->running && schedule_fits_empty(request, &node->total, &node->labels))
			return true;
	}
	return false;
}

static bool fits_head(const struct choice *choice, const struct ray_request *request)
{
	return schedule_fits_empty(request, &choice->facts->head_capacity.resources,
				   &choice->facts->head_capacity.labels);
}

/* The groups of these types, NULL: of the first ones. */
static bool fits_groups(const struct choice *choice, const struct ray_request *request,
			const size_t *types, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t type = types ? types[i] : i;
		const struct capacity *capacity;

		if (type == 0)
			continue; /* the head */
		capacity = &choice->offer->groups[type - 1].seen_capacity;
		if (!capacity->problem &&
		    schedule_fits_empty(request, &capacity->resources, &capacity->labels))
			return true;
	}
	return false;
}

/* Compares the types that have the name which the fewest have; none where one has less than it asks for. */
static bool fits_any_group(const struct choice *choice, const struct ray_request *request)
{
	const struct type_resource *rarest = NULL;

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		const struct type_resource *own;

		if (entry->amount <= 0 || is_implicit(entry->name))
			continue;
		own = map_get(&choice->packing->type_resources, entry->name);
		if (!own || own->most < entry->amount)
			return false;
		if (!rarest || own->types.count < rarest->types.count)
			rarest = own;
	}
	if (!rarest)
		return fits_groups(choice, request, NULL, choice->facts->group_count + 1);
	return fits_groups(choice, request, rarest->types.at, rarest->types.count);
}

/* A new worker or the head, when it is empty. */
static bool fits_template(const struct choice *choice, const struct ray_request *request)
{
	return fits_any_group(choice, request) || fits_head(choice, request);
}

#define UNREADABLE_MAX 3

/* The problems of groups whose capacity is unknown, which might serve the request; NULL: none. */
static const char *unreadable_groups(const struct choice *choice)
{
	const struct facts *facts = choice->facts;
	const char *text = NULL;
	size_t count = 0;

	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		const struct group_offer *offered = &choice->offer->groups[group - facts->groups];

		if (count == UNREADABLE_MAX)
			break;
		if (group->problem && offered->seen_capacity.problem)
			text = count++ ?
				       arena_printf(choice->arena, "%s; %s", text, group->problem) :
				       group->problem;
	}
	return text;
}

static size_t count_lacks(const struct ray_request *request, const struct resources *resources,
			  const struct bundle_entry **ret_first)
{
	size_t lacks = 0;
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (resources_amount(resources, entry->name, 0) >= entry->amount)
			continue;
		if (lacks++ == 0)
			*ret_first = entry;
	}
	return lacks;
}

#define LABEL_SHOWN_MAX 63

/* " where zone is a or b": the first constraint of the last selector. */
static const char *selector_text(struct arena *arena, const struct ray_request *request)
{
	if (request->selector_count == 0)
		return "";
	const struct label_selector *selector = &request->selectors[request->selector_count - 1];
	if (selector->count == 0)
		return "";
	const struct label_constraint *constraint = &selector->constraints[0];
	const char *text =
		arena_printf(arena, " where %.*s is%s", LABEL_SHOWN_MAX, constraint->key,
			     constraint->operation == LABEL_OPERATOR_NOT_IN ? " not" : "");
	for (size_t i = 0; i < constraint->values.count && i < 2; i++)
		text = arena_printf(arena, "%s%s %.*s", text, i > 0 ? " or" : "", LABEL_SHOWN_MAX,
				    constraint->values.at[i]);
	return constraint->values.count + selector->count > 3 || request->selector_count > 1 ?
		       arena_printf(arena, "%s and so on", text) :
		       text;
}

/* Fewer resources lack, or of the same one there is more. */
static bool is_closer(const struct resources *resources, size_t lacks,
		      const struct bundle_entry *first, const struct resources *other,
		      size_t other_lacks, const struct bundle_entry *other_first)
{
	if (lacks != other_lacks || !first || first != other_first)
		return lacks < other_lacks;
	return resources_amount(resources, first->name, 0) >
	       resources_amount(other, first->name, 0);
}

/* "closest is gpu-group: GPU 2 asked, 1 there". */
static const char *explain_no_fit(const struct choice *choice, const struct ray_request *request)
{
	const struct group *closest = NULL;
	const struct resources *there = NULL;
	const struct bundle_entry *lack = NULL;
	size_t fewest = 0;
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct bundle_entry *first = NULL;
		const struct resources *resources =
			&choice->offer->groups[g].seen_capacity.resources;
		size_t lacks = count_lacks(request, resources, &first);
		if (closest && !is_closer(resources, lacks, first, there, fewest, lack))
			continue;
		closest = &choice->facts->groups[g];
		there = resources;
		fewest = lacks;
		lack = first;
	}
	const char *bundle = demand_bundle_text(choice->arena, request);
	if (!closest)
		return arena_printf(choice->arena,
				    "no group could serve %s: the RayCluster has none", bundle);
	if (!lack)
		return arena_printf(choice->arena,
				    "no group could serve %s%s: the labels of %s do not match",
				    bundle, selector_text(choice->arena, request),
				    closest->spec->name);
	return arena_printf(
		choice->arena,
		"no group could serve %s; the closest is %s: %s %s asked, %s there%s%s", bundle,
		closest->spec->name, resource_name_text(choice->arena, lack->name),
		resource_amount_text(choice->arena, lack->amount),
		resource_amount_text(choice->arena, resources_amount(there, lack->name, 0)),
		undeclared_text(choice->offer, request), ignored_text(choice->offer, request));
}

/* ---- demand that is bound to one node ---- */

#define NODE_PREFIX "node:"
#define LABEL_NODE_ID "ray.io/node-id"

/* The node to which a request is bound by a resource that only this node has, "node:10.0.0.1" or that of the
 * head, or by its id: vLLM puts the former into the first bundle of its placement group. */
struct bound {
	const char *resource, *id; /* both NULL: it is bound to none */
	const char *name;          /* for messages */
};

static struct bound bound_to(const struct choice *choice, const struct ray_request *request)
{
	const struct label_selector *selector = request->selectors;

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count)
		if (entry->amount > 0 &&
		    strncmp(entry->name, NODE_PREFIX, strlen(NODE_PREFIX)) == 0 &&
		    strncmp(entry->name, RAY_IMPLICIT_RESOURCE_PREFIX,
			    strlen(RAY_IMPLICIT_RESOURCE_PREFIX)) != 0)
			return (struct bound){ .resource = entry->name,
					       .name = resource_name_text(
						       choice->arena,
						       entry->name + strlen(NODE_PREFIX)) };
	for (size_t i = 0; request->selector_count == 1 && i < selector->count; i++) {
		const struct label_constraint *constraint = &selector->constraints[i];

		if (strcmp(constraint->key, LABEL_NODE_ID) == 0 &&
		    constraint->operation == LABEL_OPERATOR_IN && constraint->values.count == 1)
			return (struct bound){ .id = constraint->values.at[0],
					       .name = arena_printf(choice->arena, "%.56s",
								    constraint->values.at[0]) };
	}
	return (struct bound){ .resource = NULL };
}

static const struct ray_node *node_of(const struct choice *choice, const struct bound *bound)
{
	const struct ray_state *state = choice->snapshot->ray_state;

	if (!state)
		return NULL;
	for (size_t i = 0; i < state->node_count; i++) {
		const struct ray_node *node = &state->nodes[i];

		if (ray_node_is_alive(node) &&
		    (bound->id ? strcmp(node->id, bound->id) == 0 :
				 resources_amount(&node->total, bound->resource, 0) > 0))
			return node;
	}
	return NULL;
}

/* "node 10.0.0.5, worker w-a" */
static const char *node_text(const struct choice *choice, const struct bound *bound,
			     const struct ray_node *node)
{
	return ray_node_is_head(node) ?
		       arena_printf(choice->arena, "node %s, the head", bound->name) :
		       arena_printf(choice->arena, "node %s, worker %.253s", bound->name,
				    resource_name_text(choice->arena, node->instance_id));
}

/* No group could have the resource, so the node itself is what counts, and what it lacks. */
static const char *bound_text(const struct choice *choice, const struct ray_request *request,
			      const struct bound *bound)
{
	const struct ray_node *node = node_of(choice, bound);
	const char *bundle = demand_bundle_text(choice->arena, request);
	const struct bundle_entry *lack = NULL;

	if (!node)
		return arena_printf(choice->arena,
				    "no group could serve %s: it is bound to node %s, and no node "
				    "of Ray has this %s",
				    bundle, bound->name,
				    bound->id ? "id: the node has ended" :
						"address: the node has ended, or the address is "
						"wrong (VLLM_HOST_IP)");
	if (count_lacks(request, &node->total, &lack) == 0)
		return arena_printf(choice->arena,
				    "no group could serve %s: it is bound to %s, whose labels do "
				    "not match",
				    bundle, node_text(choice, bound, node));
	return arena_printf(
		choice->arena,
		"no group could serve %s: it is bound to %s, which lacks %s: %s asked, %s there",
		bundle, node_text(choice, bound, node),
		resource_name_text(choice->arena, lack->name),
		resource_amount_text(choice->arena, lack->amount),
		resource_amount_text(choice->arena, resources_amount(&node->total, lack->name, 0)));
}

/* Of a request that no template could serve, and a living worker could. */
static struct verdict explain_living_only(const struct choice *choice,
					  const struct ray_request *request)
{
	const struct bound bound = bound_to(choice, request);
	const struct ray_node *node = bound.resource || bound.id ? node_of(choice, &bound) : NULL;

	return (struct verdict){
		false, REASON_LIVING_WORKERS_ONLY,
		node ? arena_printf(choice->arena, "%s is bound to %s, which is in use",
				    demand_bundle_text(choice->arena, request),
				    node_text(choice, &bound, node)) :
		       "only workers that live could serve it, and they are in use",
		NULL
	};
}

static struct verdict held_by(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	const char *name = group->spec->name;
	if (group->problem)
		return (struct verdict){ false, REASON_GROUP_INVALID, group->problem, name };
	if (group->spec->suspend)
		return (struct verdict){ false, REASON_GROUP_IS_SUSPENDED,
					 arena_printf(choice->arena, "group %s is suspended", name),
					 name };
	if (!own->health->backed_off && own->health->gangs_held_until != TIME_NONE)
		return (struct verdict){
			false, REASON_BACK_OFF,
			arena_printf(choice->arena,
				     "group %s is tried again at %s: a part of a placement group or "
				     "replica waited there for gangHoldSeconds",
				     name, time_text(choice->arena, own->health->gangs_held_until)),
			name
		};
	return (struct verdict){ false, REASON_BACK_OFF,
				 arena_printf(choice->arena, "group %s is in back-off: %s", name,
					      own->health->backoff ? own->health->backoff->message :
								     ""),
				 name };
}

static const char *maximum_text(const struct choice *choice, const struct group *group, bool whole)
{
	long long maximum = group->spec->max_replicas;
	int64_t left = maximum - choice->groups[group->index].target_replicas;

	if (whole && left > 0)
		return arena_printf(
			choice->arena,
			"the placement group needs more than the %s of group %s that maxReplicas "
			"%lld leaves",
			worker_count_text(choice->arena, left,
					  group->hosts > 1 ? "replica" : "worker"),
			group->spec->name, maximum);
	return arena_printf(choice->arena, "group %s is at maxReplicas %lld%s", group->spec->name,
			    maximum, left > 0 ? " until a worker that ends is deleted" : "");
}

/* The reason for demand that could be served, but is not served now. whole: all of
 * it or nothing. */
static struct verdict explain_unserved(const struct choice *choice,
				       const struct schedule_leftover *leftover, bool whole)
{
	const struct group *group = NULL;
	if (leftover->limit_type != SCHEDULE_NO_INDEX && leftover->limit_type > 0)
		group = &choice->facts->groups[leftover->limit_type - 1];
	switch (leftover->limit) {
	case SCHEDULE_LIMIT_HELD:
		if (group)
			return held_by(choice, group);
		break;
	case SCHEDULE_LIMIT_POOL:
		if (group)
			return (struct verdict){ false, group->grant->reason, group->grant->message,
						 group->spec->name };
		break;
	case SCHEDULE_LIMIT_USE:
		return (struct verdict){ false, choice->offer->use_reason,
					 choice->offer->use_message,
					 group ? group->spec->name : NULL };
	case SCHEDULE_LIMIT_GPU_BUDGET:
		return (struct verdict){ false, REASON_MAX_GPUS,
					 arena_printf(choice->arena, "%s allows no more",
						      choice->offer->gpu_ceiling),
					 NULL };
	case SCHEDULE_LIMIT_CPU_BUDGET:
		return (struct verdict){
			false, REASON_DECISION_CUT_SHORT,
			"the decision was cut short before it; the next decisions go on", NULL
		};
	case SCHEDULE_LIMIT_MAX_NODES:
		return (struct verdict){
			false, REASON_LAUNCH_LIMIT,
			arena_printf(choice->arena,
				     "one decision launches at most %d workers; the next decisions "
				     "continue",
				     SCHEDULE_NEW_NODES_MAX),
			NULL
		};
	case SCHEDULE_LIMIT_MAX_PER_TYPE:
		if (group && choice->health->groups[group->index].backed_off)
			return held_by(choice, group);
		if (group)
			return (struct verdict){ false, REASON_MAX_REPLICAS,
						 maximum_text(choice, group, whole),
						 group->spec->name };
		break;
	case SCHEDULE_LIMIT_NONE:
		break;
	}
	const char *unreadable = unreadable_groups(choice);
	if (unreadable)
		return (struct verdict){ false, REASON_GROUP_INVALID, unreadable, NULL };
	return (struct verdict){ false, REASON_LIVING_WORKERS_ONLY,
				 "only workers that live could serve it, and they are in use",
				 NULL };
}

static struct verdict and_starved(const struct choice *choice, struct verdict verdict)
{
	verdict.message = arena_printf(choice->arena,
				       "%s; it fits on living workers by the numbers, but stays "
				       "pending for %lld s",
				       verdict.message,
				       (long long)packing_starved_seconds(choice->packing));
	return verdict;
}

/* The request would fit a template whose workers lack a promised resource. It is not infeasible,
 * because a single worker may be wrong. */
static bool judge_lack(const struct choice *choice, const struct ray_request *request,
		       struct verdict *ret_verdict)
{
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct group *group = &choice->facts->groups[g];
		const struct template_lack *lack =
			template_seen_lack(&choice->offer->groups[g], request);

		if (!lack)
			continue;
		*ret_verdict =
			(struct verdict){ false, REASON_WORKER_LACKS,
					  template_seen_lack_text(choice->offer, group, lack),
					  group->spec->name };
		return true;
	}
	return false;
}

static bool judge_possible(const struct choice *choice, const struct ray_request *request,
			   struct verdict *ret_verdict)
{
	struct possible possible = possible_later(choice, request);

	*ret_verdict = (struct verdict){ false, possible.reason, possible.message, possible.group };
	return possible.reason != REASON_NONE;
}

/* A custom resource of three letters, as XPU, is one letter from several of Ray's. */
#define MEANT_BYTES_MIN 4

static bool is_meant(const char *name, const char *known)
{
	size_t errors = nearest_errors(name, known);

	return errors == 0 || (errors == 1 && strlen(name) >= MEANT_BYTES_MIN);
}

/* The resource of Ray or of a group that the name of a resource that nothing has was meant to be; NULL:
 * none, or something has it. */
static const char *meant_resource(const struct choice *choice, const char *name)
{
	static const char *const known[] = { "CPU", "GPU", "memory", "object_store_memory" };
	const struct map *types = &choice->packing->type_resources;
	const struct type_resource *own = map_get(types, name);
	const char *meant = NULL;

	if (resources_amount(&choice->packing->most_of_living, name, 0) > 0 ||
	    (own && own->most > 0))
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!meant && is_meant(name, known[i]))
			meant = known[i];
	for (size_t i = 0; i < types->count; i++) {
		if (meant)
			break;
		if (is_meant(name, types->entries[i].key))
			meant = types->entries[i].key;
	}
	return meant && strcmp(meant, name) != 0 ? meant : NULL;
}

/* Of a name that was misspelt, neither the closest group nor its declaration is of use. */
static const char *no_fit_text(const struct choice *choice, const struct ray_request *request)
{
	const struct bound bound = bound_to(choice, request);

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		const char *meant = meant_resource(choice, entry->name);

		if (meant)
			return arena_printf(
				choice->arena,
				"no group could serve %s: nothing has %s; did you mean %s?",
				demand_bundle_text(choice->arena, request),
				resource_name_text(choice->arena, entry->name),
				resource_name_text(choice->arena, meant));
	}
	return bound.resource || bound.id ? bound_text(choice, request, &bound) :
					    explain_no_fit(choice, request);
}

static struct verdict judge(const struct choice *choice, const struct demand *demand, bool starved,
			    const struct schedule_leftover *leftover)
{
	const struct ray_request *request = demand->request;
	if (demand->reason)
		return (struct verdict){ true, demand->reason, demand->message, NULL };
	struct verdict verdict;
	bool fits;
	if (leftover->limit == SCHEDULE_LIMIT_CPU_BUDGET)
		return explain_unserved(choice, leftover, false);
	fits = fits_template(choice, request);
	if (!fits &&
	    (judge_lack(choice, request, &verdict) || judge_possible(choice, request, &verdict)))
		return verdict;
	if (!fits && !fits_living(choice, request) && !unreadable_groups(choice))
		return (struct verdict){ true, REASON_NO_GROUP_FITS, no_fit_text(choice, request),
					 NULL };
	verdict = explain_unserved(choice, leftover, false);
	if (verdict.reason == REASON_LIVING_WORKERS_ONLY)
		verdict = explain_living_only(choice, request);
	return starved ? and_starved(choice, verdict) : verdict;
}

static struct plan_demand *add_entry(struct arena *arena, struct plan *plan,
				     struct plan_demand entry, const struct verdict *verdict)
{
	struct plan_demand *added = verdict->infeasible ? VEC_ADD(arena, &plan->infeasible) :
							  VEC_ADD(arena, &plan->unserved);

	*added = entry;
	added->reason = verdict->reason;
	added->message = verdict->message;
	added->group = verdict->group ? verdict->group : "";
	return added;
}

static void report_list(const struct choice *choice, struct plan *plan,
			const struct demand_list *list, const struct packed_list *packed,
			const struct schedule_leftover *leftovers, enum demand_kind kind)
{
	struct schedule_leftover *sums = arena_array(choice->arena, list->at.count, sizeof(*sums));
	for (size_t i = 0; i < list->at.count; i++)
		if (list->at.at[i].reason)
			sums[i].count = list->at.at[i].count;
	for (size_t i = 0; i < packed->count; i++) {
		struct schedule_leftover *sum = &sums[packed->index[i]];
		int64_t before = sum->count;
		if (leftovers[i].count <= 0)
			continue;
		*sum = leftovers[i];
		sum->count += before;
	}
	for (size_t i = 0; i < list->at.count; i++) {
		const struct demand *demand = &list->at.at[i];
		if (sums[i].count <= 0)
			continue;
		struct verdict verdict = judge(
			choice, demand,
			kind == DEMAND_REQUEST && choice->packing->starved_demands[i], &sums[i]);
		add_entry(choice->arena, plan,
			  (struct plan_demand){ .kind = kind,
						.source = demand->source,
						.schedule = demand->schedule,
						.request = demand->request,
						.count = sums[i].count },
			  &verdict);
	}
}

#define SHAPES_TRIED_MAX 8

static bool asks_part_of_gpu(const struct ray_request *request)
{
	return ray_request_gpus(request) % RESOURCE_UNIT != 0;
}

/* together: how bundles of a placement group are tied. */
static const char *with_domain(struct arena *arena, const struct ray_gang *gang,
			       const char *together)
{
	if (gang->selector_count == 0 || !locality_is_given(&gang->selectors[0].locality))
		return together;
	return arena_printf(arena, "%s with one value of the label %s",
			    *together ? together : " on workers",
			    gang->selectors[0].locality.label);
}

/* Not every value of its label was tried, so it may fit at another one. */
static struct verdict explain_untried(const struct choice *choice,
				      const struct bundle_selector *selector)
{
	return (struct verdict){ false, REASON_FRAGMENTED,
				 arena_printf(choice->arena,
					      "does not fit at the values of the label %s that were "
					      "tried; %zu other values were not tried",
					      selector->locality.label, selector->untried),
				 NULL };
}

/* True: the bundle alone is the reason of its gang. Reason NONE: a new worker or the head could serve it. */
static bool judge_bundle(const struct choice *choice, const struct ray_request *bundle,
			 struct verdict *ret_verdict)
{
	*ret_verdict = (struct verdict){ .reason = REASON_NONE };
	if (fits_template(choice, bundle))
		return false;
	if (judge_lack(choice, bundle, ret_verdict))
		return true;
	if (judge_possible(choice, bundle, ret_verdict))
		return false;
	if (!fits_living(choice, bundle)) {
		*ret_verdict = (struct verdict){ true, REASON_NO_GROUP_FITS,
						 no_fit_text(choice, bundle), NULL };
		return true;
	}
	*ret_verdict = explain_living_only(choice, bundle);
	return false;
}

/* How a bundle is tied to others, in words; each stays where the bundle does not say it. */
static void read_ties(const struct ray_request *bundle, const char **together, const char **order)
{
	if (bundle->placement_count == 0)
		return;
	*together = " on workers of their own";
	if (!bundle->placements[0].has_affinity)
		return;
	*together = " on one worker";
	if (asks_part_of_gpu(bundle))
		*order = ", parts of GPUs in this order (try the largest first)";
}

#define MAXIMA_NAMED_MAX 3

/* "; group a has maxReplicas 2, b 3" of the groups of which a worker could hold the bundle. */
static const char *maxima_text(const struct choice *choice, const struct ray_request *bundle)
{
	const char *text = "";
	size_t named = 0;

	for (size_t g = 0; g < choice->facts->group_count && named < MAXIMA_NAMED_MAX; g++) {
		const struct worker_group *spec = choice->facts->groups[g].spec;

		if (fits_groups(choice, bundle, &(size_t){ g + 1 }, 1))
			text = named++ ? arena_printf(choice->arena, "%s, %s %lld", text,
						      spec->name, (long long)spec->max_replicas) :
					 arena_printf(choice->arena,
						      "; group %s has maxReplicas %lld", spec->name,
						      (long long)spec->max_replicas);
	}
	return text;
}

/* Reports a bundle that cannot be served alone, or else the gang with its number of bundles. */
static struct verdict explain_gang(const struct choice *choice, const struct ray_gang *gang,
				   const struct ray_gang *packed)
{
	size_t count;
	const struct ray_request *bundles = demand_gang_bundles(gang, 0, &count);
	const char *together = "", *order = "";
	struct verdict later = { .reason = REASON_NONE };
	size_t tried = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && demand_compare_requests(&bundles[i], &bundles[i - 1]) == 0)
			continue;
		if (tried++ < SHAPES_TRIED_MAX) {
			struct verdict own;

			if (judge_bundle(choice, &bundles[i], &own))
				return own;
			if (!later.reason)
				later = own;
		}
		read_ties(&bundles[i], &together, &order);
	}
	if (later.reason)
		return later;
	for (size_t i = 0; i < packed->selector_count; i++)
		if (packed->selectors[i].untried)
			return explain_untried(choice, &packed->selectors[i]);
	return (struct verdict){
		true, REASON_GANG_TOO_LARGE,
		arena_printf(choice->arena,
			     "the placement group would not fit on an empty cluster at its maxima: "
			     "%zu bundles%s, the first %s%s%s",
			     count, with_domain(choice->arena, gang, together),
			     demand_bundle_text(choice->arena, &bundles[0]), order,
			     bundles[0].placement_count > 0 &&
					     bundles[0].placements[0].has_affinity ?
				     "" :
				     maxima_text(choice, &bundles[0])),
		NULL
	};
}

/* packed: as it was packed. */
static struct verdict judge_gang(const struct choice *choice, const struct gang *gang,
				 const struct ray_gang *packed, bool starved,
				 const struct schedule_leftover *leftover)
{
	if (gang->reason)
		return (struct verdict){ true, gang->reason, gang->message, NULL };
	if (leftover->limit != SCHEDULE_LIMIT_CPU_BUDGET && !unreadable_groups(choice) &&
	    !schedule_gang_possible(&choice->packing->problem, packed, choice->arena))
		return explain_gang(choice, gang->gang, packed);
	struct verdict verdict = explain_unserved(choice, leftover, true);
	if (verdict.reason == REASON_LIVING_WORKERS_ONLY)
		verdict = (struct verdict){ false, REASON_FRAGMENTED,
					    "does not fit beside the demand that is already placed",
					    NULL };
	return starved ? and_starved(choice, verdict) : verdict;
}

/* Sorted by content, so that equal gangs are one entry. */
static void report_gangs(const struct choice *choice, struct plan *plan)
{
	struct schedule_leftover *left =
		arena_array(choice->arena, choice->facts->gang_count, sizeof(*left));
	const struct ray_gang **packed =
		arena_array(choice->arena, choice->facts->gang_count, sizeof(*packed));
	struct plan_demand *last = NULL;
	for (size_t i = 0; i < choice->offer->packed_gangs.count; i++) {
		left[choice->offer->packed_gangs.index[i]] = choice->packing->result->gangs[i];
		packed[choice->offer->packed_gangs.index[i]] = &choice->packing->problem.gangs[i];
	}
	for (size_t i = 0; i < choice->facts->gang_count; i++) {
		const struct gang *gang = &choice->facts->gangs[choice->facts->gangs_by_content[i]];
		const struct schedule_leftover *leftover =
			&left[choice->facts->gangs_by_content[i]];
		if (!gang->reason && leftover->count <= 0)
			continue;
		struct verdict verdict = judge_gang(
			choice, gang, packed[choice->facts->gangs_by_content[i]],
			choice->packing->starved_gangs[choice->facts->gangs_by_content[i]],
			leftover);
		if (last && demand_compare_gangs(last->gang, gang->gang) == 0 &&
		    last->reason == verdict.reason) {
			last->count++;
			continue;
		}
		last = add_entry(choice->arena, plan,
				 (struct plan_demand){ .kind = DEMAND_GANG,
						       .source = SOURCE_RAY,
						       .gang = gang->gang,
						       .count = 1 },
				 &verdict);
	}
}

void served_report(const struct choice *choice, struct plan *plan)
{
	report_list(choice, plan, &choice->facts->demands, &choice->packing->packed_demands,
		    choice->packing->result->demands, DEMAND_REQUEST);
	report_gangs(choice, plan);
	for (size_t i = 0; i < choice->facts->constraint_count; i++)
		report_list(choice, plan, &choice->facts->constraints[i],
			    &choice->offer->packed_constraints[i],
			    choice->packing->result->constraints[i], DEMAND_CONSTRAINT);
}
