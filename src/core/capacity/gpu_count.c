#include "core/capacity/gpu_count.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/capacity/capacity.h"
#include "core/model/identity.h"

struct counting {
	const struct ray_cluster *cluster;
	const struct settings *settings;
	const struct device_table *devices;
	struct arena *arena;
	const struct gpu_templates *templates;
	int64_t *kept;            /* Pods, by group */
	int64_t heads;            /* Pods */
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

static void write_template(const struct pod_spec *spec, const struct capacity *capacity,
			   const struct device_table *devices, struct arena *scratch,
			   struct arena *arena, struct gpu_template *ret)
{
	const struct pod_claims *claims = capacity->claims;
	size_t count = claims ? claims->shared_count : 0;

	*ret = (struct gpu_template){ .claims = claims };
	gpu_cost_of(spec, capacity, devices, scratch, &ret->cost);
	for (size_t i = 0; i < count; i++) {
		struct gpu_shared *shared = VEC_ADD(arena, &ret->shared);

		*shared = (struct gpu_shared){ arena_strdup(arena, claims->shared[i].claim), 0 };
		VEC_EACH(const struct quantity, quantity, &claims->shared[i].charge)
			shared->amount = resource_sum(
				shared->amount,
				gpu_cost_of_resource(quantity->name, quantity->amount, devices));
	}
}

static struct gpu_template template_of_pod(const struct pod *pod, const struct settings *settings,
					   const struct device_table *devices,
					   struct arena *scratch)
{
	struct gpu_template template = { .claims = NULL };
	struct capacity capacity = { 0 };

	if (has_no_device(&pod->spec, devices))
		return template;
	capacity_of_pod(pod, settings, devices, scratch, &capacity);
	write_template(&pod->spec, &capacity, devices, scratch, scratch, &template);
	return template;
}

void gpu_templates_make(const struct ray_cluster *cluster, const struct settings *settings,
			const struct device_table *devices, struct arena *scratch,
			struct arena *arena, struct gpu_templates *ret_templates)
{
	struct capacity capacity = { 0 };

	*ret_templates = (struct gpu_templates){
		.groups = arena_array(arena, cluster->group_count, sizeof(struct gpu_template)),
		.group_count = cluster->group_count,
	};
	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct worker_group *group = &cluster->groups[g];
		struct gpu_template *own = &ret_templates->groups[g];

		capacity_of_group(cluster, g, settings, devices, scratch, &capacity);
		write_template(&group->template.spec, &capacity, devices, scratch, arena, own);
		own->to_delete = name_set_of_strings(arena, &group->workers_to_delete);
		for (size_t i = 0; i < own->to_delete.count; i++)
			own->to_delete.at[i] = arena_strdup(arena, own->to_delete.at[i]);
	}
	capacity_of_head(cluster, settings, devices, scratch, &capacity);
	write_template(&cluster->head_template.spec, &capacity, devices, scratch, arena,
		       &ret_templates->head);
}

int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch)
{
	return template_of_pod(pod, settings, devices, scratch).cost.amount;
}

/* The GPUs of the claims that Pods share and that no Pod before this one has counted. */
static int64_t first_shared(struct counting *c, const struct gpu_template *template)
{
	int64_t amount = 0;

	VEC_EACH(const struct gpu_shared, shared, &template->shared) {
		if (text_is_among(shared->claim, c->shared.at, c->shared.count))
			continue;
		VEC_PUSH(c->arena, &c->shared, shared->claim);
		amount = resource_sum(amount, shared->amount);
	}
	return amount;
}

static bool has_finished(const struct pod *pod)
{
	return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

/* GPU_COUNT_OTHER: of none. */
static size_t group_of(const struct counting *c, const struct pod *pod)
{
	const char *name = labels_value(&pod->labels, LABEL_GROUP);

	if (c->cluster && name && pod_is_worker(pod))
		for (size_t g = 0; g < c->cluster->group_count; g++)
			if (strcmp(c->cluster->groups[g].name, name) == 0)
				return g;
	return GPU_COUNT_OTHER;
}

/* Counts a Pod by its own spec, because the template may have been edited since, but at least by
 * the template: arguments of `ray start` beside the limits are only there. */
static void count_pod(struct counting *c, const struct pod *pod)
{
	struct gpu_holding holding = {
		.group = group_of(c, pod), .pod = pod, .pods = 1, .leaves = pod->deleting
	};
	const struct gpu_template *template = NULL;
	struct gpu_template own;

	if (has_finished(pod) || !identity_is_owned(c->cluster, pod))
		return;
	if (c->kept && holding.group != GPU_COUNT_OTHER) {
		template = &c->templates->groups[holding.group];
		holding.leaves |= name_set_contains(&template->to_delete, pod->name);
		c->kept[holding.group] += !holding.leaves;
	} else if (c->cluster && pod_is_head(pod)) {
		template = &c->templates->head;
		holding.group = GPU_COUNT_HEAD;
		c->heads++;
	}
	own = template_of_pod(pod, c->settings, c->devices, c->arena);
	holding.amount = own.cost.amount;
	if (template && template->cost.least > holding.amount)
		holding.amount = template->cost.least;
	holding.amount = resource_sum(holding.amount, first_shared(c, &own));
	add(c, &holding);
}

static bool is_made(const struct ray_cluster *cluster)
{
	return !cluster->suspend && !cluster->deleting;
}

/* Pods that do not exist; the first of them has the shared claims. */
static void add_requested(struct counting *c, size_t group, int64_t pods,
			  const struct gpu_template *template)
{
	const struct gpu_cost *cost = &template->cost;
	int64_t shared = first_shared(c, template);

	if (shared > 0)
		add(c, &(struct gpu_holding){ .group = group,
					      .pods = 1,
					      .amount = resource_sum(cost->amount, shared) });
	pods -= shared > 0;
	if (pods > 0)
		add(c,
		    &(struct gpu_holding){ .group = group, .pods = pods, .amount = cost->amount });
}

/* The requested Pods of the group that do not exist. */
static void count_missing(struct counting *c, size_t index, const int64_t *replicas)
{
	const struct worker_group *group = &c->cluster->groups[index];
	int64_t hosts = group->num_of_hosts > 0 ? group->num_of_hosts : 1;
	int64_t kept = c->kept[index], there = (kept + hosts - 1) / hosts;
	int64_t asked = replicas ? replicas[index] : group->replicas;

	asked = asked < group->min_replicas ? group->min_replicas : asked;
	asked = asked > group->max_replicas ? group->max_replicas : asked;
	if (!is_made(c->cluster) || group->suspend)
		asked = 0;
	asked = asked > there ? asked : there;
	CHECK((__int128)asked * hosts >= kept);
	if ((__int128)asked * hosts > kept)
		add_requested(c, index, asked * hosts - kept, &c->templates->groups[index]);
}

void gpu_count(const struct ray_cluster *cluster, const struct gpu_templates *templates,
	       const struct pod *const *pods, size_t pod_count, const int64_t *replicas,
	       const struct settings *settings, const struct device_table *devices,
	       struct arena *arena, struct gpu_holdings *ret_holdings)
{
	struct counting c = { .cluster = cluster,
			      .templates = templates,
			      .settings = settings,
			      .devices = devices,
			      .arena = arena,
			      .holdings = ret_holdings };

	*ret_holdings = (struct gpu_holdings){ .sum = 0 };
	if (cluster) {
		CHECK(templates->group_count == cluster->group_count);
		c.kept = arena_array(arena, cluster->group_count, sizeof(*c.kept));
	}
	for (size_t i = 0; i < pod_count; i++)
		count_pod(&c, pods[i]);
	if (cluster) {
		for (size_t g = 0; g < cluster->group_count; g++)
			count_missing(&c, g, replicas);
		if (c.heads == 0 && is_made(cluster))
			add_requested(&c, GPU_COUNT_HEAD, 1, &templates->head);
	}
	CHECK(c.sum >= 0);
	CHECK(c.heads >= 0 && (size_t)c.heads <= pod_count);
	ret_holdings->sum = c.sum > INT64_MAX ? INT64_MAX : (int64_t)c.sum;
}
