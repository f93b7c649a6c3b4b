/* Free devices in decisions, by counting (device_count). Of the groups that could serve a demand those
 * with free devices for their claims are launched first, each up to the Pods that the count finds for
 * it; a launch beyond it, and a waiting Pod, say which devices are missing. Nothing is terminated for
 * it, and no launch is withheld: a node autoscaler may add devices.
 *
 * Whether a Pod lacks devices is the scheduler's verdict, "cannot allocate all claims": such a Pod has
 * the reason NoDevice, and its group backs off as for a full Node.
 *
 * The name of a DeviceClass in limits, or its extendedResourceName, is as a claim of the class, unless
 * a Node that is known has the resource by a device plugin, or no device is of the class.
 *
 * Each group is counted alone: groups for the same devices may launch more Pods together than fit, and
 * so may other RayClusters. Of a group's own count its Pods that wait are subtracted. */
#include <string.h>

#include "base/map.h"
#include "core/decide/feature.h"
#include "core/model/reason.h"
#include "core/model/resources.h"
#include "core/nodes/node_match.h"
#include "feature/device_claims/core/device_count.h"
#include "feature/device_claims/core/device_signs.h"
#include "feature/device_claims/core/selector_text.h"

/* Of kube-scheduler's plugin DynamicResources, since Kubernetes 1.31. */
#define SCHEDULER_VERDICT "cannot allocate all claims"
/* A user writes alternatives and selectors: messages have the first ones. */
#define ALTERNATIVES_SHOWN 4
#define SELECTORS_SHOWN 4

/* The claims of a Pod that are not allocated yet, and the devices of names in its limits. */
struct pod_wants {
	struct device_wants devices;
	bool shared;  /* a claim has a name, so other Pods share it */
	bool unknown; /* so nothing is said about the Pod */
};

/* A name in limits. */
struct named_class {
	const char *resource;
	const struct claimed_class *class; /* NULL: its devices are not counted */
};

/* Of groups that want the same devices of the same Nodes. */
struct supply {
	int64_t pods;
	const char *lack; /* NULL: not looked for yet */
};

/* Of one hook of a decision. */
struct supplier {
	const struct facts *facts;
	const struct claimed_index *index;
	VEC(struct named_class) names;
	struct map supplies;         /* by what is wanted where */
	struct node_match_text text; /* of a group */
	struct arena *arena;
};

static struct supplier supplier_of(const struct facts *facts, struct arena *arena)
{
	return (struct supplier){ .facts = facts,
				  .index = facts->snapshot->device_table->claims,
				  .supplies = MAP_IN(arena),
				  .text = { .arena = arena },
				  .arena = arena };
}

static bool knows_devices(const struct snapshot *snapshot)
{
	const struct claimed_index *index = snapshot->device_table->claims;

	return index && index->devices;
}

/* ---- names of classes in limits ---- */

static bool has_any(const struct device_matches *matches, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (device_matches_has(matches, i))
			return true;
	return false;
}

/* Some Node has the resource by a device plugin, because none of its devices is of the class, or all
 * may, because no device is. */
static bool is_of_plugin(const struct supplier *s, const struct claimed_class *class)
{
	const struct snapshot *snapshot = s->facts->snapshot;
	const struct device_free *free = s->index->devices;

	ARRAY_EACH(const struct node, node, snapshot->nodes, snapshot->node_count) {
		const struct quantity *amount = quantities_find(&node->allocatable, class->name);
		size_t first, count;

		if (!amount || amount->amount <= 0)
			continue;
		count = device_free_of_node(free, node->name, &first);
		if (!has_any(class->matches, first, count))
			return true;
	}
	return strncmp(class->name, DEVICE_CLASS_RESOURCE_PREFIX,
		       strlen(DEVICE_CLASS_RESOURCE_PREFIX)) != 0 &&
	       !has_any(class->matches, 0, free->device_count);
}

static const struct claimed_class *class_of(struct supplier *s, const char *resource)
{
	const struct named_class *known = VEC_FIND(&s->names, resource, resource);
	const struct claimed_class *class;

	if (known)
		return known->class;
	class = claimed_class_find(s->index, resource);
	if (!class)
		return NULL;
	if (is_of_plugin(s, class))
		class = NULL;
	VEC_PUSH(s->arena, &s->names, ((struct named_class){ resource, class }));
	return class;
}

/* The scheduler makes one claim of them, with a request for each name of each container. */
static void add_limits(struct supplier *s, const struct pod_spec *spec, struct pod_wants *wants)
{
	for (size_t c = 0; c < spec->container_count; c++) {
		VEC_EACH(const struct quantity, limit, &spec->containers[c].limits) {
			const struct claimed_class *class = limit->valid && limit->amount >=
										    RESOURCE_UNIT ?
								    class_of(s, limit->name) :
								    NULL;
			struct device_want want;

			if (!class)
				continue;
			want = (struct device_want){ .ask = class->ask,
						     .matches = class->matches,
						     .count = limit->amount / RESOURCE_UNIT };
			device_wants_add(&wants->devices,
					 &(struct device_wants){ { &want, 1, 1 }, 1 }, s->arena);
		}
	}
}

/* ---- what a Pod wants ---- */

/* Of a Pod, or NULL of a new one. */
static const struct claimed_request *
find_claim(const struct supplier *s, const struct pod_claim *claim, const struct pod *pod)
{
	const char *namespace_ = s->facts->snapshot->cluster.namespace_;
	const struct pod_claim_status *made =
		pod ? ARRAY_FIND(pod->claim_statuses, pod->claim_status_count, name, claim->name) :
		      NULL;
	const struct claimed_request *found = NULL;
	size_t count;

	if (*claim->claim != '\0')
		found = claimed_find(s->index, namespace_, claim->claim, false, &count);
	else if (made && *made->claim != '\0')
		found = claimed_find(s->index, namespace_, made->claim, false, &count);
	if (!found && *claim->template_ != '\0')
		found = claimed_find(s->index, namespace_, claim->template_, true, &count);
	return found;
}

static void find_wants(struct supplier *s, const struct pod_spec *spec, const struct pod *pod,
		       struct pod_wants *ret)
{
	*ret = (struct pod_wants){ .shared = false };
	ARRAY_EACH(const struct pod_claim, claim, spec->claims, spec->claim_count) {
		const struct claimed_request *found = find_claim(s, claim, pod);

		ret->unknown = ret->unknown || !found;
		if (!found || found->allocated)
			continue;
		ret->shared = ret->shared || *claim->claim != '\0';
		device_wants_add(&ret->devices, found->wants, s->arena);
	}
	add_limits(s, spec, ret);
}

/* ---- in words ---- */

/* "class gpu.nvidia.com with memory >= 80Gi, 0 of 16 free" */
static const char *want_text(const struct device_free *free, const struct device_want *want,
			     struct arena *arena, bool *ret_short)
{
	const struct device_ask *ask = want->ask;
	struct device_count count;
	const char *with = "", *more = "";

	device_count_all(free, ask, want->matches, &count);
	*ret_short = count.free < (ask->all ? count.total : want->count) || count.total == 0;
	for (size_t i = 0; i < ask->selectors.count && i < SELECTORS_SHOWN; i++)
		with = arena_printf(arena, "%s %s %s", with, i == 0 ? "with" : "and",
				    selector_text_short(ask->selectors.at[i], arena));
	if (want->matches && want->matches->problem)
		with = arena_printf(arena, "%s (cannot be judged: %.80s)", with,
				    want->matches->problem);
	else if (want->matches && !want->matches->set.bits)
		with = arena_printf(arena,
				    "%s (not judged: the selectors of the namespace are too "
				    "many or too long)",
				    with);
	if (count.tainted > 0)
		more = arena_printf(arena, ", %lld tainted", (long long)count.tainted);
	if (count.blocked > 0)
		more = arena_printf(arena, "%s, %lld partly used", more, (long long)count.blocked);
	if (ask->all)
		more = arena_printf(arena, "%s, all of a Node are needed", more);
	else if (want->count > 1)
		more = arena_printf(arena, "%s, %lld are needed on one Node", more,
				    (long long)want->count);
	return arena_printf(arena, "class %.80s%s, %lld of %lld free%s", ask->device_class, with,
			    (long long)count.free, (long long)count.total, more);
}

/* The first request of which no alternative has enough devices, else the first one; "": none. */
static const char *lack_text(const struct supplier *s, const struct pod_wants *wants)
{
	const struct device_wants *all = &wants->devices;
	const char *first = "";
	size_t i = 0;

	while (i < all->at.count) {
		const char *text = "waits for a device: ";
		size_t request = all->at.at[i].request, shown = 0;
		bool lacks = true, one;

		for (; i < all->at.count && all->at.at[i].request == request; i++) {
			if (shown++ >= ALTERNATIVES_SHOWN)
				continue;
			text = arena_printf(s->arena, "%s%s%s", text, shown > 1 ? "; or " : "",
					    want_text(s->index->devices, &all->at.at[i], s->arena,
						      &one));
			lacks = lacks && one;
		}
		if (lacks)
			return text;
		first = *first != '\0' ? first : text;
	}
	return first;
}

/* ---- Pods that wait ---- */

static bool waits_for_devices(const struct worker *worker, const struct worker_health *own)
{
	const struct condition *scheduled;

	if (!worker->pod || !own->waiting_reason || own->waiting_reason != REASON_WAITING_FOR_NODE)
		return false;
	scheduled = condition_find(worker->pod->conditions, worker->pod->condition_count,
				   "PodScheduled");
	return scheduled && strstr(scheduled->message, SCHEDULER_VERDICT);
}

/* All Pods of a group wait for the same devices: the first one's text counts. */
static void assess_group(struct health *health, const struct group *group)
{
	const char *text = NULL;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i];
		struct worker_health *own = &health->workers[worker->index];

		if (!waits_for_devices(worker, own))
			continue;
		if (!text && knows_devices(health->snapshot)) {
			struct supplier s = supplier_of(health->facts, health->arena);
			struct pod_wants wants;

			find_wants(&s, &worker->pod->spec, worker->pod, &wants);
			text = lack_text(&s, &wants);
		}
		own->cause = REASON_DEVICES_LACK;
		own->waiting_reason = REASON_NO_DEVICE;
		if (text && *text != '\0')
			own->obstacle_message = arena_printf(
				health->arena, "%s%s%s", text,
				*own->obstacle_message != '\0' ? "; " : "", own->obstacle_message);
	}
}

static void assess_devices(struct health *health)
{
	for (size_t g = 0; g < health->facts->group_count; g++)
		assess_group(health, &health->facts->groups[g]);
}

/* ---- groups ---- */

static int64_t nodes_of(const struct schedule_problem *problem, size_t type)
{
	int64_t count = 0;

	for (size_t i = 0; i < problem->node_count; i++)
		count += problem->nodes[i].type == type;
	return count;
}

/* The group may be launched. */
static bool is_wanted(const struct schedule_problem *problem, size_t type)
{
	return problem->demand_count + problem->gang_count + problem->constraint_count > 0 ||
	       nodes_of(problem, type) < problem->types[type].min_nodes;
}

/* A claim, or the name of a class in limits. */
static bool may_want(const struct claimed_index *index, const struct pod_spec *spec)
{
	for (size_t c = 0; c < spec->container_count; c++)
		for (size_t i = 0; i < spec->containers[c].limits.count; i++)
			if (claimed_class_find(index, spec->containers[c].limits.at[i].name))
				return true;
	return spec->claim_count > 0;
}

/* It was launched, and none of its claims is allocated. */
static bool has_no_devices(const struct supplier *s, const struct worker *worker)
{
	const struct pod *pod = worker->pod;

	if (worker->registered || worker->deleting || (pod && *pod->spec.node_name != '\0'))
		return false;
	if (!pod)
		return true;
	for (size_t i = 0; i < pod->spec.claim_count; i++) {
		const struct claimed_request *found = find_claim(s, &pod->spec.claims[i], pod);

		if (found && found->allocated)
			return false;
	}
	return true;
}

/* For how many Pods the free devices are enough, at most `most`. */
static struct supply *supply_of(struct supplier *s, const struct pod_spec *spec,
				const struct device_wants *wants, int64_t most)
{
	const struct snapshot *snapshot = s->facts->snapshot;
	const struct device_place place = { .free = s->index->devices,
					    .spec = spec,
					    .nodes = snapshot->nodes,
					    .node_count = snapshot->node_count };
	struct supply *supply;

	s->text.count = 0;
	node_match_add(&s->text, arena_printf(s->arena, "%lld", (long long)most));
	VEC_EACH(const struct device_want, want, &wants->at)
		node_match_add(&s->text,
			       arena_printf(s->arena, "%p %p %zu %lld", (const void *)want->ask,
					    (const void *)want->matches, want->request,
					    (long long)want->count));
	node_match_write(&s->text, spec);
	VEC_PUSH(s->arena, &s->text, '\0');
	supply = map_get(&s->supplies, s->text.at);
	if (supply)
		return supply;
	supply = ARENA_NEW(s->arena, struct supply);
	supply->pods = device_count_pods(&place, wants, most, s->arena);
	map_set(&s->supplies, s->text.at, supply);
	return supply;
}

static void supply_group(struct offer *offer, size_t g, struct supplier *s,
			 struct schedule_type *type)
{
	const struct group *group = &offer->facts->groups[g];
	int64_t most = type->max_nodes - nodes_of(&offer->problem, g + 1), waiting = 0, pods;
	struct pod_wants wants;
	struct supply *supply;

	find_wants(s, &group->spec->template.spec, NULL, &wants);
	if (most <= 0 || wants.unknown || wants.devices.at.count == 0)
		return;
	for (size_t i = 0; i < group->worker_count; i++)
		waiting += has_no_devices(s, &s->facts->workers[group->first_worker + i]);
	supply = supply_of(s, &group->spec->template.spec, &wants.devices,
			   wants.shared ? 1 : most + waiting);
	pods = wants.shared           ? supply->pods * most :
	       supply->pods > waiting ? supply->pods - waiting :
					0;
	type->has_room = pods < most;
	type->room_nodes = pods - pods % type->hosts;
	if (pods > 0)
		return;
	if (!supply->lack)
		supply->lack = lack_text(s, &wants);
	offer->groups[g].device_lack = supply->lack;
}

static void supply_devices(struct offer *offer)
{
	const struct facts *facts = offer->facts;
	struct schedule_problem *problem = &offer->problem;
	struct supplier s = supplier_of(facts, offer->arena);
	struct schedule_type *types = NULL;

	if (!knows_devices(offer->snapshot))
		return;
	for (size_t g = 0; g < facts->group_count; g++) {
		if (!may_want(s.index, &facts->groups[g].spec->template.spec) ||
		    !is_wanted(problem, g + 1))
			continue;
		if (!types)
			types = ARENA_COPY(offer->arena, problem->types, problem->type_count);
		supply_group(offer, g, &s, &types[g + 1]);
	}
	if (types)
		problem->types = types;
}

const struct decision_feature device_claims_decisions = { .find = device_signs_find,
							  .assess = assess_devices,
							  .offer = supply_devices };
