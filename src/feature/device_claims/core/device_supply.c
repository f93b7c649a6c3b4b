#include "feature/device_claims/core/device_supply.h"

#include <string.h>

#include "core/model/reason.h"
#include "core/model/resources.h"
#include "feature/device_claims/core/device_free.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/device_claims/core/selector_text.h"

/* The claims of a Pod that are not allocated yet, and the devices of names in its limits. */
struct wants {
	VEC(const struct claim_spec *) specs;
	bool shared;  /* a claim has a name, so other Pods share it */
	bool unknown; /* so nothing is said about the Pod */
};

/* A name in limits. */
struct named_class {
	const char *resource;
	const char *class; /* NULL: its devices are not searched */
};

/* Of one hook of a decision. */
struct supplier {
	const struct facts *facts;
	struct device_free *free;
	VEC(struct named_class) names;
	struct arena *arena;
};

static const struct device_free *devices_of(const struct snapshot *snapshot)
{
	const struct claimed_index *index = snapshot->device_table->claims;

	return index ? index->devices : NULL;
}

static struct supplier supplier_of(const struct facts *facts, struct arena *arena)
{
	return (struct supplier){ .facts = facts,
				  .free = device_free_copy(devices_of(facts->snapshot), arena),
				  .arena = arena };
}

/* ---- names of classes in limits ---- */

static const struct device_class *find_class(const struct supplier *s, const char *resource)
{
	const struct device_objects *objects = s->free->objects;
	size_t prefix = strlen(DEVICE_CLASS_RESOURCE_PREFIX);

	if (!claimed_class_find(s->facts->snapshot->device_table->claims, resource))
		return NULL;
	if (strncmp(resource, DEVICE_CLASS_RESOURCE_PREFIX, prefix) == 0)
		return ARRAY_FIND(objects->classes, objects->class_count, name, resource + prefix);
	return ARRAY_FIND(objects->classes, objects->class_count, extended_resource, resource);
}

static int64_t count_matches(struct supplier *s, const struct device_selection *selection,
			     struct free_device *const *devices, size_t count)
{
	int64_t found = 0;

	for (size_t i = 0; i < count && s->free->steps_left > 0; i++, s->free->steps_left--)
		found += device_free_matches(selection, devices[i]) != CEL_NO;
	return found;
}

/* Some Node has the resource by a device plugin, because none of its devices is of the class, or all
 * may, because no device is. */
static bool is_of_plugin(struct supplier *s, const char *resource, const struct device_class *class)
{
	const struct device_ask ask = { .device_class = class->name, .count = 1 };
	const struct snapshot *snapshot = s->facts->snapshot;
	const struct device_free *free = s->free;
	struct device_selection selection;

	device_free_select(free, &ask, s->arena, &selection);
	ARRAY_EACH(const struct node, node, snapshot->nodes, snapshot->node_count) {
		const struct quantity *amount = quantities_find(&node->allocatable, resource);
		struct free_device *const *devices;
		size_t count;

		if (!amount || amount->amount <= 0)
			continue;
		devices = device_free_of_node(free, node->name, &count);
		if (count_matches(s, &selection, devices, count) == 0)
			return true;
	}
	return strcmp(resource, class->extended_resource) == 0 &&
	       count_matches(s, &selection, free->by_node, free->device_count) == 0;
}

static const char *class_of(struct supplier *s, const char *resource)
{
	const struct named_class *known = VEC_FIND(&s->names, resource, resource);
	const struct device_class *class;

	if (known)
		return known->class;
	class = find_class(s, resource);
	if (class && is_of_plugin(s, resource, class))
		class = NULL;
	VEC_PUSH(s->arena, &s->names,
		 ((struct named_class){ resource, class ? class->name : NULL }));
	return class ? class->name : NULL;
}

/* The scheduler makes one claim of them, with a request for each name of each container. */
static void add_limits(struct supplier *s, const struct pod_spec *spec, struct wants *wants)
{
	VEC(struct device_request) requests = { .at = NULL };
	struct claim_spec *made;

	for (size_t c = 0; c < spec->container_count; c++) {
		ARRAY_EACH(const struct quantity, limit, spec->containers[c].limits.at,
			   spec->containers[c].limits.count) {
			const char *class = limit->valid && limit->amount >= RESOURCE_UNIT ?
						    class_of(s, limit->name) :
						    NULL;
			struct device_ask *ask;

			if (!class)
				continue;
			ask = ARENA_PUT(s->arena, (struct device_ask){ .name = "",
								       .device_class = class,
								       .count = limit->amount /
										RESOURCE_UNIT });
			VEC_PUSH(s->arena, &requests, ((struct device_request){ "", ask, 1 }));
		}
	}
	if (requests.count == 0)
		return;
	made = ARENA_PUT(s->arena, (struct claim_spec){ .requests = requests.at,
							.request_count = requests.count });
	VEC_PUSH(s->arena, &wants->specs, made);
}

/* ---- what a Pod wants ---- */

static const struct claimed_request *find_claim(const struct snapshot *snapshot, const char *claim,
						bool is_template)
{
	size_t count;

	return claimed_find(snapshot->device_table->claims, snapshot->cluster.namespace_, claim,
			    is_template, &count);
}

/* pod: NULL for a new one of this template. */
static void find_wants(struct supplier *s, const struct pod_spec *spec, const struct pod *pod,
		       struct wants *ret)
{
	const struct snapshot *snapshot = s->facts->snapshot;

	*ret = (struct wants){ .shared = false };
	ARRAY_EACH(const struct pod_claim, claim, spec->claims, spec->claim_count) {
		const struct pod_claim_status *made = pod ? ARRAY_FIND(pod->claim_statuses,
								       pod->claim_status_count,
								       name, claim->name) :
							    NULL;
		const struct claimed_request *found = NULL;

		if (*claim->claim != '\0')
			found = find_claim(snapshot, claim->claim, false);
		else if (made && *made->claim != '\0')
			found = find_claim(snapshot, made->claim, false);
		if (!found && *claim->template_ != '\0')
			found = find_claim(snapshot, claim->template_, true);
		ret->unknown = ret->unknown || !found;
		if (!found || found->allocated)
			continue;
		ret->shared = ret->shared || *claim->claim != '\0';
		VEC_PUSH(s->arena, &ret->specs, found->spec);
	}
	add_limits(s, spec, ret);
}

/* How many Pods fit; `most` when it is not known. ret_taken: they stay taken; NULL: they do not. */
static int64_t fit(struct supplier *s, const struct pod_spec *spec, const struct wants *wants,
		   int64_t most, struct device_fit *ret_taken)
{
	const struct snapshot *snapshot = s->facts->snapshot;
	struct device_fit found = { .pods = 0 };

	if (ret_taken)
		*ret_taken = found;
	if (wants->unknown || wants->specs.count == 0)
		return most;
	/* Of a shared claim one Pod says it for all. */
	device_free_fit(s->free,
			&(struct device_pods){ .specs = wants->specs.at,
					       .spec_count = wants->specs.count,
					       .spec = spec,
					       .nodes = snapshot->nodes,
					       .node_count = snapshot->node_count,
					       .most = wants->shared ? 1 : most,
					       .keep = ret_taken != NULL },
			s->arena, &found);
	if (ret_taken)
		*ret_taken = found;
	return found.unknown || (wants->shared && found.pods > 0) ? most : found.pods;
}

/* ---- in words ---- */

/* "class gpu.nvidia.com with memory >= 80Gi, 0 of 16 free" */
static const char *ask_text(struct device_free *free, const struct device_ask *ask,
			    struct arena *arena, bool *ret_short)
{
	struct device_count count;
	const char *with = "", *more = "";

	*ret_short = false;
	if (free->steps_left < free->device_count)
		return arena_printf(arena, "class %.80s", ask->device_class);
	free->steps_left -= free->device_count;
	device_free_count(free, ask, arena, &count);
	*ret_short = count.free < (ask->all ? count.total : ask->count) || count.total == 0;
	for (size_t i = 0; i < ask->selectors.count; i++) {
		const char *problem = cel_problem(cel_compile(ask->selectors.at[i], arena));

		with = arena_printf(arena, "%s %s %s", with, i == 0 ? "with" : "and",
				    selector_text_short(ask->selectors.at[i], arena));
		if (problem)
			with = arena_printf(arena, "%s (cannot be judged: %.80s)", with, problem);
	}
	if (count.tainted > 0)
		more = arena_printf(arena, ", %lld tainted", (long long)count.tainted);
	if (count.blocked > 0)
		more = arena_printf(arena, "%s, %lld partly used", more, (long long)count.blocked);
	if (ask->all)
		more = arena_printf(arena, "%s, all of a Node are needed", more);
	else if (ask->count > 1)
		more = arena_printf(arena, "%s, %lld are needed on one Node", more,
				    (long long)ask->count);
	return arena_printf(arena, "class %.80s%s, %lld of %lld free%s", ask->device_class, with,
			    (long long)count.free, (long long)count.total, more);
}

/* The first request of which no alternative has enough devices, else the first one. */
static const char *lack_text(struct device_free *free, const struct wants *wants,
			     struct arena *arena)
{
	const char *first = "";

	for (size_t i = 0; i < wants->specs.count; i++) {
		ARRAY_EACH(const struct device_request, request, wants->specs.at[i]->requests,
			   wants->specs.at[i]->request_count) {
			const char *text = "waits for a device: ";
			bool lacks = true, one;

			for (size_t a = 0; a < request->ask_count; a++) {
				text = arena_printf(arena, "%s%s%s", text, a > 0 ? "; or " : "",
						    ask_text(free, &request->asks[a], arena, &one));
				lacks = lacks && one;
			}
			if (lacks)
				return text;
			first = *first != '\0' ? first : text;
		}
	}
	return first;
}

/* ---- Pods that wait ---- */

/* A claim, or the name of a class in limits. */
static bool may_want(const struct facts *facts, const struct pod_spec *spec)
{
	const struct claimed_index *index = facts->snapshot->device_table->claims;

	for (size_t c = 0; c < spec->container_count; c++)
		for (size_t i = 0; i < spec->containers[c].limits.count; i++)
			if (claimed_class_find(index, spec->containers[c].limits.at[i].name))
				return true;
	return spec->claim_count > 0;
}

static bool waits_for_node(const struct worker_health *own)
{
	return own->waiting_reason && strcmp(own->waiting_reason, REASON_WAITING_FOR_NODE) == 0;
}

/* All Pods of a group wait for the same devices: the first one's answer counts. */
static void assess_group(struct health *health, const struct group *group, struct supplier *s)
{
	const char *text = NULL;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i];
		struct worker_health *own = &health->workers[worker->index];
		struct wants wants;

		if (!worker->pod || !waits_for_node(own))
			continue;
		find_wants(s, &worker->pod->spec, worker->pod, &wants);
		if (wants.specs.count == 0)
			continue;
		if (!text)
			text = fit(s, &worker->pod->spec, &wants, 1, NULL) > 0 ?
				       "" :
				       lack_text(s->free, &wants, health->arena);
		if (*text == '\0')
			continue;
		own->lacks_device = true;
		own->waiting_reason = REASON_NO_DEVICE;
		own->obstacle_message = arena_printf(health->arena, "%s%s%s", text,
						     *own->obstacle_message != '\0' ? "; " : "",
						     own->obstacle_message);
	}
}

static bool waits_any(const struct health *health)
{
	const struct facts *facts = health->facts;

	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].pod && waits_for_node(&health->workers[i]) &&
		    may_want(facts, &facts->workers[i].pod->spec))
			return true;
	return false;
}

static void assess_devices(struct health *health)
{
	const struct facts *facts = health->facts;
	struct supplier s;

	if (!devices_of(health->snapshot) || !waits_any(health))
		return;
	s = supplier_of(facts, health->arena);
	for (size_t g = 0; g < facts->group_count; g++)
		assess_group(health, &facts->groups[g], &s);
}

/* ---- groups ---- */

struct supplied_group {
	struct wants wants; /* of a new Pod */
	const struct pod_spec *spec;
	int64_t there, most, fits; /* Pods: existing ones, new ones, those of them with devices */
};

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

static bool has_no_devices(const struct worker *worker)
{
	return !worker->registered && !worker->deleting &&
	       (!worker->pod || *worker->pod->spec.node_name == '\0');
}

/* Takes the devices of workers that have none yet: those without any claim that is allocated wait for
 * the devices of the template, and are counted together. */
static void take_launched(struct supplier *s, const struct group *group,
			  const struct supplied_group *own)
{
	struct device_fit taken;
	struct wants wants;
	int64_t pods = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &s->facts->workers[group->first_worker + i];

		if (!has_no_devices(worker))
			continue;
		find_wants(s, worker->pod ? &worker->pod->spec : own->spec, worker->pod, &wants);
		if (wants.specs.count == own->wants.specs.count)
			pods++;
		else
			(void)fit(s, own->spec, &wants, 1, &taken);
	}
	if (pods > 0)
		(void)fit(s, own->spec, &own->wants, pods, &taken);
}

static void supply_group(struct offer *offer, size_t g, struct supplier *s,
			 struct supplied_group *own, struct schedule_type *type)
{
	own->most = type->max_nodes - own->there;
	if (own->most <= 0 || own->wants.specs.count == 0)
		return;
	own->most = own->most < DEVICE_SUPPLY_PODS_MAX ? own->most : DEVICE_SUPPLY_PODS_MAX;
	own->fits = fit(s, own->spec, &own->wants, own->most, NULL);
	type->has_room = own->fits < own->most;
	type->room_nodes = own->fits - own->fits % type->hosts;
	if (own->fits == 0)
		offer->groups[g].device_lack = lack_text(s->free, &own->wants, offer->arena);
}

static bool wants_any(const struct offer *offer)
{
	const struct facts *facts = offer->facts;

	for (size_t g = 0; g < facts->group_count; g++)
		if (may_want(facts, &facts->groups[g].spec->template.spec) &&
		    is_wanted(&offer->problem, g + 1))
			return true;
	return false;
}

static void supply_devices(struct offer *offer)
{
	const struct facts *facts = offer->facts;
	struct schedule_problem *problem = &offer->problem;
	struct supplied_group *groups;
	struct schedule_type *types;
	struct supplier s;

	if (!devices_of(offer->snapshot) || !wants_any(offer))
		return;
	s = supplier_of(facts, offer->arena);
	groups = arena_array(offer->arena, facts->group_count, sizeof(*groups));
	for (size_t g = 0; g < facts->group_count; g++) {
		groups[g].spec = &facts->groups[g].spec->template.spec;
		groups[g].there = nodes_of(problem, g + 1);
		find_wants(&s, groups[g].spec, NULL, &groups[g].wants);
	}
	types = ARENA_COPY(offer->arena, problem->types, problem->type_count);
	for (size_t g = 0; g < facts->group_count; g++)
		take_launched(&s, &facts->groups[g], &groups[g]);
	for (size_t g = 0; g < facts->group_count; g++)
		supply_group(offer, g, &s, &groups[g], &types[g + 1]);
	problem->types = types;
}

const struct decision_feature device_claims_decisions = { .assess = assess_devices,
							  .offer = supply_devices };
