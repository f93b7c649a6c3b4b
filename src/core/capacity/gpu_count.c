#include "core/capacity/gpu_count.h"

#include <string.h>

#include "base/check.h"
#include "core/capacity/capacity.h"
#include "core/capacity/gpu_cost.h"
#include "core/model/identity.h"
#include "core/model/name_set.h"

struct tally {
	int64_t kept; /* Pods */
	int64_t cost; /* of a Pod by the group's template, 1/10000 GPU */
	struct name_set disruption_names;
};

struct counting {
	const struct ray_cluster *cluster;
	const struct settings *settings;
	const struct device_table *devices;
	struct arena *arena;
	struct tally *groups;
	int64_t heads; /* Pods */
	int64_t head_cost;
	__int128 sum;
	struct gpu_holdings *holdings;
};

static void add(struct counting *c, const struct gpu_holding *holding)
{
	VEC_PUSH(c->arena, &c->holdings->list, *holding);
	c->sum += (__int128)holding->pods * holding->amount;
}

int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch)
{
	struct worker_group group = {
		.name = "", .num_of_hosts = 1, .template = { .spec = pod->spec }, .scale_gate = ""
	};
	struct ray_cluster cluster = {
		.namespace_ = "", .name = "", .ray_version = "", .groups = &group, .group_count = 1
	};
	struct capacity capacity = { 0 };
	struct gpu_cost cost;

	capacity_of_group(&cluster, 0, settings, devices, scratch, &capacity);
	gpu_cost_of(&pod->spec, &capacity, devices, scratch, &cost);
	return cost.amount;
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
	int64_t at_least = 0;

	if (has_finished(pod) || !identity_is_owned(c->cluster, pod))
		return;
	if (tally) {
		holding.group = (size_t)(tally - c->groups);
		holding.leaves |= name_set_contains(&tally->disruption_names, pod->name);
		tally->kept += !holding.leaves;
		at_least = tally->cost;
	} else if (c->cluster && pod_is_head(pod)) {
		holding.group = GPU_COUNT_HEAD;
		c->heads++;
		at_least = c->head_cost;
	}
	holding.amount = gpu_count_of_pod(pod, c->settings, c->devices, c->arena);
	if (holding.amount < at_least)
		holding.amount = at_least;
	add(c, &holding);
}

static bool is_made(const struct ray_cluster *cluster)
{
	return !cluster->suspend && !cluster->deleting;
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
		add(c, &(struct gpu_holding){ .group = index,
					      .pods = asked * hosts - tally->kept,
					      .amount = tally->cost });
}

static void make_tallies(struct counting *c)
{
	const struct ray_cluster *cluster = c->cluster;
	struct capacity capacity = { 0 };
	struct gpu_cost cost;

	c->groups = arena_array(c->arena, cluster->group_count, sizeof(*c->groups));
	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct worker_group *group = &cluster->groups[g];

		capacity_of_group(cluster, g, c->settings, c->devices, c->arena, &capacity);
		gpu_cost_of(&group->template.spec, &capacity, c->devices, c->arena, &cost);
		c->groups[g].cost = cost.amount;
		c->groups[g].disruption_names =
			name_set_of_strings(c->arena, &group->workers_to_delete);
	}
	capacity_of_head(cluster, c->settings, c->devices, c->arena, &capacity);
	gpu_cost_of(&cluster->head_template.spec, &capacity, c->devices, c->arena, &cost);
	c->head_cost = cost.amount;
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
	for (size_t g = 0; cluster && g < cluster->group_count; g++)
		count_missing(&c, g, replicas);
	if (cluster && c.heads == 0 && is_made(cluster))
		add(&c, &(struct gpu_holding){
				.group = GPU_COUNT_HEAD, .pods = 1, .amount = c.head_cost });
	CHECK(c.sum >= 0);
	CHECK(c.heads >= 0 && (size_t)c.heads <= pod_count);
	ret_holdings->sum = c.sum > INT64_MAX ? INT64_MAX : (int64_t)c.sum;
}
