#include "core/capacity/gpu_count.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/capacity/capacity.h"
#include "core/capacity/gpu_cost.h"
#include "core/model/identity.h"
#include "core/model/name_set.h"

struct tally {
	int64_t kept;         /* Pods */
	struct gpu_cost cost; /* of a Pod by the group's template */
	const struct pod_claims *claims;
	struct name_set disruption_names;
};

struct counting {
	const struct ray_cluster *cluster;
	const struct settings *settings;
	const struct device_table *devices;
	struct arena *arena;
	struct tally *groups;
	int64_t heads; /* Pods */
	struct gpu_cost head_cost;
	const struct pod_claims *head_claims;
	VEC(const char *) shared; /* claims by name that are counted */
	__int128 sum;
	struct gpu_holdings *holdings;
};

static void add(struct counting *c, const struct gpu_holding *holding)
{
	VEC_PUSH(c->arena, &c->holdings->list, *holding);
	c->sum += (__int128)holding->pods * holding->amount;
}

static bool asks_for_device(const struct quantities *quantities, const struct device_table *devices)
{
	VEC_EACH(const struct quantity, quantity, quantities)
		if (device_find(devices, quantity->name))
			return true;
	return false;
}

/* Most Pods of large clusters; a tenth of the work of a capacity. */
static bool has_no_device(const struct pod_spec *spec, const struct device_table *devices)
{
	for (size_t i = 0; i < spec->container_count; i++)
		if (asks_for_device(&spec->containers[i].limits, devices) ||
		    asks_for_device(&spec->containers[i].requests, devices))
			return false;
	return spec->claim_count == 0;
}

static const struct pod_claims *cost_of_pod(const struct pod *pod, const struct settings *settings,
					    const struct device_table *devices,
					    struct arena *scratch, struct gpu_cost *ret_cost)
{
	struct capacity capacity = { 0 };

	*ret_cost = (struct gpu_cost){ .amount = 0 };
	if (has_no_device(&pod->spec, devices))
		return NULL;
	capacity_of_pod(pod, settings, devices, scratch, &capacity);
	gpu_cost_of(&pod->spec, &capacity, devices, scratch, ret_cost);
	return capacity.claims;
}

int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch)
{
	struct gpu_cost cost;

	(void)cost_of_pod(pod, settings, devices, scratch, &cost);
	return cost.amount;
}

/* The GPUs of the claims that Pods share and that no Pod before this one has counted. */
static int64_t first_shared(struct counting *c, const struct pod_claims *claims)
{
	int64_t amount = 0;

	if (!claims)
		return amount;
	for (size_t i = 0; i < claims->shared_count; i++) {
		const struct pod_claim_shared *shared = &claims->shared[i];

		if (text_is_among(shared->claim, c->shared.at, c->shared.count))
			continue;
		VEC_PUSH(c->arena, &c->shared, shared->claim);
		VEC_EACH(const struct quantity, quantity, &shared->charge)
			amount +=
				gpu_cost_of_resource(quantity->name, quantity->amount, c->devices);
	}
	return amount;
}

static bool has_finished(const struct pod *pod)
{
	return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static struct tally *tally_of(const struct counting *c, const struct pod *pod)
{
	const char *name = labels_value(&pod->labels, LABEL_GROUP);

	if (!c->cluster || !name || !pod_is_worker(pod))
		return NULL;
	for (size_t g = 0; g < c->cluster->group_count; g++)
		if (strcmp(c->cluster->groups[g].name, name) == 0)
			return &c->groups[g];
	return NULL;
}

/* Counts a Pod by its own spec, because the template may have been edited since, but at least by
 * the template: arguments of `ray start` beside the limits are only there. */
static void count_pod(struct counting *c, const struct pod *pod)
{
	struct tally *tally = tally_of(c, pod);
	struct gpu_holding holding = {
		.group = GPU_COUNT_OTHER, .pod = pod, .pods = 1, .leaves = pod->deleting
	};
	const struct pod_claims *claims;
	struct gpu_cost cost;
	int64_t at_least = 0;

	if (has_finished(pod) || !identity_is_owned(c->cluster, pod))
		return;
	if (tally) {
		holding.group = (size_t)(tally - c->groups);
		holding.leaves |= name_set_contains(&tally->disruption_names, pod->name);
		tally->kept += !holding.leaves;
		at_least = tally->cost.least;
	} else if (c->cluster && pod_is_head(pod)) {
		holding.group = GPU_COUNT_HEAD;
		c->heads++;
		at_least = c->head_cost.least;
	}
	claims = cost_of_pod(pod, c->settings, c->devices, c->arena, &cost);
	holding.amount = cost.amount > at_least ? cost.amount : at_least;
	holding.amount += first_shared(c, claims);
	add(c, &holding);
}

static bool is_made(const struct ray_cluster *cluster)
{
	return !cluster->suspend && !cluster->deleting;
}

/* Pods that do not exist; the first of them has the shared claims. */
static void add_requested(struct counting *c, size_t group, int64_t pods,
			  const struct gpu_cost *cost, const struct pod_claims *claims)
{
	int64_t shared = first_shared(c, claims);

	if (shared > 0)
		add(c, &(struct gpu_holding){
			       .group = group, .pods = 1, .amount = cost->amount + shared });
	pods -= shared > 0;
	if (pods > 0)
		add(c,
		    &(struct gpu_holding){ .group = group, .pods = pods, .amount = cost->amount });
}

/* The requested Pods of the group that do not exist. */
static void count_missing(struct counting *c, size_t index, const int64_t *replicas)
{
	const struct worker_group *group = &c->cluster->groups[index];
	const struct tally *tally = &c->groups[index];
	int64_t hosts = group->num_of_hosts > 0 ? group->num_of_hosts : 1;
	int64_t there = (tally->kept + hosts - 1) / hosts;
	int64_t asked = replicas ? replicas[index] : group->replicas;

	asked = asked < group->min_replicas ? group->min_replicas : asked;
	asked = asked > group->max_replicas ? group->max_replicas : asked;
	if (!is_made(c->cluster) || group->suspend)
		asked = 0;
	asked = asked > there ? asked : there;
	CHECK((__int128)asked * hosts >= tally->kept);
	if ((__int128)asked * hosts > tally->kept)
		add_requested(c, index, asked * hosts - tally->kept, &tally->cost, tally->claims);
}

static void make_tallies(struct counting *c)
{
	const struct ray_cluster *cluster = c->cluster;
	struct capacity capacity = { 0 };

	c->groups = arena_array(c->arena, cluster->group_count, sizeof(*c->groups));
	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct worker_group *group = &cluster->groups[g];

		capacity_of_group(cluster, g, c->settings, c->devices, c->arena, &capacity);
		gpu_cost_of(&group->template.spec, &capacity, c->devices, c->arena,
			    &c->groups[g].cost);
		c->groups[g].claims = capacity.claims;
		c->groups[g].disruption_names =
			name_set_of_strings(c->arena, &group->workers_to_delete);
	}
	capacity_of_head(cluster, c->settings, c->devices, c->arena, &capacity);
	gpu_cost_of(&cluster->head_template.spec, &capacity, c->devices, c->arena, &c->head_cost);
	c->head_claims = capacity.claims;
}

void gpu_count(const struct ray_cluster *cluster, const struct pod *const *pods, size_t pod_count,
	       const int64_t *replicas, const struct settings *settings,
	       const struct device_table *devices, struct arena *arena,
	       struct gpu_holdings *ret_holdings)
{
	struct counting c = { .cluster = cluster,
			      .settings = settings,
			      .devices = devices,
			      .arena = arena,
			      .holdings = ret_holdings };

	*ret_holdings = (struct gpu_holdings){ .sum = 0 };
	if (cluster)
		make_tallies(&c);
	for (size_t i = 0; i < pod_count; i++)
		count_pod(&c, pods[i]);
	if (cluster) {
		for (size_t g = 0; g < cluster->group_count; g++)
			count_missing(&c, g, replicas);
		if (c.heads == 0 && is_made(cluster))
			add_requested(&c, GPU_COUNT_HEAD, 1, &c.head_cost, c.head_claims);
	}
	CHECK(c.sum >= 0);
	CHECK(c.heads >= 0 && (size_t)c.heads <= pod_count);
	ret_holdings->sum = c.sum > INT64_MAX ? INT64_MAX : (int64_t)c.sum;
}
