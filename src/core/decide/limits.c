#include "core/decide/limits.h"

#include <string.h>

#include "base/int64.h"
#include "core/capacity/gpu_count.h"
#include "core/decide/target.h"

/* AUTOSCALER_UPSCALING_INITIAL_NUM_NODES of Ray's autoscaler v1. */
#define CONSERVATIVE_STARTING 5
/* AUTOSCALER_UPDATE_INTERVAL_S of Ray's autoscaler v2. */
#define LAUNCH_ROUND_MS (5 * MS_PER_SECOND)

static void of_object_group(const struct autoscaler_object *object, const char *name,
			    struct idle_timeout *found)
{
	for (size_t i = 0; i < object->group_count; i++)
		if (object->groups[i].has_idle_timeout_seconds &&
		    strcmp(object->groups[i].name, name) == 0)
			*found = (struct idle_timeout){ IDLE_OF_OBJECT_GROUP,
							object->groups[i].idle_timeout_seconds };
}

/* The order of docs/internals/snapshot.md, settings, the first one last. */
struct idle_timeout limits_idle_timeout(const struct snapshot *snapshot,
					const struct worker_group *group)
{
	const struct autoscaler_object *object = snapshot->autoscaler;
	struct idle_timeout found = { IDLE_OF_FLAG, snapshot->settings.idle_timeout_seconds };
	if (object && object->has_idle_timeout_seconds)
		found = (struct idle_timeout){ IDLE_OF_OBJECT, object->idle_timeout_seconds };
	if (snapshot->cluster.has_idle_timeout_seconds)
		found = (struct idle_timeout){ IDLE_OF_CLUSTER,
					       snapshot->cluster.idle_timeout_seconds };
	if (object)
		of_object_group(object, group->name, &found);
	if (group->has_idle_timeout_seconds)
		found = (struct idle_timeout){ IDLE_OF_GROUP, group->idle_timeout_seconds };
	return found;
}

int64_t limits_idle_timeout_ms(const struct snapshot *snapshot, const struct worker_group *group)
{
	return limits_idle_timeout(snapshot, group).seconds * MS_PER_SECOND;
}

static bool is_duplicate(const struct ray_cluster *cluster, size_t index)
{
	for (size_t i = 0; i < cluster->group_count; i++)
		if (i != index && strcmp(cluster->groups[i].name, cluster->groups[index].name) == 0)
			return true;
	return false;
}

static const char *find_problem(const struct facts *facts, size_t index,
				const struct capacity *capacity)
{
	const struct ray_cluster *cluster = &facts->snapshot->cluster;
	const struct worker_group *group = &cluster->groups[index];
	if (is_duplicate(cluster, index))
		return arena_printf(facts->arena,
				    "spec.workerGroupSpecs[%zu].groupName: %s is the name of two "
				    "groups; their Pods cannot be distinguished, rename one",
				    index, group->name);
	if (group->problem)
		return group->problem;
	if (group->min_replicas > group->max_replicas)
		return arena_printf(
			facts->arena,
			"spec.workerGroupSpecs[%zu].minReplicas: %lld is above maxReplicas "
			"%lld; lower it or raise maxReplicas (group %s)",
			index, (long long)group->min_replicas, (long long)group->max_replicas,
			group->name);
	return capacity->problem;
}

static const struct pool_grant *find_grant(const struct pool_terms *pools, const char *name)
{
	return pools ? ARRAY_FIND(pools->grants, pools->grant_count, group, name) : NULL;
}

void limits_make_groups(struct facts *facts)
{
	const struct ray_cluster *cluster = &facts->snapshot->cluster;
	facts->group_count = cluster->group_count;
	facts->groups = arena_array(facts->arena, facts->group_count, sizeof(struct group));
	for (size_t g = 0; g < facts->group_count; g++) {
		struct group *group = &facts->groups[g];
		group->spec = &cluster->groups[g];
		group->index = g;
		group->hosts = group->spec->num_of_hosts > 0 ? group->spec->num_of_hosts : 1;
		group->min_replicas = group->spec->min_replicas;
		group->minimum_text = arena_printf(facts->arena, "minReplicas %lld",
						   (long long)group->min_replicas);
		group->grant = find_grant(facts->snapshot->pools, group->spec->name);
		group->idle_timeout_ms = limits_idle_timeout_ms(facts->snapshot, group->spec);
		group->launch = in_force_launch(facts->snapshot, group->spec->name);
		capacity_of_group(cluster, g, &facts->snapshot->settings,
				  facts->snapshot->device_table, facts->arena,
				  &group->template_capacity);
		gpu_cost_of(&group->spec->template.spec, &group->template_capacity,
			    facts->snapshot->device_table, facts->arena, &group->gpu_cost);
		group->problem = find_problem(facts, g, &group->template_capacity);
		group->frozen = group->spec->suspend || group->problem;
		if (group->problem)
			VEC_PUSH(facts->arena, &facts->problems, group->problem);
		if (group->template_capacity.claims && group->template_capacity.claims->problem)
			VEC_PUSH(facts->arena, &facts->problems,
				 group->template_capacity.claims->problem);
	}
}

/* Whether the worker holds GPUs that this decision cannot free. This patch deletes drained ones. */
static bool holds_gpus(const struct offer *offer, const struct worker *worker)
{
	return worker->pod && !worker->deleting &&
	       !(offer->workers[worker->index].deleted_now && worker->state == WORKER_DRAINING);
}

int64_t limits_gpus_of_launch(const struct offer *offer, const struct group *group)
{
	int64_t cost = group->gpu_cost.amount,
		seen = offer->groups[group->index].seen_capacity.gpu_amount;

	if (group->gpu_cost.shared > 0)
		return cost + (group->worker_count + (size_t)group->missing > 0 ?
				       0 :
				       group->gpu_cost.shared);
	if (!group->gpu_cost.is_share)
		return int64_max(cost, seen);
	if (!group->gpu_cost.is_vague)
		return cost;
	/* The budget is the rest of a count that does not depend on Ray (gpu_count.h). */
	if (offer->snapshot->has_gpu_budget)
		return int64_max(cost, seen);
	return seen > 0 ? seen : cost;
}

/* Code that runs on the worker can forge the amounts in Ray's report, so a worker never counts less
 * than its Pod holds. Only for a share whose fraction Kubernetes does not state is Ray's amount
 * used. */
static int64_t gpus_of_worker(const struct offer *offer, const struct group *group,
			      const struct worker *worker)
{
	int64_t reported = resources_amount(&worker->node->total, "GPU", 0);
	int64_t launch = limits_gpus_of_launch(offer, group), held;

	if (group->gpu_cost.is_share && !group->gpu_cost.is_vague)
		return launch;
	if (group->gpu_cost.is_share)
		return reported > 0 ? reported : launch;
	if (reported >= launch)
		return reported;
	held = gpu_count_of_pod(worker->pod, &offer->snapshot->settings,
				offer->snapshot->device_table, offer->arena);
	return int64_max(reported, held);
}

/* GPU capacity of a group that exists or is requested. Pods that a back-off cancels count only as
 * far as minReplicas keeps them. */
static __int128 gpus_of_group(const struct offer *offer, const struct group *group)
{
	const struct group_health *health = &offer->health->groups[group->index];
	bool cancels_launches = health->cancels != CANCELS_NOTHING &&
				!offer->facts->termination_forbidden;
	int64_t by_template = group->missing, held = 0, starved = 0;
	__int128 sum = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &offer->facts->workers[group->first_worker + i];

		if (!holds_gpus(offer, worker))
			continue;
		held++;
		if (worker->registered && worker->node->total.count > 0)
			sum += gpus_of_worker(offer, group, worker);
		else if (cancels_launches && offer->health->workers[worker->index].starved)
			starved++;
		else if (group->template_capacity.claims)
			sum += gpu_count_of_pod(worker->pod, &offer->snapshot->settings,
						offer->snapshot->device_table, offer->arena);
		else
			by_template++;
	}
	if (group->gpu_cost.shared > 0 && held + group->missing > 0)
		return (__int128)(held + group->missing) * group->gpu_cost.amount +
		       group->gpu_cost.shared;
	if (cancels_launches) {
		int64_t lack = group->min_replicas * group->hosts - (held - starved);
		int64_t missing = health->cancels == CANCELS_GATED ? 0 : group->missing;

		starved += missing;
		by_template -= missing;
		by_template += lack < 0 ? 0 : lack < starved ? lack : starved;
	}
	return sum + (__int128)by_template * limits_gpus_of_launch(offer, group);
}

static int64_t present_gpus(const struct offer *offer)
{
	__int128 sum = offer->facts->head_node ?
			       resources_amount(&offer->facts->head_node->total, "GPU", 0) :
			       offer->facts->head_capacity.gpu_amount;

	for (size_t g = 0; g < offer->facts->group_count; g++)
		sum += gpus_of_group(offer, &offer->facts->groups[g]);
	ARRAY_EACH(const struct worker, worker, offer->facts->workers, offer->facts->worker_count) {
		if (worker->group == FACTS_NO_INDEX && worker->registered &&
		    holds_gpus(offer, worker))
			sum += resources_amount(&worker->node->total, "GPU", 0);
	}
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

struct ceiling {
	const char *name;       /* NULL: there is none */
	int64_t amount, budget; /* amount below 0: the name contains the value */
};

static void take_smaller(struct ceiling *ceiling, const char *name, int64_t amount, int64_t budget)
{
	budget = budget < 0 ? 0 : budget;
	if (!ceiling->name || budget < ceiling->budget)
		*ceiling = (struct ceiling){ name, amount, budget };
}

static struct ceiling smallest_ceiling(const struct offer *offer)
{
	const struct snapshot *snapshot = offer->snapshot;
	int64_t own = snapshot->settings.max_gpus_per_cluster * RESOURCE_UNIT;
	bool named = snapshot->gpu_budget_of && snapshot->gpu_budget_of[0] != '\0';
	struct ceiling ceiling = { .name = NULL };

	if (own > 0)
		take_smaller(&ceiling, "max-gpus-per-cluster", own, own - present_gpus(offer));
	if (snapshot->autoscaler && snapshot->autoscaler->has_max_gpus)
		take_smaller(&ceiling, "maxGPUs of the RayClusterAutoscaler",
			     snapshot->autoscaler->max_gpus,
			     snapshot->autoscaler->max_gpus - present_gpus(offer));
	if (snapshot->has_gpu_budget && named)
		take_smaller(&ceiling, snapshot->gpu_budget_of, -1, snapshot->gpu_budget);
	else if (snapshot->has_gpu_budget)
		take_smaller(&ceiling, "gpuBudget (the ceiling over all clusters)",
			     snapshot->gpu_budget, snapshot->gpu_budget);
	return ceiling;
}

bool limits_gpu_budget(const struct offer *offer, int64_t *ret_budget)
{
	struct ceiling ceiling = smallest_ceiling(offer);

	if (ceiling.name)
		*ret_budget = ceiling.budget;
	return ceiling.name != NULL;
}

const char *limits_gpu_ceiling_text(const struct offer *offer)
{
	struct ceiling ceiling = smallest_ceiling(offer);

	if (!ceiling.name)
		return "";
	if (ceiling.amount < 0)
		return ceiling.name;
	return arena_printf(offer->arena, "%s %s", ceiling.name,
			    resource_amount_text(offer->arena, ceiling.amount));
}

/* Whether a worker with GPUs is requested or created and is not registered. */
static bool starts_gpus(const struct offer *offer)
{
	ARRAY_EACH(const struct group, group, offer->facts->groups, offer->facts->group_count) {
		bool starts = group->missing > 0;

		for (size_t i = 0; i < group->worker_count; i++) {
			const struct worker *worker =
				&offer->facts->workers[group->first_worker + i];

			starts = starts || (holds_gpus(offer, worker) && !worker->registered);
		}
		if (starts && limits_gpus_of_launch(offer, group) > 0)
			return true;
	}
	return false;
}

const char *limits_gpu_excess_text(const struct offer *offer)
{
	const struct autoscaler_object *object = offer->snapshot->autoscaler;
	int64_t limit = offer->snapshot->settings.max_gpus_per_cluster * RESOURCE_UNIT, present;
	const char *name = limit > 0 ? "max-gpus-per-cluster" : NULL;

	if (object && object->has_max_gpus && (!name || object->max_gpus < limit)) {
		limit = object->max_gpus;
		name = "maxGPUs";
	}
	present = name ? present_gpus(offer) : 0;
	if (!name || present <= limit)
		return NULL;
	return arena_printf(offer->arena, "%s GPU%s %s above %s %s; %s kept",
			    resource_amount_text(offer->arena, present),
			    present == RESOURCE_UNIT ? "" : "s",
			    starts_gpus(offer)       ? "run or start" :
			    present == RESOURCE_UNIT ? "runs" :
						       "run",
			    name, resource_amount_text(offer->arena, limit),
			    present == RESOURCE_UNIT ? "it is" : "they are");
}

time_ms limits_launch_round(const struct facts *facts, const struct group *group)
{
	const struct memory_state *memory = facts->snapshot->memory;
	const struct memory_launch *old =
		memory ? VEC_FIND(&memory->launches, group, group->spec->name) : NULL;

	if (!old || old->round == TIME_NONE || !due_reached(facts->due, old->round) ||
	    due_passed(facts->due, old->round, LAUNCH_ROUND_MS))
		return TIME_NONE;
	return old->round;
}

bool limits_is_conservative(const struct snapshot *snapshot)
{
	const char *mode = snapshot->cluster.upscaling_mode;
	if (mode[0] == '\0' && snapshot->autoscaler)
		mode = snapshot->autoscaler->upscaling_mode;
	return strcmp(mode, "Conservative") == 0;
}

/* Pods of the group that are requested, are not registered and stay requested. The operator creates
 * Pods up to minReplicas whatever replicas is. */
static int64_t starting_pods(const struct group_choice *group)
{
	int64_t asked = target_floor(group) * group->group->hosts;
	int64_t starting = asked - group->group->registered;
	return starting > 0 ? starting : 0;
}

/* Whole replicas within `room` Pods. The first replica of a group may always start; otherwise a
 * limit below numOfHosts would block the group forever. */
static int64_t replicas_within(int64_t room, int64_t hosts, int64_t starting)
{
	int64_t replicas = room > 0 ? room / hosts : 0;
	return replicas == 0 && starting == 0 ? 1 : replicas;
}

static int64_t replicas_of(int64_t pods, int64_t hosts)
{
	return (pods + hosts - 1) / hosts;
}

/* upscalingMode Conservative: never fewer than either version of Ray's autoscaler launches with
 * upscaling_speed 1.
 *
 * v1, resource_demand_scheduler.py, _get_concurrent_resource_demand_to_launch(): at most max(5,
 * running) workers of a group start at a time; placement groups and request_resources are not
 * limited.
 *
 * v2, instance_manager/reconciler.py, _compute_to_launch(): every 5 s max(1, running) workers of a
 * group, regardless of how many are starting. */
static int64_t conservative_replicas(const struct choice *choice, const struct group *group,
				     int64_t starting)
{
	int64_t running = group->registered;
	int64_t within = replicas_within(int64_max(CONSERVATIVE_STARTING, running) - starting,
					 group->hosts, starting);

	within = int64_max(within,
			   replicas_of(choice->packing->groups[group->index].whole, group->hosts));
	if (limits_launch_round(choice->facts, group) != TIME_NONE)
		return within;
	return int64_max(within, replicas_of(int64_max(1, running), group->hosts));
}

/* Cuts allowed_replicas to `most`, and what is to be launched by as much. */
static void cut_to(struct choice *choice, const int64_t *most)
{
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		struct group_choice *own = &choice->groups[g];
		int64_t beyond = own->allowed_replicas - most[g];

		if (beyond <= 0)
			continue;
		own->allowed_replicas -= beyond;
		own->launch_replicas -= beyond;
		own->to_launch -= beyond * own->group->hosts;
		own->to_launch = own->to_launch > 0 ? own->to_launch : 0;
	}
}

static int64_t within_cap(int64_t allowed, int64_t cap, int64_t hosts, int64_t starting)
{
	if (cap <= 0 || allowed <= 0)
		return allowed;
	return int64_min(allowed, replicas_within(cap - starting, hosts, starting));
}

/* Under a pool the first launch after a back-off is one replica, until it has registered or failed, unless work waits
 * for more: others of the pool could use what only a request asks for. */
static int64_t within_probe(const struct group_choice *own, int64_t allowed, int64_t starting)
{
	int64_t requested = own->packing->requested / own->group->hosts;
	int64_t waited_for = own->launch_replicas - requested;

	if (!own->group->grant || !own->health->backoff || own->health->backed_off ||
	    requested == 0)
		return allowed;
	return int64_min(allowed, waited_for > 0 ? waited_for : starting == 0);
}

void limits_throttle(struct choice *choice, const int64_t *most)
{
	int64_t starting_all = 0;
	bool conservative = limits_is_conservative(choice->snapshot);
	for (size_t g = 0; g < choice->facts->group_count; g++)
		starting_all += starting_pods(&choice->groups[g]);
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct group *group = &choice->facts->groups[g];
		struct group_choice *own = &choice->groups[group->index];
		int64_t allowed = own->launch_replicas,
			starting = starting_pods(&choice->groups[g]);
		allowed = int64_max(0, allowed - own->packing->later / group->hosts);
		if (conservative && allowed > 0) {
			int64_t within = conservative_replicas(choice, group, starting);
			allowed = allowed < within ? allowed : within;
		}
		allowed = within_probe(own, allowed, starting);
		allowed = within_cap(allowed, choice->facts->launch.most_starting, group->hosts,
				     starting_all);
		allowed = within_cap(allowed, group->launch.most_starting, group->hosts, starting);
		own->allowed_replicas = allowed;
		starting_all += allowed * group->hosts;
	}
	if (most)
		cut_to(choice, most);
}
