#include "feature/device_claims/core/device_supply.h"

#include <string.h>

#include "core/model/reason.h"
#include "feature/device_claims/core/device_free.h"
#include "feature/device_claims/core/selector_text.h"

/* With cheapest, a launch that would wait for a device costs as much more. */
#define SCARCE_COST 1000
#define COST_MAX (INT64_MAX / SCARCE_COST / SCHEDULE_NEW_NODES_MAX)

/* The claims of a Pod that are not allocated yet. */
struct wants {
	VEC(const struct claim_spec *) specs;
	bool shared;  /* one of them has a name, so other Pods share it */
	bool unknown; /* so nothing is said about the Pod */
};

static const struct device_free *devices_of(const struct snapshot *snapshot)
{
	const struct claimed_index *index = snapshot->device_table->claims;

	return index ? index->devices : NULL;
}

static const struct claimed_request *find_claim(const struct snapshot *snapshot, const char *claim,
						bool is_template)
{
	size_t count;

	return claimed_find(snapshot->device_table->claims, snapshot->cluster.namespace_, claim,
			    is_template, &count);
}

/* pod: NULL for a new one of this template. */
static void find_wants(const struct facts *facts, const struct pod_spec *spec,
		       const struct pod *pod, struct wants *ret)
{
	*ret = (struct wants){ .shared = false };
	ARRAY_EACH(const struct pod_claim, claim, spec->claims, spec->claim_count) {
		const struct pod_claim_status *made = pod ? ARRAY_FIND(pod->claim_statuses,
								       pod->claim_status_count,
								       name, claim->name) :
							    NULL;
		const struct claimed_request *found = NULL;

		if (*claim->claim != '\0')
			found = find_claim(facts->snapshot, claim->claim, false);
		else if (made && *made->claim != '\0')
			found = find_claim(facts->snapshot, made->claim, false);
		if (!found && *claim->template_ != '\0')
			found = find_claim(facts->snapshot, claim->template_, true);
		ret->unknown = ret->unknown || !found;
		if (!found || found->allocated)
			continue;
		ret->shared = ret->shared || *claim->claim != '\0';
		VEC_PUSH(facts->arena, &ret->specs, found->spec);
	}
}

/* How many Pods fit; `most` when it is not known. */
static int64_t fit(const struct facts *facts, struct device_free *free, const struct pod_spec *spec,
		   const struct wants *wants, int64_t most, bool keep)
{
	struct device_fit found;

	if (wants->unknown || wants->specs.count == 0)
		return most;
	/* Of a shared claim one Pod says it for all. */
	device_free_fit(free,
			&(struct device_pods){ .specs = wants->specs.at,
					       .spec_count = wants->specs.count,
					       .spec = spec,
					       .nodes = facts->snapshot->nodes,
					       .node_count = facts->snapshot->node_count,
					       .most = wants->shared ? 1 : most,
					       .keep = keep },
			facts->arena, &found);
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

/* All Pods of a group wait for the same devices: the first one's answer counts. */
static void assess_group(struct health *health, const struct group *group, struct device_free *free)
{
	const char *text = NULL;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i];
		struct worker_health *own = &health->workers[worker->index];
		struct wants wants;

		if (!worker->pod || !own->waiting_reason ||
		    strcmp(own->waiting_reason, REASON_WAITING_FOR_NODE) != 0)
			continue;
		find_wants(health->facts, &worker->pod->spec, worker->pod, &wants);
		if (wants.specs.count == 0)
			continue;
		if (!text)
			text = fit(health->facts, free, &worker->pod->spec, &wants, 1, false) > 0 ?
				       "" :
				       lack_text(free, &wants, health->arena);
		if (*text == '\0')
			continue;
		own->lacks_device = true;
		own->waiting_reason = REASON_NO_DEVICE;
		own->obstacle_message = arena_printf(health->arena, "%s%s%s", text,
						     *own->obstacle_message != '\0' ? "; " : "",
						     own->obstacle_message);
	}
}

static void assess_devices(struct health *health)
{
	const struct device_free *devices = devices_of(health->snapshot);
	struct device_free *free = NULL;

	for (size_t i = 0; devices && !free && i < health->facts->worker_count; i++)
		if (health->workers[i].waiting_reason &&
		    strcmp(health->workers[i].waiting_reason, REASON_WAITING_FOR_NODE) == 0)
			free = device_free_copy(devices, health->arena);
	for (size_t g = 0; free && g < health->facts->group_count; g++)
		assess_group(health, &health->facts->groups[g], free);
}

/* ---- groups ---- */

static bool has_claims(const struct facts *facts, size_t g)
{
	return facts->groups[g].spec->template.spec.claim_count > 0;
}

static int64_t nodes_of(const struct schedule_problem *problem, size_t type)
{
	int64_t count = 0;

	for (size_t i = 0; i < problem->node_count; i++)
		count += problem->nodes[i].type == type;
	return count;
}

/* A group with claims may be launched. */
static bool is_wanted(const struct offer *offer)
{
	const struct schedule_problem *problem = &offer->problem;
	bool demand = problem->demand_count + problem->gang_count + problem->constraint_count > 0;

	for (size_t g = 0; g < offer->facts->group_count; g++)
		if (has_claims(offer->facts, g) &&
		    (demand || nodes_of(problem, g + 1) < problem->types[g + 1].min_nodes))
			return true;
	return false;
}

static bool has_no_devices(const struct worker *worker)
{
	return !worker->registered && !worker->deleting &&
	       (!worker->pod || *worker->pod->spec.node_name == '\0');
}

/* Takes the devices of workers that have none yet: those without any claim that is allocated wait for
 * the devices of the template, and are counted together. */
static void take_launched(const struct offer *offer, const struct group *group,
			  struct device_free *free)
{
	const struct facts *facts = offer->facts;
	const struct pod_spec *spec = &group->spec->template.spec;
	struct wants whole, wants;
	int64_t pods = 0;

	find_wants(facts, spec, NULL, &whole);
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &facts->workers[group->first_worker + i];

		if (!has_no_devices(worker))
			continue;
		find_wants(facts, worker->pod ? &worker->pod->spec : spec, worker->pod, &wants);
		if (wants.specs.count == whole.specs.count)
			pods++;
		else
			(void)fit(facts, free, spec, &wants, 1, true);
	}
	if (pods > 0)
		(void)fit(facts, free, spec, &whole, pods, true);
}

static void supply_group(struct offer *offer, size_t g, struct device_free *free,
			 struct schedule_type *type)
{
	const struct pod_spec *spec = &offer->facts->groups[g].spec->template.spec;
	int64_t there = nodes_of(&offer->problem, g + 1), most = type->max_nodes - there, fits;
	struct wants wants;

	if (most <= 0)
		return;
	most = most < DEVICE_SUPPLY_PODS_MAX ? most : DEVICE_SUPPLY_PODS_MAX;
	find_wants(offer->facts, spec, NULL, &wants);
	fits = fit(offer->facts, free, spec, &wants, most, false);
	if (fits >= most)
		return;
	fits -= fits % type->hosts;
	type->scarce = true;
	type->supplied_nodes = there + fits;
	if (fits > 0)
		return;
	type->cost = (type->cost < COST_MAX ? type->cost : COST_MAX) * SCARCE_COST;
	offer->groups[g].device_lack = lack_text(free, &wants, offer->arena);
}

static void supply_devices(struct offer *offer)
{
	const struct device_free *devices = devices_of(offer->snapshot);
	struct schedule_problem *problem = &offer->problem;
	struct schedule_type *types;
	struct device_free *free;

	if (!devices || !is_wanted(offer))
		return;
	free = device_free_copy(devices, offer->arena);
	types = arena_array(offer->arena, problem->type_count, sizeof(*types));
	memcpy(types, problem->types, problem->type_count * sizeof(*types));
	for (size_t g = 0; g < offer->facts->group_count; g++)
		if (has_claims(offer->facts, g))
			take_launched(offer, &offer->facts->groups[g], free);
	for (size_t g = 0; g < offer->facts->group_count; g++)
		if (has_claims(offer->facts, g))
			supply_group(offer, g, free, &types[g + 1]);
	problem->types = types;
}

const struct decision_feature device_claims_decisions = { .assess = assess_devices,
							  .offer = supply_devices };
